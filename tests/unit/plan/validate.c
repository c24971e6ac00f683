// The validator finds every kind of fault that is planted in a plan, and none in one that is right.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "plan/plan.h"

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
          "interval 4 ends at",
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
        tni_plan_rules rules = { .alignment = f->alignment };
        tn_status status = tni_plan_validate(intervals, COUNT, &rules, &plan, &err);
        if (status != (f->words ? TN_E_INTERNAL : TN_OK))
            fail_msg("%s: %s %s", f->says, tn_status_name(status), err.text);
        if (f->words && !strstr(err.text, f->words))
            fail_msg("%s: \"%s\" does not say \"%s\"", f->says, err.text, f->words);
    }
}

static void a_plan_of_nothing_is_right(void **state)
{
    (void)state;
    tni_plan plan = { .offsets = NULL };
    tni_plan_rules rules = { .alignment = 64 };
    assert_int_equal(tni_plan_validate(NULL, 0, &rules, &plan, NULL), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_fault_is_found),
        cmocka_unit_test(a_plan_of_nothing_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
