// groups.c: which transfers are brought together: those that one segment makes and one needs.
#include "exec/groups.h"

#include "base/lists.h"
#include "exec/session.h"

typedef struct finding {
    const tni_schedule *schedule;
    tni_groups *groups;
    uint32_t *writer;     // by storage: the last segment so far that wrote it; TNP_NONE
    uint32_t *group_of;   // by transfer; TNP_NONE: it has no bytes
} finding;

static bool take_tables(finding *f, tni_arena *arena, tni_arena *scratch)
{
    const tni_schedule *s = f->schedule;
    tni_groups *groups = f->groups;
    uint32_t storages = s->graph->storage_count, transfers = s->transfer_count;
    f->writer = tni_arena_take_indices(scratch, storages);
    f->group_of = tni_arena_take_indices(scratch, transfers);
    groups->list = tni_arena_take_array(scratch, transfers, sizeof *groups->list);
    groups->is_transferred = tni_arena_take_array(scratch, storages,
                                                  sizeof *groups->is_transferred);
    groups->transfers = tni_arena_take_array(arena, transfers, sizeof *groups->transfers);
    return f->writer && f->group_of && groups->list && groups->is_transferred && groups->transfers;
}

// The transfer joins the group of one before it that goes the same route.
static void add_to_group(finding *f, uint32_t first_group, uint32_t index)
{
    const tni_transfer *transfer = &f->schedule->transfers[index];
    tni_groups *groups = f->groups;
    uint32_t made_by = f->writer[transfer->storage], at = first_group;
    while (at < groups->count &&
           (groups->list[at].made_by != made_by || groups->list[at].from != transfer->from ||
            groups->list[at].to != transfer->to))
        at++;
    if (at == groups->count)
        groups->list[groups->count++] = (tni_group){ .made_by = made_by,
                                                     .needed_by = transfer->segment,
                                                     .from = transfer->from,
                                                     .to = transfer->to,
                                                     .out = TNP_NONE };
    f->group_of[index] = at;
}

static void note_writes(finding *f, uint32_t segment)
{
    const tni_segment *s = &f->schedule->segments[segment];
    const tn_graph *graph = f->schedule->graph;
    for (uint32_t u = s->first_unit; u < s->first_unit + s->unit_count; u++)
        for (uint32_t i = 0; i < f->schedule->units[u]->node_count; i++) {
            uint32_t node = f->schedule->units[u]->nodes[i];
            f->writer[graph->values[graph->nodes[node].output].storage] = segment;
        }
}

static void find_groups(finding *f)
{
    const tni_schedule *s = f->schedule;
    uint32_t t = 0;
    for (uint32_t segment = 0; segment < s->segment_count; segment++) {
        uint32_t first_group = f->groups->count;
        for (; t < s->transfer_count && s->transfers[t].segment == segment; t++) {
            if (s->graph->storages[s->transfers[t].storage].bytes == 0)
                continue;
            f->groups->is_transferred[s->transfers[t].storage] = true;
            add_to_group(f, first_group, t);
        }
        note_writes(f, segment);
    }
}

// The transfers of each group, one group behind the other.
static bool list_transfers(const finding *f, tni_arena *scratch)
{
    tni_groups *groups = f->groups;
    uint32_t *first = tni_lists_begin(scratch, groups->count);
    if (!first)
        return false;
    for (uint32_t t = 0; t < f->schedule->transfer_count; t++)
        if (f->group_of[t] != TNP_NONE)
            tni_lists_count(first, f->group_of[t]);
    (void)tni_lists_sum(first, groups->count);
    for (uint32_t t = 0; t < f->schedule->transfer_count; t++)
        if (f->group_of[t] != TNP_NONE)
            groups->transfers[tni_lists_next(first, f->group_of[t])] = t;
    for (uint32_t g = 0; g < groups->count; g++) {
        groups->list[g].first = first[g];
        groups->list[g].count = first[g + 1] - first[g];
    }
    return true;
}

static bool list_by_maker(const finding *f, tni_arena *scratch)
{
    tni_groups *groups = f->groups;
    groups->by_maker = tni_arena_take_array(scratch, groups->count, sizeof *groups->by_maker);
    groups->first_made = tni_lists_begin(scratch, f->schedule->segment_count);
    if (!groups->by_maker || !groups->first_made)
        return false;
    for (uint32_t g = 0; g < groups->count; g++)
        tni_lists_count(groups->first_made, groups->list[g].made_by);
    (void)tni_lists_sum(groups->first_made, f->schedule->segment_count);
    for (uint32_t g = 0; g < groups->count; g++)
        groups->by_maker[tni_lists_next(groups->first_made, groups->list[g].made_by)] = g;
    return true;
}

bool tni_groups_find(const tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                     tni_groups *out)
{
    finding f = { .schedule = schedule, .groups = out };
    *out = (tni_groups){ 0 };
    if (!take_tables(&f, arena, scratch))
        return false;
    find_groups(&f);
    return list_transfers(&f, scratch) && list_by_maker(&f, scratch);
}

// ------------------------------------------------------------------------------------------ routes

bool tni_route_is_direct(const tn_session *session, uint32_t from, uint32_t to)
{
    return tni_links_flags(&session->links, from, to) & TNP_LINK_COPY;
}

bool tni_group_goes_out(const tn_session *session, const tni_group *group)
{
    return tni_route_is_direct(session, group->from, group->to) ||
           !session->lanes[group->from].is_host;
}

bool tni_group_goes_in(const tn_session *session, const tni_group *group)
{
    return !tni_route_is_direct(session, group->from, group->to) &&
           (!session->lanes[group->to].is_host || session->lanes[group->from].is_host);
}
