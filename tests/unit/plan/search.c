// The search: finds planted packings without a gap, and says so where there is none.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "plan/search_internal.h"
#include "plan_test.h"

enum { MOST = 400 };

static const tni_plan_relaxing relaxing = { 16, 16384, UINT64_MAX };

typedef struct rig {
    uint32_t count;
    tni_arena arena;
    tni_plan_sections sections;
    tni_plan_search *search;
} rig;

static void make_rig(rig *r, const tni_block *blocks, uint32_t count)
{
    r->count = count;
    tni_arena_init(&r->arena, NULL);
    assert_true(tni_plan_sections_make(blocks, count, &r->arena, &r->sections));
    r->search = tni_plan_search_create(NULL, &r->sections);
    assert_non_null(r->search);
}

static void finish_rig(rig *r)
{
    tni_plan_search_destroy(r->search);
    tni_arena_finish(&r->arena);
}

// By the blocks' own steps, not by the sections that the search used.
static void need_valid(const rig *r, tni_block *blocks, uint64_t limit)
{
    const uint64_t *offsets = tni_plan_search_offsets(r->search);
    assert_int_equal(r->sections.item_count, r->count);   // none is without bytes
    for (uint32_t i = 0; i < r->count; i++)
        blocks[r->sections.items[i].block].offset = offsets[i];
    assert_true(test_highest_block(blocks, r->count) <= limit);
}

static tni_plan_search_answer search(rig *r, uint64_t limit, uint64_t steps)
{
    tni_plan_search_answer answer = TNI_PLAN_SEARCH_GAVE_UP;
    for (uint32_t round = 0; answer == TNI_PLAN_SEARCH_GAVE_UP && steps; round++) {
        uint64_t given = 4 * (uint64_t)r->sections.item_count + steps / 16;
        given = given < steps ? given : steps;
        uint64_t left = given;
        answer = tni_plan_search_run(r->search, limit, round, &left);
        steps -= given;
    }
    return answer;
}

static void packings_without_a_gap_are_found(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, steps, bytes;
    } cases[] = {
        { 1, 1, 1 }, { 2, 4, 8 }, { 20, 30, 1000 }, { 60, 60, 10000 }, { 150, 90, 100000 }
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (uint32_t seed = 1; seed <= 10; seed++) {
            tni_block blocks[MOST];
            uint32_t random = seed;
            uint32_t count = test_planted(blocks, cases[c].count, cases[c].steps, cases[c].bytes,
                                          &random);
            rig r;
            make_rig(&r, blocks, count);
            assert_int_equal(r.sections.bound, cases[c].bytes);
            if (search(&r, r.sections.bound, 400000) != TNI_PLAN_SEARCH_FOUND)
                fail_msg("%u blocks, seed %u: not found", count, seed);
            need_valid(&r, blocks, r.sections.bound);
            finish_rig(&r);
        }
    }
}

// The other sizes and orders of one case are as impossible as it is.
static void impossible_is_said_where_no_packing_reaches_the_bound(void **state)
{
    (void)state;
    static const uint64_t bounds[TEST_GAPS] = { 8, 7, 12, 9 };
    uint32_t seed = 5;
    for (uint32_t c = 0; c < TEST_GAPS; c++) {
        for (int again = 0; again < 50; again++) {
            tni_block blocks[TEST_GAP_BLOCKS];
            bool is_reversed = test_random(&seed) % 2;
            uint64_t factor = 1 + test_random(&seed) % 1000;
            for (uint32_t i = 0; i < TEST_GAP_BLOCKS; i++) {
                uint32_t j = i ? test_random(&seed) % (i + 1) : 0;
                const tni_block *from = &test_gaps[c][i];
                blocks[i] = blocks[j];
                blocks[j] = (tni_block){ is_reversed ? 9 - from->last : from->first,
                                         is_reversed ? 9 - from->first : from->last,
                                         from->bytes * factor, 0 };
            }
            rig r;
            make_rig(&r, blocks, TEST_GAP_BLOCKS);
            assert_int_equal(r.sections.bound, bounds[c] * factor);
            assert_int_equal(search(&r, r.sections.bound - 1, 100000), TNI_PLAN_SEARCH_IMPOSSIBLE);
            assert_int_equal(search(&r, r.sections.bound, 100000), TNI_PLAN_SEARCH_IMPOSSIBLE);
            assert_int_equal(search(&r, r.sections.bound + factor, 100000), TNI_PLAN_SEARCH_FOUND);
            need_valid(&r, blocks, r.sections.bound + factor);
            finish_rig(&r);
        }
    }
}

static void steps_are_not_exceeded(void **state)
{
    (void)state;
    tni_block blocks[MOST];
    uint32_t seed = 3, count = test_planted(blocks, 200, 100, 100000, &seed);
    rig r;
    make_rig(&r, blocks, count);
    for (uint64_t given = 0; given < 150; given += 7) {
        uint64_t steps = given;
        assert_int_equal(tni_plan_search_run(r.search, r.sections.bound, 0, &steps),
                         TNI_PLAN_SEARCH_GAVE_UP);
        assert_int_equal(steps, 0);
    }
    finish_rig(&r);
}

static void a_relaxed_search_always_ends_with_a_packing(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        tni_block blocks[MOST];
        uint32_t random = seed, count = test_planted(blocks, 300, 150, 1000000, &random);
        for (uint32_t i = 0; i < count; i += 7)   // no longer without a gap
            blocks[i].last += test_random(&random) % 4;
        rig r;
        make_rig(&r, blocks, count);
        uint64_t limit = 0, steps = UINT64_MAX;
        assert_int_equal(tni_plan_search_run_relaxed(r.search, &relaxing, &limit, &steps),
                         TNI_PLAN_SEARCH_FOUND);
        need_valid(&r, blocks, limit);
        assert_true(limit * 100 < r.sections.bound * 115);
        finish_rig(&r);
    }
}

static void a_relaxed_search_gives_up_above_its_most_limit(void **state)
{
    (void)state;
    uint32_t found = 0;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        tni_block blocks[MOST];
        uint32_t random = seed, count = test_planted(blocks, 300, 150, 1000000, &random);
        rig r;
        make_rig(&r, blocks, count);
        tni_plan_relaxing how = relaxing;
        how.most_limit = r.sections.bound + r.sections.bound / 50;
        uint64_t limit = 0, steps = UINT64_MAX;
        tni_plan_search_answer answer = tni_plan_search_run_relaxed(r.search, &how, &limit, &steps);
        if (answer == TNI_PLAN_SEARCH_FOUND) {
            assert_true(limit <= how.most_limit);
            need_valid(&r, blocks, limit);
            found++;
        } else {
            assert_int_equal(answer, TNI_PLAN_SEARCH_GAVE_UP);
        }
        finish_rig(&r);
    }
    assert_in_range(found, 1, 19);
}

// Neighbours in a long chain never agree on one limit just above the bound: each dead end undoes
// much.
static void a_relaxed_search_does_not_work_for_long(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    tni_block *blocks = test_malloc(COUNT * sizeof *blocks);
    uint32_t seed = 1;
    for (uint32_t i = 0; i < COUNT; i++)
        blocks[i] = (tni_block){ i, i + 1, 64 * (1 + test_random(&seed) % 4096), 0 };
    rig r;
    make_rig(&r, blocks, COUNT);
    uint64_t limit = r.sections.bound, steps = UINT64_MAX;
    assert_int_equal(tni_plan_search_run_relaxed(r.search, &relaxing, &limit, &steps),
                     TNI_PLAN_SEARCH_FOUND);
    need_valid(&r, blocks, limit);
    assert_in_range(r.search->work, COUNT, 100 * COUNT);
    finish_rig(&r);
    test_free(blocks);
}

static tn_status search_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_block blocks[MOST];
    uint32_t seed = 11, count = test_planted(blocks, 100, 60, 10000, &seed);
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tni_plan_sections sections;
    tni_plan_search *own = NULL;
    uint64_t steps = 1000, limit;
    bool is_done = tni_plan_sections_make(blocks, count, &arena, &sections) &&
                   (own = tni_plan_search_create(allocator, &sections)) != NULL &&
                   (limit = sections.bound,
                    tni_plan_search_run_relaxed(own, &relaxing, &limit, &steps) !=
                        TNI_PLAN_SEARCH_NO_MEMORY) &&
                   tni_plan_search_run(own, sections.bound, 5, &steps) != TNI_PLAN_SEARCH_NO_MEMORY;
    tni_plan_search_destroy(own);
    tni_arena_finish(&arena);
    return is_done ? TN_OK : TN_E_HOST_MEMORY;
}

static void memory_that_is_not_there_is_an_answer(void **state)
{
    (void)state;
    for_each_failing_allocation(search_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packings_without_a_gap_are_found),
        cmocka_unit_test(impossible_is_said_where_no_packing_reaches_the_bound),
        cmocka_unit_test(steps_are_not_exceeded),
        cmocka_unit_test(a_relaxed_search_always_ends_with_a_packing),
        cmocka_unit_test(a_relaxed_search_gives_up_above_its_most_limit),
        cmocka_unit_test(a_relaxed_search_does_not_work_for_long),
        cmocka_unit_test(memory_that_is_not_there_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
