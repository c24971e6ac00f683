// Numbers by their order: a walk over their range, or a sort, with the same answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "plan/ranks.h"

enum { MOST = 300 };

static uint64_t seed = 1;

static uint64_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 20;
}

// By the definition: how many different numbers are smaller.
static void check(const uint64_t *numbers, uint32_t count)
{
    tni_arena arena;
    uint32_t ranks[MOST];
    tni_arena_init(&arena, NULL);
    assert_true(tni_plan_find_ranks(numbers, count, &arena, ranks));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t smaller = 0;
        for (uint32_t j = 0; j < count; j++) {
            bool is_new = numbers[j] < numbers[i];
            for (uint32_t k = 0; k < j && is_new; k++)
                is_new = numbers[k] != numbers[j];
            smaller += is_new;
        }
        assert_int_equal(ranks[i], smaller);
    }
    tni_arena_finish(&arena);
}

static void ranks_are_by_order_and_equal_numbers_share_one(void **state)
{
    (void)state;
    check((uint64_t[]){ 7, 5, 7, 9, 5, 5 }, 6);
    check((uint64_t[]){ 1000000, 3, UINT64_MAX, 3, 0 }, 5);   // far apart: sorted
    check((uint64_t[]){ UINT64_MAX, UINT64_MAX - 1 }, 2);
    check((uint64_t[]){ 42 }, 1);
    check(NULL, 0);
}

static void any_range_gives_the_same_ranks(void **state)
{
    (void)state;
    uint64_t numbers[MOST];
    for (int spread = 0; spread < 64; spread++) {
        uint32_t count = 1 + (uint32_t)(next_random() % 60);
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = next_random() * next_random() >> spread;
        check(numbers, count);
        for (uint32_t range = 1; range <= 5; range++) {   // around what is walked over
            for (uint32_t i = 0; i < count; i++)
                numbers[i] = 1000 + next_random() % (range * count);
            check(numbers, count);
        }
    }
}

static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    uint64_t near[MOST], far[MOST];
    uint32_t ranks[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        near[i] = i;
        far[i] = (uint64_t)i << 40;
    }
    for (int is_far = 0; is_far < 2; is_far++) {
        failing_alloc failing;
        tni_arena arena;
        failing_alloc_init(&failing, 1);
        tni_arena_init(&arena, &failing.allocator);
        assert_false(tni_plan_find_ranks(is_far ? far : near, MOST, &arena, ranks));
        tni_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_by_order_and_equal_numbers_share_one),
        cmocka_unit_test(any_range_gives_the_same_ranks),
        cmocka_unit_test(memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
