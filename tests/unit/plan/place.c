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
#include "plan_test.h"

typedef struct rig {
    tni_arena arena;
    tni_block *blocks;
    uint32_t count;
    tni_plan_sections sections;
    tni_free_packing placing;
} rig;

static void make_rig(rig *r, uint32_t count)
{
    *r = (rig){ .blocks = calloc(count, sizeof *r->blocks), .count = count };
    assert_non_null(r->blocks);
    tni_arena_init(&r->arena, NULL);
}

static void place(rig *r)
{
    assert_true(tni_plan_sections_make(r->blocks, r->count, &r->arena, &r->sections));
    assert_true(tni_plan_pack_free(&r->sections, &r->arena, &r->placing));
}

static void finish_rig(rig *r)
{
    tni_arena_finish(&r->arena);
    free(r->blocks);
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
    for (uint32_t i = 0; i < in->item_count; i++)
        r->blocks[in->items[i].block].offset = r->placing.offsets[i];
    assert_int_equal(test_highest_block(r->blocks, r->count), r->placing.peak);
}

static void long_graphs_are_placed_near_the_bound(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 1, 2, 63, 64, 65, 511, 512, 513, 1000, 3000, 10000 };
    for (size_t c = 0; c < TN_COUNT_OF(counts); c++) {
        uint64_t most_percent = counts[c] <= 3000 ? 103 : 108;
        rig r;
        make_rig(&r, counts[c]);
        test_layered(r.blocks, counts[c], 1);
        place(&r);
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
    place(&r);
    need_valid(&r);
    assert_int_equal(r.placing.peak, r.sections.bound);
    assert_true(r.placing.is_optimal);
    finish_rig(&r);
}

static void nothing_lower_than_what_is_enough_is_looked_for(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    rig low, enough;
    make_rig(&low, COUNT);
    make_rig(&enough, COUNT);
    test_layered(low.blocks, COUNT, 4);
    test_layered(enough.blocks, COUNT, 4);
    enough.placing.enough = UINT64_MAX;
    place(&low);
    place(&enough);
    need_valid(&enough);
    assert_true(enough.placing.peak > low.placing.peak);
    assert_false(enough.placing.is_optimal);
    finish_rig(&low);
    finish_rig(&enough);
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
            test_layered(r.blocks, COUNT, seed);
            r.placing.enough = tries == 0   ? 1
                               : tries == 1 ? lowest
                               : tries == 2 ? bound + 1
                                            : lowest + 64;
            place(&r);
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
            uint32_t first = test_random(&seed) % 500;
            r.blocks[k] = (tni_block){ first, first + test_random(&seed) % 300,
                                       1 + test_random(&seed) % 100000, 0 };
        }
        uint64_t begin = tni_now_ns();
        r.placing.deadline_ns = begin + limits_ns[i];
        place(&r);
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
    test_layered(a.blocks, COUNT, 9);
    test_layered(b.blocks, COUNT, 9);
    place(&a);
    place(&b);
    assert_memory_equal(a.placing.offsets, b.placing.offsets, COUNT * sizeof *a.placing.offsets);
    finish_rig(&a);
    finish_rig(&b);
}

// With the bound ruled out, a peak one byte above it is optimal.
static void a_gap_that_must_be_is_proved(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TEST_GAPS; i++) {
        rig r;
        make_rig(&r, TEST_GAP_BLOCKS);
        memcpy(r.blocks, test_gaps[i], sizeof test_gaps[i]);
        place(&r);
        need_valid(&r);
        assert_int_equal(r.placing.peak, r.sections.bound + 1);
        assert_true(r.placing.is_optimal);
        finish_rig(&r);
    }
}

static tn_status place_with(const tn_allocator *allocator, void *context)
{
    enum { COUNT = 600 };
    (void)context;
    static tni_block blocks[COUNT];
    tni_arena arena;
    tni_plan_sections sections;
    tni_free_packing placing = { 0 };
    test_layered(blocks, COUNT, 2);
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
        cmocka_unit_test(a_gap_that_must_be_is_proved),
        cmocka_unit_test(memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
