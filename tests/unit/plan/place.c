// Placing: near the bound on graphs of every size, within a deadline, and the same each time.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "failing_alloc.h"
#include "plan/pack_free.h"

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

typedef struct rig {
    tni_arena arena;
    tni_block *blocks;
    tni_plan_sections sections;
    tni_free_packing placing;
} rig;

static void make_rig(rig *r, uint32_t count)
{
    *r = (rig){ .blocks = calloc(count, sizeof *r->blocks) };
    assert_non_null(r->blocks);
    tni_arena_init(&r->arena, NULL);
}

static void place(rig *r, uint32_t count)
{
    assert_true(tni_plan_sections_make(r->blocks, count, &r->arena, &r->sections));
    assert_true(tni_plan_pack_free(&r->sections, &r->arena, &r->placing));
}

static void finish_rig(rig *r)
{
    tni_arena_finish(&r->arena);
    free(r->blocks);
}

// Each node makes a value that a few of the next hundred nodes read; one in eight lives long.
static void layered(tni_block *blocks, uint32_t count, uint32_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_skip = next_random(&seed) % 8 == 0;
        uint32_t last = i + next_random(&seed) % (is_skip ? 1500 : 100);
        blocks[i] = (tni_block){ i, last < count ? last : count - 1,
                                 64 * (1 + next_random(&seed) % 4096), 0 };
    }
}

// Values that each last for six steps, and short ones between them whose sizes differ.
static void chain(tni_block *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t step = i / 6 * 6;
        static const tni_block link[6] = { { 0, 6, 4096, 0 },  { 1, 2, 4096, 0 },
                                           { 2, 4, 16384, 0 }, { 3, 4, 16384, 0 },
                                           { 4, 5, 16384, 0 }, { 5, 6, 4096, 0 } };
        blocks[i] = link[i % 6];
        blocks[i].first += step;
        blocks[i].last += step;
    }
}

static void need_valid(const rig *r)
{
    const tni_plan_sections *in = &r->sections;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < in->item_count; i++) {
        const tni_item *x = &in->items[i];
        uint64_t begin = r->placing.offsets[i], end = begin + x->bytes;
        highest = end > highest ? end : highest;
        for (uint32_t j = i + 1; j < in->item_count && in->items[j].first < x->end; j++)
            if (begin < r->placing.offsets[j] + in->items[j].bytes && r->placing.offsets[j] < end)
                fail_msg("items %u and %u share bytes", i, j);
    }
    assert_int_equal(highest, r->placing.peak);
}

static void long_graphs_are_placed_near_the_bound(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 1, 2, 63, 64, 65, 511, 512, 513, 1000, 3000, 10000 };
    for (size_t c = 0; c < TN_COUNT_OF(counts); c++) {
        uint64_t most_percent = counts[c] <= 3000 ? 103 : 108;
        rig r;
        make_rig(&r, counts[c]);
        layered(r.blocks, counts[c], 1);
        place(&r, counts[c]);
        need_valid(&r);
        if (r.placing.peak * 100 > r.sections.bound * most_percent)
            fail_msg("%u values: %" PRIu64 " of %" PRIu64, counts[c], r.placing.peak,
                     r.sections.bound);
        assert_int_equal(r.placing.is_optimal, r.placing.peak == r.sections.bound);
        finish_rig(&r);
    }
}

static void a_long_chain_is_placed_at_the_bound(void **state)
{
    (void)state;
    enum { COUNT = 30000 };
    rig r;
    make_rig(&r, COUNT);
    chain(r.blocks, COUNT);
    place(&r, COUNT);
    need_valid(&r);
    assert_int_equal(r.placing.peak, r.sections.bound);
    assert_true(r.placing.is_optimal);
    finish_rig(&r);
}

static void nothing_lower_than_what_is_enough_is_looked_for(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    rig r;
    make_rig(&r, COUNT);
    layered(r.blocks, COUNT, 3);
    r.placing.enough = UINT64_MAX;
    place(&r, COUNT);
    need_valid(&r);
    assert_true(r.placing.peak > r.sections.bound);
    assert_false(r.placing.is_optimal);
    finish_rig(&r);
}

// Whatever is enough, a peak that is found without it is found with it.
static void what_is_enough_makes_no_plan_worse(void **state)
{
    (void)state;
    enum { COUNT = 1200 };
    for (uint32_t seed = 1; seed <= 4; seed++) {
        uint64_t lowest = 0, bound = 0;
        for (uint32_t tries = 0; tries < 4; tries++) {
            rig r;
            make_rig(&r, COUNT);
            layered(r.blocks, COUNT, seed);
            r.placing.enough = tries == 0   ? 1
                               : tries == 1 ? lowest
                               : tries == 2 ? bound + 1
                                            : lowest + 64;
            place(&r, COUNT);
            need_valid(&r);
            lowest = tries ? lowest : r.placing.peak;
            bound = r.sections.bound;
            if (r.placing.peak > (r.placing.enough > lowest ? r.placing.enough : lowest))
                fail_msg("seed %u: %" PRIu64 " is enough, and %" PRIu64 " is found, not %" PRIu64,
                         seed, r.placing.enough, r.placing.peak, lowest);
            finish_rig(&r);
        }
    }
}

// A deadline that has passed still leaves a plan; one that comes ends the search.
static void a_deadline_ends_the_search(void **state)
{
    (void)state;
    enum { COUNT = 1500 };
    static const uint64_t limits_ns[] = { 0, 1000, 50000000 };
    for (size_t i = 0; i < TN_COUNT_OF(limits_ns); i++) {
        rig r;
        make_rig(&r, COUNT);
        uint32_t seed = 5;
        for (uint32_t k = 0; k < COUNT; k++) {   // as hard as it gets: no gap may be lost
            uint32_t first = next_random(&seed) % 500;
            r.blocks[k] = (tni_block){ first, first + next_random(&seed) % 300,
                                       1 + next_random(&seed) % 100000, 0 };
        }
        uint64_t begin = tni_now_ns();
        r.placing.deadline_ns = begin + limits_ns[i];
        place(&r, COUNT);
        uint64_t took = tni_now_ns() - begin;
        need_valid(&r);
        assert_true(r.placing.peak >= r.sections.bound);
        if (took > limits_ns[i] + 5000000000u)
            fail_msg("%" PRIu64 " ms", took / 1000000);
        finish_rig(&r);
    }
}

static void the_same_blocks_are_placed_alike(void **state)
{
    (void)state;
    enum { COUNT = 800 };
    rig a, b;
    make_rig(&a, COUNT);
    make_rig(&b, COUNT);
    layered(a.blocks, COUNT, 9);
    layered(b.blocks, COUNT, 9);
    place(&a, COUNT);
    place(&b, COUNT);
    assert_memory_equal(a.placing.offsets, b.placing.offsets, COUNT * sizeof *a.placing.offsets);
    finish_rig(&a);
    finish_rig(&b);
}

// Two sizes that cannot share the room that they bound: with all below it ruled out, a peak above
// the bound is optimal.
static void a_gap_that_must_be_is_proven(void **state)
{
    (void)state;
    // In each of four steps 3 of 2 bytes or 2 of 3 bytes are live; no packing of 6 bytes fits all.
    static const tni_block blocks[] = { { 0, 1, 2, 0 }, { 0, 0, 2, 0 }, { 0, 2, 2, 0 },
                                        { 1, 1, 2, 0 }, { 2, 3, 2, 0 }, { 2, 2, 2, 0 },
                                        { 3, 3, 3, 0 }, { 3, 3, 1, 0 } };
    rig r;
    make_rig(&r, TN_COUNT_OF(blocks));
    memcpy(r.blocks, blocks, sizeof blocks);
    place(&r, TN_COUNT_OF(blocks));
    need_valid(&r);
    assert_true(r.placing.is_optimal);
    finish_rig(&r);
}

static tn_status place_with(const tn_allocator *allocator, void *context)
{
    enum { COUNT = 600 };
    (void)context;
    static tni_block blocks[COUNT];
    tni_arena arena;
    tni_plan_sections sections;
    tni_free_packing placing = { 0 };
    layered(blocks, COUNT, 2);
    tni_arena_init(&arena, allocator);
    bool has_memory = tni_plan_sections_make(blocks, COUNT, &arena, &sections) &&
                      tni_plan_pack_free(&sections, &arena, &placing);
    tni_arena_finish(&arena);
    return has_memory ? TN_OK : TN_E_HOST_MEMORY;
}

static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    for_each_failing_allocation(place_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_graphs_are_placed_near_the_bound),
        cmocka_unit_test(a_long_chain_is_placed_at_the_bound),
        cmocka_unit_test(nothing_lower_than_what_is_enough_is_looked_for),
        cmocka_unit_test(what_is_enough_makes_no_plan_worse),
        cmocka_unit_test(a_deadline_ends_the_search),
        cmocka_unit_test(the_same_blocks_are_placed_alike),
        cmocka_unit_test(a_gap_that_must_be_is_proven),
        cmocka_unit_test(memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
