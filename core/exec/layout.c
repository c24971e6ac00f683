// layout.c: where the bytes of a graph lie in the arena of each lane, and how large these are.
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/session.h"

static void keep_offsets(const tni_compiled *compiled, const tni_lane_intervals *lane,
                         const tni_plan *plan, uint64_t *by_storage, uint64_t *by_unit)
{
    for (uint32_t s = 0; s < compiled->graph->storage_count; s++)
        by_storage[s] = lane->of_storage[s] == TNP_NONE ? TNI_NO_OFFSET
                                                        : plan->offsets[lane->of_storage[s]];
    for (uint32_t u = 0; u < compiled->schedule.unit_count; u++)
        by_unit[u] = lane->of_unit[u] == TNP_NONE ? TNI_NO_OFFSET : plan->offsets[lane->of_unit[u]];
}

// The interval is larger than a buffer can be.
static tn_status fail_too_large(const tni_lane *lane, const tni_compiled *compiled,
                                const tni_lane_intervals *intervals, uint32_t interval,
                                tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    const tni_schedule *schedule = &compiled->schedule;
    const char *kind = "value", *name = "";
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (intervals->of_storage[s] == interval)
            name = graph->values[graph->storages[s].owner].name;
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        if (intervals->of_unit[u] == interval) {
            kind = "scratch of";
            name = graph->nodes[schedule->units[u]->nodes[0]].name;
        }
    }
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s: %s '%s' needs %" PRIu64 " bytes in one buffer, the largest possible has "
                    "%" PRIu64,
                    lane->device->name, kind, name, intervals->intervals[interval].bytes,
                    lane->chunk_bytes);
}

static tn_status tell_whose(const tni_lane *lane, tn_error *err)
{
    const tn_error why = *err;
    return tni_fail(err, why.status, "%s: %s", lane->device->name, why.text);
}

static tn_status pack(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                      const tni_lane_intervals *intervals, tni_arena *scratch, tni_plan *out_plan,
                      tn_error *err)
{
    const tni_lane *lane = &session->lanes[place];
    const tni_plan_rules rules = { .alignment = lane->memory.alignment_bytes,
                                   .chunk_bytes = lane->chunk_bytes,
                                   .capacity = session->is_reserved ? lane->arena_bytes : 0,
                                   .order = intervals->order.is_line ? NULL
                                                                     : &intervals->order.order };
    tn_status status = tni_plan_pack(intervals->intervals, intervals->count, &rules, scratch,
                                     out_plan, err);
    if (status != TN_OK && out_plan->refused != TNP_NONE)
        return fail_too_large(lane, compiled, intervals, out_plan->refused, err);
    return status == TN_E_DEVICE_MEMORY && err ? tell_whose(lane, err) : status;
}

static tn_status lay_out_lane(tn_session *session, tni_compiled *compiled,
                              const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                              tn_error *err)
{
    tni_planned *planned = &compiled->way.planned[place];
    tni_lane_intervals intervals;
    tni_plan plan;
    uint64_t begin_ns = tni_now_ns();
    tn_status status = tni_intervals_find(session, compiled, works_done, place, scratch, &intervals,
                                          err);
    if (status == TN_OK)
        status = pack(session, compiled, place, &intervals, scratch, &plan, err);
    planned->planning_ns = tni_now_ns() - begin_ns;
    if (status != TN_OK)
        return status;
    uint64_t *by_storage = tni_arena_take_array(&compiled->arena, compiled->graph->storage_count,
                                                sizeof *by_storage);
    uint64_t *by_unit = tni_arena_take_array(&compiled->arena, compiled->schedule.unit_count,
                                             sizeof *by_unit);
    if (!by_storage || !by_unit)
        return tni_fail_memory(err, "a memory plan", intervals.count * sizeof *by_storage);
    keep_offsets(compiled, &intervals, &plan, by_storage, by_unit);
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
