// pack.c: intervals to blocks, blocks to offsets, offsets back to intervals.
#include "base/clock.h"
#include "base/error.h"
#include "base/integer.h"
#include "plan/place.h"
#include "plan/plan_internal.h"

// in_place_of points to a lower index, so one pass forward finds each interval's block and its
// place in it.
static bool make_blocks(const tni_interval *intervals, uint32_t count, uint64_t alignment,
                        tni_block *blocks, uint32_t *block_of, uint64_t *within,
                        uint32_t *out_count, uint64_t *out_sum)
{
    uint32_t block_count = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tni_interval *interval = &intervals[i];
        uint64_t bytes, end;
        if (!tni_align_u64(interval->bytes, alignment, &bytes) || !tni_add_u64(sum, bytes, &sum))
            return false;
        if (interval->in_place_of == TNP_NONE) {
            block_of[i] = block_count;
            within[i] = 0;
            blocks[block_count++] = (tni_block){ interval->first, interval->last, bytes, 0 };
            continue;
        }
        block_of[i] = block_of[interval->in_place_of];
        within[i] = within[interval->in_place_of] + interval->in_place_offset;
        tni_block *block = &blocks[block_of[i]];
        if (!tni_add_u64(within[i], bytes, &end))
            return false;
        block->last = interval->last > block->last ? interval->last : block->last;
        block->bytes = end > block->bytes ? end : block->bytes;
    }
    *out_count = block_count;
    *out_sum = sum;
    return true;
}

// Sets the offsets of all blocks. false: out of memory.
static bool place(tni_block *blocks, uint32_t count, const tni_plan_rules *rules, tni_arena *arena,
                  tni_plan *plan)
{
    tni_plan_sections sections;
    if (!tni_plan_sections_make(blocks, count, arena, &sections))
        return false;
    tni_placing placing = { .enough = rules->capacity };
    if (rules->time_limit_ns)
        placing.deadline_ns = tni_now_ns() + rules->time_limit_ns;
    if (!tni_plan_place(&sections, arena, &placing))
        return false;
    for (uint32_t i = 0; i < sections.item_count; i++)
        blocks[sections.items[i].block].offset = placing.offsets[i];
    plan->bound_bytes = sections.bound;
    plan->peak_bytes = placing.peak;
    plan->is_optimal = placing.is_optimal;
    return true;
}

// Under rules that the search does not know. The bound is set, and place() may have been here
// before.
static tn_status place_with_rules(tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                                  tni_arena *arena, tni_plan *plan, tn_error *err)
{
    tni_plan_sections sections;
    if (!tni_plan_sections_make(blocks, count, arena, &sections))
        return tni_fail_memory(err, "a memory plan", (uint64_t)count * sizeof *blocks);
    plan->bound_bytes = sections.bound;
    if (rules->ends && !tni_plan_order_bound(blocks, count, rules, arena, &plan->bound_bytes))
        return tni_fail_memory(err, "a memory plan", (uint64_t)count * sizeof *blocks);
    for (uint32_t b = 0; rules->pinned && b < count; b++)
        if (rules->pinned[b] != TNI_NOT_PINNED &&
            rules->pinned[b] + blocks[b].bytes > plan->bound_bytes)
            plan->bound_bytes = rules->pinned[b] + blocks[b].bytes;
    tn_status status = tni_plan_place_constrained(blocks, count, rules, plan->bound_bytes, arena,
                                                  &plan->peak_bytes, err);
    plan->is_optimal = plan->peak_bytes == plan->bound_bytes;
    return status;
}

static tn_status place_as_ruled(tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                                tni_arena *arena, tni_plan *plan, tn_error *err)
{
    uint64_t chunk = rules->rules->chunk_bytes;
    if (!rules->pinned && !rules->ends) {
        if (!place(blocks, count, rules->rules, arena, plan))
            return tni_fail_memory(err, "a memory plan", (uint64_t)count * sizeof *blocks);
        if (chunk == 0 || plan->peak_bytes <= chunk)   // in one chunk
            return TN_OK;
    }
    return place_with_rules(blocks, count, rules, arena, plan, err);
}

tn_status tni_plan_pack(const tni_interval *intervals, uint32_t count, const tni_plan_rules *rules,
                        tni_arena *arena, tni_plan *out_plan, tn_error *err)
{
    tni_plan plan = { 0 };
    tn_status status = tni_plan_check_rules(intervals, count, rules, &plan.refused, err);
    *out_plan = plan;
    if (status != TN_OK)
        return status;
    tni_block *blocks = tni_arena_take_array(arena, count, sizeof *blocks);
    uint32_t *block_of = tni_arena_take_array(arena, count, sizeof *block_of);
    uint64_t *offsets = tni_arena_take_array(arena, count, sizeof *offsets);
    if (!blocks || !block_of || !offsets)
        return tni_fail_memory(err, "a memory plan",
                               (uint64_t)count * (sizeof *blocks + sizeof *offsets));
    uint32_t block_count;
    tni_block_rules block_rules;
    plan.offsets = offsets;
    if (!make_blocks(intervals, count, rules->alignment, blocks, block_of, offsets, &block_count,
                     &plan.unshared_bytes))
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "the values of this graph together exceed 2^64 bytes");
    status = tni_plan_block_rules_make(count, rules, block_of, block_count, arena, &block_rules,
                                       err);
    if (status == TN_OK)
        status = place_as_ruled(blocks, block_count, &block_rules, arena, &plan, err);
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        offsets[i] += blocks[block_of[i]].offset;
    for (uint32_t i = 0; i < block_count; i++)
        plan.blocks_bytes += blocks[i].bytes;
    *out_plan = plan;
    return TN_OK;
}
