// pack.c: intervals to blocks, blocks to offsets, offsets back to intervals.
#include "base/clock.h"
#include "base/error.h"
#include "base/integer.h"
#include "plan/pack_free.h"
#include "plan/plan_internal.h"

// Blocks in chunks that orders of placing are tried for: they take the blocks times those that are
// live with each, and gain little where there are many.
enum { MOST_IN_ORDERS = 1024 };

enum { INTERVAL_BYTES = 450 };   // of memory that are taken, or somewhat more

// Intervals that follow each other in place, joined.
typedef struct joined {
    tni_block *blocks;
    uint32_t count;
    uint32_t *block_of;        // by interval
    uint64_t *within;          // by interval: from the start of its block
    uint64_t unshared_bytes;   // of all intervals
} joined;

// in_place_of points to a lower index, so one pass forward finds each interval's block and its
// place in it, which is within the first one's bytes. false: more than 2^63 - 1 bytes together.
static bool join(const tni_interval *intervals, uint32_t count, uint64_t alignment, joined *j)
{
    for (uint32_t i = 0; i < count; i++) {
        const tni_interval *interval = &intervals[i];
        uint64_t bytes;
        if (!tni_align_u64(interval->bytes, alignment, &bytes) ||
            !tni_add_u64(j->unshared_bytes, bytes, &j->unshared_bytes) ||
            j->unshared_bytes > INT64_MAX)
            return false;
        if (interval->in_place_of == TNP_NONE) {
            j->block_of[i] = j->count;
            j->within[i] = 0;
            j->blocks[j->count++] = (tni_block){ interval->first, interval->last, bytes, 0 };
            continue;
        }
        j->block_of[i] = j->block_of[interval->in_place_of];
        j->within[i] = j->within[interval->in_place_of] + interval->in_place_offset;
        tni_block *block = &j->blocks[j->block_of[i]];
        if (bytes && interval->last > block->last)
            block->last = interval->last;
    }
    return true;
}

// Skyline passes and searches; in chunks the passes alone. Keeps what is lower than the plan has.
static bool pack_free(joined *j, const tni_plan_sections *sections, const tni_block_rules *rules,
                      uint64_t chunk_bytes, tni_arena *arena, tni_plan *plan)
{
    tni_free_packing packing = { .enough = rules->given->capacity,
                                 .deadline_ns = rules->deadline_ns,
                                 .chunk_bytes = chunk_bytes };
    if (!tni_plan_pack_free(sections, arena, &packing))
        return false;
    if (packing.peak >= plan->peak_bytes)
        return true;
    for (uint32_t i = 0; i < sections->item_count; i++)
        j->blocks[sections->items[i].block].offset = packing.offsets[i];
    plan->peak_bytes = packing.peak;
    plan->is_optimal = packing.is_optimal;
    return true;
}

// Raises the bound by what the rules ask for. false: out of memory.
static bool find_ruled_bound(const joined *j, const tni_block_rules *rules, tni_arena *arena,
                             uint64_t *bound)
{
    if (rules->first_end && !tni_plan_order_bound(j->blocks, j->count, rules, arena, bound))
        return false;
    for (uint32_t b = 0; b < j->count; b++)
        if (tni_plan_is_pinned(rules, b) && rules->pinned[b] + j->blocks[b].bytes > *bound)
            *bound = rules->pinned[b] + j->blocks[b].bytes;
    return true;
}

// By rules that only passes in one order after another know. Chunks alone are also known to skyline
// passes, and for many blocks to them alone.
static tn_status pack_ruled(joined *j, const tni_plan_sections *sections,
                            const tni_block_rules *rules, tni_arena *arena, tni_plan *plan,
                            tn_error *err)
{
    bool has_chunks_alone = !rules->pinned && !rules->first_end;
    tn_status status = TN_OK;
    if (!has_chunks_alone || j->count <= MOST_IN_ORDERS)
        status = tni_plan_pack_ruled(j->blocks, j->count, rules, plan->bound_bytes, arena,
                                     &plan->peak_bytes, err);
    if (status == TN_OK && has_chunks_alone &&
        !pack_free(j, sections, rules, rules->given->chunk_bytes, arena, plan))
        status = tni_fail_memory(err, "a memory plan", (uint64_t)j->count * sizeof *j->blocks);
    plan->is_optimal = plan->peak_bytes == plan->bound_bytes;
    return status;
}

// Chunks are no rule for what fits into one.
static tn_status pack_blocks(joined *j, const tni_block_rules *rules, tni_arena *arena,
                             tni_plan *plan, tn_error *err)
{
    uint64_t chunk = rules->given->chunk_bytes ? rules->given->chunk_bytes : UINT64_MAX;
    tni_plan_sections sections;
    bool has_memory = tni_plan_sections_make(j->blocks, j->count, arena, &sections);
    plan->bound_bytes = sections.bound;
    plan->peak_bytes = UINT64_MAX;
    if (has_memory && !rules->pinned && !rules->first_end && sections.bound <= chunk) {
        has_memory = pack_free(j, &sections, rules, 0, arena, plan);
        if (has_memory && plan->peak_bytes <= chunk)
            return TN_OK;
    }
    if (!has_memory || !find_ruled_bound(j, rules, arena, &plan->bound_bytes))
        return tni_fail_memory(err, "a memory plan", (uint64_t)j->count * sizeof *j->blocks);
    plan->peak_bytes = UINT64_MAX;
    return pack_ruled(j, &sections, rules, arena, plan, err);
}

tn_status tni_plan_pack(const tni_interval *intervals, uint32_t count, const tni_plan_rules *rules,
                        tni_arena *arena, tni_plan *out_plan, tn_error *err)
{
    uint64_t deadline_ns = rules->time_limit_ns ? tni_now_ns() + rules->time_limit_ns : 0;
    tni_plan plan = { 0 };
    tn_status status = tni_plan_check_rules(intervals, count, rules, &plan.refused, err);
    *out_plan = plan;
    if (status != TN_OK)
        return status;
    tni_arena_expect(arena, INTERVAL_BYTES * (size_t)count);
    joined j = { .blocks = tni_arena_take_array(arena, count, sizeof *j.blocks),
                 .block_of = tni_arena_take_array(arena, count, sizeof *j.block_of),
                 .within = tni_arena_take_array(arena, count, sizeof *j.within) };
    if (!j.blocks || !j.block_of || !j.within)
        return tni_fail_memory(err, "a memory plan", (uint64_t)count * sizeof *j.blocks);
    if (!join(intervals, count, rules->alignment, &j))
        return tni_plan_fail_wrap(err);
    tni_block_rules block_rules;
    status = tni_plan_block_rules_make(count, rules, j.block_of, j.count, arena, &block_rules, err);
    block_rules.deadline_ns = deadline_ns;
    if (status == TN_OK)
        status = pack_blocks(&j, &block_rules, arena, &plan, err);
    if (status != TN_OK)
        return status;
    plan.offsets = j.within;
    for (uint32_t i = 0; i < count; i++)
        plan.offsets[i] += j.blocks[j.block_of[i]].offset;
    plan.unshared_bytes = j.unshared_bytes;
    for (uint32_t b = 0; b < j.count; b++)
        plan.blocks_bytes += j.blocks[b].bytes;
    *out_plan = plan;
    return TN_OK;
}
