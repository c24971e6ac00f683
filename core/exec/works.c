// works.c: what a run of a graph does, found once: programs and copies, the queue of each, and what
// it waits for.
//
//   compute of a   │ program 0 ├──────┤ program 2 │        copies have queues of their own, so that
//   out of a               └─► copy ├──┐                  they run beside the programs
//   in of b                            └─► copy ├──┐
//   compute of b   │ program 1 │                   └─► program 3 │
//
// Works are numbered in an order in which they can run. Two works that touch the same bytes of a
// value, one of them to write, run one after the other; what a queue, or waits that are there
// already, order anyway needs no wait (waits.c). That bytes of one value are reused for another
// needs none either: the plan of a lane is made by this order (order.c).
#include "base/error.h"
#include "exec/groups.h"
#include "exec/session.h"
#include "exec/waits.h"

typedef struct making {
    tn_session *session;
    tni_compiled *compiled;
    const tni_schedule *schedule;
    tni_works *works;
    bool is_doubled;
    uint32_t *programs;   // [place][2]: its latest program so far and the one before; TNP_NONE
    uint32_t *outs;       // likewise: the last copy of what each of these made
    tni_groups groups;
    tni_waits waits;
} making;

bool tni_works_can_wait(const tn_session *session, uint32_t place, uint32_t queue)
{
    uint32_t from = queue / TNI_QUEUES;
    // Work of a lane that computes inside submit may come later than what waits for it.
    return from == place || (!session->lanes[from].is_inline && !session->lanes[place].is_inline &&
                             (tni_links_flags(&session->links, from, place) & TNP_LINK_WAIT));
}

// One that fills a buffer where it goes, of which there are two, has its turn before its reader.
static bool goes_out_late(const making *m, const tni_group *g)
{
    return m->is_doubled && tni_group_goes_out(m->session, g) && !tni_group_goes_in(m->session, g);
}

// ------------------------------------------------------------------------------------------- works

static bool add_copy(making *m, tni_group *g, tni_work_kind kind)
{
    bool is_in = kind == TNI_WORK_IN;
    const tni_work work = {
        .kind = kind,
        .queue = (is_in ? g->to : g->from) * TNI_QUEUES + (is_in ? TNI_IN : TNI_OUT),
        .segment = is_in ? g->needed_by : g->made_by,
        .from = g->from,
        .to = g->to,
        .first_transfer = g->first,
        .transfer_count = g->count,
        .is_staged = tni_group_goes_out(m->session, g) && tni_group_goes_in(m->session, g),
    };
    // The program before the last one here used the buffer that is filled now.
    uint32_t before = m->programs[2 * g->to + 1];
    bool reads = !is_in || !work.is_staged, writes = is_in || !work.is_staged;
    if (m->is_doubled && writes && before != TNP_NONE)
        tni_waits_depend(&m->waits, before);
    if (g->out != TNP_NONE)
        tni_waits_depend(&m->waits, g->out);
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t storage = m->schedule->transfers[m->works->transfers[g->first + i]].storage;
        if ((reads && !tni_waits_touch(&m->waits, storage, g->from, false)) ||
            (writes && !tni_waits_touch(&m->waits, storage, g->to, true)))
            return false;
    }
    g->out = m->works->count;
    if (!is_in && work.is_staged)
        m->outs[2 * g->from] = g->out;
    return tni_waits_add(&m->waits, work);
}

// [place][2]: the latest, and the one before.
static void move_on(uint32_t *pairs, uint32_t place, uint32_t latest)
{
    pairs[2 * place + 1] = pairs[2 * place];
    pairs[2 * place] = latest;
}

static bool touch_by_unit(making *m, const tni_claim *unit)
{
    const tn_graph *graph = m->compiled->graph;
    for (uint32_t i = 0; i < unit->node_count; i++) {
        const tni_node *node = &graph->nodes[unit->nodes[i]];
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, node, reads);
        for (uint32_t k = 0; k < count; k++)
            if (!tni_waits_touch(&m->waits, graph->values[reads[k]].storage, unit->place, false))
                return false;
        if (!tni_waits_touch(&m->waits, graph->values[node->output].storage, unit->place, true))
            return false;
    }
    return true;
}

static bool add_program(making *m, uint32_t segment)
{
    const tni_segment *s = &m->schedule->segments[segment];
    for (uint32_t u = s->first_unit; u < s->first_unit + s->unit_count; u++)
        if (!touch_by_unit(m, m->schedule->units[u]))
            return false;
    if (m->is_doubled && m->outs[2 * s->place + 1] != TNP_NONE)
        tni_waits_depend(&m->waits, m->outs[2 * s->place + 1]);
    move_on(m->outs, s->place, TNP_NONE);
    move_on(m->programs, s->place, m->works->count);
    return tni_waits_add(&m->waits, (tni_work){ .kind = TNI_WORK_PROGRAM,
                                                .queue = s->place * TNI_QUEUES + TNI_COMPUTE,
                                                .segment = segment });
}

// What was made first comes in first: of one queue each waits for the one before.
static bool add_arrivals(making *m, uint32_t first, uint32_t count)
{
    for (uint32_t left = count; left; left--) {
        tni_group *next = NULL;
        for (tni_group *g = &m->groups.list[first]; g < &m->groups.list[first + count]; g++)
            if (!g->has_come && (!next || g->made_by < next->made_by))
                next = g;
        next->has_come = true;
        if (goes_out_late(m, next) && !add_copy(m, next, TNI_WORK_OUT))
            return false;
        if (tni_group_goes_in(m->session, next) && !add_copy(m, next, TNI_WORK_IN))
            return false;
    }
    return true;
}

static bool add_works(making *m)
{
    const tni_groups *groups = &m->groups;
    uint32_t arrived = 0;
    for (uint32_t s = 0; s < m->schedule->segment_count; s++) {
        uint32_t arriving = 0;
        while (arrived + arriving < groups->count &&
               groups->list[arrived + arriving].needed_by == s)
            arriving++;
        if (!add_arrivals(m, arrived, arriving))
            return false;
        arrived += arriving;
        if (!add_program(m, s))
            return false;
        for (uint32_t i = groups->first_made[s]; i < groups->first_made[s + 1]; i++) {
            tni_group *g = &groups->list[groups->by_maker[i]];
            if (tni_group_goes_out(m->session, g) && !goes_out_late(m, g) &&
                !add_copy(m, g, TNI_WORK_OUT))
                return false;
        }
    }
    return true;
}

// ------------------------------------------------------------------------------------------ relays

// One for each work and lane that waits for it and cannot see its semaphore. Waits of a lane that
// computes inside submit are the host's own.
static bool add_relays(making *m, tni_arena *scratch)
{
    tni_works *works = m->works;
    uint32_t lanes = m->session->lane_count;
    bool *is_told = tni_arena_take_array(scratch, (size_t)works->count * lanes, sizeof *is_told);
    if (!is_told)
        return false;
    for (uint32_t w = 0; w < works->wait_count; w++) {
        uint32_t place = works->list[works->waits[w].waiter].queue / TNI_QUEUES;
        uint32_t source = works->waits[w].waits_for;
        if (m->session->lanes[place].is_inline ||
            tni_works_can_wait(m->session, place, works->list[source].queue))
            continue;
        works->relay_count += !is_told[(size_t)source * lanes + place];
        is_told[(size_t)source * lanes + place] = true;
    }
    works->relays = tni_arena_take_array(&m->compiled->arena, works->relay_count,
                                         sizeof *works->relays);
    if (!works->relays)
        return false;
    uint32_t made = 0;
    for (uint32_t i = 0; i < works->count; i++) {
        works->list[i].first_relay = made;
        for (uint32_t place = 0; place < lanes; place++)
            if (is_told[(size_t)i * lanes + place])
                works->relays[made++] = (tni_relay){ .session = m->session,
                                                     .queue = works->list[i].queue,
                                                     .place = place };
        works->list[i].relay_count = made - works->list[i].first_relay;
    }
    return true;
}

// -------------------------------------------------------------------------------------------- all

static bool take_tables(making *m, tni_arena *scratch)
{
    const tni_schedule *s = m->schedule;
    uint32_t lanes = m->session->lane_count;
    if (!tni_groups_find(s, &m->compiled->arena, scratch, &m->groups))
        return false;
    m->works->transfers = m->groups.transfers;
    m->waits = (tni_waits){ .works = m->works,
                            .arena = &m->compiled->arena,
                            .scratch = scratch,
                            .is_transferred = m->groups.is_transferred,
                            .queue_count = lanes * TNI_QUEUES };
    m->programs = tni_arena_take_indices(scratch, 2 * (size_t)lanes);
    m->outs = tni_arena_take_indices(scratch, 2 * (size_t)lanes);
    return m->programs && m->outs &&
           tni_waits_begin(&m->waits, s->graph->storage_count,
                           (size_t)s->segment_count + 2 * (size_t)s->transfer_count);
}

tn_status tni_works_make(tn_session *session, tni_compiled *compiled, bool is_doubled,
                         tn_error *err)
{
    tni_arena scratch;
    tni_works *works = &compiled->way.works;
    making m = { .session = session,
                 .compiled = compiled,
                 .schedule = &compiled->schedule,
                 .works = works,
                 .is_doubled = is_doubled };
    tni_arena_init(&scratch, &session->arena.allocator);
    if (take_tables(&m, &scratch) && add_works(&m) && add_relays(&m, &scratch))
        works->points = tni_arena_take_array(&compiled->arena,   // twice: submit.c says why
                                             2 * (size_t)works->most_waits, sizeof *works->points);
    tn_status status = works->points
                           ? TN_OK
                           : tni_fail_memory(err, "the works of a run",
                                             compiled->schedule.segment_count * sizeof(tni_work));
    if (status == TN_OK)
        status = tni_staging_plan(session, compiled, &scratch, err);
    tni_arena_finish(&scratch);
    return status;
}
