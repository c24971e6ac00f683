// ops_norm.c: rms_norm and softmax against the reference.
//
// Bounds. rms_norm: the sum of n squares in 16 lanes has at most n / 16 + 5 roundings, halved by
// the square root; three more follow: below (n / 32 + 6) last places, 54 for the longest row here.
// softmax: exp 2, its argument (up to 20 in size) and the sum of n terms in 8 lanes n / 8 roundings
// of 2^-24 each: relative 2^-23 * (22 + n / 16). Of an F16 result, got and want may be neighbours:
// 2^-10.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32   TNP_DTYPE_F32
#define F16   TNP_DTYPE_F16
#define PLACE 0x1p-23

static const tnp_norm_attr norm = { sizeof(tnp_norm_attr), 1e-5f };
static const tnp_softmax_attr plain = { .size = sizeof(tnp_softmax_attr), .scale = 1.0f },
                              scaled = { .size = sizeof(tnp_softmax_attr), .scale = 2.5f };

static void rms_norm_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one element", .in = { VALUE(F32, 1), VALUE(F32, 1) }, .out = VALUE(F32, 1) },
        { .says = "31 elements without weight",
          .in = { VALUE(F32, 31, 3) },
          .out = VALUE(F32, 31, 3) },
        { .says = "33 in place",
          .in = { VALUE(F32, 33, 5), VALUE(F32, 33) },
          .out = VALUE(F32, 33, 5),
          .in_place = 1 },
        { .says = "576",
          .in = { VALUE(F32, 576, 4, 2), VALUE(F32, 576) },
          .out = VALUE(F32, 576, 4, 2) },
        { .says = "1537",
          .in = { VALUE(F32, 1537, 1), VALUE(F32, 1537) },
          .out = VALUE(F32, 1537, 1) },
        { .says = "padded",
          .in = { LAID(PADDED, F32, 257, 3), VALUE(F32, 257) },
          .out = LAID(PADDED, F32, 257, 3) },
        { .says = "turned",
          .in = { LAID(TURNED, F32, 257, 3), VALUE(F32, 257) },
          .out = LAID(TURNED, F32, 257, 3),
          .in_place = 1 },
        { .says = "F16", .in = { VALUE(F16, 257, 3), VALUE(F32, 257) }, .out = VALUE(F16, 257, 3) },
        { .says = "F16 to F32", .in = { VALUE(F16, 257, 3) }, .out = VALUE(F32, 257, 3) },
        { .says = "2 of 5 rows",
          .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } }, VALUE(F32, 33) },
          .out = { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } } },
        { .says = "no row",
          .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 5 } }, VALUE(F32, 33) },
          .out = { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 5 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_RMS_NORM;
        c.attr = &norm;
        c.relative = 54 * PLACE + (c.out.dtype == F16 ? 0x1p-10 : 0);
        c.absolute = c.out.dtype == F16 ? 0x1p-25 : 0;
        check_case(&c);
    }
}

static void hide_a_row_and_an_element(cpu_job *job)
{
    ref_tensor mask = as_reference(&job->in[1]);
    int64_t at[TNP_MAX_DIMS] = { 0, 1 };

    for (; at[0] < mask.dims[0]; at[0]++)
        ref_set(&mask, at, -INFINITY);
    at[0] = at[1] = 0;
    ref_set(&mask, at, -INFINITY);
}

static void softmax_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one element", .attr = &plain, .in = { VALUE(F32, 1) }, .out = VALUE(F32, 1) },
        { .says = "31 in place",
          .attr = &plain,
          .in = { RANGE(-8, 8, F32, 31, 3) },
          .out = VALUE(F32, 31, 3),
          .in_place = 1 },
        { .says = "257 scaled",
          .attr = &scaled,
          .in = { RANGE(-8, 8, F32, 257, 3, 2) },
          .out = VALUE(F32, 257, 3, 2) },
        { .says = "mask",
          .attr = &scaled,
          .in = { VALUE(F32, 33, 3, 2), VALUE(F32, 33, 3) },
          .out = VALUE(F32, 33, 3, 2) },
        { .says = "F16 mask",
          .attr = &scaled,
          .in = { VALUE(F32, 33, 3, 2), VALUE(F16, 33, 1, 2) },
          .out = VALUE(F32, 33, 3, 2) },
        { .says = "rows hidden by the mask give zeros",
          .attr = &plain,
          .in = { VALUE(F32, 33, 3), VALUE(F32, 33, 3) },
          .out = VALUE(F32, 33, 3),
          .prepare = hide_a_row_and_an_element },
        { .says = "turned",
          .attr = &plain,
          .in = { LAID(TURNED, F32, 33, 3) },
          .out = LAID(TURNED, F32, 33, 3),
          .in_place = 1 },
        { .says = "F16", .attr = &plain, .in = { VALUE(F16, 700, 3) }, .out = VALUE(F16, 700, 3) },
        { .says = "10 of 33 columns",
          .attr = &plain,
          .in = { { .dtype = F32, .dims = { 33, 3 }, .cut = { 23 } } },
          .out = { .dtype = F32, .dims = { 33, 3 }, .cut = { 23 } } },
        { .says = "no column",
          .attr = &plain,
          .in = { { .dtype = F32, .dims = { 33, 3 }, .cut = { 33 } } },
          .out = { .dtype = F32, .dims = { 33, 3 }, .cut = { 33 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_SOFTMAX;
        c.relative = 66 * PLACE + (c.out.dtype == F16 ? 0x1p-10 : 0);
        c.absolute = c.out.dtype == F16 ? 0x1p-25 : 1e-37;
        check_case(&c);
    }
}

static void a_weight_in_f16_is_refused(void **state)
{
    static const op_case c = { .says = "F16 weight",
                               .op = TNP_OP_RMS_NORM,
                               .attr = &norm,
                               .in = { VALUE(F32, 32), VALUE(F16, 32) },
                               .out = VALUE(F32, 32) };

    (void)state;
    check_refusal(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rms_norm_matches_the_reference),
        cmocka_unit_test(softmax_matches_the_reference),
        cmocka_unit_test(a_weight_in_f16_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
