// Sections: small ones by hand, random ones against a count of every step, and the ends of the
// range.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "plan/sections.h"
#include "plan_test.h"

enum { MOST = 64 };

static void sections_are_those_that_are_drawn(void **state)
{
    (void)state;
    enum { MOST_BLOCKS = 4 };
    static const struct {
        const char *says;
        tni_block blocks[MOST_BLOCKS];
        uint32_t block_count;
        tni_item items[MOST_BLOCKS];   // in their order
        uint32_t item_count, section_count;
        uint64_t live[MOST_BLOCKS], bound;
    } cases[] = {
        { .says = "nothing" },
        { .says = "one block, one section, however long it lives",
          .blocks = { { 3, 900, 8, 0 } },
          .block_count = 1,
          .items = { { 0, 1, 0, 8 } },
          .item_count = 1,
          .section_count = 1,
          .live = { 8 },
          .bound = 8 },
        { .says = "a chain: each meets the next in one step",
          .blocks = { { 0, 1, 1, 0 }, { 1, 2, 2, 0 }, { 2, 3, 4, 0 } },
          .block_count = 3,
          .items = { { 0, 2, 1, 2 }, { 0, 1, 0, 1 }, { 1, 2, 2, 4 } },
          .item_count = 3,
          .section_count = 2,
          .live = { 3, 6 },
          .bound = 6 },
        { .says = "neighbours in time that never meet",
          .blocks = { { 0, 4, 5, 0 }, { 5, 9, 7, 0 } },
          .block_count = 2,
          .items = { { 0, 1, 0, 5 }, { 1, 2, 1, 7 } },
          .item_count = 2,
          .section_count = 2,
          .live = { 5, 7 },
          .bound = 7 },
        { .says = "begins one after the other, with no end between: the last step has all",
          .blocks = { { 0, 9, 1, 0 }, { 2, 9, 2, 0 }, { 7, 9, 4, 0 } },
          .block_count = 3,
          .items = { { 0, 1, 2, 4 }, { 0, 1, 1, 2 }, { 0, 1, 0, 1 } },
          .item_count = 3,
          .section_count = 1,
          .live = { 7 },
          .bound = 7 },
        { .says = "the longest first, then the largest, then as given; no item without bytes",
          .blocks = { { 0, 1, 2, 0 }, { 0, 1, 0, 0 }, { 0, 5, 1, 0 }, { 3, 4, 9, 0 } },
          .block_count = 4,
          .items = { { 0, 2, 2, 1 }, { 0, 1, 0, 2 }, { 1, 2, 3, 9 } },
          .item_count = 3,
          .section_count = 2,
          .live = { 3, 10 },
          .bound = 10 },
        { .says = "blocks of no bytes alone",
          .blocks = { { 0, 3, 0, 0 }, { 1, 7, 0, 0 } },
          .block_count = 2 },
        { .says = "the last of all steps",
          .blocks = { { 0, UINT32_MAX, 1, 0 },
                      { 5, UINT32_MAX - 1, 2, 0 },
                      { UINT32_MAX, UINT32_MAX, 4, 0 } },
          .block_count = 3,
          .items = { { 0, 2, 0, 1 }, { 0, 1, 1, 2 }, { 1, 2, 2, 4 } },
          .item_count = 3,
          .section_count = 2,
          .live = { 3, 5 },
          .bound = 5 },
    };
    for (size_t c = 0; c < TN_COUNT_OF(cases); c++) {
        tni_arena arena;
        tni_plan_sections made;
        tni_arena_init(&arena, NULL);
        assert_true(tni_plan_sections_make(cases[c].blocks, cases[c].block_count, &arena, &made));
        if (made.item_count != cases[c].item_count || made.count != cases[c].section_count ||
            made.bound != cases[c].bound)
            fail_msg("%s: %u items, %u sections, bound %" PRIu64, cases[c].says, made.item_count,
                     made.count, made.bound);
        for (uint32_t i = 0; i < made.item_count; i++) {
            const tni_item *got = &made.items[i], *want = &cases[c].items[i];
            if (got->first != want->first || got->end != want->end || got->block != want->block ||
                got->bytes != want->bytes)
                fail_msg("%s: item %u is block %u in [%u, %u)", cases[c].says, i, got->block,
                         got->first, got->end);
        }
        for (uint32_t s = 0; s < made.count; s++)
            assert_int_equal(made.live[s], cases[c].live[s]);
        tni_arena_finish(&arena);
    }
}

static uint64_t live_at(const tni_block *blocks, uint32_t count, uint64_t step)
{
    uint64_t live = 0;
    for (uint32_t i = 0; i < count; i++)
        live += blocks[i].first <= step && step <= blocks[i].last ? blocks[i].bytes : 0;
    return live;
}

// from: the step that the blocks' steps begin at.
static void compare_with_a_count(const tni_block *blocks, uint32_t count, uint32_t from,
                                 uint32_t steps)
{
    tni_arena arena;
    tni_plan_sections made;
    tni_arena_init(&arena, NULL);
    assert_true(tni_plan_sections_make(blocks, count, &arena, &made));
    uint64_t bound = 0;
    for (uint64_t t = 0; t < steps; t++) {
        uint64_t live = live_at(blocks, count, from + t);
        bound = live > bound ? live : bound;
    }
    assert_int_equal(made.bound, bound);
    for (uint32_t s = 0; s < made.count; s++) {
        uint64_t live = 0;
        for (uint32_t i = 0; i < made.item_count; i++)
            live += made.items[i].first <= s && s < made.items[i].end ? made.items[i].bytes : 0;
        assert_int_equal(made.live[s], live);
        bool is_some_step = false;
        for (uint64_t t = 0; t < steps; t++)
            is_some_step |= live_at(blocks, count, from + t) == live;
        assert_true(is_some_step);
    }
    for (uint32_t i = 0; i < made.item_count; i++)
        for (uint32_t j = 0; j < made.item_count; j++) {
            const tni_item *x = &made.items[i], *y = &made.items[j];
            const tni_block *a = &blocks[x->block], *b = &blocks[y->block];
            bool share_a_step = a->first <= b->last && b->first <= a->last;
            bool share_a_section = x->first < y->end && y->first < x->end;
            if (share_a_step != share_a_section)
                fail_msg("blocks %u and %u: steps %d, sections %d", x->block, y->block,
                         share_a_step, share_a_section);
        }
    tni_arena_finish(&arena);
}

static void random_sections_are_what_every_step_says(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (uint32_t trial = 0; trial < 2000; trial++) {
        tni_block blocks[MOST];
        uint32_t count = test_random(&seed) % MOST, steps = 1 + test_random(&seed) % 40;
        uint32_t from = trial % 2 ? UINT32_MAX - (steps - 1) : test_random(&seed);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = test_random(&seed) % steps;
            uint32_t last = first + test_random(&seed) % (steps - first);
            blocks[i] = (tni_block){ from + first, from + last, test_random(&seed) % 5, 0 };
        }
        compare_with_a_count(blocks, count, from, steps);
    }
}

static void sums_near_the_largest_number_are_right(void **state)
{
    (void)state;
    const uint64_t half = UINT64_C(1) << 63;
    const tni_block blocks[] = { { 0, 1, half, 0 }, { 1, 2, half - 1, 0 }, { 3, 3, half, 0 } };
    compare_with_a_count(blocks, 3, 0, 4);
}

static tn_status make(const tn_allocator *allocator, void *context)
{
    (void)context;
    const tni_block blocks[] = { { 0, 1, 8, 0 }, { 1, 2, 8, 0 }, { 2, 3, 8, 0 } };
    tni_arena arena;
    tni_plan_sections made;
    tni_arena_init(&arena, allocator);
    bool is_made = tni_plan_sections_make(blocks, 3, &arena, &made);
    tni_arena_finish(&arena);
    return is_made ? TN_OK : TN_E_HOST_MEMORY;
}

static void each_failing_allocation_is_told(void **state)
{
    (void)state;
    for_each_failing_allocation(make, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_those_that_are_drawn),
        cmocka_unit_test(random_sections_are_what_every_step_says),
        cmocka_unit_test(sums_near_the_largest_number_are_right),
        cmocka_unit_test(each_failing_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
