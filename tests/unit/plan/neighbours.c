// Which blocks may live together: the lists that are kept and those that are found again each time
// are what looking at every pair gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "plan/neighbours.h"
#include "plan_test.h"

enum { MOST = 70 };

static void need_all_pairs(tni_neighbours *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const tni_neighbours_item *x = &n->items[i];
        uint32_t count, at = 0;
        const uint32_t *list = tni_plan_neighbours_of(n, i, &count);
        for (uint32_t j = 0; j < n->count; j++) {
            const tni_neighbours_item *y = &n->items[j];
            bool is_together = i != j && x->first <= y->until && y->first <= x->until;
            if (is_together && (at == count || list[at++] != j))
                fail_msg("%u is no neighbour of %u", j, i);
        }
        assert_int_equal(at, count);
    }
}

static void lists_have_every_pair_that_may_live_together(void **state)
{
    (void)state;
    static const tni_plan_rules line = { .alignment = 1 };
    const tni_block_rules rules = { .given = &line };
    uint32_t seed = 3;
    for (uint32_t trial = 0; trial < 1000; trial++) {
        tni_block blocks[MOST];
        uint32_t count = trial % MOST, steps = 1 + test_random(&seed) % 60;
        uint32_t from = trial % 3 ? 0 : UINT32_MAX - steps - 9, items = 0;
        for (uint32_t b = 0; b < count; b++) {
            uint32_t first = test_random(&seed) % steps;
            blocks[b] = (tni_block){ from + first, from + first + test_random(&seed) % 10,
                                     test_random(&seed) % 6, 0 };
            items += blocks[b].bytes > 0;
        }
        for (int is_kept = 0; is_kept < 2; is_kept++) {
            tni_arena arena;
            tni_neighbours made;
            tni_arena_init(&arena, NULL);
            assert_true(tni_plan_neighbours_make(blocks, count, &rules, is_kept ? MOST * MOST : 0,
                                                 &arena, &made));
            assert_int_equal(made.count, items);
            need_all_pairs(&made);
            tni_arena_finish(&arena);
        }
    }
}

static tn_status make_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    static const tni_plan_rules line = { .alignment = 1 };
    const tni_block_rules rules = { .given = &line };
    const tni_block blocks[] = { { 0, 1, 8, 0 }, { 1, 2, 8, 0 }, { 2, 3, 8, 0 } };
    tni_arena arena;
    tni_neighbours made;
    tni_arena_init(&arena, allocator);
    bool is_made = tni_plan_neighbours_make(blocks, 3, &rules, 100, &arena, &made);
    tni_arena_finish(&arena);
    return is_made ? TN_OK : TN_E_HOST_MEMORY;
}

static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    for_each_failing_allocation(make_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_have_every_pair_that_may_live_together),
        cmocka_unit_test(memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
