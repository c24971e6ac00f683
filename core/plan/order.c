// order.c: which steps have ended when a step begins, from which step waits for which; and from
// which step on something is over.
#include <inttypes.h>

#include "base/error.h"
#include "base/lists.h"
#include "plan/plan_internal.h"

// By step: where its waits begin in the list sorted by step. NULL: no memory.
static uint32_t *sort_waits(uint32_t step_count, const tni_plan_wait *waits, uint32_t wait_count,
                            tni_arena *arena, uint32_t *sorted)
{
    uint32_t *begin = tni_lists_begin(arena, step_count);
    if (!begin)
        return NULL;
    for (uint32_t w = 0; w < wait_count; w++)
        tni_lists_count(begin, waits[w].waiter);
    tni_lists_sum(begin, step_count);
    for (uint32_t w = 0; w < wait_count; w++)
        sorted[tni_lists_next(begin, waits[w].waiter)] = waits[w].waits_for;
    return begin;
}

static tn_status check(uint32_t step_count, uint32_t track_count, const uint32_t *track,
                       const tni_plan_wait *waits, uint32_t wait_count, tn_error *err)
{
    for (uint32_t s = 0; s < step_count; s++)
        if (track[s] >= track_count)
            return tni_fail(err, TN_E_ARG, "plan: step %u is on track %u of %u", s, track[s],
                            track_count);
    for (uint32_t w = 0; w < wait_count; w++) {
        if (waits[w].waiter >= step_count)
            return tni_fail(err, TN_E_ARG, "plan: step %u waits, of %u steps", waits[w].waiter,
                            step_count);
        if (waits[w].waits_for >= waits[w].waiter)
            return tni_fail(err, TN_E_ARG,
                            "plan: step %u waits for step %u, which is not before it",
                            waits[w].waiter, waits[w].waits_for);
    }
    return TN_OK;
}

// What has ended before `earlier` begins, and `earlier` itself, has ended before a step after it.
static void come_after(uint32_t *done, uint32_t earlier, const uint32_t *earlier_done,
                       const uint32_t *track, uint32_t track_count)
{
    for (uint32_t t = 0; t < track_count; t++)
        done[t] = earlier_done[t] > done[t] ? earlier_done[t] : done[t];
    if (earlier + 1 > done[track[earlier]])
        done[track[earlier]] = earlier + 1;
}

tn_status tni_plan_order_done(uint32_t step_count, uint32_t track_count, const uint32_t *track,
                              const tni_plan_wait *waits, uint32_t wait_count, tni_arena *arena,
                              const uint32_t **out_done, tn_error *err)
{
    *out_done = NULL;
    tn_status status = check(step_count, track_count, track, waits, wait_count, err);
    if (status != TN_OK)
        return status;
    size_t cells = (size_t)step_count * track_count;
    uint32_t *done = tni_arena_take_array(arena, cells, sizeof *done);
    uint32_t *latest = tni_arena_take_indices(arena, track_count);   // step of each track so far
    uint32_t *sorted = tni_arena_take_array(arena, wait_count, sizeof *sorted);
    uint32_t *begin = sorted ? sort_waits(step_count, waits, wait_count, arena, sorted) : NULL;
    if (!done || !latest || !begin)
        return tni_fail_memory(err, "the order of steps", (uint64_t)cells * sizeof *done);
    for (uint32_t s = 0; s < step_count; s++) {
        uint32_t *own = done + (size_t)s * track_count;
        uint32_t before = latest[track[s]];
        if (before != TNP_NONE)
            come_after(own, before, done + (size_t)before * track_count, track, track_count);
        for (uint32_t w = begin[s]; w < begin[s + 1]; w++)
            come_after(own, sorted[w], done + (size_t)sorted[w] * track_count, track, track_count);
        latest[track[s]] = s;
    }
    *out_done = done;
    return TN_OK;
}

bool tni_plan_tracks_make(const tni_plan_order *order, tni_arena *arena, tni_tracks *out)
{
    out->steps = tni_arena_take_array(arena, order->step_count, sizeof *out->steps);
    out->begin = tni_lists_begin(arena, order->track_count);
    out->at = tni_arena_take_array(arena, order->step_count, sizeof *out->at);
    if (!out->steps || !out->begin || !out->at)
        return false;
    for (uint32_t s = 0; s < order->step_count; s++)
        tni_lists_count(out->begin, order->track[s]);
    tni_lists_sum(out->begin, order->track_count);
    for (uint32_t s = 0; s < order->step_count; s++) {
        out->at[s] = tni_lists_next(out->begin, order->track[s]);
        out->steps[out->at[s]] = s;
    }
    return true;
}

uint32_t tni_plan_first_over(const tni_block_rules *rules, const tni_tracks *tracks, uint32_t block,
                             uint32_t track)
{
    uint32_t low = tracks->begin[track], high = tracks->begin[track + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tni_plan_is_over(rules, block, tracks->steps[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
