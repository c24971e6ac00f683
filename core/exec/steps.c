// steps.c: what a run of a graph does, found once: programs and copies, the queue of each, and what
// it waits for.
//
//   compute of a   │ program 0 ├──────┤ program 2 │        copies have queues of their own, so that
//   out of a               └─► copy ├──┐                  they run beside the programs
//   in of b                            └─► copy ├──┐
//   compute of b   │ program 1 │                   └─► program 3 │
//
// Steps are numbered in an order in which they can run. Two steps that touch the same bytes of a
// value, one of them to write, run one after the other; what a queue, or waits that are there
// already, order anyway needs no wait. That bytes of one value are reused for another needs none
// either: the plan of a lane is made by this order (order.c).
#include <string.h>

#include "base/error.h"
#include "exec/exec_internal.h"

// Transfers that one copy call brings: from one segment, to one segment.
typedef struct group {
    uint32_t made_by, needed_by;   // segments
    uint32_t from, to;             // places
    uint32_t first, count;         // in making.moves
    uint32_t out_step;             // of the copy to the host, TNP_NONE
    bool has_come;
} group;

// A step that touches a storage on a lane.
typedef struct touch {
    uint32_t place, step, next;   // next: of the same storage; TNP_NONE
    bool is_write;
} touch;

typedef struct making {
    tn_session *session;
    tni_compiled *compiled;
    const tni_schedule *schedule;
    tni_arena *scratch;
    tni_steps *steps;
    bool is_doubled;
    uint32_t *programs;      // [place][2]: its latest program so far and the one before; TNP_NONE
    uint32_t *outs;          // likewise: the last copy of what each of these made
    bool *is_moved;          // by storage: a transfer brings it somewhere
    uint32_t *writer;        // by storage: the last segment so far that wrote it; TNP_NONE
    group *groups;           // by the segment that needs them
    uint32_t *by_maker;      // groups by the segment that makes them
    uint32_t *maker_first;   // [segment], in by_maker
    uint32_t group_count;
    uint32_t *touches;   // by storage: the first of its list
    touch *touch_list;
    uint32_t touch_count, touch_capacity;
    uint32_t queue_count;
    uint32_t *last;    // by queue: its last step so far; TNP_NONE
    uint32_t *done;    // [step][queue]: one past the last that has ended when it begins
    uint32_t *found;   // steps that the one at hand depends on, each once
    uint32_t found_count;
    uint32_t *found_by;   // by step: the last one that found it
    uint32_t wait_capacity;
} making;

// ------------------------------------------------------------------------------------------- links

static bool find_links(tn_session *session)
{
    uint32_t count = session->lane_count;
    if (session->links)
        return true;
    session->links = tni_arena_take_array(&session->arena, (size_t)count * count,
                                          sizeof *session->links);
    for (uint32_t i = 0; session->links && i < count * count; i++) {
        const tn_device *from = session->devices[i / count], *to = session->devices[i % count];
        tnp_link link;
        if (from != to && tni_device_is_beside(from, to) && tni_device_link(from, to, &link))
            session->links[i] = link.flags;
    }
    return session->links;
}

bool tni_steps_can_wait(const tn_session *session, uint32_t place, uint32_t queue)
{
    uint32_t from = queue / TNI_QUEUES;
    // Work of a lane that computes inside submit may come later than what waits for it.
    return from == place || (!session->lanes[from].is_inline && !session->lanes[place].is_inline &&
                             (session->links[from * session->lane_count + place] & TNP_LINK_WAIT));
}

// How a group comes to where it is needed.
static bool goes_directly(const making *m, const group *g)
{
    return m->session->links[g->from * m->session->lane_count + g->to] & TNP_LINK_COPY;
}

static bool goes_out(const making *m, const group *g)
{
    return goes_directly(m, g) || !m->session->lanes[g->from].is_host;
}

static bool goes_in(const making *m, const group *g)
{
    return !goes_directly(m, g) &&
           (!m->session->lanes[g->to].is_host || m->session->lanes[g->from].is_host);
}

// One that fills a buffer where it goes, of which there are two, has its turn before its reader.
static bool goes_out_late(const making *m, const group *g)
{
    return m->is_doubled && goes_out(m, g) && !goes_in(m, g);
}

// ------------------------------------------------------------------------------------------ groups

static bool take_tables(making *m)
{
    const tn_graph *graph = m->compiled->graph;
    const tni_schedule *s = m->schedule;
    tni_arena *arena = m->scratch;
    size_t most = (size_t)s->segment_count + 2 * (size_t)s->transfer_count;
    m->queue_count = m->session->lane_count * TNI_QUEUES;
    m->is_moved = tni_arena_take_array(arena, graph->storage_count, sizeof *m->is_moved);
    m->writer = tni_arena_take_indices(arena, graph->storage_count);
    m->groups = tni_arena_take_array(arena, s->transfer_count, sizeof *m->groups);
    m->by_maker = tni_arena_take_array(arena, s->transfer_count, sizeof *m->by_maker);
    m->maker_first = tni_arena_take_array(arena, (size_t)s->segment_count + 2,
                                          sizeof *m->maker_first);
    m->touches = tni_arena_take_indices(arena, graph->storage_count);
    m->last = tni_arena_take_indices(arena, m->queue_count);
    m->programs = tni_arena_take_indices(arena, 2 * (size_t)m->session->lane_count);
    m->outs = tni_arena_take_indices(arena, 2 * (size_t)m->session->lane_count);
    m->done = tni_arena_take_array(arena, most * m->queue_count, sizeof *m->done);
    m->found = tni_arena_take_array(arena, most, sizeof *m->found);
    m->found_by = tni_arena_take_indices(arena, most);
    m->steps->steps = tni_arena_take_array(&m->compiled->arena, most, sizeof *m->steps->steps);
    m->steps->moves = tni_arena_take_array(&m->compiled->arena, s->transfer_count,
                                           sizeof *m->steps->moves);
    return m->is_moved && m->writer && m->groups && m->by_maker && m->maker_first && m->touches &&
           m->last && m->programs && m->outs && m->done && m->found && m->found_by &&
           m->steps->steps && m->steps->moves;
}

// The transfer joins the group of one before it that goes the same way.
static void add_to_group(making *m, uint32_t first_group, uint32_t transfer)
{
    const tni_transfer *move = &m->schedule->transfers[transfer];
    uint32_t made_by = m->writer[move->storage], at = first_group;
    while (at < m->group_count &&
           (m->groups[at].made_by != made_by || m->groups[at].from != move->from ||
            m->groups[at].to != move->to))
        at++;
    if (at == m->group_count)
        m->groups[m->group_count++] = (group){ .made_by = made_by,
                                               .needed_by = move->segment,
                                               .from = move->from,
                                               .to = move->to,
                                               .out_step = TNP_NONE };
    m->groups[at].count++;
    m->steps->moves[transfer] = at;   // its group, for now
}

static void note_writes(making *m, uint32_t segment)
{
    const tni_segment *s = &m->schedule->segments[segment];
    const tn_graph *graph = m->compiled->graph;
    for (uint32_t u = s->first_unit; u < s->first_unit + s->unit_count; u++)
        for (uint32_t i = 0; i < m->schedule->units[u]->node_count; i++) {
            uint32_t node = m->schedule->units[u]->nodes[i];
            m->writer[graph->values[graph->nodes[node].output].storage] = segment;
        }
}

static void find_groups(making *m, uint32_t *next)
{
    const tni_schedule *s = m->schedule;
    uint32_t t = 0;
    for (uint32_t segment = 0; segment < s->segment_count; segment++) {
        uint32_t first_group = m->group_count;
        for (; t < s->transfer_count && s->transfers[t].segment == segment; t++) {
            m->steps->moves[t] = TNP_NONE;
            if (m->compiled->graph->storages[s->transfers[t].storage].bytes == 0)
                continue;
            m->is_moved[s->transfers[t].storage] = true;
            add_to_group(m, first_group, t);
        }
        note_writes(m, segment);
    }
    for (uint32_t g = 0, first = 0; g < m->group_count; g++) {
        m->groups[g].first = next[g] = first;
        first += m->groups[g].count;
        m->maker_first[m->groups[g].made_by + 2]++;
    }
    for (uint32_t i = 0; i < s->segment_count; i++)
        m->maker_first[i + 2] += m->maker_first[i + 1];
    for (uint32_t g = 0; g < m->group_count; g++)
        m->by_maker[m->maker_first[m->groups[g].made_by + 1]++] = g;
}

// moves: from groups by transfer to transfers by group.
static bool sort_moves(making *m)
{
    uint32_t count = m->schedule->transfer_count;
    uint32_t *next = tni_arena_take_array(m->scratch, count, sizeof *next);
    uint32_t *group_of = tni_arena_take_array(m->scratch, count, sizeof *group_of);
    if (!next || !group_of)
        return false;
    find_groups(m, next);
    memcpy(group_of, m->steps->moves, count * sizeof *group_of);
    for (uint32_t t = 0; t < count; t++)
        if (group_of[t] != TNP_NONE)
            m->steps->moves[next[group_of[t]]++] = t;
    return true;
}

// ----------------------------------------------------------------------------------- dependencies

static bool add_touch(making *m, uint32_t storage, uint32_t place, uint32_t step, bool is_write)
{
    if (m->touch_count == m->touch_capacity) {
        uint32_t capacity = m->touch_capacity ? 2 * m->touch_capacity : 64;
        touch *list = tni_arena_take_array(m->scratch, capacity, sizeof *list);
        if (!list)
            return false;
        if (m->touch_count)
            memcpy(list, m->touch_list, m->touch_count * sizeof *list);
        m->touch_list = list;
        m->touch_capacity = capacity;
    }
    m->touch_list[m->touch_count] = (touch){ place, step, m->touches[storage], is_write };
    m->touches[storage] = m->touch_count++;
    return true;
}

static void depend_on(making *m, uint32_t step)
{
    if (m->found_by[step] == m->steps->step_count)
        return;
    m->found_by[step] = m->steps->step_count;
    m->found[m->found_count++] = step;
}

// The step at hand touches a storage on a lane: it comes after who wrote it before, and to write it
// also after who read it.
static bool touch_storage(making *m, uint32_t storage, uint32_t place, bool is_write)
{
    uint32_t step = m->steps->step_count;
    if (!m->is_moved[storage])   // only programs of one lane touch it, in the order of their queue
        return true;
    for (uint32_t *at = &m->touches[storage]; *at != TNP_NONE;) {
        const touch *t = &m->touch_list[*at];
        if (t->place == place && t->step == step && (t->is_write || !is_write))
            return true;
        if (t->place == place && t->step != step && (is_write || t->is_write))
            depend_on(m, t->step);
        if (t->place == place && is_write)   // who comes after this write comes after that, too
            *at = t->next;
        else
            at = &m->touch_list[*at].next;
    }
    return add_touch(m, storage, place, step, is_write);
}

static void come_after(making *m, uint32_t *done, uint32_t step)
{
    const uint32_t *earlier = m->done + (size_t)step * m->queue_count;
    for (uint32_t q = 0; q < m->queue_count; q++)
        done[q] = earlier[q] > done[q] ? earlier[q] : done[q];
    uint32_t queue = m->steps->steps[step].queue;
    done[queue] = step + 1 > done[queue] ? step + 1 : done[queue];
}

static bool add_wait(making *m, uint32_t step, uint32_t waits_for)
{
    tni_steps *s = m->steps;
    if (s->wait_count == m->wait_capacity) {
        uint32_t capacity = m->wait_capacity ? 2 * m->wait_capacity : 64;
        tni_plan_wait *waits = tni_arena_take_array(&m->compiled->arena, capacity, sizeof *waits);
        if (!waits)
            return false;
        if (s->wait_count)
            memcpy(waits, s->waits, s->wait_count * sizeof *waits);
        s->waits = waits;
        m->wait_capacity = capacity;
    }
    s->waits[s->wait_count++] = (tni_plan_wait){ step, waits_for };
    return true;
}

// The latest of what was found first: it may stand for others.
static bool choose_waits(making *m, tni_step *step, uint32_t index)
{
    uint32_t *done = m->done + (size_t)index * m->queue_count;
    if (m->last[step->queue] != TNP_NONE)
        come_after(m, done, m->last[step->queue]);
    step->first_wait = m->steps->wait_count;
    while (m->found_count) {
        uint32_t latest = 0;
        for (uint32_t i = 1; i < m->found_count; i++)
            latest = m->found[i] > m->found[latest] ? i : latest;
        uint32_t other = m->found[latest];
        m->found[latest] = m->found[--m->found_count];
        if (other < done[m->steps->steps[other].queue])
            continue;
        if (!add_wait(m, index, other))
            return false;
        come_after(m, done, other);
    }
    step->wait_count = m->steps->wait_count - step->first_wait;
    if (step->wait_count > m->steps->most_waits)
        m->steps->most_waits = step->wait_count;
    return true;
}

// ------------------------------------------------------------------------------------------- steps

static bool end_step(making *m, tni_step step)
{
    uint32_t index = m->steps->step_count;
    m->steps->steps[index] = step;
    if (!choose_waits(m, &m->steps->steps[index], index))
        return false;
    m->last[step.queue] = index;
    m->steps->step_count++;
    return true;
}

static bool add_copy(making *m, group *g, tni_step_kind kind)
{
    const tni_step step = {
        .kind = kind,
        .queue = (kind == TNI_STEP_IN ? g->to : g->from) * TNI_QUEUES +
                 (kind == TNI_STEP_IN ? TNI_IN : TNI_OUT),
        .segment = kind == TNI_STEP_IN ? g->needed_by : g->made_by,
        .from = g->from,
        .to = g->to,
        .first_move = g->first,
        .move_count = g->count,
        .is_staged = goes_out(m, g) && goes_in(m, g),
    };
    // The program before the last one here used the buffer that is filled now.
    uint32_t before = m->programs[2 * g->to + 1];
    bool reads = kind != TNI_STEP_IN || !step.is_staged;
    bool writes = kind != TNI_STEP_OUT || !step.is_staged;
    if (m->is_doubled && writes && before != TNP_NONE)
        depend_on(m, before);
    if (g->out_step != TNP_NONE)
        depend_on(m, g->out_step);
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t storage = m->schedule->transfers[m->steps->moves[g->first + i]].storage;
        if ((reads && !touch_storage(m, storage, g->from, false)) ||
            (writes && !touch_storage(m, storage, g->to, true)))
            return false;
    }
    g->out_step = m->steps->step_count;
    if (kind == TNI_STEP_OUT && step.is_staged)
        m->outs[2 * g->from] = g->out_step;
    return end_step(m, step);
}

// [place][2]: the latest, and the one before.
static void move_on(uint32_t *pairs, uint32_t place, uint32_t latest)
{
    pairs[2 * place + 1] = pairs[2 * place];
    pairs[2 * place] = latest;
}

static bool add_program(making *m, uint32_t segment)
{
    const tni_segment *s = &m->schedule->segments[segment];
    const tn_graph *graph = m->compiled->graph;
    for (uint32_t u = s->first_unit; u < s->first_unit + s->unit_count; u++)
        for (uint32_t i = 0; i < m->schedule->units[u]->node_count; i++) {
            const tni_node *node = &graph->nodes[m->schedule->units[u]->nodes[i]];
            uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, node, reads);
            for (uint32_t k = 0; k < count; k++)
                if (!touch_storage(m, graph->values[reads[k]].storage, s->place, false))
                    return false;
            if (!touch_storage(m, graph->values[node->output].storage, s->place, true))
                return false;
        }
    if (m->is_doubled && m->outs[2 * s->place + 1] != TNP_NONE)
        depend_on(m, m->outs[2 * s->place + 1]);
    move_on(m->outs, s->place, TNP_NONE);
    move_on(m->programs, s->place, m->steps->step_count);
    return end_step(m, (tni_step){ .kind = TNI_STEP_PROGRAM,
                                   .queue = s->place * TNI_QUEUES + TNI_COMPUTE,
                                   .segment = segment });
}

// What was made first comes in first: of one queue each waits for the one before.
static bool add_arrivals(making *m, uint32_t first, uint32_t count)
{
    for (uint32_t left = count; left; left--) {
        uint32_t next = TNP_NONE;
        for (uint32_t g = first; g < first + count; g++)
            if (!m->groups[g].has_come &&
                (next == TNP_NONE || m->groups[g].made_by < m->groups[next].made_by))
                next = g;
        m->groups[next].has_come = true;
        group *g = &m->groups[next];
        if (goes_out_late(m, g) && !add_copy(m, g, TNI_STEP_OUT))
            return false;
        if (goes_in(m, g) && !add_copy(m, g, TNI_STEP_IN))
            return false;
    }
    return true;
}

static bool add_steps(making *m)
{
    uint32_t arrived = 0;
    for (uint32_t s = 0; s < m->schedule->segment_count; s++) {
        uint32_t arriving = 0;
        while (arrived + arriving < m->group_count && m->groups[arrived + arriving].needed_by == s)
            arriving++;
        if (!add_arrivals(m, arrived, arriving))
            return false;
        arrived += arriving;
        if (!add_program(m, s))
            return false;
        for (uint32_t i = m->maker_first[s]; i < m->maker_first[s + 1]; i++) {
            group *g = &m->groups[m->by_maker[i]];
            if (goes_out(m, g) && !goes_out_late(m, g) && !add_copy(m, g, TNI_STEP_OUT))
                return false;
        }
    }
    return true;
}

// ------------------------------------------------------------------------------------------ relays

// One for each step and lane that waits for it and cannot see its semaphore. Waits of a lane that
// computes inside submit are the host's own.
static bool add_relays(making *m)
{
    tni_steps *s = m->steps;
    uint32_t lanes = m->session->lane_count;
    bool *is_told = tni_arena_take_array(m->scratch, (size_t)s->step_count * lanes,
                                         sizeof *is_told);
    if (!is_told)
        return false;
    for (uint32_t w = 0; w < s->wait_count; w++) {
        uint32_t place = s->steps[s->waits[w].step].queue / TNI_QUEUES;
        uint32_t source = s->waits[w].waits_for;
        if (m->session->lanes[place].is_inline ||
            tni_steps_can_wait(m->session, place, s->steps[source].queue))
            continue;
        s->relay_count += !is_told[(size_t)source * lanes + place];
        is_told[(size_t)source * lanes + place] = true;
    }
    s->relays = tni_arena_take_array(&m->compiled->arena, s->relay_count, sizeof *s->relays);
    if (!s->relays)
        return false;
    uint32_t made = 0;
    for (uint32_t i = 0; i < s->step_count; i++) {
        s->steps[i].first_relay = made;
        for (uint32_t place = 0; place < lanes; place++)
            if (is_told[(size_t)i * lanes + place])
                s->relays[made++] = (tni_relay){ .session = m->session,
                                                 .queue = s->steps[i].queue,
                                                 .place = place };
        s->steps[i].relay_count = made - s->steps[i].first_relay;
    }
    return true;
}

tn_status tni_steps_make(tn_session *session, tni_compiled *compiled, bool is_doubled,
                         tn_error *err)
{
    tni_arena scratch;
    making m = { .session = session,
                 .compiled = compiled,
                 .schedule = &compiled->schedule,
                 .scratch = &scratch,
                 .steps = &compiled->steps,
                 .is_doubled = is_doubled };
    tni_arena_init(&scratch, &session->arena.allocator);
    bool is_made = find_links(session) && take_tables(&m) && sort_moves(&m) && add_steps(&m) &&
                   add_relays(&m);
    if (is_made)   // twice: submit.c says why
        compiled->steps.points = tni_arena_take_array(&compiled->arena,
                                                      2 * (size_t)compiled->steps.most_waits,
                                                      sizeof *compiled->steps.points);
    tn_status status = is_made && compiled->steps.points
                           ? TN_OK
                           : tni_fail_memory(err, "the steps of a run",
                                             compiled->schedule.segment_count * sizeof(tni_step));
    if (status == TN_OK)
        status = tni_staging_plan(session, compiled, &scratch, err);
    tni_arena_finish(&scratch);
    return status;
}
