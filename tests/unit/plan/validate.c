// The validator finds every kind of fault that is planted in a plan, and none in one that is right.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "plan_test.h"

#define NO TNP_NONE
enum { COUNT = 5 };

// A right plan, of which each case changes one thing.
//
//   step   0   1   2   3   4
//   0      ├───────┤             at 0     128 bytes
//   1          ├───────┤         at 128    64
//   2              ├───────┤     at 64     64, in the upper half of 0
//   3                  ├────┤    at 128    64
//   4      ├────────────────┤    at 192     8
static const tni_interval right[COUNT] = {
    { 0, 2, 128, NO, 0 }, { 1, 3, 64, NO, 0 }, { 2, 4, 64, 0, 64 },
    { 4, 4, 64, NO, 0 },  { 0, 4, 8, NO, 0 },
};
static const uint64_t right_offsets[COUNT] = { 0, 128, 64, 128, 192 };

typedef struct fault {
    const char *says;
    const char *words;   // NULL = it is right
    uint32_t index;      // of the interval that changes:
    tni_interval interval;
    uint64_t offset;
    uint64_t peak, bound;
    uint64_t alignment;
} fault;

static void every_kind_of_fault_is_found(void **state)
{
    (void)state;
    static const fault faults[] = {
        { "the right plan", NULL, 4, { 0, 4, 8, NO, 0 }, 192, 200, 200, 64 },
        { "a peak above what is needed", NULL, 4, { 0, 4, 8, NO, 0 }, 192, 1000, 200, 64 },
        { "neighbours that touch", NULL, 4, { 0, 4, 64, NO, 0 }, 192, 256, 200, 64 },
        { "an end before the beginning",
          "interval 3 is used before it is made",
          3,
          { 4, 3, 64, NO, 0 },
          128,
          200,
          200,
          64 },
        { "an end above the peak",
          "interval 4 ends at 200, above the peak of 199",
          4,
          { 0, 4, 8, NO, 0 },
          192,
          199,
          199,
          64 },
        { "an end that wraps",
          "interval 4 begins at 192 and ends at 2^64 or above",
          4,
          { 0, 4, UINT64_MAX, NO, 0 },
          192,
          UINT64_MAX,
          0,
          64 },
        { "an address between the multiples",
          "interval 4 lies at 200, not a multiple of 64",
          4,
          { 0, 4, 8, NO, 0 },
          200,
          300,
          200,
          64 },
        { "an overlap of one byte",
          "intervals 1 and 4 live together and share bytes",
          1,
          { 1, 3, 65, NO, 0 },
          128,
          300,
          200,
          64 },
        { "the same address",
          "intervals 1 and 4 live together",
          4,
          { 3, 3, 8, NO, 0 },
          128,
          300,
          200,
          64 },
        { "one inside another",
          "intervals 0 and 4 live together",
          4,
          { 0, 0, 8, NO, 0 },
          64,
          300,
          200,
          64 },
        { "lives that meet in one step",
          "intervals 1 and 3 live together",
          3,
          { 3, 4, 64, NO, 0 },
          128,
          300,
          200,
          64 },
        { "in place of one that ends later",
          "interval 2 cannot take the place of 0",
          2,
          { 1, 4, 64, 0, 64 },
          64,
          300,
          200,
          64 },
        { "in place of one that has ended",
          "interval 2 cannot take the place of 0",
          2,
          { 3, 4, 64, 0, 64 },
          64,
          300,
          200,
          64 },
        { "in place at another address",
          "interval 2 cannot take the place of 0",
          2,
          { 2, 4, 64, 0, 64 },
          0,
          300,
          200,
          64 },
        { "in place and longer than what is there",
          "interval 2 cannot take the place of 0",
          2,
          { 2, 4, 65, 0, 64 },
          64,
          300,
          200,
          64 },
        { "in place of a later one",
          "interval 2 cannot take the place of 3",
          2,
          { 2, 4, 64, 3, 0 },
          128,
          300,
          200,
          64 },
        { "in place of itself",
          "interval 2 cannot take the place of 2",
          2,
          { 2, 4, 64, 2, 0 },
          64,
          300,
          200,
          64 },
        { "in place of what is not there",
          "interval 2 cannot take the place of 99",
          2,
          { 2, 4, 64, 99, 0 },
          64,
          300,
          200,
          64 },
        { "the same bytes without the permission",
          "intervals 0 and 2 live together",
          2,
          { 2, 4, 64, NO, 0 },
          64,
          300,
          200,
          64 },
        { "two in place of one", "live together", 3, { 2, 4, 64, 0, 64 }, 64, 300, 200, 64 },
        { "a bound above all that lives together",
          "a bound of 300, and no more than 256 bytes are live",
          4,
          { 0, 4, 8, NO, 0 },
          192,
          400,
          300,
          64 },
        { "a peak below the bound",
          "is below its bound of 201",
          4,
          { 0, 4, 8, NO, 0 },
          192,
          200,
          201,
          64 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(faults); i++) {
        const fault *f = &faults[i];
        tni_interval intervals[COUNT];
        uint64_t offsets[COUNT];
        memcpy(intervals, right, sizeof right);
        memcpy(offsets, right_offsets, sizeof right_offsets);
        intervals[f->index] = f->interval;
        offsets[f->index] = f->offset;
        tni_plan plan = { .offsets = offsets, .peak_bytes = f->peak, .bound_bytes = f->bound };
        tn_error err = { 0 };
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        tni_plan_rules rules = { .alignment = f->alignment };
        tn_status status = tni_plan_validate(intervals, COUNT, &rules, &plan, &arena, &err);
        tni_arena_finish(&arena);
        if (status != (f->words ? TN_E_INTERNAL : TN_OK))
            fail_msg("%s: %s %s", f->says, tn_status_name(status), err.text);
        if (f->words && !strstr(err.text, f->words))
            fail_msg("%s: \"%s\" does not say \"%s\"", f->says, err.text, f->words);
    }
}

// 0 and 2 live together in step 1, and 2 takes the place of 1 only.
static void a_place_taken_over_twice_in_one_step_is_a_fault(void **state)
{
    (void)state;
    static const tni_interval in[] = { { 0, 1, 64, NO, 0 },
                                       { 1, 1, 64, 0, 0 },
                                       { 1, 2, 64, 1, 0 } };
    uint64_t offsets[3] = { 0 };
    const tni_plan plan = { .offsets = offsets, .peak_bytes = 64 };
    const tni_plan_rules rules = { .alignment = 64 };
    tn_error err = { 0 };
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    assert_int_equal(tni_plan_validate(in, 2, &rules, &plan, &arena, &err), TN_OK);
    assert_int_equal(tni_plan_validate(in, 3, &rules, &plan, &arena, &err), TN_E_INTERNAL);
    assert_non_null(strstr(err.text, "interval 2 cannot take the place of 1"));
    tni_arena_finish(&arena);
}

static void a_plan_of_nothing_is_right(void **state)
{
    (void)state;
    tni_plan plan = { .offsets = NULL };
    tni_plan_rules rules = { .alignment = 64 };
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    assert_int_equal(tni_plan_validate(NULL, 0, &rules, &plan, &arena, NULL), TN_OK);
    tni_arena_finish(&arena);
}

// The plan above under rules that it keeps, and with one thing in each case that it does not. Steps
// are on two tracks: 0, 2 and 4 on one, 1 and 3 on the other; each step waits for the one before.
static void every_rule_that_is_broken_is_found(void **state)
{
    (void)state;
    enum { STEPS = 5, TRACKS = 2, NEVER = UINT32_MAX };
    static const uint32_t track[STEPS] = { 0, 1, 0, 1, 0 };
    static const uint32_t in_turn[STEPS * TRACKS] = { 0, 0, 1, 0, 1, 2, 3, 2, 3, 4 };
    static const uint32_t ends[COUNT * TRACKS] = { 3, 2, 3, 4, 5, 0, 5, 0, 5, 0 };
    static const struct {
        const char *says;
        const char *words;   // NULL = it is right
        uint64_t chunk;
        tni_pin pin;
        uint32_t step, track, done;   // what has ended otherwise before a step; or NEVER
        uint32_t interval, end;       // what ends otherwise on the step's track; or NEVER
    } cases[] = {
        { "all is kept", NULL, 256, { 2, 64 }, NEVER, 0, 0, NEVER, 0 },
        { "another address than the pinned one",
          "interval 1 does not lie at 192, where it is pinned",
          0,
          { 1, 192 },
          NEVER,
          0,
          0,
          NEVER,
          0 },
        { "a pin of what is not there",
          "interval 5 does not lie at 0",
          0,
          { 5, 0 },
          NEVER,
          0,
          0,
          NEVER,
          0 },
        { "across chunks",
          "interval 0 lies at 0 with 128 bytes, across chunks of 64",
          64,
          { 0, 0 },
          NEVER,
          0,
          0,
          NEVER,
          0 },
        { "a step that does not wait for the last reader",
          "intervals 1 and 3 live together",
          0,
          { 0, 0 },
          4,
          1,
          2,
          NEVER,
          0 },
        { "a taker that does not wait for another reader",
          "interval 2 cannot take the place of 0",
          0,
          { 0, 0 },
          2,
          1,
          0,
          NEVER,
          0 },
        { "a later reader on the other track",
          "interval 2 cannot take the place of 0",
          0,
          { 0, 0 },
          1,
          1,
          0,
          0,
          4 },
        { "one that lives on", "intervals 1 and 3 live together", 0, { 0, 0 }, 1, 1, 0, 1, 5 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        uint32_t done[STEPS * TRACKS], own_ends[COUNT * TRACKS];
        memcpy(done, in_turn, sizeof done);
        memcpy(own_ends, ends, sizeof own_ends);
        if (cases[i].interval != NEVER)
            own_ends[cases[i].interval * TRACKS + cases[i].track] = cases[i].end;
        else if (cases[i].step != NEVER)
            done[cases[i].step * TRACKS + cases[i].track] = cases[i].done;
        const tni_plan_order order = { STEPS, TRACKS, track, done, own_ends };
        const tni_plan_rules rules = { .alignment = 64,
                                       .chunk_bytes = cases[i].chunk,
                                       .pin_count = 1,
                                       .pins = &cases[i].pin,
                                       .order = &order };
        uint64_t offsets[COUNT];
        tni_interval intervals[COUNT];
        memcpy(offsets, right_offsets, sizeof offsets);
        memcpy(intervals, right, sizeof intervals);
        const tni_plan plan = { .offsets = offsets, .peak_bytes = 200, .bound_bytes = 200 };
        tn_error err = { 0 };
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        tn_status status = tni_plan_validate(intervals, COUNT, &rules, &plan, &arena, &err);
        tni_arena_finish(&arena);
        if (status != (cases[i].words ? TN_E_INTERNAL : TN_OK) ||
            (cases[i].words && !strstr(err.text, cases[i].words)))
            fail_msg("%s: %s \"%s\"", cases[i].says, tn_status_name(status), err.text);
    }
}

// Rows of blocks that fill time and addresses without a gap, one block of which grows by a byte or
// a step, or moves: looked at pair by pair, and by the validator.
static void it_finds_what_looking_at_every_pair_finds(void **state)
{
    (void)state;
    enum { MOST = 60 };
    uint32_t seed = 17, wrong = 0;
    for (int trial = 0; trial < 3000; trial++) {
        tni_interval in[MOST];
        uint64_t offsets[MOST], offset = 0, peak = 0;
        uint32_t count = 0;
        for (uint32_t row = 0; row < 5; row++) {
            uint64_t bytes = test_random(&seed) % 9;
            for (uint32_t step = 0; step < 20 && count < MOST; count++) {
                uint32_t last = step + test_random(&seed) % 5;
                in[count] = (tni_interval){ step, last, bytes, NO, 0 };
                offsets[count] = offset;
                step = last + 1;
            }
            offset += bytes;
        }
        uint32_t changed = test_random(&seed) % count, how = test_random(&seed) % 4;
        in[changed].bytes += how == 0;
        in[changed].last += how == 1;
        offsets[changed] += how == 2;
        bool is_wrong = false;
        for (uint32_t a = 0; a < count; a++) {
            peak = offsets[a] + in[a].bytes > peak ? offsets[a] + in[a].bytes : peak;
            for (uint32_t b = 0; b < a; b++)
                is_wrong |= in[a].bytes && in[b].bytes && in[a].first <= in[b].last &&
                            in[b].first <= in[a].last && offsets[a] < offsets[b] + in[b].bytes &&
                            offsets[b] < offsets[a] + in[a].bytes;
        }
        wrong += is_wrong;
        const tni_plan_rules rules = { .alignment = 1 };
        const tni_plan plan = { .offsets = offsets, .peak_bytes = peak };
        tn_error err = { 0 };
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        tn_status status = tni_plan_validate(in, count, &rules, &plan, &arena, &err);
        tni_arena_finish(&arena);
        if (status != (is_wrong ? TN_E_INTERNAL : TN_OK))
            fail_msg("trial %d: %s \"%s\"", trial, tn_status_name(status), err.text);
    }
    assert_in_range(wrong, 1000, 2800);
}

static tn_status validate_with(const tn_allocator *allocator, void *context)
{
    const tni_plan_rules *rules = context;
    const tni_plan plan = { .offsets = (uint64_t *)right_offsets, .peak_bytes = 200 };
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tn_status status = tni_plan_validate(right, COUNT, rules, &plan, &arena, NULL);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    static const uint32_t track[5], done[5] = { 0, 1, 2, 3, 4 }, ends[] = { 3, 4, 5, 5, 5 };
    const tni_plan_order line = { 5, 1, track, done, ends };
    tni_plan_rules rules = { .alignment = 64 };
    for_each_failing_allocation(validate_with, &rules);
    rules.order = &line;
    for_each_failing_allocation(validate_with, &rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_fault_is_found),
        cmocka_unit_test(every_rule_that_is_broken_is_found),
        cmocka_unit_test(it_finds_what_looking_at_every_pair_finds),
        cmocka_unit_test(a_place_taken_over_twice_in_one_step_is_a_fault),
        cmocka_unit_test(a_plan_of_nothing_is_right),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
