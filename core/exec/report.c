// report.c: the plan of a session in numbers: devices, graphs, and each value with its bytes.
//
// A session keeps offsets and a few figures. What lives when is made again here, on demand.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "base/options.h"
#include "exec/session.h"

uint32_t tn_session_device_count(const tn_session *session)
{
    return session ? session->candidate_count : 0;
}

uint32_t tn_session_graph_count(const tn_session *session)
{
    return session ? session->next_number : 0;
}

void tn_session_memory(const tn_session *session, tn_memory_report *out_report)
{
    if (!session)
        return;
    tn_memory_report report = { .size = sizeof report };
    for (uint32_t g = 0; g < session->graph_count; g++)
        report.segment_count += session->graphs[g]->schedule.segment_count;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tni_weight_bytes weights;
        tni_weights_report(session, i, &weights);
        report.weight_mapped_bytes += weights.mapped;
        report.weight_copied_bytes += weights.copied;
        report.weight_shared_bytes += weights.shared;
        report.weight_cached_bytes += weights.cached;
        report.arena_bytes += session->lanes[i].arena_bytes;
        report.arena_bound_bytes += session->lanes[i].plan.bound_bytes;
        report.unshared_bytes += session->lanes[i].plan.unshared_bytes;
    }
    // Without a device there is no memory of a state either.
    for (uint32_t i = 0; i < session->state_count && session->lane_count; i++)
        report.state_bytes += session->states[i].bytes;
    tni_give_struct(out_report, &report, sizeof report);
}

// ----------------------------------------------------------------------------------------- devices

// *out_place: TNP_NONE = it is left out.
static tn_status find_device(const tn_session *session, uint32_t number, const char *call,
                             uint32_t *out_place, tn_error *err)
{
    if (number >= session->candidate_count)
        return tni_fail(err, TN_E_ARG, "%s: device %u is asked, the session has %u", call, number,
                        session->candidate_count);
    *out_place = tni_session_place_of(session, number);
    return TN_OK;
}

static void fill_device(const tn_session *session, uint32_t place, tn_device_memory *memory)
{
    const tni_lane *lane = &session->lanes[place];
    const tni_plan *plan = &lane->plan;
    memory->capacity_bytes = lane->memory.total_bytes;
    memory->peak_bytes = plan->peak_bytes;
    memory->lower_bound_bytes = plan->bound_bytes;
    memory->unshared_bytes = plan->unshared_bytes;
    memory->in_place_saved_bytes = plan->unshared_bytes - plan->blocks_bytes;
    memory->packing_saved_bytes = plan->blocks_bytes - plan->peak_bytes;
    (void)tni_states_on(session, place, &memory->state_bytes);
    uint32_t layers[TNI_MAX_PLACES];
    if (session->graph_count) {
        (void)tni_fit_count_layers(session, layers);
        memory->layer_count = layers[place];
    }
    tni_weight_bytes weights;
    tni_weights_report(session, place, &weights);
    memory->weight_mapped_bytes = weights.mapped;
    memory->weight_copied_bytes = weights.copied;
    memory->weight_shared_bytes = weights.shared;
    memory->weight_cached_bytes = weights.cached;
}

tn_status tn_session_device_memory(const tn_session *session, uint32_t device,
                                   tn_device_memory *out_memory, tn_error *err)
{
    uint32_t place = TNP_NONE;
    tn_status status = tni_need(err, __func__, "session", session, "out_memory", out_memory, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_memory, __func__, "out_memory", err);
    if (status == TN_OK)
        status = find_device(session, device, __func__, &place, err);
    tn_device_memory memory = { .size = sizeof memory };
    if (status == TN_OK) {
        memory.name = session->candidates[device].device->name;
        memory.is_left_out = place == TNP_NONE;
    }
    if (status == TN_OK && place != TNP_NONE)
        fill_device(session, place, &memory);
    tni_give_struct(out_memory, &memory, sizeof memory);
    return status;
}

// ------------------------------------------------------------------------------------------ graphs

// What lives when, of a graph on a device.
typedef struct lives {
    tni_arena arena;
    const tn_session *session;
    const tni_compiled *compiled;
    uint32_t place;
    tni_lane_intervals lane;
    uint64_t *offsets;       // by interval, as the session has them
    uint32_t *head;          // by interval: the one whose bytes it has, itself or another
    uint64_t *block_bytes;   // by head: of the first, in which all lies that follows in place
    uint32_t *block_last;    // by head: last step of all that follow in place
    uint64_t *sums;          // by step: bytes that are live
    uint32_t peak_step;
} lives;

static bool take_tables(lives *l)
{
    uint32_t count = l->lane.count;
    l->offsets = tni_arena_take_array(&l->arena, count, sizeof *l->offsets);
    l->head = tni_arena_take_array(&l->arena, count, sizeof *l->head);
    l->block_bytes = tni_arena_take_array(&l->arena, count, sizeof *l->block_bytes);
    l->block_last = tni_arena_take_array(&l->arena, count, sizeof *l->block_last);
    l->sums = tni_arena_take_array(&l->arena, (size_t)l->compiled->schedule.unit_count + 1,
                                   sizeof *l->sums);
    return l->offsets && l->head && l->block_bytes && l->block_last && l->sums;
}

static void find_offsets(lives *l)
{
    for (uint32_t s = 0; s < l->compiled->graph->storage_count; s++)
        if (l->lane.of_storage[s] != TNP_NONE)
            l->offsets[l->lane.of_storage[s]] = l->compiled->way.offsets[l->place][s];
    for (uint32_t u = 0; u < l->compiled->schedule.unit_count; u++)
        if (l->lane.of_unit[u] != TNP_NONE)
            l->offsets[l->lane.of_unit[u]] = l->compiled->way.scratch[l->place][u];
}

static void find_blocks(lives *l)
{
    const tni_interval *intervals = l->lane.intervals;
    uint64_t alignment = l->session->lanes[l->place].memory.alignment_bytes;
    for (uint32_t i = 0; i < l->lane.count; i++) {
        uint32_t head = intervals[i].in_place_of == TNP_NONE ? i
                                                             : l->head[intervals[i].in_place_of];
        l->head[i] = head;
        if (head == i)   // the plan was made with these sums, so they fit
            (void)tni_align_u64(intervals[i].bytes, alignment, &l->block_bytes[i]);
        if (intervals[i].last > l->block_last[head])
            l->block_last[head] = intervals[i].last;
    }
}

static void find_peak(lives *l)
{
    uint32_t steps = l->compiled->schedule.unit_count;
    // Sums up and down wrap as unsigned numbers do, and come out right: no sum is negative.
    for (uint32_t i = 0; i < l->lane.count; i++)
        if (l->head[i] == i) {
            l->sums[l->lane.intervals[i].first] += l->block_bytes[i];
            l->sums[l->block_last[i] + 1] -= l->block_bytes[i];
        }
    for (uint32_t t = 1; t < steps; t++) {
        l->sums[t] += l->sums[t - 1];
        if (l->sums[t] > l->sums[l->peak_step])
            l->peak_step = t;
    }
}

static void finish(lives *l)
{
    tni_arena_finish(&l->arena);
}

// To be given back by finish, also after a failure.
static tn_status find_lives(lives *l, const tn_session *session, uint32_t graph, uint32_t place,
                            tn_error *err)
{
    *l = (lives){ .session = session, .compiled = session->graphs[graph], .place = place };
    tni_arena_init(&l->arena, &session->arena.allocator);
    tn_status status = tni_intervals_again(session, l->compiled, place, &l->arena, &l->lane, err);
    if (status == TN_OK && !take_tables(l))
        status = tni_fail_memory(err, "the report of a plan", l->lane.count * sizeof(uint64_t));
    if (status != TN_OK)
        return status;
    find_offsets(l);
    find_blocks(l);
    find_peak(l);
    return TN_OK;
}

// Where the graph and the device of these numbers are in the session's tables.
static tn_status find_both(const tn_session *session, uint32_t graph, uint32_t device,
                           const char *call, uint32_t *out_at, uint32_t *out_place, tn_error *err)
{
    tn_status status = tni_graphs_find(session, graph, call, out_at, err);
    return status == TN_OK ? find_device(session, device, call, out_place, err) : status;
}

static const char *name_of_step(const lives *l, uint32_t step)
{
    const tni_claim *claim = l->compiled->schedule.units[step];
    return l->compiled->graph->nodes[claim->nodes[claim->node_count - 1]].name;
}

static void fill_memory(const lives *l, tn_graph_memory *memory)
{
    const tni_planned *planned = &l->compiled->way.planned[l->place];
    memory->is_proved_optimal = planned->plan.is_optimal;
    memory->step_count = l->compiled->schedule.unit_count;
    memory->peak_step = l->peak_step;
    memory->peak_name = memory->step_count ? name_of_step(l, l->peak_step) : "";
    memory->peak_bytes = planned->plan.peak_bytes;
    memory->lower_bound_bytes = planned->plan.bound_bytes;
    memory->unshared_bytes = planned->plan.unshared_bytes;
    memory->in_place_saved_bytes = planned->plan.unshared_bytes - planned->plan.blocks_bytes;
    memory->packing_saved_bytes = planned->plan.blocks_bytes - planned->plan.peak_bytes;
    memory->planning_ns = planned->planning_ns;
}

tn_status tn_session_graph_memory(const tn_session *session, uint32_t graph, uint32_t device,
                                  tn_graph_memory *out_memory, tn_error *err)
{
    uint32_t at = 0, place = TNP_NONE;
    tn_status status = tni_need(err, __func__, "session", session, "out_memory", out_memory, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_memory, __func__, "out_memory", err);
    if (status == TN_OK)
        status = find_both(session, graph, device, __func__, &at, &place, err);
    tn_graph_memory memory = { .size = sizeof memory, .peak_name = "" };
    if (status == TN_OK && place != TNP_NONE) {
        lives l;
        status = find_lives(&l, session, at, place, err);
        if (status == TN_OK)
            fill_memory(&l, &memory);
        finish(&l);
    }
    tni_give_struct(out_memory, &memory, sizeof memory);
    return status;
}

// ------------------------------------------------------------------------------------------ values

// By interval: the value that it is of; for scratch the unit, behind all values.
static const char **find_names(lives *l)
{
    const tn_graph *graph = l->compiled->graph;
    const char **names = tni_arena_take_array(&l->arena, l->lane.count, sizeof *names);
    if (!names)
        return NULL;
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (l->lane.of_storage[s] != TNP_NONE)
            names[l->lane.of_storage[s]] = graph->values[graph->storages[s].owner].name;
    for (uint32_t u = 0; u < l->compiled->schedule.unit_count; u++)
        if (l->lane.of_unit[u] != TNP_NONE)
            names[l->lane.of_unit[u]] = name_of_step(l, u);
    return names;
}

// Of each block that is live at the peak step, who has it then: the latest that is there. By head.
static uint32_t *find_holders(lives *l)
{
    uint32_t *holders = tni_arena_take_indices(&l->arena, l->lane.count);
    for (uint32_t i = 0; holders && i < l->lane.count; i++)
        if (l->lane.intervals[i].first <= l->peak_step && l->block_last[l->head[i]] >= l->peak_step)
            holders[l->head[i]] = i;
    return holders;
}

static bool *find_scratch(lives *l)
{
    bool *is_scratch = tni_arena_take_array(&l->arena, l->lane.count, sizeof *is_scratch);
    for (uint32_t u = 0; is_scratch && u < l->compiled->schedule.unit_count; u++)
        if (l->lane.of_unit[u] != TNP_NONE)
            is_scratch[l->lane.of_unit[u]] = true;
    return is_scratch;
}

static tn_status tell_values(lives *l, const tn_planned_value_sink *sink, tn_error *err)
{
    const char **names = find_names(l);
    const uint32_t *holders = find_holders(l);
    const bool *is_scratch = find_scratch(l);
    if (!names || !holders || !is_scratch)
        return tni_fail_memory(err, "the report of a plan", l->lane.count * sizeof *names);
    for (uint32_t i = 0; i < l->lane.count; i++) {
        const tni_interval *interval = &l->lane.intervals[i];
        uint32_t head = l->head[i];
        const tn_planned_value value = {
            .size = sizeof value,
            .kind = is_scratch[i] ? TN_PLANNED_SCRATCH : TN_PLANNED_VALUE,
            .name = names[i],
            .in_place_of = head == i ? NULL : names[interval->in_place_of],
            .first_step = interval->first,
            .last_step = interval->last,
            .offset = l->offsets[i],
            .bytes = head == i ? l->block_bytes[i] : 0,
            .peak_bytes = holders[head] == i ? l->block_bytes[head] : 0,
        };
        sink->take(sink->context, &value);
    }
    return TN_OK;
}

tn_status tn_session_values(const tn_session *session, uint32_t graph, uint32_t device,
                            const tn_planned_value_sink *sink, tn_error *err)
{
    uint32_t at = 0, place = TNP_NONE;
    tn_status status = tni_need(err, __func__, "session", session, "sink", sink, NULL);
    if (status == TN_OK && !sink->take)
        status = tni_fail(err, TN_E_ARG, "%s: sink->take is NULL", __func__);
    if (status == TN_OK)
        status = find_both(session, graph, device, __func__, &at, &place, err);
    if (status != TN_OK || place == TNP_NONE)
        return status;
    lives l;
    status = find_lives(&l, session, at, place, err);
    if (status == TN_OK)
        status = tell_values(&l, sink, err);
    finish(&l);
    return status;
}
