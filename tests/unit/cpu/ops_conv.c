// ops_conv.c: convolutions against the reference.
//
// A sum of K products in 8 lanes has at most K / 8 + 3 roundings after that of each product: with
// operands up to 1 in size the error is below (K / 8 + 4) * 2^-24 * K. conv_transpose_1d sums in
// double and rounds once.
#include "ops_support.h"

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16

typedef struct conv_case {
    op_case c;
    uint32_t stride[2], dilation[2], before[2], after[2], groups;
} conv_case;

static void check_conv(const conv_case *from, tnp_op op)
{
    tnp_conv_attr attr = { .size = sizeof attr, .groups = from->groups ? from->groups : 1 };
    op_case c = from->c;
    double k = 1;

    for (int i = 0; i < 2; i++) {
        attr.stride[i] = from->stride[i] ? from->stride[i] : 1;
        attr.dilation[i] = from->dilation[i] ? from->dilation[i] : 1;
        attr.before[i] = from->before[i];
        attr.after[i] = from->after[i];
    }
    for (int i = 0; i < (op == TNP_OP_CONV_2D ? 3 : 2); i++)
        k *= (double)(c.in[1].dims[i] ? c.in[1].dims[i] : 1);
    c.op = op;
    c.attr = &attr;
    c.absolute = op == TNP_OP_CONV_TRANSPOSE_1D ? 1e-12 : (k / 8 + 4) * 0x1p-24 * k;
    c.relative = 0x1p-23;
    check_case(&c);
}

static void conv_1d_matches_the_reference(void **state)
{
    static const conv_case cases[] = {
        { .c = { .says = "one tap",
                 .in = { VALUE(F32, 7), VALUE(F32, 1) },
                 .out = VALUE(F32, 7) } },
        { .c = { .says = "80 channels to 33, with edges",
                 .in = { VALUE(F32, 100, 80), VALUE(F32, 3, 80, 33) },
                 .out = VALUE(F32, 100, 33) },
          .before = { 1 },
          .after = { 1 } },
        { .c = { .says = "stride 2, two sounds",
                 .in = { VALUE(F32, 67, 5, 2), VALUE(F32, 3, 5, 4) },
                 .out = VALUE(F32, 34, 4, 2) },
          .stride = { 2 },
          .before = { 1 },
          .after = { 1 } },
        { .c = { .says = "dilation 3, uneven edges",
                 .in = { VALUE(F32, 31, 2), VALUE(F32, 4, 2, 3) },
                 .out = VALUE(F32, 27, 3) },
          .dilation = { 3 },
          .before = { 5 } },
        { .c = { .says = "a channel a group",
                 .in = { VALUE(F32, 33, 6), VALUE(F32, 5, 1, 12) },
                 .out = VALUE(F32, 29, 12) },
          .groups = 6 },
        { .c = { .says = "attributes of a second dim do not count",
                 .in = { VALUE(F32, 33, 6), VALUE(F32, 5, 6, 2) },
                 .out = VALUE(F32, 29, 2) },
          .stride = { 1, 9 },
          .before = { 0, 9 },
          .dilation = { 1, 9 } },
        { .c = { .says = "F16, turned",
                 .in = { LAID(TURNED, F16, 33, 6), LAID(TURNED, F16, 5, 6, 4) },
                 .out = LAID(TURNED, F32, 29, 4) } },
        { .c = { .says = "padded",
                 .in = { LAID(PADDED, F32, 33, 6), LAID(PADDED, F32, 5, 6, 4) },
                 .out = LAID(PADDED, F32, 29, 4) } },
        { .c = { .says = "2 of 5 sounds",
                 .in = { { .dtype = F32, .dims = { 33, 6, 5 }, .cut = { 0, 0, 3 } },
                         VALUE(F32, 5, 6, 4) },
                 .out = { .dtype = F32, .dims = { 29, 4, 5 }, .cut = { 0, 0, 3 } } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_conv(&cases[i], TNP_OP_CONV_1D);
}

static void conv_2d_matches_the_reference(void **state)
{
    static const conv_case cases[] = {
        { .c = { .says = "one element",
                 .in = { VALUE(F32, 1), VALUE(F32, 1) },
                 .out = VALUE(F32, 1) } },
        { .c = { .says = "3 by 3 with edges, 5 channels to 35",
                 .in = { VALUE(F32, 9, 7, 5), VALUE(F32, 3, 3, 5, 35) },
                 .out = VALUE(F32, 9, 7, 35) },
          .before = { 1, 1 },
          .after = { 1, 1 } },
        { .c = { .says = "patches, two images",
                 .in = { VALUE(F32, 28, 42, 3, 2), VALUE(F32, 14, 14, 3, 8) },
                 .out = VALUE(F32, 2, 3, 8, 2) },
          .stride = { 14, 14 } },
        { .c = { .says = "both dims their own way",
                 .in = { VALUE(F32, 19, 13, 2), VALUE(F32, 3, 2, 2, 4) },
                 .out = VALUE(F32, 9, 6, 4) },
          .stride = { 2, 3 },
          .dilation = { 1, 4 },
          .before = { 0, 5 },
          .after = { 1, 4 } },
        { .c = { .says = "two groups",
                 .in = { VALUE(F32, 9, 7, 4), VALUE(F32, 3, 3, 2, 6) },
                 .out = VALUE(F32, 7, 5, 6) },
          .groups = 2 },
        { .c = { .says = "a channel a group",
                 .in = { VALUE(F32, 9, 7, 8), VALUE(F32, 3, 3, 1, 8) },
                 .out = VALUE(F32, 7, 5, 8) },
          .groups = 8 },
        { .c = { .says = "the window sees nothing but edges",
                 .in = { VALUE(F32, 1, 1, 2), VALUE(F32, 2, 2, 2, 3) },
                 .out = VALUE(F32, 5, 5, 3) },
          .before = { 3, 2 },
          .after = { 2, 3 } },
        { .c = { .says = "F16, turned",
                 .in = { LAID(TURNED, F16, 9, 7, 4), LAID(TURNED, F16, 3, 3, 4, 6) },
                 .out = LAID(TURNED, F32, 7, 5, 6) } },
        { .c = { .says = "F32 images, F16 kernel",
                 .in = { VALUE(F32, 9, 7, 4), VALUE(F16, 3, 3, 4, 6) },
                 .out = VALUE(F32, 7, 5, 6) } },
        { .c = { .says = "no image",
                 .in = { { .dtype = F32, .dims = { 9, 7, 4, 2 }, .cut = { 0, 0, 0, 2 } },
                         VALUE(F32, 3, 3, 4, 6) },
                 .out = { .dtype = F32, .dims = { 7, 5, 6, 2 }, .cut = { 0, 0, 0, 2 } } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_conv(&cases[i], TNP_OP_CONV_2D);
}

static void conv_transpose_1d_matches_the_reference(void **state)
{
    static const conv_case cases[] = {
        { .c = { .says = "one element",
                 .in = { VALUE(F32, 1), VALUE(F32, 1) },
                 .out = VALUE(F32, 1) } },
        { .c = { .says = "twice as long",
                 .in = { VALUE(F32, 31, 5), VALUE(F32, 4, 3, 5) },
                 .out = VALUE(F32, 62, 3) },
          .stride = { 2 },
          .before = { 1 },
          .after = { 1 } },
        { .c = { .says = "longer than a buffer, two sounds",
                 .in = { VALUE(F32, 160, 2, 2), VALUE(F32, 16, 3, 2) },
                 .out = VALUE(F32, 1287, 3, 2) },
          .stride = { 8 },
          .before = { 1 } },
        { .c = { .says = "places that nothing adds to",
                 .in = { VALUE(F32, 5, 2), VALUE(F32, 2, 3, 2) },
                 .out = VALUE(F32, 22, 3) },
          .stride = { 5 } },
        { .c = { .says = "dilation, edges cut off",
                 .in = { VALUE(F32, 9, 2), VALUE(F32, 4, 3, 2) },
                 .out = VALUE(F32, 8, 3) },
          .dilation = { 3 },
          .before = { 4 },
          .after = { 6 } },
        { .c = { .says = "F16, turned",
                 .in = { LAID(TURNED, F16, 9, 2), LAID(TURNED, F16, 4, 3, 2) },
                 .out = LAID(TURNED, F32, 20, 3) },
          .stride = { 2 } },
        { .c = { .says = "1 of 2 sounds",
                 .in = { { .dtype = F32, .dims = { 9, 2, 2 }, .cut = { 0, 0, 1 } },
                         VALUE(F32, 4, 3, 2) },
                 .out = { .dtype = F32, .dims = { 12, 3, 2 }, .cut = { 0, 0, 1 } } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_conv(&cases[i], TNP_OP_CONV_TRANSPOSE_1D);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const tnp_conv_attr
        good = { .size = sizeof good, .groups = 1, .stride = { 1, 1 }, .dilation = { 1, 1 } },
        three = { .size = sizeof three, .groups = 3, .stride = { 1, 1 }, .dilation = { 1, 1 } },
        still = { .size = sizeof still, .groups = 1, .dilation = { 1, 1 } };
    static const op_case cases[] = {
        { .says = "other channels",
          .op = TNP_OP_CONV_2D,
          .attr = &good,
          .in = { VALUE(F32, 9, 7, 4), VALUE(F32, 3, 3, 2, 6) },
          .out = VALUE(F32, 7, 5, 6) },
        { .says = "groups that do not divide",
          .op = TNP_OP_CONV_1D,
          .attr = &three,
          .in = { VALUE(F32, 9, 4), VALUE(F32, 3, 1, 6) },
          .out = VALUE(F32, 7, 6) },
        { .says = "groups of a transposed one",
          .op = TNP_OP_CONV_TRANSPOSE_1D,
          .attr = &three,
          .in = { VALUE(F32, 9, 3), VALUE(F32, 3, 3, 3) },
          .out = VALUE(F32, 11, 3) },
        { .says = "a stride of 0",
          .op = TNP_OP_CONV_1D,
          .attr = &still,
          .in = { VALUE(F32, 9, 4), VALUE(F32, 3, 4, 6) },
          .out = VALUE(F32, 7, 6) },
        { .says = "a result in F16",
          .op = TNP_OP_CONV_1D,
          .attr = &good,
          .in = { VALUE(F32, 9, 4), VALUE(F32, 3, 4, 6) },
          .out = VALUE(F16, 7, 6) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_1d_matches_the_reference),
        cmocka_unit_test(conv_2d_matches_the_reference),
        cmocka_unit_test(conv_transpose_1d_matches_the_reference),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
