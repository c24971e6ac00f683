// Intervals as an application gives them: times of any kind become steps, options are checked, and
// a wrong plan is found out.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plan.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "plan_test.h"

enum { MOST = 24 };

// ------------------------------------------------------------------------------------------- peaks

typedef struct row {
    const char *says;
    tn_plan_interval in[4];   // those of lower == upper are none
    uint64_t alignment;
    uint64_t peak, bound, unshared;
} row;

static const row rows[] = {
    { "no interval", { { 0 } }, 0, 0, 0, 0 },
    { "one that ends where another begins", { { 0, 2, 64 }, { 2, 4, 64 } }, 0, 64, 64, 128 },
    { "one that ends a moment later", { { 0, 3, 64 }, { 2, 4, 64 } }, 0, 128, 128, 128 },
    { "times below zero and far apart",
      { { INT64_MIN, -5, 8 }, { -5, 1, 8 }, { 0, INT64_MAX, 8 } },
      0,
      16,
      16,
      24 },
    { "times that differ in one digit",
      { { 256, 257, 8 }, { 257, 512, 8 }, { 512, 65536, 8 }, { 65535, 65537, 8 } },
      0,
      16,
      16,
      32 },
    { "no bytes", { { 0, 9, 0 }, { 3, 5, 7 } }, 0, 7, 7, 7 },
    { "sizes round up to the alignment", { { 0, 2, 1 }, { 1, 3, 65 } }, 64, 192, 192, 192 },
    { "the largest sizes",
      { { 0, 1, INT64_MAX - 1 }, { 0, 1, 1 } },
      0,
      INT64_MAX,
      INT64_MAX,
      INT64_MAX },
};

static void times_become_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT_OF(rows); i++) {
        const row *r = &rows[i];
        uint32_t count = 0;
        while (count < 4 && r->in[count].lower < r->in[count].upper)
            count++;
        const tn_plan_options options = { .size = sizeof options, .alignment = r->alignment };
        tn_plan_result result = { .size = sizeof result };
        uint64_t offsets[4];
        tn_error err = { 0 };
        if (tn_plan_intervals(r->in, count, &options, offsets, &result, &err) != TN_OK)
            fail_msg("%s: %s", r->says, err.text);
        if (result.peak_bytes != r->peak || result.lower_bound_bytes != r->bound ||
            result.unshared_bytes != r->unshared || !result.is_proved_optimal)
            fail_msg("%s: peak %" PRIu64 ", bound %" PRIu64 ", without sharing %" PRIu64, r->says,
                     result.peak_bytes, result.lower_bound_bytes, result.unshared_bytes);
        if (tn_plan_check(r->in, count, &options, offsets, &result, &err) != TN_OK)
            fail_msg("%s: %s", r->says, err.text);
    }
}

static void an_interval_of_no_bytes_lies_at_0(void **state)
{
    (void)state;
    const tn_plan_interval in[] = { { 0, 9, 64 }, { 1, 5, 0 }, { 2, 3, 64 } };
    uint64_t offsets[3] = { 9, 9, 9 };
    assert_int_equal(tn_plan_intervals(in, 3, NULL, offsets, NULL, NULL), TN_OK);
    assert_int_equal(offsets[1], 0);
    assert_int_equal(offsets[0] + offsets[2], 64);
}

// By the caller's times. Fails the test where two share bytes; the highest end.
static uint64_t highest_end(const tn_plan_interval *in, const uint64_t *offsets, uint32_t count)
{
    test_piece pieces[MOST];
    for (uint32_t i = 0; i < count; i++)
        pieces[i] = (test_piece){ in[i].lower, in[i].upper, offsets[i], in[i].bytes };
    return test_highest_end(pieces, count);
}

static uint64_t largest_sum(const tn_plan_interval *in, uint32_t count)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < count; j++)
            if (in[j].lower <= in[i].lower && in[i].lower < in[j].upper)
                sum += in[j].bytes;
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

static void random_intervals_are_planned_by_their_times(void **state)
{
    (void)state;
    static const int64_t spreads[] = { 10, 300, 70000, INT64_MAX / 50 };
    uint32_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        tn_plan_interval in[MOST];
        uint64_t offsets[MOST], bound;
        uint32_t count = 1 + test_random(&seed) % MOST;
        int64_t spread = spreads[round % 4];
        for (uint32_t i = 0; i < count; i++) {
            int64_t a = ((int64_t)(test_random(&seed) % 79) - 39) * spread;
            in[i] = (tn_plan_interval){ a, a + 1 + test_random(&seed) % 9 * spread,
                                        test_random(&seed) % 100 };
        }
        tn_plan_result result = { .size = sizeof result };
        assert_int_equal(tn_plan_intervals(in, count, NULL, offsets, &result, NULL), TN_OK);
        assert_int_equal(highest_end(in, offsets, count), result.peak_bytes);
        bound = largest_sum(in, count);
        if (result.lower_bound_bytes != bound)
            fail_msg("round %d: a bound of %" PRIu64 ", not %" PRIu64, round,
                     result.lower_bound_bytes, bound);
        tn_error err;
        if (tn_plan_check(in, count, NULL, offsets, &result, &err) != TN_OK)
            fail_msg("round %d: %s", round, err.text);
    }
}

// The first plan within the capacity is taken; one that no plan can keep to changes nothing.
static void a_capacity_ends_the_search_or_the_peak_says_that_it_is_not_reached(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static tni_block blocks[COUNT];
    static tn_plan_interval in[COUNT];
    static uint64_t offsets[COUNT];
    test_layered(blocks, COUNT, 4);
    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = (tn_plan_interval){ blocks[i].first, (int64_t)blocks[i].last + 1, blocks[i].bytes };
    tn_plan_options options = { .size = sizeof options, .capacity = 1 };
    tn_plan_result lowest = { .size = sizeof lowest }, result = { .size = sizeof result };
    assert_int_equal(tn_plan_intervals(in, COUNT, &options, offsets, &lowest, NULL), TN_OK);
    options.capacity = lowest.lower_bound_bytes * 2;
    assert_int_equal(tn_plan_intervals(in, COUNT, &options, offsets, &result, NULL), TN_OK);
    assert_true(lowest.peak_bytes < result.peak_bytes && result.peak_bytes <= options.capacity);
    assert_false(result.is_proved_optimal);
    options.capacity = lowest.lower_bound_bytes - 1;
    assert_int_equal(tn_plan_intervals(in, COUNT, &options, offsets, &result, NULL), TN_OK);
    assert_int_equal(result.peak_bytes, lowest.peak_bytes);
    assert_true(result.peak_bytes > options.capacity);
}

// ----------------------------------------------------------------------------------------- refused

static void what_makes_no_sense_is_refused_with_its_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        tn_status status;
        tn_plan_interval in[2];
        uint64_t alignment;
    } cases[] = {
        { "interval 1 begins at 5 and ends at 5", TN_E_ARG, { { 0, 1, 1 }, { 5, 5, 1 } }, 0 },
        { "interval 0 begins at 6 and ends at -7", TN_E_ARG, { { 6, -7, 1 }, { 5, 6, 1 } }, 0 },
        { "the alignment is 3", TN_E_ARG, { { 0, 1, 1 }, { 0, 1, 1 } }, 3 },
        { "up to interval 1 together exceed",
          TN_E_DEVICE_MEMORY,
          { { 0, 1, INT64_MAX }, { 0, 1, 1 } },
          0 },
        { "up to interval 0 together exceed",
          TN_E_DEVICE_MEMORY,
          { { 0, 1, UINT64_MAX }, { 0, 1, 1 } },
          64 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tn_plan_options options = { .size = sizeof options, .alignment = cases[i].alignment };
        tn_plan_result result = { .size = sizeof result, .peak_bytes = 9 };
        uint64_t offsets[2];
        tn_error err = { 0 };
        tn_status status = tn_plan_intervals(cases[i].in, 2, &options, offsets, &result, &err);
        if (status != cases[i].status || !strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        assert_int_equal(result.peak_bytes, 0);
        status = tn_plan_check(cases[i].in, 2, &options, (uint64_t[]){ 0, 0 }, &result, &err);
        assert_int_equal(status, cases[i].status);
    }
    tn_error err;
    tn_plan_interval one = { 0, 1, 1 };
    assert_int_equal(
        tn_plan_intervals(&one, TN_PLAN_MOST_INTERVALS + 1, NULL, (uint64_t[]){ 0 }, NULL, &err),
        TN_E_ARG);
    assert_non_null(strstr(err.text, "67108864 are the most"));
}

static void a_wrong_plan_is_found_out(void **state)
{
    (void)state;
    static const tn_plan_interval in[] = { { -4, 0, 64 }, { -1, 3, 0 }, { -1, 7, 64 } };
    static const struct {
        const char *words;   // NULL = it is right
        uint64_t offsets[3], peak, bound, alignment;
    } cases[] = {
        { NULL, { 0, 0, 64 }, 128, 128, 64 },
        { NULL, { 64, 0, 0 }, 128, 100, 64 },
        { "intervals 0 and 2 live together", { 0, 0, 63 }, 128, 128, 1 },
        { "interval 2 lies at 96, not a multiple of 64", { 0, 0, 96 }, 160, 128, 64 },
        { "interval 2 ends at 128, above the peak of 127", { 0, 0, 64 }, 127, 127, 64 },
        { "peak of 128 is below its bound of 129", { 0, 0, 64 }, 128, 129, 64 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tn_plan_options options = { .size = sizeof options, .alignment = cases[i].alignment };
        const tn_plan_result result = { .size = sizeof result,
                                        .peak_bytes = cases[i].peak,
                                        .lower_bound_bytes = cases[i].bound };
        tn_error err = { 0 };
        tn_status status = tn_plan_check(in, 3, &options, cases[i].offsets, &result, &err);
        if (status != (cases[i].words ? TN_E_DATA : TN_OK) ||
            (cases[i].words && !strstr(err.text, cases[i].words)))
            fail_msg("\"%s\" in place of \"%s\"", err.text, cases[i].words ? cases[i].words : "");
    }
}

// An application that was built against a header with fewer fields.
static void a_smaller_result_is_filled_as_far_as_it_goes(void **state)
{
    (void)state;
    const tn_plan_interval one = { 0, 1, 100 };
    uint64_t offset;
    tn_plan_result result = { .size = offsetof(tn_plan_result, lower_bound_bytes),
                              .lower_bound_bytes = 77 };
    assert_int_equal(tn_plan_intervals(&one, 1, NULL, &offset, &result, NULL), TN_OK);
    assert_int_equal(result.peak_bytes, 100);
    assert_int_equal(result.lower_bound_bytes, 77);
}

static tn_status plan_and_check(const tn_allocator *allocator, void *context)
{
    const tn_plan_interval *in = context;
    tn_plan_options options = { .size = sizeof options, .allocator = allocator };
    tn_plan_result result = { .size = sizeof result };
    uint64_t offsets[MOST];
    tn_error err = { 0 };
    tn_status status = tn_plan_intervals(in, MOST, &options, offsets, &result, &err);
    if (status == TN_OK)
        status = tn_plan_check(in, MOST, &options, offsets, &result, &err);
    if (status != TN_OK && (status != TN_E_HOST_MEMORY || !*err.text))
        fail_msg("%s: \"%s\"", tn_status_name(status), err.text);
    return status;
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    tn_plan_interval in[MOST];
    for (int i = 0; i < MOST; i++)
        in[i] = (tn_plan_interval){ i * i % 17, i * i % 17 + 1 + i % 5,
                                    (uint64_t)(1 + i * 7 % 11) };
    for_each_failing_allocation(plan_and_check, in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_become_steps),
        cmocka_unit_test(an_interval_of_no_bytes_lies_at_0),
        cmocka_unit_test(random_intervals_are_planned_by_their_times),
        cmocka_unit_test(a_capacity_ends_the_search_or_the_peak_says_that_it_is_not_reached),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_numbers),
        cmocka_unit_test(a_wrong_plan_is_found_out),
        cmocka_unit_test(a_smaller_result_is_filled_as_far_as_it_goes),
        cmocka_unit_test(every_allocation_fails_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
