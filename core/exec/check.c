// check.c: is the plan of a session right? What lives when, and what may lie on what, is found here
// from graph, schedule and claims, and shares no code with layout.c, which made the plan of it;
// what follows for the offsets is validate.c's to check.
//
// On a device a value lives from the first step that touches it to the last, nodes and copies
// alike; an input the whole run; an output, where it is made, up to the end. It may lie on another
// in one step alone: the unit that makes it reads the other for the last time, and the claim,
// ops.def and the forms of both permit it.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "exec/exec_internal.h"

typedef struct life {
    uint32_t first, last;
    bool needs_bytes;     // touched by more than one unit, or by what is no unit
    bool is_read_later;   // after the run
} life;

typedef struct check {
    const tn_session *session;
    const tni_compiled *compiled;
    const tn_graph *graph;
    const tni_schedule *schedule;
    uint32_t place;
    life *lives;            // by storage
    uint64_t *order;        // of intervals: first step, then storage, or storage_count + unit
    uint32_t *of_storage;   // its interval; TNP_NONE
    tni_interval *intervals;
    uint64_t *offsets;   // by interval
    uint32_t count;
} check;

static bool take_tables(check *c, tni_arena *scratch)
{
    size_t most = (size_t)c->graph->storage_count + c->schedule->unit_count;
    c->lives = tni_arena_take_array(scratch, c->graph->storage_count, sizeof *c->lives);
    c->order = tni_arena_take_array(scratch, most, sizeof *c->order);
    c->of_storage = tni_arena_take_indices(scratch, c->graph->storage_count);
    c->intervals = tni_arena_take_array(scratch, most, sizeof *c->intervals);
    c->offsets = tni_arena_take_array(scratch, most, sizeof *c->offsets);
    return c->lives && c->order && c->of_storage && c->intervals && c->offsets;
}

// ------------------------------------------------------------------------------------------- lives

static void touch(check *c, uint32_t storage, uint32_t step, bool by_a_unit)
{
    life *l = &c->lives[storage];
    if (l->first > l->last)
        *l = (life){ step, step, false, false };
    l->needs_bytes |= !by_a_unit || step != l->first || step != l->last;
    l->first = step < l->first ? step : l->first;
    l->last = step > l->last ? step : l->last;
}

// With the lengths that say how much of it counts.
static void touch_value(check *c, uint32_t value, uint32_t step)
{
    const tni_value *v = &c->graph->values[value];
    touch(c, v->storage, step, true);
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
        if (v->extent[d])
            touch(c, c->graph->values[v->extent[d] - 1].storage, step, true);
}

static void find_lives(check *c)
{
    for (uint32_t s = 0; s < c->graph->storage_count; s++)
        c->lives[s] = (life){ UINT32_MAX, 0, false, false };
    for (uint32_t u = 0; u < c->schedule->unit_count; u++) {
        const tni_claim *unit = c->schedule->units[u];
        for (uint32_t n = 0; n < unit->node_count && unit->place == c->place; n++) {
            const tni_node *node = &c->graph->nodes[unit->nodes[n]];
            touch_value(c, node->output, u);
            for (uint32_t i = 0; i < node->input_count; i++)
                if (node->inputs[i] != TNP_NONE)
                    touch_value(c, node->inputs[i], u);
        }
    }
    for (uint32_t t = 0; t < c->schedule->transfer_count; t++) {
        const tni_transfer *move = &c->schedule->transfers[t];
        if (move->from == c->place || move->to == c->place)
            touch(c, move->storage, c->schedule->segments[move->segment].first_unit, false);
    }
    uint32_t last_step = c->schedule->unit_count ? c->schedule->unit_count - 1 : 0;
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        uint32_t storage = c->graph->values[c->graph->outputs[i].value].storage;
        uint32_t maker = c->graph->values[c->graph->storages[storage].owner].node;
        if (maker != TNP_NONE && c->schedule->places[maker] == c->place) {
            touch(c, storage, last_step, false);
            c->lives[storage].is_read_later = true;
        }
    }
    for (uint32_t s = 0; s < c->graph->storage_count; s++) {
        tni_source source = c->graph->values[c->graph->storages[s].owner].source;
        if (source == TNI_INPUT && c->lives[s].first <= c->lives[s].last)
            c->lives[s] = (life){ 0, last_step, true, true };
        else if (source != TNI_INPUT && source != TNI_MADE)
            c->lives[s].needs_bytes = false;   // states and weights have buffers of their own
    }
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
    const tni_claim *unit = c->schedule->units[step];
    for (uint32_t i = 0; i < unit->in_place_count; i++) {
        uint32_t out = unit->in_place[i].output;
        const tni_value *in = &c->graph->values[unit->in_place[i].input];
        uint32_t old = c->of_storage[in->storage];
        if (c->of_storage[c->graph->values[out].storage] != own || old == TNP_NONE ||
            c->offsets[own] != c->offsets[old] + in->offset || c->intervals[old].last != step ||
            c->intervals[old].first == step || c->lives[in->storage].is_read_later ||
            !may_lie_on(c, unit, out, in))
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
        bool has_bytes = c->compiled->offsets[c->place][s] != TNI_NO_OFFSET;
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
        if (c->compiled->scratch[c->place][u] == TNI_NO_OFFSET)
            return tni_fail(err, TN_E_INTERNAL, "plan: the scratch of step %u has no place", u);
        list(c, u, storages + u);
    }
    if (c->count)
        qsort(c->order, c->count, sizeof *c->order, by_number);
    for (uint32_t i = 0; i < c->count; i++) {   // what lies on another comes after it
        uint32_t step = (uint32_t)(c->order[i] >> 32), index = (uint32_t)c->order[i];
        bool is_scratch = index >= storages;
        c->intervals[i] = (tni_interval){
            .first = step,
            .last = is_scratch ? step : c->lives[index].last,
            .bytes = is_scratch ? c->schedule->units[step]->scratch_bytes
                                : c->graph->storages[index].bytes,
            .in_place_of = TNP_NONE,
        };
        c->offsets[i] = is_scratch ? c->compiled->scratch[c->place][step]
                                   : c->compiled->offsets[c->place][index];
        if (is_scratch)
            continue;
        c->of_storage[index] = i;
        uint32_t maker = c->graph->values[c->graph->storages[index].owner].node;
        if (maker != TNP_NONE && c->schedule->places[maker] == c->place)
            find_in_place(c, step, i);
    }
    return TN_OK;
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
    tni_plan plan = compiled->planned[place].plan;
    const tni_plan_rules rules = { .alignment = lane->memory.alignment_bytes,
                                   .chunk_bytes = lane->chunk_bytes };
    if (!take_tables(&c, scratch))
        return tni_fail_memory(err, "checking a memory plan",
                               c.graph->storage_count * sizeof *c.intervals);
    find_lives(&c);
    tn_status status = find_intervals(&c, err);
    plan.offsets = c.offsets;
    if (status == TN_OK && plan.peak_bytes > lane->arena_bytes)
        status = tni_fail(err, TN_E_INTERNAL, "plan: its peak is above the end of the arena");
    return status == TN_OK ? tni_plan_validate(c.intervals, c.count, &rules, &plan, scratch, err)
                           : status;
}

tn_status tn_session_check(const tn_session *session, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, NULL);
    uint32_t lanes = session ? session->lane_count : 0;
    for (uint32_t i = 0; status == TN_OK && i < session->graph_count * lanes; i++) {
        const tni_compiled *compiled = session->graphs[i / lanes];
        tn_error fault = { 0 };
        tni_arena scratch;
        tni_arena_init(&scratch, &session->arena.allocator);
        status = tni_check_plan(session, compiled, i % lanes, &scratch, &fault);
        tni_arena_finish(&scratch);
        if (status != TN_OK)
            tni_fail(err, status, "graph %u on %s: %s", compiled->number,
                     session->lanes[i % lanes].device->name, fault.text);
    }
    return status;
}
