// ops_reduce.c: sum, mean, max, cumsum and argmax against the reference. Sums are in double on both
// sides and in the same order, so the only difference allowed is that of the division in mean:
// none, as both round the same double.
#include "ops_support.h"

#include <math.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static void sum_mean_and_max_match_the_reference(void **state)
{
    static const struct {
        op_case c;
        uint32_t axis;
    } cases[] = {
        { { .says = "rows", .in = { VALUE(F32, 257, 3) }, .out = VALUE(F32, 1, 3) }, 0 },
        { { .says = "columns", .in = { VALUE(F32, 31, 33) }, .out = VALUE(F32, 31, 1) }, 1 },
        { { .says = "the third dim",
            .in = { VALUE(F16, 5, 3, 31, 2) },
            .out = VALUE(F32, 5, 3, 1, 2) },
          2 },
        { { .says = "a dim of 1", .in = { VALUE(F32, 5, 1) }, .out = VALUE(F32, 5, 1) }, 1 },
        { { .says = "turned",
            .in = { LAID(TURNED, F32, 31, 7, 2) },
            .out = LAID(TURNED, F32, 31, 1, 2) },
          1 },
        { { .says = "10 of 33",
            .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 23 } } },
            .out = VALUE(F32, 1, 7) },
          0 },
        { { .says = "none of 33",
            .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 33 } } },
            .out = VALUE(F32, 1, 7) },
          0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i].c;
        tnp_axis_attr attr = { sizeof attr, cases[i].axis };

        c.attr = &attr;
        c.op = TNP_OP_SUM;
        check_case(&c);
        c.op = TNP_OP_MEAN;
        check_case(&c);
        c.op = TNP_OP_MAX;
        check_case(&c);
    }
}

static void equal_elements(cpu_job *job)
{
    ref_tensor x = as_reference(&job->in[0]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    do
        ref_set(&x, at, (double)(at[0] % 5));
    while (ref_next(x.dims, at));
}

static void largest_in_the_last_place(cpu_job *job)
{
    ref_tensor x = as_reference(&job->in[0]);
    int64_t at[TNP_MAX_DIMS] = { x.dims[0] - 1 };

    ref_set(&x, at, INFINITY);
}

static void nan_at_the_start_and_throughout_a_row(cpu_job *job)
{
    ref_tensor x = as_reference(&job->in[0]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    ref_set(&x, at, NAN);
    for (at[1] = 1; at[0] < x.dims[0]; at[0]++)
        ref_set(&x, at, NAN);
}

static void a_nan_is_lower_than_any_number(void **state)
{
    static const tnp_axis_attr axis = { sizeof axis, 0 };
    static const op_case cases[] = {
        { .says = "max of NaN",
          .op = TNP_OP_MAX,
          .attr = &axis,
          .in = { VALUE(F32, 33, 3) },
          .out = VALUE(F32, 1, 3),
          .prepare = nan_at_the_start_and_throughout_a_row },
        { .says = "argmax of NaN",
          .op = TNP_OP_ARGMAX,
          .in = { VALUE(F32, 33, 3) },
          .out = VALUE(I32, 1, 3),
          .prepare = nan_at_the_start_and_throughout_a_row },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
}

static void cumsum_matches_the_reference(void **state)
{
    static const struct {
        op_case c;
        uint32_t axis;
    } cases[] = {
        { { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(F32, 1) }, 0 },
        { { .says = "rows", .in = { VALUE(F32, 257, 3) }, .out = VALUE(F32, 257, 3) }, 0 },
        { { .says = "columns", .in = { VALUE(F32, 31, 33, 2) }, .out = VALUE(F32, 31, 33, 2) }, 1 },
        { { .says = "the fourth dim of F16",
            .in = { VALUE(F16, 5, 3, 2, 31) },
            .out = VALUE(F32, 5, 3, 2, 31) },
          3 },
        { { .says = "a dim of 1", .in = { VALUE(F32, 5) }, .out = VALUE(F32, 5) }, 7 },
        { { .says = "turned", .in = { LAID(TURNED, F32, 31, 7) }, .out = LAID(PADDED, F32, 31, 7) },
          0 },
        { { .says = "10 of 33, 2 of 7",
            .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 23, 5 } } },
            .out = { .dtype = F32, .dims = { 33, 7 }, .cut = { 23, 5 } } },
          1 },
        { { .says = "none of 7",
            .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } } },
            .out = { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } } },
          1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i].c;
        tnp_axis_attr attr = { sizeof attr, cases[i].axis };

        c.op = TNP_OP_CUMSUM;
        c.attr = &attr;
        check_case(&c);
    }
}

static void argmax_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(I32, 1) },
        { .says = "rows", .in = { VALUE(F32, 257, 3, 2) }, .out = VALUE(I32, 1, 3, 2) },
        { .says = "longer than a buffer",
          .in = { VALUE(F32, 1537) },
          .out = VALUE(I32, 1),
          .prepare = largest_in_the_last_place },
        { .says = "the first of equals",
          .in = { VALUE(F32, 1537, 2) },
          .out = VALUE(I32, 1, 2),
          .prepare = equal_elements },
        { .says = "F16, turned", .in = { LAID(TURNED, F16, 33, 3) }, .out = VALUE(I32, 1, 3) },
        { .says = "10 of 33",
          .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 23 } } },
          .out = VALUE(I32, 1, 7) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_ARGMAX;
        check_case(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_mean_and_max_match_the_reference),
        cmocka_unit_test(cumsum_matches_the_reference),
        cmocka_unit_test(a_nan_is_lower_than_any_number),
        cmocka_unit_test(argmax_matches_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
