// Packing: small plans in a table, long and short lives in turn, layers of a model, and random
// plans through the validator and against a bound that is counted step by step.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "plan_test.h"

enum { MOST = 512 };
#define NO TNP_NONE

static const tni_plan_rules rules_of_64 = { .alignment = 64 };

// The largest sum of live bytes, by looking at each step. What takes the place of another counts
// from there on as part of it: one block.
static uint64_t counted_bound(const tni_interval *in, uint32_t count, uint64_t alignment)
{
    uint32_t last_step = 0, root[MOST];
    uint64_t most = 0, bytes[MOST];
    uint32_t first[MOST], last[MOST];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t rounded = (in[i].bytes + alignment - 1) / alignment * alignment;
        root[i] = in[i].in_place_of == NO ? i : root[in[i].in_place_of];
        first[i] = in[i].first, last[i] = in[i].last;
        if (in[i].bytes && last[i] > last[root[i]])
            last[root[i]] = last[i];
        bytes[i] = rounded;
        last_step = in[i].last > last_step ? in[i].last : last_step;
    }
    for (uint32_t t = 0; t <= last_step; t++) {
        uint64_t live = 0;
        for (uint32_t i = 0; i < count; i++)
            if (root[i] == i && first[i] <= t && t <= last[i])
                live += bytes[i];
        most = live > most ? live : most;
    }
    return most;
}

// Packs, validates, and holds every number of the plan against a count of its own.
static uint64_t pack(const char *says, const tni_interval *in, uint32_t count, uint64_t alignment)
{
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    tni_plan plan;
    tn_error err = { 0 };
    tni_plan_rules rules = { .alignment = alignment };
    if (tni_plan_pack(in, count, &rules, &arena, &plan, &err) != TN_OK ||
        tni_plan_validate(in, count, &rules, &plan, &arena, &err) != TN_OK)
        fail_msg("%s: %s", says, err.text);
    uint64_t bound = counted_bound(in, count, alignment), sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (in[i].bytes + alignment - 1) / alignment * alignment;
    if (plan.bound_bytes != bound || plan.unshared_bytes != sum)
        fail_msg("%s: bound %" PRIu64 " and sum %" PRIu64 ", not %" PRIu64 " and %" PRIu64, says,
                 plan.bound_bytes, plan.unshared_bytes, bound, sum);
    if (plan.peak_bytes < bound || plan.peak_bytes > sum)
        fail_msg("%s: a peak of %" PRIu64 " is not between %" PRIu64 " and %" PRIu64, says,
                 plan.peak_bytes, bound, sum);
    uint64_t peak = plan.peak_bytes;
    tni_arena_finish(&arena);
    return peak;
}

static void small_plans_have_the_peak_that_can_be_counted_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        tni_interval in[5];
        uint32_t count;
        uint64_t alignment, peak;
    } cases[] = {
        { "nothing", { { 0 } }, 0, 64, 0 },
        { "one value", { { 0, 0, 64, NO, 0 } }, 1, 64, 64 },
        { "one byte", { { 0, 0, 1, NO, 0 } }, 1, 64, 64 },
        { "one byte without alignment", { { 0, 0, 1, NO, 0 } }, 1, 1, 1 },
        { "no bytes", { { 0, 3, 0, NO, 0 }, { 1, 2, 64, NO, 0 } }, 2, 64, 64 },
        { "values never alive together share an address",
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 } },
          2,
          64,
          64 },
        { "values that meet in one step do not",
          { { 0, 1, 64, NO, 0 }, { 1, 2, 64, NO, 0 } },
          2,
          64,
          128 },
        { "a value that spans both shares with neither",
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 }, { 0, 3, 32, NO, 0 } },
          3,
          32,
          96 },
        { "a large one takes the place of two",
          { { 0, 1, 64, NO, 0 }, { 0, 1, 64, NO, 0 }, { 2, 3, 128, NO, 0 } },
          3,
          64,
          128 },
        { "one that takes the place of another",
          { { 0, 1, 64, NO, 0 }, { 1, 2, 64, 0, 0 } },
          2,
          64,
          64 },
        { "three that follow each other in place",
          { { 0, 1, 64, NO, 0 }, { 1, 2, 64, 0, 0 }, { 2, 3, 64, 1, 0 } },
          3,
          64,
          64 },
        { "one in the upper part of another",
          { { 0, 1, 128, NO, 0 }, { 1, 2, 64, 0, 64 } },
          2,
          64,
          128 },
        { "in place, with a third alive all the time",
          { { 0, 1, 64, NO, 0 }, { 0, 2, 64, NO, 0 }, { 1, 2, 64, 0, 0 } },
          3,
          64,
          128 },
        { "sizes that are rounded up", { { 0, 1, 65, NO, 0 }, { 0, 1, 1, NO, 0 } }, 2, 64, 192 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        uint64_t peak = pack(cases[i].says, cases[i].in, cases[i].count, cases[i].alignment);
        if (peak != cases[i].peak)
            fail_msg("%s: peak %" PRIu64 ", not %" PRIu64, cases[i].says, peak, cases[i].peak);
    }
}

// A long life and a short one in turn.
static void three_hundred_alternating_values_are_packed_at_the_bound(void **state)
{
    (void)state;
    tni_interval in[300];
    for (uint32_t i = 0; i < 300; i++)
        in[i] = i % 2 ? (tni_interval){ i, i + 1, 1000, NO, 0 }
                      : (tni_interval){ i, 299, 64, NO, 0 };
    assert_int_equal(pack("alternating", in, 300, 64), counted_bound(in, 300, 64));
    for (uint32_t i = 0; i < 300; i++)   // sizes that grow
        in[i].bytes = 64 * (i + 1);
    assert_int_equal(pack("alternating and growing", in, 300, 64), counted_bound(in, 300, 64));
}

static void layers_of_a_model_are_packed_at_the_bound(void **state)
{
    (void)state;
    tni_interval in[400];   // per layer: a residual that lives through it, and what comes and goes
    uint32_t count = 0;
    for (uint32_t layer = 0; layer < 48; layer++) {
        uint32_t t = layer * 6;
        in[count++] = (tni_interval){ t, t + 6, 4096, NO, 0 };
        in[count++] = (tni_interval){ t + 1, t + 2, 4096, NO, 0 };
        in[count++] = (tni_interval){ t + 2, t + 4, 16384, NO, 0 };
        in[count++] = (tni_interval){ t + 3, t + 4, 16384, NO, 0 };
        in[count++] = (tni_interval){ t + 4, t + 5, 16384, NO, 0 };
        in[count++] = (tni_interval){ t + 5, t + 6, 4096, NO, 0 };
    }
    assert_int_equal(pack("layers", in, count, 256), counted_bound(in, count, 256));
}

static uint32_t random_intervals(tni_interval *in, uint32_t *seed)
{
    uint32_t count = 1 + test_random(seed) % 40, steps = 1 + test_random(seed) % 30;
    bool is_taken[MOST] = { false };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = test_random(seed) % steps;
        in[i] = (tni_interval){ first, first + test_random(seed) % 8,
                                test_random(seed) % 5 ? test_random(seed) % 1000 : 0, NO, 0 };
        uint32_t old = i ? test_random(seed) % i : 0;
        if (i == 0 || test_random(seed) % 3 || is_taken[old] || in[old].first == in[old].last)
            continue;
        uint64_t offset = test_random(seed) % 2 ? 0 : test_random(seed) % 4 * 64;
        if (offset + in[i].bytes > in[old].bytes)
            continue;
        is_taken[old] = true;
        in[i].last += in[old].last - in[i].first;
        in[i].first = in[old].last;
        in[i].in_place_of = old;
        in[i].in_place_offset = offset;
    }
    return count;
}

static void thousands_of_random_plans_are_valid(void **state)
{
    (void)state;
    uint32_t seed = 7;
    uint64_t peaks = 0, bounds = 0;
    for (int i = 0; i < 6000; i++) {
        tni_interval in[MOST];
        uint64_t alignment = UINT64_C(1) << test_random(&seed) % 9;
        uint32_t count = random_intervals(in, &seed);
        if (alignment > 64)   // offsets in place are multiples of 64
            alignment = 64;
        peaks += pack("random", in, count, alignment);
        bounds += counted_bound(in, count, alignment);
    }
    assert_true(peaks * 1000 <
                bounds * 1001);   // on average within a thousandth of what no plan can beat
}

static void the_same_intervals_give_the_same_plan(void **state)
{
    (void)state;
    uint32_t seed = 99;
    for (int i = 0; i < 50; i++) {
        tni_interval in[MOST];
        uint32_t count = random_intervals(in, &seed);
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        tni_plan a, b;
        assert_int_equal(tni_plan_pack(in, count, &rules_of_64, &arena, &a, NULL), TN_OK);
        assert_int_equal(tni_plan_pack(in, count, &rules_of_64, &arena, &b, NULL), TN_OK);
        assert_memory_equal(a.offsets, b.offsets, count * sizeof *a.offsets);
        tni_arena_finish(&arena);
    }
}

static void sizes_that_wrap_are_a_status(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        tni_interval in[2];
    } cases[] = {
        { "one value", { { 0, 0, UINT64_MAX, NO, 0 }, { 0, 0, 0, NO, 0 } } },
        { "two together", { { 0, 0, UINT64_MAX - 1000, NO, 0 }, { 0, 0, 2000, NO, 0 } } },
        { "two one after another", { { 0, 0, UINT64_MAX - 1000, NO, 0 }, { 1, 1, 2000, NO, 0 } } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        tni_plan plan;
        tn_error err = { 0 };
        if (tni_plan_pack(cases[i].in, 2, &rules_of_64, &arena, &plan, &err) != TN_E_DEVICE_MEMORY)
            fail_msg("%s: not refused", cases[i].says);
        tni_arena_finish(&arena);
    }
}

static tn_status pack_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    static tni_interval in[300];
    for (uint32_t i = 0; i < 300; i++)
        in[i] = (tni_interval){ i, i + i % 7, 64 + i, NO, 0 };
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tni_plan plan;
    tn_error err = { 0 };
    tn_status status = tni_plan_pack(in, 300, &rules_of_64, &arena, &plan, &err);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    for_each_failing_allocation(pack_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_plans_have_the_peak_that_can_be_counted_by_hand),
        cmocka_unit_test(three_hundred_alternating_values_are_packed_at_the_bound),
        cmocka_unit_test(layers_of_a_model_are_packed_at_the_bound),
        cmocka_unit_test(thousands_of_random_plans_are_valid),
        cmocka_unit_test(the_same_intervals_give_the_same_plan),
        cmocka_unit_test(sizes_that_wrap_are_a_status),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
