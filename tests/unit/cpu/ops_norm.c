// ops_norm.c: norms and softmax against the reference.
//
// Bounds. rms_norm: the sum of n squares in 16 lanes has at most n / 16 + 5 roundings, halved by
// the square root; three more follow: below (n / 32 + 6) last places, 54 for the longest row here.
// layer_norm, group_norm and l2_norm sum in double; three roundings to F32 follow, of numbers up to
// 4 in size here (the last of a sum with the bias, which may cancel): absolute. softmax: exp 2, its
// argument (up to 20 in size) and the sum of n terms in 8 lanes n / 8 roundings of 2^-24 each:
// relative 2^-23 * (22 + n / 16). Of an F16 result, got and want may be neighbours: 2^-10.
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

static void layer_norm_and_l2_norm_match_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one element",
          .in = { VALUE(F32, 1), VALUE(F32, 1), VALUE(F32, 1) },
          .out = VALUE(F32, 1) },
        { .says = "31 elements alone", .in = { VALUE(F32, 31, 3) }, .out = VALUE(F32, 31, 3) },
        { .says = "33 in place, with a weight",
          .in = { VALUE(F32, 33, 5), VALUE(F32, 33) },
          .out = VALUE(F32, 33, 5),
          .in_place = 1 },
        { .says = "with a bias",
          .in = { VALUE(F32, 384, 4, 2), { .dtype = 0 }, VALUE(F32, 384) },
          .out = VALUE(F32, 384, 4, 2) },
        { .says = "1537 with both",
          .in = { VALUE(F32, 1537, 2), VALUE(F32, 1537), VALUE(F32, 1537) },
          .out = VALUE(F32, 1537, 2) },
        { .says = "far from 0",
          .in = { RANGE(10000, 10001, F32, 257, 3), VALUE(F32, 257), VALUE(F32, 257) },
          .out = VALUE(F32, 257, 3) },
        { .says = "padded",
          .in = { LAID(PADDED, F32, 257, 3), VALUE(F32, 257), VALUE(F32, 257) },
          .out = LAID(PADDED, F32, 257, 3) },
        { .says = "turned",
          .in = { LAID(TURNED, F32, 257, 3), VALUE(F32, 257), VALUE(F32, 257) },
          .out = LAID(TURNED, F32, 257, 3),
          .in_place = 1 },
        { .says = "F16",
          .in = { VALUE(F16, 257, 3), VALUE(F32, 257), VALUE(F32, 257) },
          .out = VALUE(F16, 257, 3) },
        { .says = "2 of 5 rows",
          .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } }, VALUE(F32, 33) },
          .out = { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } } },
        { .says = "no row",
          .in = { { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 5 } } },
          .out = { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 5 } } },
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i / 2];

        c.op = i % 2 ? TNP_OP_L2_NORM : TNP_OP_LAYER_NORM;
        if (i % 2)
            memset(&c.in[1], 0, 2 * sizeof c.in[1]);
        c.attr = &norm;
        c.absolute = 8 * PLACE;
        c.relative = c.out.dtype == F16 ? 0x1p-10 : 0;
        check_case(&c);
    }
}

static void zeros(cpu_job *job)
{
    memset(job->in[0].data, 0, sizeof(float) * 33);
}

static void a_row_of_zeros_is_divided_by_eps(void **state)
{
    static const op_case c = { .says = "zeros",
                               .op = TNP_OP_L2_NORM,
                               .attr = &norm,
                               .in = { VALUE(F32, 33) },
                               .out = VALUE(F32, 33),
                               .prepare = zeros };

    (void)state;
    check_case(&c);
}

static void group_norm_matches_the_reference(void **state)
{
    static const struct {
        op_case c;
        uint32_t groups;
    } cases[] = {
        { { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(F32, 1) }, 1 },
        { { .says = "one group",
            .in = { VALUE(F32, 5, 3, 4), VALUE(F32, 4), VALUE(F32, 4) },
            .out = VALUE(F32, 5, 3, 4) },
          1 },
        { { .says = "three groups of two channels, two images, in place",
            .in = { VALUE(F32, 5, 3, 6, 2), VALUE(F32, 6), VALUE(F32, 6) },
            .out = VALUE(F32, 5, 3, 6, 2),
            .in_place = 1 },
          3 },
        { { .says = "a channel a group, without weight",
            .in = { VALUE(F32, 31, 2, 4), { .dtype = 0 }, VALUE(F32, 4) },
            .out = VALUE(F32, 31, 2, 4) },
          4 },
        { { .says = "far from 0, longer than a buffer",
            .in = { RANGE(1000, 1001, F32, 1537, 2, 4), VALUE(F32, 4) },
            .out = VALUE(F32, 1537, 2, 4) },
          2 },
        { { .says = "turned F16",
            .in = { LAID(TURNED, F16, 33, 3, 4), VALUE(F32, 4), VALUE(F32, 4) },
            .out = LAID(TURNED, F16, 33, 3, 4) },
          2 },
        { { .says = "1 of 3 images",
            .in = { { .dtype = F32, .dims = { 5, 3, 4, 3 }, .cut = { 0, 0, 0, 2 } },
                    LAID(REPEATED, F32, 4) },
            .out = { .dtype = F32, .dims = { 5, 3, 4, 3 }, .cut = { 0, 0, 0, 2 } } },
          2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i].c;
        tnp_group_norm_attr attr = { sizeof attr, cases[i].groups, 1e-5f, 0 };

        c.op = TNP_OP_GROUP_NORM;
        c.attr = &attr;
        c.absolute = 8 * PLACE;
        c.relative = c.out.dtype == F16 ? 0x1p-10 : 0;
        check_case(&c);
    }
}

static void alibi_matches_the_reference(void **state)
{
    static const tnp_softmax_attr alibi = { .size = sizeof alibi,
                                            .scale = 0.5f,
                                            .alibi_max_bias = 8.0f };
    static const op_case cases[] = {
        { .says = "8 heads",
          .in = { VALUE(F32, 33, 3, 8), RANGE(-8, 0, F32, 33, 3) },
          .out = VALUE(F32, 33, 3, 8) },
        { .says = "12 heads, more than 8",
          .in = { VALUE(F32, 700, 2, 12), RANGE(-8, 0, F16, 700, 2) },
          .out = VALUE(F32, 700, 2, 12),
          .in_place = 1 },
        { .says = "1 head", .in = { VALUE(F32, 33, 3), VALUE(F32, 33) }, .out = VALUE(F32, 33, 3) },
        { .says = "no mask", .in = { VALUE(F32, 33, 3, 4) }, .out = VALUE(F32, 33, 3, 4) },
        { .says = "a mask of -inf",
          .in = { VALUE(F32, 33, 3, 3), VALUE(F32, 33, 3) },
          .out = VALUE(F32, 33, 3, 3),
          .prepare = hide_a_row_and_an_element },
        { .says = "turned F16",
          .in = { LAID(TURNED, F16, 33, 3, 4), VALUE(F32, 33, 3) },
          .out = LAID(TURNED, F16, 33, 3, 4) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_SOFTMAX;
        c.attr = &alibi;
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
        cmocka_unit_test(layer_norm_and_l2_norm_match_the_reference),
        cmocka_unit_test(a_row_of_zeros_is_divided_by_eps),
        cmocka_unit_test(group_norm_matches_the_reference),
        cmocka_unit_test(softmax_matches_the_reference),
        cmocka_unit_test(alibi_matches_the_reference),
        cmocka_unit_test(a_weight_in_f16_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
