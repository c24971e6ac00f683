// pack.c: intervals to blocks, blocks to offsets, offsets back to intervals.
#include "base/error.h"
#include "base/integer.h"
#include "plan/plan_internal.h"
#include "plan/search.h"

enum {
    MOST_FOR_GREEDY = 8000,   // blocks
    ROUND_STEPS = 5,          // a block, of the first round of searching at the bound
    MOST_STEPS = 60000        // of all rounds: some 10 ms
};

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

static void take_offsets(const tni_plan_search *search, const tni_plan_sections *sections,
                         tni_block *blocks, uint64_t *peak)
{
    const uint64_t *offsets = tni_plan_search_offsets(search);
    uint64_t own = 0;
    for (uint32_t i = 0; i < sections->item_count; i++) {
        uint64_t end = offsets[i] + sections->items[i].bytes;
        own = end > own ? end : own;
    }
    if (own >= *peak)
        return;
    *peak = own;
    for (uint32_t i = 0; i < sections->item_count; i++)
        blocks[sections->items[i].block].offset = offsets[i];
}

// First something near the bound, then rounds at the bound. false: out of memory.
static bool improve(tni_plan_search *search, const tni_plan_sections *sections, tni_block *blocks,
                    uint64_t *peak)
{
    uint64_t limit = sections->bound, left = MOST_STEPS;
    uint64_t round_steps = ROUND_STEPS * (uint64_t)sections->item_count;
    tni_plan_search_answer answer = tni_plan_search_run_relaxed(search, &limit);
    if (answer == TNI_PLAN_SEARCH_FOUND)
        take_offsets(search, sections, blocks, peak);
    for (uint32_t round = 0;
         answer != TNI_PLAN_SEARCH_NO_MEMORY && answer != TNI_PLAN_SEARCH_IMPOSSIBLE &&
         *peak > sections->bound && left >= round_steps;
         round++) {
        uint64_t steps = round_steps;
        answer = tni_plan_search_run(search, sections->bound, round, &steps);
        if (answer == TNI_PLAN_SEARCH_FOUND)
            take_offsets(search, sections, blocks, peak);
        left -= round_steps;
        round_steps += round_steps / 16;
    }
    return answer != TNI_PLAN_SEARCH_NO_MEMORY;
}

// Sets the offsets of all blocks. false: out of memory.
static bool place(tni_block *blocks, uint32_t count, tni_arena *arena, tni_plan *plan)
{
    tni_plan_sections sections;
    if (!tni_plan_sections_make(blocks, count, arena, &sections))
        return false;
    plan->bound_bytes = sections.bound;
    plan->peak_bytes = UINT64_MAX;
    if (count <= MOST_FOR_GREEDY && !tni_plan_place_greedy(blocks, count, arena, &plan->peak_bytes))
        return false;
    if (plan->peak_bytes == plan->bound_bytes)
        return true;
    tni_plan_search *search = tni_plan_search_create(&arena->allocator, &sections);
    bool has_memory = search && improve(search, &sections, blocks, &plan->peak_bytes);
    tni_plan_search_destroy(search);
    return has_memory;
}

tn_status tni_plan_pack(const tni_interval *intervals, uint32_t count, const tni_plan_rules *rules,
                        tni_arena *arena, tni_plan *out_plan, tn_error *err)
{
    tni_block *blocks = tni_arena_take_array(arena, count, sizeof *blocks);
    uint32_t *block_of = tni_arena_take_array(arena, count, sizeof *block_of);
    uint64_t *offsets = tni_arena_take_array(arena, count, sizeof *offsets);
    if (!blocks || !block_of || !offsets)
        return tni_fail_memory(err, "a memory plan",
                               (uint64_t)count * (sizeof *blocks + sizeof *offsets));
    uint32_t block_count;
    tni_plan plan = { .offsets = offsets };
    if (!make_blocks(intervals, count, rules->alignment, blocks, block_of, offsets, &block_count,
                     &plan.unshared_bytes))
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "the values of this graph together exceed 2^64 bytes");
    if (!place(blocks, block_count, arena, &plan))
        return tni_fail_memory(err, "a memory plan", (uint64_t)block_count * sizeof *blocks);
    for (uint32_t i = 0; i < count; i++)
        offsets[i] += blocks[block_of[i]].offset;
    for (uint32_t i = 0; i < block_count; i++)
        plan.blocks_bytes += blocks[i].bytes;
    plan.is_optimal = plan.peak_bytes == plan.bound_bytes;
    *out_plan = plan;
    return TN_OK;
}
