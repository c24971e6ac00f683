// plan_internal.h: shared by the files of this folder only.
#ifndef TNI_PLAN_INTERNAL_H
#define TNI_PLAN_INTERNAL_H

#include "base/error.h"
#include "plan/plan.h"

// Intervals that follow each other in place, as one block of bytes.
typedef struct tni_block {
    uint32_t first, last;
    uint64_t bytes;   // rounded up to the alignment
    uint64_t offset;
} tni_block;

// ----------------------------------------------------------------------------------- with rules

#define TNI_NOT_PINNED UINT64_MAX

// Until when a block lives on a track, of an order of tracks.
typedef struct tni_block_end {
    uint32_t track, end;   // one past its last step there
} tni_block_end;

// What the rules say of blocks.
typedef struct tni_block_rules {
    const tni_plan_rules *given;
    uint64_t deadline_ns;   // by tni_now_ns(); 0 = none
    uint64_t *pinned;       // by block: its offset, or TNI_NOT_PINNED; NULL = none is pinned
    tni_block_end *ends;    // one behind the other, of the tracks that each block lives on
    uint32_t *first_end;    // by block, and one more: its first in `ends`; NULL without an order
} tni_block_rules;

static inline bool tni_plan_is_pinned(const tni_block_rules *rules, uint32_t block)
{
    return rules->pinned && rules->pinned[block] != TNI_NOT_PINNED;
}

static inline tn_status tni_plan_fail_wrap(tn_error *err)
{
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "the values of this graph together exceed 2^63 - 1 bytes");
}

// TN_E_DEVICE_MEMORY and the interval (else TNP_NONE) when it is larger than a chunk; TN_E_ARG when
// rules contradict each other or the intervals.
tn_status tni_plan_check_rules(const tni_interval *intervals, uint32_t count,
                               const tni_plan_rules *rules, uint32_t *out_refused, tn_error *err);

// TN_E_HOST_MEMORY; TN_E_ARG when an interval is pinned twice.
tn_status tni_plan_block_rules_make(uint32_t count, const tni_plan_rules *rules,
                                    const uint32_t *block_of, uint32_t block_count,
                                    tni_arena *arena, tni_block_rules *out, tn_error *err);

// Under an order: whether the bytes of a block may be given to what begins at a step.
static inline bool tni_plan_is_over(const tni_block_rules *rules, uint32_t block, uint32_t step)
{
    const tni_plan_order *order = rules->given->order;
    const uint32_t *done = order->done + (size_t)step * order->track_count;
    for (uint32_t e = rules->first_end[block]; e < rules->first_end[block + 1]; e++)
        if (rules->ends[e].end > done[rules->ends[e].track])
            return false;
    return true;
}

// The steps of an order, track by track.
typedef struct tni_tracks {
    uint32_t *steps;
    uint32_t *begin;   // by track, and one more: where its steps begin
    uint32_t *at;      // by step: where in steps it is
} tni_tracks;

// false: out of memory.
bool tni_plan_tracks_make(const tni_plan_order *order, tni_arena *arena, tni_tracks *out);

// Where in tracks->steps the first step of the track is before which a block is over; the end of
// the track when there is none. Those after it come later still.
uint32_t tni_plan_first_over(const tni_block_rules *rules, const tni_tracks *tracks, uint32_t block,
                             uint32_t track);

// Raises *bound, a smaller one, to the largest sum of bytes no two of which may be shared; leaves
// it when that takes too many steps to find. false: out of memory.
bool tni_plan_order_bound(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                          tni_arena *arena, uint64_t *bound);

// Sets the offsets of all blocks, by several orders of placing and then by moving what does not fit
// forward, until the peak is `bound` or rules->capacity, or the steps or the time are used up.
// TN_E_HOST_MEMORY; TN_E_DEVICE_MEMORY when an end exceeds 2^64; TN_E_ARG when pinned blocks that
// may live together overlap.
tn_status tni_plan_pack_ruled(tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                              uint64_t bound, tni_arena *arena, uint64_t *out_peak, tn_error *err);

#endif
