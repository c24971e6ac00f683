// ops_sort.c: top_k and argsort against the reference: the same indices.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static void equal_elements(cpu_job *job)
{
    ref_tensor x = as_reference(&job->in[0]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    do
        ref_set(&x, at, (double)(at[0] * 7 % 5));
    while (ref_next(x.dims, at));
}

static void odd_numbers(cpu_job *job)
{
    static const double numbers[] = { NAN, -INFINITY, 0, -0.0, NAN, INFINITY, 1e-40 };
    ref_tensor x = as_reference(&job->in[0]);

    for (int64_t i = 0; i < 7; i++)
        ref_set(&x, (int64_t[TNP_MAX_DIMS]){ 4 * i }, numbers[i]);
}

static const op_case cases[] = {
    { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(I32, 1) },
    { .says = "rows", .in = { VALUE(F32, 257, 3, 2) }, .out = VALUE(I32, 257, 3, 2) },
    { .says = "a row longer than a buffer", .in = { VALUE(F32, 1537) }, .out = VALUE(I32, 1537) },
    { .says = "equal elements",
      .in = { VALUE(F32, 700, 2) },
      .out = VALUE(I32, 700, 2),
      .prepare = equal_elements },
    { .says = "NaN, infinities and zeros",
      .in = { VALUE(F32, 31) },
      .out = VALUE(I32, 31),
      .prepare = odd_numbers },
    { .says = "F16", .in = { VALUE(F16, 33, 3) }, .out = VALUE(I32, 33, 3) },
    { .says = "turned", .in = { LAID(TURNED, F32, 33, 3) }, .out = LAID(TURNED, I32, 33, 3) },
    { .says = "padded", .in = { LAID(PADDED, F32, 33, 3) }, .out = LAID(PADDED, I32, 33, 3) },
    { .says = "repeated", .in = { LAID(REPEATED, F32, 33, 3) }, .out = VALUE(I32, 33, 3) },
    { .says = "2 of 5 rows",
      .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } } },
      .out = { .dtype = I32, .dims = { 33, 5 }, .cut = { 0, 3 } } },
    { .says = "no row",
      .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 5 } } },
      .out = { .dtype = I32, .dims = { 33, 5 }, .cut = { 0, 5 } } },
};

static void argsort_matches_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t order = TNP_SORT_ASCENDING; order <= TNP_SORT_DESCENDING; order++) {
            tnp_argsort_attr attr = { sizeof attr, order };
            op_case c = cases[i];

            c.op = TNP_OP_ARGSORT;
            c.attr = &attr;
            check_case(&c);
        }
}

static void top_k_matches_the_reference(void **state)
{
    static const uint32_t most[] = { 1, 2, 8, 40, 5000 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < sizeof most / sizeof most[0]; k++) {
            op_case c = cases[i];
            uint32_t n = (uint32_t)c.in[0].dims[0];
            tnp_top_k_attr attr = { sizeof attr, most[k] < n ? most[k] : n };

            c.op = TNP_OP_TOP_K;
            c.attr = &attr;
            c.out.dims[0] = attr.k;
            check_case(&c);
        }
}

static void what_cannot_be_sorted_is_refused(void **state)
{
    static const tnp_argsort_attr ascending = { sizeof ascending, 0 },
                                  unknown = { sizeof unknown, 2 };
    static const tnp_top_k_attr five = { sizeof five, 5 };
    static const op_case refused[] = {
        { .says = "integers",
          .op = TNP_OP_ARGSORT,
          .attr = &ascending,
          .in = { VALUE(I32, 4) },
          .out = VALUE(I32, 4) },
        { .says = "an unknown order",
          .op = TNP_OP_ARGSORT,
          .attr = &unknown,
          .in = { VALUE(F32, 4) },
          .out = VALUE(I32, 4) },
        { .says = "more than there are",
          .op = TNP_OP_TOP_K,
          .attr = &five,
          .in = { VALUE(F32, 4) },
          .out = VALUE(I32, 5) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_refusal(&refused[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argsort_matches_the_reference),
        cmocka_unit_test(top_k_matches_the_reference),
        cmocka_unit_test(what_cannot_be_sorted_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
