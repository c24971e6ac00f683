// ops_pad.c: pad and repeat against the reference: the same elements.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static void pad_matches_the_reference(void **state)
{
    static const struct {
        op_case c;
        int64_t before[4], after[4];
        float value;
    } cases[] = {
        { { .says = "rows", .in = { VALUE(F32, 31, 3) }, .out = VALUE(F32, 36, 3) },
          { 3 },
          { 2 },
          0 },
        { { .says = "every dim", .in = { VALUE(F32, 5, 3, 2, 2) }, .out = VALUE(F32, 8, 4, 5, 3) },
          { 1, 1, 0, 1 },
          { 2, 0, 3, 0 },
          -1.5f },
        { { .says = "nothing", .in = { VALUE(F16, 33, 3) }, .out = VALUE(F16, 33, 3) },
          { 0 },
          { 0 },
          7 },
        { { .says = "a new dim", .in = { VALUE(F16, 33) }, .out = VALUE(F16, 33, 4) },
          { 0, 1 },
          { 0, 2 },
          65504 },
        { { .says = "I32, whose value is cut",
            .in = { RANGE(-1e9, 1e9, I32, 33, 3) },
            .out = VALUE(I32, 40, 3) },
          { 7 },
          { 0 },
          -2.75f },
        { { .says = "I8, whose value is too large",
            .in = { RANGE(-128, 128, TNP_DTYPE_I8, 33, 3) },
            .out = VALUE(TNP_DTYPE_I8, 33, 5) },
          { 0 },
          { 0, 2 },
          300 },
        { { .says = "BOOL",
            .in = { RANGE(0, 2, TNP_DTYPE_BOOL, 33) },
            .out = VALUE(TNP_DTYPE_BOOL, 35) },
          { 1 },
          { 1 },
          0.5f },
        { { .says = "I64",
            .in = { RANGE(-1e12, 1e12, TNP_DTYPE_I64, 33) },
            .out = VALUE(TNP_DTYPE_I64, 35) },
          { 1 },
          { 1 },
          -1e20f },
        { { .says = "BF16 and I16 of a NaN",
            .in = { VALUE(TNP_DTYPE_BF16, 33) },
            .out = VALUE(TNP_DTYPE_BF16, 35) },
          { 1 },
          { 1 },
          NAN },
        { { .says = "turned", .in = { LAID(TURNED, F32, 31, 3) }, .out = LAID(TURNED, F32, 33, 5) },
          { 1, 1 },
          { 1, 1 },
          1 },
        { { .says = "padded bytes",
            .in = { LAID(PADDED, F32, 31, 3) },
            .out = LAID(PADDED, F32, 33, 5) },
          { 1, 1 },
          { 1, 1 },
          1 },
        { { .says = "2 of 5 rows",
            .in = { { .dtype = F32, .dims = { 31, 5 }, .cut = { 0, 3 } } },
            .out = { .dtype = F32, .dims = { 32, 5 }, .cut = { 0, 3 } } },
          { 1 },
          { 0 },
          1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i].c;
        tnp_pad_attr attr = { .size = sizeof attr, .rank = 4, .value = cases[i].value };

        memcpy(attr.before, cases[i].before, sizeof cases[i].before);
        memcpy(attr.after, cases[i].after, sizeof cases[i].after);
        c.op = TNP_OP_PAD;
        c.attr = &attr;
        check_case(&c);
    }
}

static void repeat_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "rows", .in = { VALUE(F32, 31, 3) }, .out = VALUE(F32, 93, 3) },
        { .says = "one element", .in = { VALUE(F32, 1) }, .out = VALUE(F32, 33, 7) },
        { .says = "every dim", .in = { VALUE(F16, 5, 3, 2, 1) }, .out = VALUE(F16, 10, 9, 2, 4) },
        { .says = "I32", .in = { RANGE(-9, 9, I32, 5, 3) }, .out = VALUE(I32, 5, 6) },
        { .says = "I64",
          .in = { RANGE(-9, 9, TNP_DTYPE_I64, 5, 3) },
          .out = VALUE(TNP_DTYPE_I64, 15, 3) },
        { .says = "I8",
          .in = { RANGE(-9, 9, TNP_DTYPE_I8, 5, 3) },
          .out = VALUE(TNP_DTYPE_I8, 10, 3) },
        { .says = "turned", .in = { LAID(TURNED, F32, 31, 3) }, .out = LAID(TURNED, F32, 62, 6) },
        { .says = "padded", .in = { LAID(PADDED, F32, 31, 3) }, .out = LAID(PADDED, F32, 62, 6) },
        { .says = "2 of 5 rows",
          .in = { { .dtype = F32, .dims = { 31, 5 }, .cut = { 0, 3 } } },
          .out = { .dtype = F32, .dims = { 62, 5 }, .cut = { 0, 3 } } },
        { .says = "no row",
          .in = { { .dtype = F32, .dims = { 31, 5 }, .cut = { 0, 5 } } },
          .out = { .dtype = F32, .dims = { 62, 5 }, .cut = { 0, 5 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];
        tnp_dims_attr attr = { .size = sizeof attr, .rank = 4 };

        for (int d = 0; d < TNP_MAX_DIMS; d++)
            attr.dims[d] = d < TEST_DIMS && c.out.dims[d] ? c.out.dims[d] : 1;
        c.op = TNP_OP_REPEAT;
        c.attr = &attr;
        check_case(&c);
    }
}

static void block_types_are_refused(void **state)
{
    static const tnp_pad_attr pad = { .size = sizeof pad, .rank = 1 },
                              too_much = { .size = sizeof too_much, .rank = 1, .before = { 33 } };
    static const tnp_dims_attr dims = { .size = sizeof dims, .rank = 1, .dims = { 64 } };
    static const op_case cases[] = {
        { .says = "pad of Q8_0",
          .op = TNP_OP_PAD,
          .attr = &pad,
          .in = { VALUE(TNP_DTYPE_Q8_0, 32) },
          .out = VALUE(TNP_DTYPE_Q8_0, 32) },
        { .says = "more before than there is",
          .op = TNP_OP_PAD,
          .attr = &too_much,
          .in = { VALUE(F32, 32) },
          .out = VALUE(F32, 32) },
        { .says = "repeat of Q8_0",
          .op = TNP_OP_REPEAT,
          .attr = &dims,
          .in = { VALUE(TNP_DTYPE_Q8_0, 32) },
          .out = VALUE(TNP_DTYPE_Q8_0, 64) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pad_matches_the_reference),
        cmocka_unit_test(repeat_matches_the_reference),
        cmocka_unit_test(block_types_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
