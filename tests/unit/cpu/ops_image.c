// ops_image.c: pool_2d and upscale against the reference. Both compute in double and round once.
#include "ops_support.h"

#include <math.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16

static void nan_in_a_corner(cpu_job *job)
{
    ref_tensor x = as_reference(&job->in[0]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    for (at[1] = 0; at[1] < 2; at[1]++)
        for (at[0] = 0; at[0] < 3; at[0]++)
            ref_set(&x, at, NAN);
}

static void pool_2d_matches_the_reference(void **state)
{
    static const struct {
        op_case c;
        uint32_t kernel[2], stride[2], before[2], after[2];
    } cases[] = {
        { { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(F32, 1) },
          { 1, 1 },
          { 1, 1 },
          { 0 },
          { 0 } },
        { { .says = "2 by 2", .in = { VALUE(F32, 8, 6, 3) }, .out = VALUE(F32, 4, 3, 3) },
          { 2, 2 },
          { 2, 2 },
          { 0 },
          { 0 } },
        { { .says = "3 by 2 with edges, two images",
            .in = { VALUE(F32, 9, 7, 2, 2) },
            .out = VALUE(F32, 5, 8, 2, 2) },
          { 3, 2 },
          { 2, 1 },
          { 1, 1 },
          { 1, 1 } },
        { { .says = "wider than a buffer",
            .in = { VALUE(F32, 1537, 3) },
            .out = VALUE(F32, 1535, 1) },
          { 3, 3 },
          { 1, 1 },
          { 0 },
          { 0 } },
        { { .says = "NaN among numbers, and alone",
            .in = { VALUE(F32, 8, 6) },
            .out = VALUE(F32, 4, 3),
            .prepare = nan_in_a_corner },
          { 2, 2 },
          { 2, 2 },
          { 0 },
          { 0 } },
        { { .says = "F16", .in = { VALUE(F16, 9, 7, 2) }, .out = VALUE(F16, 4, 3, 2) },
          { 2, 2 },
          { 2, 2 },
          { 0 },
          { 0 } },
        { { .says = "turned",
            .in = { LAID(TURNED, F32, 9, 7, 2) },
            .out = LAID(TURNED, F32, 8, 6, 2) },
          { 2, 2 },
          { 1, 1 },
          { 0 },
          { 0 } },
        { { .says = "2 of 5 channels",
            .in = { { .dtype = F32, .dims = { 9, 7, 5 }, .cut = { 0, 0, 3 } } },
            .out = { .dtype = F32, .dims = { 8, 6, 5 }, .cut = { 0, 0, 3 } } },
          { 2, 2 },
          { 1, 1 },
          { 0 },
          { 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t kind = TNP_POOL_MAX; kind <= TNP_POOL_MEAN; kind++) {
            op_case c = cases[i].c;
            tnp_pool_attr attr = { .size = sizeof attr, .kind = kind };

            for (int d = 0; d < 2; d++) {
                attr.kernel[d] = cases[i].kernel[d];
                attr.stride[d] = cases[i].stride[d];
                attr.before[d] = cases[i].before[d];
                attr.after[d] = cases[i].after[d];
            }
            c.op = TNP_OP_POOL_2D;
            c.attr = &attr;
            c.relative = c.out.dtype == F16 ? 0x1p-10 : 0x1p-23;
            c.absolute = 1e-12;
            check_case(&c);
        }
}

static void upscale_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(F32, 4, 3) },
        { .says = "the same size", .in = { VALUE(F32, 5, 4, 2) }, .out = VALUE(F32, 5, 4, 2) },
        { .says = "twice", .in = { VALUE(F32, 5, 4, 2, 2) }, .out = VALUE(F32, 10, 8, 2, 2) },
        { .says = "odd ratios", .in = { VALUE(F32, 7, 5, 2) }, .out = VALUE(F32, 10, 17, 2) },
        { .says = "smaller", .in = { VALUE(F32, 31, 17) }, .out = VALUE(F32, 7, 5) },
        { .says = "wider than a buffer", .in = { VALUE(F32, 300, 2) }, .out = VALUE(F32, 1537, 3) },
        { .says = "F16", .in = { VALUE(F16, 7, 5, 2) }, .out = VALUE(F16, 14, 5, 2) },
        { .says = "turned",
          .in = { LAID(TURNED, F32, 7, 5, 2) },
          .out = LAID(TURNED, F32, 14, 15, 2) },
        { .says = "1 of 3 channels",
          .in = { { .dtype = F32, .dims = { 7, 5, 3 }, .cut = { 0, 0, 2 } } },
          .out = { .dtype = F32, .dims = { 14, 10, 3 }, .cut = { 0, 0, 2 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t mode = TNP_UPSCALE_NEAREST; mode <= TNP_UPSCALE_BILINEAR; mode++) {
            op_case c = cases[i];
            tnp_upscale_attr attr = { sizeof attr, mode, c.out.dims[0],
                                      c.out.dims[1] ? c.out.dims[1] : 1 };

            c.op = TNP_OP_UPSCALE;
            c.attr = &attr;
            c.relative = c.out.dtype == F16 ? 0x1p-10 : 0x1p-23;
            c.absolute = 1e-12;
            check_case(&c);
        }
}

static void unknown_kinds_are_refused(void **state)
{
    static const tnp_pool_attr pool = { .size = sizeof pool,
                                        .kind = 2,
                                        .kernel = { 1, 1 },
                                        .stride = { 1, 1 } },
                               still = { .size = sizeof still, .kernel = { 1, 1 } };
    static const tnp_upscale_attr upscale = { sizeof upscale, 2, 8, 8 };
    static const op_case cases[] = {
        { .says = "a kind of pooling",
          .op = TNP_OP_POOL_2D,
          .attr = &pool,
          .in = { VALUE(F32, 4, 4) },
          .out = VALUE(F32, 4, 4) },
        { .says = "a stride of 0",
          .op = TNP_OP_POOL_2D,
          .attr = &still,
          .in = { VALUE(F32, 4, 4) },
          .out = VALUE(F32, 4, 4) },
        { .says = "a mode of upscale",
          .op = TNP_OP_UPSCALE,
          .attr = &upscale,
          .in = { VALUE(F32, 4, 4) },
          .out = VALUE(F32, 8, 8) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_2d_matches_the_reference),
        cmocka_unit_test(upscale_matches_the_reference),
        cmocka_unit_test(unknown_kinds_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
