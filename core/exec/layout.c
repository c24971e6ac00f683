// layout.c: which bytes live when on which lane, and where.
//
// A storage gets bytes on each lane whose nodes touch it. Longer than its own nodes it lives for a
// transfer (from where it is copied until the segment that needs it begins), as an output, and as
// an input: those lie in the arena for the whole run. What stays inside one unit gets none.
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/exec_internal.h"

typedef struct layout {
    const tn_session *session;
    const tni_compiled *compiled;
    uint32_t place;
    tni_lifetime *lifetimes;   // by storage
    bool *is_output;           // by storage
    bool *is_transferred;      // by storage: comes to or goes from this lane
    uint32_t *interval_of;     // by storage; TNP_NONE
    uint32_t *scratch_of;      // by unit; TNP_NONE
    bool *is_taken;            // by interval: another took its place
    tni_interval *intervals;
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

// First and last step of every storage on this lane, with what is beside its nodes.
static void find_lifetimes(layout *l)
{
    const tni_schedule *schedule = &l->compiled->schedule;
    const tn_graph *graph = l->compiled->graph;
    uint32_t last_step = schedule->unit_count ? schedule->unit_count - 1 : 0;
    tni_plan_lifetimes(graph, schedule->steps, schedule->places, l->place, l->lifetimes);
    for (uint32_t t = 0; t < schedule->transfer_count; t++) {
        const tni_transfer *transfer = &schedule->transfers[t];
        uint32_t step = schedule->segments[transfer->segment].first_unit;
        tni_lifetime *life = &l->lifetimes[transfer->storage];
        if (transfer->from == l->place || transfer->to == l->place)
            l->is_transferred[transfer->storage] = true;
        if (transfer->from == l->place && step > life->last)
            life->last = step;
        if (transfer->to == l->place && step < life->first)
            life->first = step;
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        l->is_output[graph->values[graph->outputs[i].value].storage] = true;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        tni_lifetime *life = &l->lifetimes[s];
        if (life->first > life->last)
            continue;
        if (l->is_output[s] && is_made_here(l, s))   // and read from here
            life->last = last_step;
        if (source_of(l, s) == TNI_INPUT)
            *life = (tni_lifetime){ 0, last_step };
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
        if (claim->place != l->place)
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++) {
            const tni_value *out = &graph->values[graph->nodes[claim->nodes[i]].output];
            if (out->base != TNP_NONE || !needs_bytes(l, out->storage))
                continue;
            uint32_t made = add_interval(l, u, l->lifetimes[out->storage].last,
                                         graph->storages[out->storage].bytes);
            l->interval_of[out->storage] = made;
            find_in_place(l, claim, u, graph->nodes[claim->nodes[i]].output, &l->intervals[made]);
        }
        if (claim->scratch_bytes)
            l->scratch_of[u] = add_interval(l, u, u, claim->scratch_bytes);
    }
}

static bool take_tables(layout *l, tni_arena *scratch)
{
    const tn_graph *graph = l->compiled->graph;
    uint32_t storages = graph->storage_count, units = l->compiled->schedule.unit_count;
    l->lifetimes = tni_arena_take_array(scratch, storages, sizeof *l->lifetimes);
    l->is_output = tni_arena_take_array(scratch, storages, sizeof *l->is_output);
    l->is_transferred = tni_arena_take_array(scratch, storages, sizeof *l->is_transferred);
    l->interval_of = tni_arena_take_indices(scratch, storages);
    l->scratch_of = tni_arena_take_indices(scratch, units);
    l->is_taken = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *l->is_taken);
    l->intervals = tni_arena_take_array(scratch, (size_t)storages + units, sizeof *l->intervals);
    return l->lifetimes && l->is_output && l->is_transferred && l->interval_of && l->scratch_of &&
           l->is_taken && l->intervals;
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

static tni_plan_rules rules_of(const tn_session *session, const tni_lane *lane)
{
    return (tni_plan_rules){ .alignment = lane->memory.alignment_bytes,
                             .chunk_bytes = lane->chunk_bytes,
                             .capacity = session->is_reserved ? lane->arena_bytes : 0 };
}

static tn_status find_intervals(layout *l, tni_arena *scratch, tn_error *err)
{
    if (!take_tables(l, scratch))
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to plan a graph of %u values",
                        l->compiled->graph->value_count);
    find_lifetimes(l);
    make_intervals(l);
    return TN_OK;
}

static tn_status lay_out_lane(tn_session *session, tni_compiled *compiled, uint32_t place,
                              tni_arena *scratch, tn_error *err)
{
    tni_lane *lane = &session->lanes[place];
    layout l = { .session = session, .compiled = compiled, .place = place };
    tni_planned *planned = &compiled->planned[place];
    tni_plan_rules rules = rules_of(session, lane);
    tni_plan plan;
    uint64_t begin_ns = tni_now_ns();
    tn_status status = find_intervals(&l, scratch, err);
    if (status == TN_OK) {
        status = tni_plan_pack(l.intervals, l.count, &rules, scratch, &plan, err);
        if (status != TN_OK && plan.refused != TNP_NONE)
            status = fail_too_large(&l, plan.refused, err);
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
    compiled->offsets[place] = by_storage;
    compiled->scratch[place] = by_unit;
    planned->plan = plan;
    planned->plan.offsets = NULL;
    if (plan.peak_bytes > lane->arena_bytes && session->is_reserved)
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "%s: the graph needs an arena of %" PRIu64 " bytes, %" PRIu64
                        " are reserved: a session is to be made with its largest graph",
                        lane->device->name, plan.peak_bytes, lane->arena_bytes);
    if (plan.peak_bytes > lane->arena_bytes) {   // the arena is as large as the largest graph needs
        lane->arena_bytes = plan.peak_bytes;
        lane->plan = planned->plan;
    }
#ifdef TN_CHECKED
    status = tni_check_plan(session, compiled, place, scratch, err);
#endif
    return status;
}

tn_status tni_layout(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = TN_OK;
    compiled->offsets = tni_arena_take_array(&compiled->arena, session->lane_count,
                                             sizeof *compiled->offsets);
    compiled->scratch = tni_arena_take_array(&compiled->arena, session->lane_count,
                                             sizeof *compiled->scratch);
    compiled->planned = tni_arena_take_array(&compiled->arena, session->lane_count,
                                             sizeof *compiled->planned);
    if (!compiled->offsets || !compiled->scratch || !compiled->planned)
        status = tni_fail_memory(err, "a memory plan",
                                 session->lane_count * sizeof *compiled->planned);
    for (uint32_t place = 0; place < session->lane_count && status == TN_OK; place++)
        status = lay_out_lane(session, compiled, place, &scratch, err);
    tni_arena_finish(&scratch);
    return status;
}

tn_status tni_layout_again(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                           tni_arena *scratch, tni_lane_intervals *out, tn_error *err)
{
    layout l = { .session = session, .compiled = compiled, .place = place };
    tn_status status = find_intervals(&l, scratch, err);
    *out = (tni_lane_intervals){ .intervals = l.intervals,
                                 .count = l.count,
                                 .of_storage = l.interval_of,
                                 .of_unit = l.scratch_of };
    return status;
}
