// intervals.c: which bytes live when on a lane.
//
// A storage gets bytes on each lane whose nodes touch it, and for copies that bring it or take it
// away. An output lives to the end of the run, where it is made, and so do inputs, from its
// beginning. What stays inside one unit gets none. Steps are those of the lane (order.c): where
// they do not run one after the other, bytes are used again only where that is sure to come later.
#include <string.h>

#include "base/error.h"
#include "exec/session.h"

typedef struct finding {
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
} finding;

static tni_source source_of(const finding *f, uint32_t storage)
{
    return tni_storage_source(f->compiled->graph, storage);
}

static bool is_made_here(const finding *f, uint32_t storage)
{
    const tn_graph *graph = f->compiled->graph;
    uint32_t maker = graph->values[graph->storages[storage].owner].node;
    return maker != TNP_NONE && f->compiled->schedule.places[maker] == f->place;
}

static uint32_t *ends_of(const finding *f, uint32_t storage)
{
    return f->storage_ends + (size_t)storage * f->order.order.track_count;
}

// A step touches a storage, or holds it up to its own end.
static void touch(finding *f, uint32_t storage, uint32_t step, uint32_t end)
{
    tni_lifetime *life = &f->lifetimes[storage];
    uint32_t *own = &ends_of(f, storage)[f->order.order.track[step]];
    life->last = life->first > life->last || end - 1 > life->last ? end - 1 : life->last;
    life->first = step < life->first ? step : life->first;
    *own = end > *own ? end : *own;
}

// All nodes of a lane run on one queue.
static void touch_by_nodes(finding *f)
{
    const tn_graph *graph = f->compiled->graph;
    const tni_schedule *schedule = &f->compiled->schedule;
    for (uint32_t n = 0; n < graph->node_count; n++)
        f->node_steps[n] = f->order.of_unit[schedule->steps[n]];
    tni_plan_lifetimes(graph, f->node_steps, schedule->places, f->place, f->lifetimes);
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_lifetime *life = &f->lifetimes[s];
        if (life->first <= life->last)
            ends_of(f, s)[f->order.order.track[life->first]] = life->last + 1;
    }
}

static void touch_by_copies(finding *f)
{
    const tni_works *works = &f->compiled->way.works;
    for (uint32_t s = 0; s < works->count; s++) {
        const tni_work *work = &works->list[s];
        uint32_t here = f->order.of_work[s];
        if (work->kind == TNI_WORK_PROGRAM || here == TNP_NONE)
            continue;
        for (uint32_t i = work->first_transfer; i < work->first_transfer + work->transfer_count;
             i++) {
            uint32_t storage = f->compiled->schedule.transfers[works->transfers[i]].storage;
            touch(f, storage, here, here + 1);
            f->is_transferred[storage] = true;
        }
    }
}

// First and last step of every storage on this lane.
static void find_lifetimes(finding *f)
{
    const tn_graph *graph = f->compiled->graph;
    uint32_t end = f->order.order.step_count;
    touch_by_nodes(f);
    touch_by_copies(f);
    for (uint32_t i = 0; i < graph->output_count; i++)
        f->is_output[graph->values[graph->outputs[i].value].storage] = true;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_lifetime *life = &f->lifetimes[s];
        if (life->first > life->last)
            continue;
        if (f->is_output[s] && is_made_here(f, s))   // and read from here
            touch(f, s, life->first, end);
        if (source_of(f, s) == TNI_INPUT)
            touch(f, s, 0, end);
    }
}

static bool needs_bytes(const finding *f, uint32_t storage)
{
    const tni_lifetime *life = &f->lifetimes[storage];
    tni_source source = source_of(f, storage);
    if (life->first > life->last || source == TNI_WEIGHT || source == TNI_STATE)
        return false;
    bool is_inside_a_unit = source == TNI_MADE && life->first == life->last &&
                            !f->is_output[storage] && !f->is_transferred[storage];
    return !is_inside_a_unit;
}

static uint32_t add_interval(finding *f, uint32_t first, uint32_t last, uint64_t bytes)
{
    f->intervals[f->count] = (tni_interval){
        .first = first, .last = last, .bytes = bytes, .in_place_of = TNP_NONE
    };
    return f->count++;
}

// Whether all that touches a storage but this step has ended when the step begins.
static bool is_last_to_touch(const finding *f, uint32_t storage, uint32_t step)
{
    const tni_plan_order *order = &f->order.order;
    const uint32_t *ends = ends_of(f, storage);
    const uint32_t *done = order->done + (size_t)step * order->track_count;
    for (uint32_t t = 0; t < order->track_count; t++)
        if (ends[t] > done[t] && !(t == order->track[step] && ends[t] == step + 1))
            return false;
    return true;
}

// The interval whose bytes the output of a claim may take over, by what the plugin permits, what
// the op is, and when.
static void find_in_place(finding *f, const tni_claim *claim, uint32_t step, uint32_t output,
                          tni_interval *interval)
{
    const tn_graph *graph = f->compiled->graph;
    for (uint32_t i = 0; i < claim->in_place_count; i++) {
        if (claim->in_place[i].output != output)
            continue;
        const tni_value *input = &graph->values[claim->in_place[i].input];
        uint32_t old = f->interval_of[input->storage];
        if (old == TNP_NONE || f->is_taken[old] || f->is_output[input->storage] ||
            f->intervals[old].last != step || f->intervals[old].first == step ||
            !is_last_to_touch(f, input->storage, step) ||
            input->offset % f->session->lanes[f->place].memory.alignment_bytes ||
            input->offset + interval->bytes > f->intervals[old].bytes ||
            !tni_plan_may_overwrite(graph, claim->nodes, claim->node_count, output,
                                    claim->in_place[i].input))
            continue;
        f->is_taken[old] = true;
        interval->in_place_of = old;
        interval->in_place_offset = input->offset;
        return;
    }
}

// Storages that are there before any unit runs, or come with a transfer; then those that each unit
// makes, in order.
static void make_intervals(finding *f)
{
    const tn_graph *graph = f->compiled->graph;
    const tni_schedule *schedule = &f->compiled->schedule;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (needs_bytes(f, s) && !is_made_here(f, s))
            f->interval_of[s] = add_interval(f, f->lifetimes[s].first, f->lifetimes[s].last,
                                             graph->storages[s].bytes);
    }
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        const tni_claim *claim = schedule->units[u];
        uint32_t step = f->order.of_unit[u];
        if (claim->place != f->place)
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++) {
            const tni_value *out = &graph->values[graph->nodes[claim->nodes[i]].output];
            if (out->base != TNP_NONE || !needs_bytes(f, out->storage))
                continue;
            uint32_t made = add_interval(f, step, f->lifetimes[out->storage].last,
                                         graph->storages[out->storage].bytes);
            f->interval_of[out->storage] = made;
            find_in_place(f, claim, step, graph->nodes[claim->nodes[i]].output,
                          &f->intervals[made]);
        }
        if (claim->scratch_bytes)
            f->scratch_of[u] = add_interval(f, step, step, claim->scratch_bytes);
    }
}

// [interval][track], from those of storages and units.
static void gather_ends(finding *f)
{
    const tni_plan_order *order = &f->order.order;
    for (uint32_t s = 0; s < f->compiled->graph->storage_count; s++)
        if (f->interval_of[s] != TNP_NONE)
            memcpy(f->ends + (size_t)f->interval_of[s] * order->track_count, ends_of(f, s),
                   order->track_count * sizeof *f->ends);
    for (uint32_t u = 0; u < f->compiled->schedule.unit_count; u++)
        if (f->scratch_of[u] != TNP_NONE)
            f->ends[(size_t)f->scratch_of[u] * order->track_count +
                    order->track[f->order.of_unit[u]]] = f->order.of_unit[u] + 1;
    f->order.order.ends = f->ends;
}

static bool take_tables(finding *f, tni_arena *scratch)
{
    const tn_graph *graph = f->compiled->graph;
    uint32_t storages = graph->storage_count, units = f->compiled->schedule.unit_count;
    size_t tracks = f->order.order.track_count;
    f->storage_ends = tni_arena_take_array(scratch, storages * tracks, sizeof *f->storage_ends);
    f->ends = tni_arena_take_array(scratch, ((size_t)storages + units) * tracks, sizeof *f->ends);
    f->node_steps = tni_arena_take_array(scratch, graph->node_count, sizeof *f->node_steps);
    f->lifetimes = tni_arena_take_array(scratch, storages, sizeof *f->lifetimes);
    f->is_output = tni_arena_take_array(scratch, storages, sizeof *f->is_output);
    f->is_transferred = tni_arena_take_array(scratch, storages, sizeof *f->is_transferred);
    f->interval_of = tni_arena_take_indices(scratch, storages);
    f->scratch_of = tni_arena_take_indices(scratch, units);
    f->is_taken = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *f->is_taken);
    f->intervals = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *f->intervals);
    return f->storage_ends && f->ends && f->node_steps && f->lifetimes && f->is_output &&
           f->is_transferred && f->interval_of && f->scratch_of && f->is_taken && f->intervals;
}

static tn_status find(finding *f, const uint32_t *works_done, tni_arena *scratch, tn_error *err)
{
    tn_status status = tni_order_find(f->session, f->compiled, works_done, f->place, scratch,
                                      &f->order, err);
    if (status != TN_OK)
        return status;
    if (!take_tables(f, scratch))
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to plan a graph of %u values",
                        f->compiled->graph->value_count);
    find_lifetimes(f);
    make_intervals(f);
    gather_ends(f);
    return TN_OK;
}

static void give(const finding *f, tni_lane_intervals *out)
{
    *out = (tni_lane_intervals){ .intervals = f->intervals,
                                 .count = f->count,
                                 .of_storage = f->interval_of,
                                 .of_unit = f->scratch_of,
                                 .order = f->order };
}

tn_status tni_intervals_find(const tn_session *session, const tni_compiled *compiled,
                             const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                             tni_lane_intervals *out, tn_error *err)
{
    finding f = { .session = session, .compiled = compiled, .place = place };
    tn_status status = find(&f, works_done, scratch, err);
    give(&f, out);
    return status;
}

// In steps of the schedule, as people count them: from the first unit to the last. What is there
// when a run begins or after it has ended lives from the first or to the last of all.
static void count_in_units(finding *f)
{
    const tn_graph *graph = f->compiled->graph;
    uint32_t last = f->compiled->schedule.unit_count - 1;
    for (uint32_t i = 0; i < f->count; i++) {
        f->intervals[i].first = f->order.unit_of[f->intervals[i].first];
        f->intervals[i].last = f->order.unit_of[f->intervals[i].last];
    }
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (f->interval_of[s] == TNP_NONE)
            continue;
        tni_interval *interval = &f->intervals[f->interval_of[s]];
        if (source_of(f, s) == TNI_INPUT)
            interval->first = 0;
        if (source_of(f, s) == TNI_INPUT || (f->is_output[s] && is_made_here(f, s)))
            interval->last = last;
    }
}

tn_status tni_intervals_again(const tn_session *session, const tni_compiled *compiled,
                              uint32_t place, tni_arena *scratch, tni_lane_intervals *out,
                              tn_error *err)
{
    finding f = { .session = session, .compiled = compiled, .place = place };
    const uint32_t *works_done;
    tn_status status = tni_order_of_works(session, compiled, scratch, &works_done, err);
    if (status == TN_OK)
        status = find(&f, works_done, scratch, err);
    if (status == TN_OK)
        count_in_units(&f);
    give(&f, out);
    return status;
}
