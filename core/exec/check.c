// check.c: is the plan of a session right? What lives when, and what may lie on what, is found here
// from graph, schedule, claims and the waits of a run, and shares no code with works.c, order.c and
// layout.c, which made them; what follows for the offsets is validate.c's to check.
//
// The steps are those of the whole run, on all devices: each unit is one, and each copy. They run
// by queue, and by the waits. On a device a value lives from the first step that touches it to the
// last, nodes and copies alike; an input the whole run; an output, where it is made, up to the end.
// Who reads a value, or writes it anew, comes after who wrote it before; a copy in after its copy
// out. A value may lie on another in one step alone: the unit that makes it reads the other for the
// last time, and the claim, ops.def and the forms of both permit it.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "exec/session.h"

typedef struct life {
    uint32_t first, last;
    bool needs_bytes;      // touched by more than one unit, or by what is no unit
    bool is_read_later;    // after the run
    uint32_t written_by;   // the step at last; TNP_NONE
} life;

typedef struct check {
    const tn_session *session;
    const tni_compiled *compiled;
    const tn_graph *graph;
    const tni_schedule *schedule;
    uint32_t place;
    uint32_t step_count, queue_count;   // of queues that have work: numbered as it comes
    uint32_t *number_of;                // by queue of the session
    uint32_t *first_of;                 // by work: its first step
    uint32_t *step_of;                  // by unit
    uint32_t *unit_of;                  // by step; TNP_NONE: a copy
    uint32_t *queue_of;                 // by step
    const uint32_t *done;               // [step][queue]
    uint32_t *ends;                     // [storage][queue]: one past its last step there
    uint32_t *all_ends;                 // [interval][queue]
    life *lives;                        // by storage
    uint64_t *order;        // of intervals: first step, then storage, or storage_count + unit
    uint32_t *of_storage;   // its interval; TNP_NONE
    tni_interval *intervals;
    uint64_t *offsets;   // by interval
    uint32_t count;
} check;

static bool number_queues(check *c, tni_arena *scratch)
{
    const tni_works *run = &c->compiled->way.works;
    c->number_of = tni_arena_take_indices(scratch, (size_t)c->session->lane_count * TNI_QUEUES);
    for (uint32_t w = 0; w < run->count && c->number_of; w++)
        if (c->number_of[run->list[w].queue] == TNP_NONE)
            c->number_of[run->list[w].queue] = c->queue_count++;
    return c->number_of != NULL;
}

static bool take_tables(check *c, tni_arena *scratch)
{
    size_t most = (size_t)c->graph->storage_count + c->schedule->unit_count;
    size_t steps = (size_t)c->schedule->unit_count + c->compiled->way.works.count;
    if (!number_queues(c, scratch))
        return false;
    c->first_of = tni_arena_take_array(scratch, c->compiled->way.works.count, sizeof(uint32_t));
    c->step_of = tni_arena_take_array(scratch, c->schedule->unit_count, sizeof(uint32_t));
    c->unit_of = tni_arena_take_indices(scratch, steps);
    c->queue_of = tni_arena_take_array(scratch, steps, sizeof(uint32_t));
    c->ends = tni_arena_take_array(scratch, (size_t)c->graph->storage_count * c->queue_count,
                                   sizeof *c->ends);
    c->all_ends = tni_arena_take_array(scratch, most * c->queue_count, sizeof *c->all_ends);
    c->lives = tni_arena_take_array(scratch, c->graph->storage_count, sizeof *c->lives);
    c->order = tni_arena_take_array(scratch, most, sizeof *c->order);
    c->of_storage = tni_arena_take_indices(scratch, c->graph->storage_count);
    c->intervals = tni_arena_take_array(scratch, most, sizeof *c->intervals);
    c->offsets = tni_arena_take_array(scratch, most, sizeof *c->offsets);
    return c->first_of && c->step_of && c->unit_of && c->queue_of && c->ends && c->all_ends &&
           c->lives && c->order && c->of_storage && c->intervals && c->offsets;
}

// ------------------------------------------------------------------------------------------- steps

static uint32_t last_of(const check *c, uint32_t work)
{
    bool is_last = work + 1 == c->compiled->way.works.count;
    return (is_last ? c->step_count : c->first_of[work + 1]) - 1;
}

// Numbers units and copies by the works of the run, and finds what has ended when each begins.
static tn_status find_steps(check *c, tni_arena *scratch, tn_error *err)
{
    const tni_works *run = &c->compiled->way.works;
    tni_plan_wait *waits = tni_arena_take_array(scratch, run->wait_count, sizeof *waits);
    if (!waits)
        return tni_fail_memory(err, "checking a memory plan", run->wait_count * sizeof *waits);
    for (uint32_t w = 0; w < run->count; w++) {
        const tni_work *work = &run->list[w];
        const tni_segment *segment = &c->schedule->segments[work->segment];
        bool is_program = work->kind == TNI_WORK_PROGRAM;
        c->first_of[w] = c->step_count;
        for (uint32_t k = 0; k < (is_program ? segment->unit_count : 1); k++) {
            c->queue_of[c->step_count] = c->number_of[work->queue];
            if (is_program) {
                c->step_of[segment->first_unit + k] = c->step_count;
                c->unit_of[c->step_count] = segment->first_unit + k;
            }
            c->step_count++;
        }
    }
    for (uint32_t i = 0; i < run->wait_count; i++)
        waits[i] = (tni_plan_wait){ c->first_of[run->waits[i].waiter],
                                    last_of(c, run->waits[i].waits_for) };
    return tni_plan_order_done(c->step_count, c->queue_count, c->queue_of, waits, run->wait_count,
                               scratch, &c->done, err);
}

// As on one device: then there is more that can be checked.
static bool is_line(const check *c)
{
    for (uint32_t s = 1; s < c->step_count; s++)
        if (c->done[(size_t)s * c->queue_count + c->queue_of[s - 1]] < s)
            return false;
    return true;
}

// ------------------------------------------------------------------------------------------- lives

// Whether all that touched a storage so far has ended when a step begins, but for itself.
static bool has_been_left(const check *c, uint32_t storage, uint32_t step)
{
    const uint32_t *ends = c->ends + (size_t)storage * c->queue_count;
    const uint32_t *done = c->done + (size_t)step * c->queue_count;
    for (uint32_t q = 0; q < c->queue_count; q++)
        if (ends[q] > done[q] && !(q == c->queue_of[step] && ends[q] == step + 1))
            return false;
    return true;
}

static tn_status touch(check *c, uint32_t storage, uint32_t step, bool is_write, tn_error *err)
{
    life *l = &c->lives[storage];
    bool by_a_unit = c->unit_of[step] != TNP_NONE;
    if (l->first > l->last)
        *l = (life){ .first = step, .last = step, .written_by = TNP_NONE };
    const uint32_t *done = c->done + (size_t)step * c->queue_count;
    bool is_written = l->written_by == TNP_NONE || l->written_by == step ||
                      l->written_by < done[c->queue_of[l->written_by]];
    if (!is_written || (is_write && !has_been_left(c, storage, step)))
        return tni_fail(err, TN_E_INTERNAL, "plan: step %u %s '%s' without a wait for who %s it",
                        step, is_write ? "writes" : "reads",
                        c->graph->values[c->graph->storages[storage].owner].name,
                        is_written ? "reads" : "writes");
    l->needs_bytes |= !by_a_unit || step != l->first;
    l->last = step;
    l->written_by = is_write ? step : l->written_by;
    c->ends[(size_t)storage * c->queue_count + c->queue_of[step]] = step + 1;
    return TN_OK;
}

// With the lengths that say how much of it counts.
static tn_status touch_value(check *c, uint32_t value, uint32_t step, bool is_write, tn_error *err)
{
    const tni_value *v = &c->graph->values[value];
    tn_status status = TN_OK;
    for (uint32_t d = 0; d < TN_MAX_DIMS && status == TN_OK; d++)
        if (v->extent[d])
            status = touch(c, c->graph->values[v->extent[d] - 1].storage, step, false, err);
    return status == TN_OK ? touch(c, v->storage, step, is_write, err) : status;
}

static tn_status touch_by_unit(check *c, const tni_claim *unit, uint32_t step, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t n = 0; n < unit->node_count && status == TN_OK; n++) {
        const tni_node *node = &c->graph->nodes[unit->nodes[n]];
        for (uint32_t i = 0; i < node->input_count && status == TN_OK; i++)
            if (node->inputs[i] != TNP_NONE)
                status = touch_value(c, node->inputs[i], step, false, err);
        if (status == TN_OK)
            status = touch_value(c, node->output, step, true, err);
    }
    return status;
}

// Staged bytes are there when the copy out that brings them to the host has ended.
static bool is_staged_before(const check *c, const tni_work *in, uint32_t step)
{
    const tni_works *run = &c->compiled->way.works;
    for (uint32_t s = 0; s < run->count; s++) {
        const tni_work *out = &run->list[s];
        if (out->kind == TNI_WORK_OUT && out->first_transfer == in->first_transfer)
            return c->first_of[s] <
                   c->done[(size_t)step * c->queue_count + c->number_of[out->queue]];
    }
    return false;
}

static tn_status touch_by_copy(check *c, const tni_work *copy, uint32_t step, tn_error *err)
{
    bool reads = copy->from == c->place && (copy->kind == TNI_WORK_OUT || !copy->is_staged);
    bool writes = copy->to == c->place && (copy->kind == TNI_WORK_IN || !copy->is_staged);
    tn_status status = TN_OK;
    if (copy->kind == TNI_WORK_IN && copy->is_staged && !is_staged_before(c, copy, step))
        return tni_fail(err, TN_E_INTERNAL, "plan: step %u reads on the host what has not come",
                        step);
    for (uint32_t i = 0; i < copy->transfer_count && (reads || writes) && status == TN_OK; i++) {
        uint32_t transfer = c->compiled->way.works.transfers[copy->first_transfer + i];
        status = touch(c, c->schedule->transfers[transfer].storage, step, writes, err);
    }
    return status;
}

static void live_to_the_end(check *c, uint32_t storage)
{
    life *l = &c->lives[storage];
    l->needs_bytes = l->is_read_later = true;
    l->last = c->step_count - 1;
    c->ends[(size_t)storage * c->queue_count + c->queue_of[l->first]] = c->step_count;
}

static tn_status find_lives(check *c, tn_error *err)
{
    const tni_works *run = &c->compiled->way.works;
    tn_status status = TN_OK;
    for (uint32_t s = 0; s < c->graph->storage_count; s++)
        c->lives[s] = (life){ .first = UINT32_MAX, .written_by = TNP_NONE };
    for (uint32_t s = 0; s < run->count && status == TN_OK; s++) {
        const tni_work *work = &run->list[s];
        const tni_segment *segment = &c->schedule->segments[work->segment];
        if (work->kind != TNI_WORK_PROGRAM)
            status = touch_by_copy(c, work, c->first_of[s], err);
        else if (segment->place == c->place)
            for (uint32_t k = 0; k < segment->unit_count && status == TN_OK; k++)
                status = touch_by_unit(c, c->schedule->units[segment->first_unit + k],
                                       c->first_of[s] + k, err);
    }
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        uint32_t storage = c->graph->values[c->graph->outputs[i].value].storage;
        uint32_t maker = c->graph->values[c->graph->storages[storage].owner].node;
        if (maker != TNP_NONE && c->schedule->places[maker] == c->place)
            live_to_the_end(c, storage);
    }
    for (uint32_t s = 0; s < c->graph->storage_count; s++) {
        tni_source source = c->graph->values[c->graph->storages[s].owner].source;
        if (source == TNI_INPUT && c->lives[s].first <= c->lives[s].last) {
            c->lives[s].first = 0;
            live_to_the_end(c, s);
        } else if (source != TNI_INPUT && source != TNI_MADE) {
            c->lives[s].needs_bytes = false;   // states and weights have buffers of their own
        }
    }
    return TN_OK;
}

// ---------------------------------------------------------------------------------------- in place

static bool looks_alike(const tni_value *a, const tni_value *b)
{
    return memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

static bool has_length_in(const check *c, const tni_value *value, uint32_t storage)
{
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
        if (value->extent[d] && c->graph->values[value->extent[d] - 1].storage == storage)
            return true;
    return false;
}

// Whether a node of the unit that makes `out` lets it lie on `in`.
static bool node_permits(const check *c, const tni_node *node, uint32_t out, const tni_value *in)
{
    const tni_value *made = &c->graph->values[node->output];
    if (has_length_in(c, made, in->storage) || made->storage == in->storage)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TNP_NONE)
            continue;
        const tni_value *read = &c->graph->values[node->inputs[i]];
        if (has_length_in(c, read, in->storage))
            return false;
        if (read->storage != in->storage)
            continue;
        bool is_the_same = read->offset == in->offset && read->dtype == in->dtype &&
                           looks_alike(read, in);
        bool is_permitted = node->output != out || (tni_op_find(node->op)->in_place >> i & 1);
        if (!is_the_same || !is_permitted)
            return false;
    }
    return true;
}

static bool may_lie_on(const check *c, const tni_claim *unit, uint32_t out, const tni_value *in)
{
    const tni_value *made = &c->graph->values[out];
    uint64_t element = tn_dtype_bytes(made->dtype, 1);   // 0 for block types
    if (made->base != TNP_NONE || element == 0 || element != tn_dtype_bytes(in->dtype, 1) ||
        !looks_alike(made, in))
        return false;
    for (uint32_t n = 0; n < unit->node_count; n++)
        if (!node_permits(c, &c->graph->nodes[unit->nodes[n]], out, in))
            return false;
    return true;
}

// What a storage that this unit makes lies on, and may: of the operands that the claim names.
static void find_in_place(const check *c, uint32_t step, uint32_t own)
{
    tni_interval *interval = &c->intervals[own];
    const tni_claim *unit = c->schedule->units[c->unit_of[step]];
    for (uint32_t i = 0; i < unit->in_place_count; i++) {
        uint32_t out = unit->in_place[i].output;
        const tni_value *in = &c->graph->values[unit->in_place[i].input];
        uint32_t old = c->of_storage[in->storage];
        if (c->of_storage[c->graph->values[out].storage] != own || old == TNP_NONE ||
            c->offsets[own] != c->offsets[old] + in->offset || c->intervals[old].last != step ||
            c->intervals[old].first == step || c->lives[in->storage].is_read_later ||
            !has_been_left(c, in->storage, step) || !may_lie_on(c, unit, out, in))
            continue;
        interval->in_place_of = old;
        interval->in_place_offset = in->offset;
        return;
    }
}

// --------------------------------------------------------------------------------------- intervals

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void list(check *c, uint32_t first, uint32_t index)
{
    c->order[c->count++] = (uint64_t)first << 32 | index;
}

static tn_status find_intervals(check *c, tn_error *err)
{
    uint32_t storages = c->graph->storage_count;
    for (uint32_t s = 0; s < storages; s++) {
        bool has_bytes = c->compiled->way.offsets[c->place][s] != TNI_NO_OFFSET;
        if (c->lives[s].needs_bytes && !has_bytes)
            return tni_fail(err, TN_E_INTERNAL,
                            "plan: '%s' lives from step %u to %u and has no place",
                            c->graph->values[c->graph->storages[s].owner].name, c->lives[s].first,
                            c->lives[s].last);
        if (c->lives[s].needs_bytes)
            list(c, c->lives[s].first, s);
    }
    for (uint32_t u = 0; u < c->schedule->unit_count; u++) {
        const tni_claim *unit = c->schedule->units[u];
        if (unit->place != c->place || unit->scratch_bytes == 0)
            continue;
        if (c->compiled->way.scratch[c->place][u] == TNI_NO_OFFSET)
            return tni_fail(err, TN_E_INTERNAL, "plan: the scratch of step %u has no place", u);
        list(c, c->step_of[u], storages + u);
    }
    if (c->count)
        qsort(c->order, c->count, sizeof *c->order, by_number);
    for (uint32_t i = 0; i < c->count; i++) {   // what lies on another comes after it
        uint32_t step = (uint32_t)(c->order[i] >> 32), index = (uint32_t)c->order[i];
        bool is_scratch = index >= storages;
        c->intervals[i] = (tni_interval){
            .first = step,
            .last = is_scratch ? step : c->lives[index].last,
            .bytes = is_scratch ? c->schedule->units[c->unit_of[step]]->scratch_bytes
                                : c->graph->storages[index].bytes,
            .in_place_of = TNP_NONE,
        };
        c->offsets[i] = is_scratch ? c->compiled->way.scratch[c->place][c->unit_of[step]]
                                   : c->compiled->way.offsets[c->place][index];
        uint32_t *ends = c->all_ends + (size_t)i * c->queue_count;
        if (is_scratch)
            ends[c->queue_of[step]] = step + 1;
        else
            memcpy(ends, c->ends + (size_t)index * c->queue_count, c->queue_count * sizeof *ends);
        if (is_scratch)
            continue;
        c->of_storage[index] = i;
        uint32_t maker = c->graph->values[c->graph->storages[index].owner].node;
        if (maker != TNP_NONE && c->schedule->places[maker] == c->place)
            find_in_place(c, step, i);
    }
    return TN_OK;
}

static bool is_in_use(const tni_compiled *compiled, uint32_t place)
{
    const tni_works *run = &compiled->way.works;
    bool is = compiled->way.planned[place].plan.peak_bytes > 0;
    for (uint32_t w = 0; w < run->count && !is; w++)
        is = run->list[w].queue / TNI_QUEUES == place || run->list[w].from == place ||
             run->list[w].to == place;
    return is;
}

tn_status tni_check_plan(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                         tni_arena *scratch, tn_error *err)
{
    const tni_lane *lane = &session->lanes[place];
    check c = { .session = session,
                .compiled = compiled,
                .graph = compiled->graph,
                .schedule = &compiled->schedule,
                .place = place };
    tni_plan plan = compiled->way.planned[place].plan;
    tni_plan_rules rules = { .alignment = lane->memory.alignment_bytes,
                             .chunk_bytes = lane->chunk_bytes };
    if (!is_in_use(compiled, place))
        return TN_OK;
    if (!take_tables(&c, scratch))
        return tni_fail_memory(err, "checking a memory plan",
                               c.graph->storage_count * sizeof *c.intervals);
    tn_status status = find_steps(&c, scratch, err);
    if (status == TN_OK)
        status = find_lives(&c, err);
    if (status == TN_OK)
        status = find_intervals(&c, err);
    plan.offsets = c.offsets;
    const tni_plan_order order = { c.step_count, c.queue_count, c.queue_of, c.done, c.all_ends };
    if (status == TN_OK && !is_line(&c))
        rules.order = &order;
    if (status == TN_OK && plan.peak_bytes > lane->arena_bytes)
        status = tni_fail(err, TN_E_INTERNAL, "plan: its peak is above the end of the arena");
    return status == TN_OK ? tni_plan_validate(c.intervals, c.count, &rules, &plan, scratch, err)
                           : status;
}

tn_status tn_session_check(const tn_session *session, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, NULL);
    if (status == TN_OK)
        status = tni_failover_check(session, err);
    uint32_t lanes = session ? session->lane_count : 0;
    for (uint32_t i = 0; status == TN_OK && i < session->graph_count * lanes; i++) {
        const tni_compiled *compiled = session->graphs[i / lanes];
        tn_error fault = { 0 };
        tni_arena scratch;
        tni_arena_init(&scratch, &session->arena.allocator);
        status = tni_check_plan(session, compiled, i % lanes, &scratch, &fault);
        tni_arena_finish(&scratch);
        if (status != TN_OK)
            tni_fail(err, status, "graph %u on %s: %s", compiled->given.number,
                     session->lanes[i % lanes].device->name, fault.text);
    }
    return status;
}
