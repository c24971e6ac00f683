// rules.c: whether rules can be kept at all, and what they say of blocks instead of intervals.
#include <inttypes.h>

#include "base/error.h"
#include "base/integer.h"
#include "plan/plan_internal.h"

static tn_status check_chunks(const tni_interval *intervals, uint32_t count,
                              const tni_plan_rules *rules, uint32_t *out_refused, tn_error *err)
{
    if (rules->chunk_bytes % rules->alignment)
        return tni_fail(err, TN_E_ARG,
                        "plan: chunks of %" PRIu64
                        " bytes are no multiple of the alignment %" PRIu64,
                        rules->chunk_bytes, rules->alignment);
    for (uint32_t i = 0; rules->chunk_bytes && i < count; i++) {
        if (intervals[i].bytes <= rules->chunk_bytes)
            continue;
        *out_refused = i;
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "%" PRIu64 " bytes in one piece, and the largest allocation is %" PRIu64,
                        intervals[i].bytes, rules->chunk_bytes);
    }
    return TN_OK;
}

static tn_status check_pins(const tni_interval *intervals, uint32_t count,
                            const tni_plan_rules *rules, tn_error *err)
{
    for (uint32_t p = 0; p < rules->pin_count; p++) {
        const tni_pin *pin = &rules->pins[p];
        uint64_t end;
        if (pin->interval >= count)
            return tni_fail(err, TN_E_ARG, "plan: interval %u is pinned, of %u", pin->interval,
                            count);
        const tni_interval *interval = &intervals[pin->interval];
        if (interval->in_place_of != TNP_NONE)
            return tni_fail(err, TN_E_ARG,
                            "plan: interval %u is pinned and takes the place of another",
                            pin->interval);
        if (pin->offset % rules->alignment)
            return tni_fail(err, TN_E_ARG,
                            "plan: interval %u is pinned at %" PRIu64 ", no multiple of %" PRIu64,
                            pin->interval, pin->offset, rules->alignment);
        if (!tni_add_u64(pin->offset, interval->bytes, &end) ||
            !tni_align_u64(end, rules->alignment, &end) || end > INT64_MAX)
            return tni_fail(err, TN_E_DEVICE_MEMORY,
                            "plan: interval %u is pinned at %" PRIu64
                            ", and its end exceeds 2^63 - 1",
                            pin->interval, pin->offset);
        if (rules->chunk_bytes && interval->bytes &&
            interval->bytes > rules->chunk_bytes - pin->offset % rules->chunk_bytes)
            return tni_fail(err, TN_E_ARG,
                            "plan: interval %u is pinned at %" PRIu64 ", across two chunks",
                            pin->interval, pin->offset);
    }
    return TN_OK;
}

static tn_status check_order(const tni_interval *intervals, uint32_t count,
                             const tni_plan_order *order, tn_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const tni_interval *x = &intervals[i];
        const uint32_t *ends = order->ends + (size_t)i * order->track_count;
        uint32_t latest = 0;
        for (uint32_t t = 0; t < order->track_count; t++)
            latest = ends[t] > latest ? ends[t] : latest;
        if (x->first >= order->step_count || latest > order->step_count ||
            ends[order->track[x->first]] <= x->first || x->last != latest - 1)
            return tni_fail(err, TN_E_ARG,
                            "plan: interval %u lives from step %u to %u of %u, and its ends on the "
                            "tracks say otherwise",
                            i, x->first, x->last, order->step_count);
        if (x->in_place_of == TNP_NONE)
            continue;
        // All other uses of the old one have ended when the taker begins.
        const uint32_t *old = order->ends + (size_t)x->in_place_of * order->track_count;
        const uint32_t *done = order->done + (size_t)x->first * order->track_count;
        for (uint32_t t = 0; t < order->track_count; t++) {
            bool is_own = t == order->track[x->first] && old[t] == x->first + 1;
            if (old[t] > done[t] && !is_own)
                return tni_fail(
                    err, TN_E_ARG,
                    "plan: interval %u takes the place of %u, which may still be in use", i,
                    x->in_place_of);
        }
    }
    return TN_OK;
}

static tn_status check_intervals(const tni_interval *intervals, uint32_t count, tn_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const tni_interval *x = &intervals[i], *old = NULL;
        if (x->first > x->last)
            return tni_fail(err, TN_E_ARG, "plan: interval %u begins at step %u and ends at %u", i,
                            x->first, x->last);
        if (x->in_place_of == TNP_NONE)
            continue;
        if (x->in_place_of < i)
            old = &intervals[x->in_place_of];
        if (!old || old->last != x->first || x->in_place_offset > old->bytes ||
            x->bytes > old->bytes - x->in_place_offset)
            return tni_fail(err, TN_E_ARG, "plan: interval %u cannot take the place of %u", i,
                            x->in_place_of);
    }
    return TN_OK;
}

tn_status tni_plan_check_rules(const tni_interval *intervals, uint32_t count,
                               const tni_plan_rules *rules, uint32_t *out_refused, tn_error *err)
{
    *out_refused = TNP_NONE;
    if (!tni_is_power_of_two(rules->alignment))
        return tni_fail(err, TN_E_ARG, "plan: an alignment of %" PRIu64 " is no power of two",
                        rules->alignment);
    tn_status status = check_intervals(intervals, count, err);
    if (status == TN_OK)
        status = check_chunks(intervals, count, rules, out_refused, err);
    if (status == TN_OK)
        status = check_pins(intervals, count, rules, err);
    if (status == TN_OK && rules->order)
        status = check_order(intervals, count, rules->order, err);
    return status;
}

static tn_status pin_blocks(const tni_plan_rules *rules, const uint32_t *block_of,
                            uint32_t block_count, uint64_t *pinned, tn_error *err)
{
    for (uint32_t b = 0; b < block_count; b++)
        pinned[b] = TNI_NOT_PINNED;
    for (uint32_t p = 0; p < rules->pin_count; p++) {
        const tni_pin *pin = &rules->pins[p];
        uint64_t *own = &pinned[block_of[pin->interval]];
        if (*own != TNI_NOT_PINNED && *own != pin->offset)
            return tni_fail(err, TN_E_ARG,
                            "plan: interval %u is pinned at %" PRIu64 " and at %" PRIu64,
                            pin->interval, *own, pin->offset);
        *own = pin->offset;
    }
    return TN_OK;
}

// Until when each block lives on each track: as long as an interval of it.
static bool find_ends(uint32_t count, const tni_plan_order *order, const uint32_t *block_of,
                      uint32_t block_count, tni_arena *arena, tni_block_rules *out)
{
    uint32_t tracks = order->track_count, end_count = 0;
    size_t cells = (size_t)block_count * tracks;
    uint32_t *latest = tni_arena_take_array(arena, cells, sizeof *latest);   // [block][track]
    out->first_end = tni_arena_take_array(arena, (size_t)block_count + 1, sizeof *out->first_end);
    if (!latest || !out->first_end)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *ends = latest + (size_t)block_of[i] * tracks;
        const uint32_t *own = order->ends + (size_t)i * tracks;
        for (uint32_t t = 0; t < tracks; t++) {
            end_count += own[t] && !ends[t];
            ends[t] = own[t] > ends[t] ? own[t] : ends[t];
        }
    }
    out->ends = tni_arena_take_array(arena, end_count, sizeof *out->ends);
    if (!out->ends)
        return false;
    end_count = 0;
    for (size_t c = 0; c < cells; c++) {
        if (latest[c])
            out->ends[end_count++] = (tni_block_end){ (uint32_t)(c % tracks), latest[c] };
        if (c % tracks == tracks - 1)
            out->first_end[c / tracks + 1] = end_count;
    }
    return true;
}

tn_status tni_plan_block_rules_make(uint32_t count, const tni_plan_rules *rules,
                                    const uint32_t *block_of, uint32_t block_count,
                                    tni_arena *arena, tni_block_rules *out, tn_error *err)
{
    *out = (tni_block_rules){ .given = rules };
    if (rules->pin_count)
        out->pinned = tni_arena_take_array(arena, block_count, sizeof *out->pinned);
    if ((rules->pin_count && !out->pinned) ||
        (rules->order && !find_ends(count, rules->order, block_of, block_count, arena, out)))
        return tni_fail_memory(err, "a memory plan", (uint64_t)block_count * sizeof *out->pinned);
    return out->pinned ? pin_blocks(rules, block_of, block_count, out->pinned, err) : TN_OK;
}
