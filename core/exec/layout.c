// layout.c: which bytes live when on which lane, and where.
//
// A storage gets bytes on each lane whose nodes touch it, and for copies that bring it or take it
// away. An output lives to the end of the run, where it is made, and so do inputs, from its
// beginning. What stays inside one unit gets none. Steps are those of the lane (order.c): where
// they do not run one after the other, bytes are used again only where that is sure to come later.
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/session.h"

typedef struct layout {
    const tn_session *session;
    const tni_compiled *compiled;
    uint32_t place;
    tni_lane_order order;
    uint32_t *node_steps;      // by node of this lane
    tni_lifetime *lifetimes;   // by storage
    uint32_t *storage_ends;    // [storage][track]: one past its last step there; 0 = none
    bool *is_output;           // by storage
    bool *is_transferred;      // by storage: comes to or goes from this lane
    uint32_t *interval_of;     // by storage; TNP_NONE
    uint32_t *scratch_of;      // by unit; TNP_NONE
    bool *is_taken;            // by interval: another took its place
    tni_interval *intervals;
    uint32_t *ends;   // [interval][track]
    uint32_t count;
} layout;

static tni_source source_of(const layout *l, uint32_t storage)
{
    return tni_storage_source(l->compiled->graph, storage);
}

static bool is_made_here(const layout *l, uint32_t storage)
{
    const tn_graph *graph = l->compiled->graph;
    uint32_t maker = graph->values[graph->storages[storage].owner].node;
    return maker != TNP_NONE && l->compiled->schedule.places[maker] == l->place;
}

static uint32_t *ends_of(const layout *l, uint32_t storage)
{
    return l->storage_ends + (size_t)storage * l->order.order.track_count;
}

// A step touches a storage, or holds it up to its own end.
static void touch(layout *l, uint32_t storage, uint32_t step, uint32_t end)
{
    tni_lifetime *life = &l->lifetimes[storage];
    uint32_t *own = &ends_of(l, storage)[l->order.order.track[step]];
    life->last = life->first > life->last || end - 1 > life->last ? end - 1 : life->last;
    life->first = step < life->first ? step : life->first;
    *own = end > *own ? end : *own;
}

// All nodes of a lane run on one queue.
static void touch_by_nodes(layout *l)
{
    const tn_graph *graph = l->compiled->graph;
    const tni_schedule *schedule = &l->compiled->schedule;
    for (uint32_t n = 0; n < graph->node_count; n++)
        l->node_steps[n] = l->order.of_unit[schedule->steps[n]];
    tni_plan_lifetimes(graph, l->node_steps, schedule->places, l->place, l->lifetimes);
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_lifetime *life = &l->lifetimes[s];
        if (life->first <= life->last)
            ends_of(l, s)[l->order.order.track[life->first]] = life->last + 1;
    }
}

static void touch_by_copies(layout *l)
{
    const tni_works *works = &l->compiled->way.works;
    for (uint32_t s = 0; s < works->count; s++) {
        const tni_work *work = &works->list[s];
        uint32_t here = l->order.of_work[s];
        if (work->kind == TNI_WORK_PROGRAM || here == TNP_NONE)
            continue;
        for (uint32_t i = work->first_transfer; i < work->first_transfer + work->transfer_count;
             i++) {
            uint32_t storage = l->compiled->schedule.transfers[works->transfers[i]].storage;
            touch(l, storage, here, here + 1);
            l->is_transferred[storage] = true;
        }
    }
}

// First and last step of every storage on this lane.
static void find_lifetimes(layout *l)
{
    const tn_graph *graph = l->compiled->graph;
    uint32_t end = l->order.order.step_count;
    touch_by_nodes(l);
    touch_by_copies(l);
    for (uint32_t i = 0; i < graph->output_count; i++)
        l->is_output[graph->values[graph->outputs[i].value].storage] = true;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_lifetime *life = &l->lifetimes[s];
        if (life->first > life->last)
            continue;
        if (l->is_output[s] && is_made_here(l, s))   // and read from here
            touch(l, s, life->first, end);
        if (source_of(l, s) == TNI_INPUT)
            touch(l, s, 0, end);
    }
}

static bool needs_bytes(const layout *l, uint32_t storage)
{
    const tni_lifetime *life = &l->lifetimes[storage];
    tni_source source = source_of(l, storage);
    if (life->first > life->last || source == TNI_WEIGHT || source == TNI_STATE)
        return false;
    bool is_inside_a_unit = source == TNI_MADE && life->first == life->last &&
                            !l->is_output[storage] && !l->is_transferred[storage];
    return !is_inside_a_unit;
}

static uint32_t add_interval(layout *l, uint32_t first, uint32_t last, uint64_t bytes)
{
    l->intervals[l->count] = (tni_interval){
        .first = first, .last = last, .bytes = bytes, .in_place_of = TNP_NONE
    };
    return l->count++;
}

// Whether all that touches a storage but this step has ended when the step begins.
static bool is_last_to_touch(const layout *l, uint32_t storage, uint32_t step)
{
    const tni_plan_order *order = &l->order.order;
    const uint32_t *ends = ends_of(l, storage);
    const uint32_t *done = order->done + (size_t)step * order->track_count;
    for (uint32_t t = 0; t < order->track_count; t++)
        if (ends[t] > done[t] && !(t == order->track[step] && ends[t] == step + 1))
            return false;
    return true;
}

// The interval whose bytes the output of a claim may take over, by what the plugin permits, what
// the op is, and when.
static void find_in_place(layout *l, const tni_claim *claim, uint32_t step, uint32_t output,
                          tni_interval *interval)
{
    const tn_graph *graph = l->compiled->graph;
    for (uint32_t i = 0; i < claim->in_place_count; i++) {
        if (claim->in_place[i].output != output)
            continue;
        const tni_value *input = &graph->values[claim->in_place[i].input];
        uint32_t old = l->interval_of[input->storage];
        if (old == TNP_NONE || l->is_taken[old] || l->is_output[input->storage] ||
            l->intervals[old].last != step || l->intervals[old].first == step ||
            !is_last_to_touch(l, input->storage, step) ||
            input->offset % l->session->lanes[l->place].memory.alignment_bytes ||
            input->offset + interval->bytes > l->intervals[old].bytes ||
            !tni_plan_may_overwrite(graph, claim->nodes, claim->node_count, output,
                                    claim->in_place[i].input))
            continue;
        l->is_taken[old] = true;
        interval->in_place_of = old;
        interval->in_place_offset = input->offset;
        return;
    }
}

// Storages that are there before any unit runs, or come with a transfer; then those that each unit
// makes, in order.
static void make_intervals(layout *l)
{
    const tn_graph *graph = l->compiled->graph;
    const tni_schedule *schedule = &l->compiled->schedule;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (needs_bytes(l, s) && !is_made_here(l, s))
            l->interval_of[s] = add_interval(l, l->lifetimes[s].first, l->lifetimes[s].last,
                                             graph->storages[s].bytes);
    }
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        const tni_claim *claim = schedule->units[u];
        uint32_t step = l->order.of_unit[u];
        if (claim->place != l->place)
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++) {
            const tni_value *out = &graph->values[graph->nodes[claim->nodes[i]].output];
            if (out->base != TNP_NONE || !needs_bytes(l, out->storage))
                continue;
            uint32_t made = add_interval(l, step, l->lifetimes[out->storage].last,
                                         graph->storages[out->storage].bytes);
            l->interval_of[out->storage] = made;
            find_in_place(l, claim, step, graph->nodes[claim->nodes[i]].output,
                          &l->intervals[made]);
        }
        if (claim->scratch_bytes)
            l->scratch_of[u] = add_interval(l, step, step, claim->scratch_bytes);
    }
}

// [interval][track], from those of storages and units.
static void gather_ends(layout *l)
{
    const tni_plan_order *order = &l->order.order;
    for (uint32_t s = 0; s < l->compiled->graph->storage_count; s++)
        if (l->interval_of[s] != TNP_NONE)
            memcpy(l->ends + (size_t)l->interval_of[s] * order->track_count, ends_of(l, s),
                   order->track_count * sizeof *l->ends);
    for (uint32_t u = 0; u < l->compiled->schedule.unit_count; u++)
        if (l->scratch_of[u] != TNP_NONE)
            l->ends[(size_t)l->scratch_of[u] * order->track_count +
                    order->track[l->order.of_unit[u]]] = l->order.of_unit[u] + 1;
    l->order.order.ends = l->ends;
}

static bool take_tables(layout *l, tni_arena *scratch)
{
    const tn_graph *graph = l->compiled->graph;
    uint32_t storages = graph->storage_count, units = l->compiled->schedule.unit_count;
    size_t tracks = l->order.order.track_count;
    l->storage_ends = tni_arena_take_array(scratch, storages * tracks, sizeof *l->storage_ends);
    l->ends = tni_arena_take_array(scratch, ((size_t)storages + units) * tracks, sizeof *l->ends);
    l->node_steps = tni_arena_take_array(scratch, graph->node_count, sizeof *l->node_steps);
    l->lifetimes = tni_arena_take_array(scratch, storages, sizeof *l->lifetimes);
    l->is_output = tni_arena_take_array(scratch, storages, sizeof *l->is_output);
    l->is_transferred = tni_arena_take_array(scratch, storages, sizeof *l->is_transferred);
    l->interval_of = tni_arena_take_indices(scratch, storages);
    l->scratch_of = tni_arena_take_indices(scratch, units);
    l->is_taken = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *l->is_taken);
    l->intervals = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *l->intervals);
    return l->storage_ends && l->ends && l->node_steps && l->lifetimes && l->is_output &&
           l->is_transferred && l->interval_of && l->scratch_of && l->is_taken && l->intervals;
}

static void keep_offsets(const layout *l, const tni_plan *plan, uint64_t *by_storage,
                         uint64_t *by_unit)
{
    for (uint32_t s = 0; s < l->compiled->graph->storage_count; s++)
        by_storage[s] = l->interval_of[s] == TNP_NONE ? TNI_NO_OFFSET
                                                      : plan->offsets[l->interval_of[s]];
    for (uint32_t u = 0; u < l->compiled->schedule.unit_count; u++)
        by_unit[u] = l->scratch_of[u] == TNP_NONE ? TNI_NO_OFFSET : plan->offsets[l->scratch_of[u]];
}

// The interval is larger than a buffer can be.
static tn_status fail_too_large(const layout *l, uint32_t interval, tn_error *err)
{
    const tn_graph *graph = l->compiled->graph;
    const tni_schedule *schedule = &l->compiled->schedule;
    const tni_lane *lane = &l->session->lanes[l->place];
    const char *kind = "value", *name = "";
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (l->interval_of[s] == interval)
            name = graph->values[graph->storages[s].owner].name;
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        if (l->scratch_of[u] == interval) {
            kind = "scratch of";
            name = graph->nodes[schedule->units[u]->nodes[0]].name;
        }
    }
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s: %s '%s' needs %" PRIu64 " bytes in one buffer, the largest possible has "
                    "%" PRIu64,
                    lane->device->name, kind, name, l->intervals[interval].bytes,
                    lane->chunk_bytes);
}

static tn_status tell_whose(const tni_lane *lane, tn_error *err)
{
    const tn_error why = *err;
    return tni_fail(err, why.status, "%s: %s", lane->device->name, why.text);
}

static tni_plan_rules rules_of(const layout *l)
{
    const tn_session *session = l->session;
    const tni_lane *lane = &session->lanes[l->place];
    return (tni_plan_rules){ .alignment = lane->memory.alignment_bytes,
                             .chunk_bytes = lane->chunk_bytes,
                             .capacity = session->is_reserved ? lane->arena_bytes : 0,
                             .order = l->order.is_line ? NULL : &l->order.order };
}

static tn_status find_intervals(layout *l, const uint32_t *works_done, tni_arena *scratch,
                                tn_error *err)
{
    tn_status status = tni_order_find(l->session, l->compiled, works_done, l->place, scratch,
                                      &l->order, err);
    if (status != TN_OK)
        return status;
    if (!take_tables(l, scratch))
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to plan a graph of %u values",
                        l->compiled->graph->value_count);
    find_lifetimes(l);
    make_intervals(l);
    gather_ends(l);
    return TN_OK;
}

static tn_status lay_out_lane(tn_session *session, tni_compiled *compiled,
                              const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                              tn_error *err)
{
    layout l = { .session = session, .compiled = compiled, .place = place };
    tni_planned *planned = &compiled->way.planned[place];
    tni_plan plan;
    uint64_t begin_ns = tni_now_ns();
    tn_status status = find_intervals(&l, works_done, scratch, err);
    if (status == TN_OK) {
        const tni_plan_rules rules = rules_of(&l);
        status = tni_plan_pack(l.intervals, l.count, &rules, scratch, &plan, err);
        if (status != TN_OK && plan.refused != TNP_NONE)
            status = fail_too_large(&l, plan.refused, err);
        else if (status == TN_E_DEVICE_MEMORY && err)
            status = tell_whose(&session->lanes[place], err);
    }
    planned->planning_ns = tni_now_ns() - begin_ns;
    if (status != TN_OK)
        return status;
    uint64_t *by_storage = tni_arena_take_array(&compiled->arena, compiled->graph->storage_count,
                                                sizeof *by_storage);
    uint64_t *by_unit = tni_arena_take_array(&compiled->arena, compiled->schedule.unit_count,
                                             sizeof *by_unit);
    if (!by_storage || !by_unit)
        return tni_fail_memory(err, "a memory plan", l.count * sizeof *by_storage);
    keep_offsets(&l, &plan, by_storage, by_unit);
    compiled->way.offsets[place] = by_storage;
    compiled->way.scratch[place] = by_unit;
    planned->plan = plan;
    planned->plan.offsets = NULL;
    return TN_OK;
}

static tn_status lay_out_lanes(tn_session *session, tni_compiled *compiled,
                               const uint32_t *works_done, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t place = 0; place < session->lane_count && status == TN_OK; place++) {
        tni_arena scratch;
        tni_arena_init(&scratch, &session->arena.allocator);
        status = lay_out_lane(session, compiled, works_done, place, &scratch, err);
        if (status == TN_E_DEVICE_MEMORY) {
            tni_fit_note_short(session, place);
            tni_lane_blame(&session->lanes[place], status);
        }
        tni_arena_finish(&scratch);
    }
    return status;
}

tn_status tni_layout(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_arena scratch;
    const uint32_t *works_done;
    compiled->way.offsets = tni_arena_take_array(&compiled->arena, session->lane_count,
                                                 sizeof *compiled->way.offsets);
    compiled->way.scratch = tni_arena_take_array(&compiled->arena, session->lane_count,
                                                 sizeof *compiled->way.scratch);
    compiled->way.planned = tni_arena_take_array(&compiled->arena, session->lane_count,
                                                 sizeof *compiled->way.planned);
    if (!compiled->way.offsets || !compiled->way.scratch || !compiled->way.planned)
        return tni_fail_memory(err, "a memory plan",
                               session->lane_count * sizeof *compiled->way.planned);
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = tni_order_of_works(session, compiled, &scratch, &works_done, err);
    if (status == TN_OK)
        status = lay_out_lanes(session, compiled, works_done, err);
    tni_arena_finish(&scratch);
    return status;
}

static tn_status reserve_lane(tn_session *session, tni_lane *lane, const tni_plan *plan,
                              tn_error *err)
{
    if (plan->peak_bytes <= lane->arena_bytes)
        return TN_OK;
    if (session->is_reserved) {
        tni_fit_note_short(session, lane->place);
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "%s: the graph needs an arena of %" PRIu64 " bytes, %" PRIu64
                        " are reserved: a session is to be made with its largest graph",
                        lane->device->name, plan->peak_bytes, lane->arena_bytes);
    }
    lane->arena_bytes = plan->peak_bytes;
    lane->plan = *plan;
    return TN_OK;
}

tn_status tni_layout_reserve(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++)
        status = reserve_lane(session, &session->lanes[i], &compiled->way.planned[i].plan, err);
#ifdef TN_CHECKED
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++)
        status = tni_check_plan(session, compiled, i, &scratch, err);
    tni_arena_finish(&scratch);
#endif
    return status;
}

// In steps of the schedule, as people count them: from the first unit to the last. What is there
// when a run begins or after it has ended lives from the first or to the last of all.
static void count_in_units(layout *l)
{
    const tn_graph *graph = l->compiled->graph;
    uint32_t last = l->compiled->schedule.unit_count - 1;
    for (uint32_t i = 0; i < l->count; i++) {
        l->intervals[i].first = l->order.unit_of[l->intervals[i].first];
        l->intervals[i].last = l->order.unit_of[l->intervals[i].last];
    }
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (l->interval_of[s] == TNP_NONE)
            continue;
        tni_interval *interval = &l->intervals[l->interval_of[s]];
        if (source_of(l, s) == TNI_INPUT)
            interval->first = 0;
        if (source_of(l, s) == TNI_INPUT || (l->is_output[s] && is_made_here(l, s)))
            interval->last = last;
    }
}

tn_status tni_layout_again(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                           tni_arena *scratch, tni_lane_intervals *out, tn_error *err)
{
    layout l = { .session = session, .compiled = compiled, .place = place };
    const uint32_t *works_done;
    tn_status status = tni_order_of_works(session, compiled, scratch, &works_done, err);
    if (status == TN_OK)
        status = find_intervals(&l, works_done, scratch, err);
    if (status == TN_OK)
        count_in_units(&l);
    *out = (tni_lane_intervals){ .intervals = l.intervals,
                                 .count = l.count,
                                 .of_storage = l.interval_of,
                                 .of_unit = l.scratch_of };
    return status;
}
