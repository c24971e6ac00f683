// ops_elementwise.c: arithmetic and activations against the reference.
//
// Bounds. add, sub, mul, div, neg, sqrt, relu, sqr, gelu_erf, reglu: one rounding, half a last
// place of F32; abs and clamp none. scale, rsqrt: two. log, sin, cos: those of the C library, below
// one place. exp and tanh: 2 and 4 last places, softcap two more; sigmoid, silu, gelu, swiglu: a
// few more roundings after exp, 8 last places; gelu's argument u is rounded too, and exp(-2 u)
// enlarges that by 2 |u|, below 30 here, as gelu_quick's by 1.702 |x|, below 16. Of an F16 result,
// got and want may be neighbours: 2^-10.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32   TNP_DTYPE_F32
#define F16   TNP_DTYPE_F16
#define PLACE 0x1p-23

static const tnp_scale_attr scale_and_bias = { sizeof(tnp_scale_attr), 0.37f, -1.25f, 0 };

static const tnp_clamp_attr within = { sizeof(tnp_clamp_attr), -0.5f, 0.75f, 0 };
static const tnp_softcap_attr softcap = { sizeof(tnp_softcap_attr), 2.5f };

static const struct {
    tnp_op op;
    int inputs;
    const void *attr;
    double low, high, relative, absolute;
} ops[] = {
    { TNP_OP_ADD, 2, NULL, -2, 2, PLACE, 0 },
    { TNP_OP_SUB, 2, NULL, -2, 2, PLACE, 0 },
    { TNP_OP_MUL, 2, NULL, -2, 2, PLACE, 0 },
    { TNP_OP_DIV, 2, NULL, 0.5, 2, PLACE, 0 },
    { TNP_OP_SWIGLU, 2, NULL, -9, 9, 8 * PLACE, 3e-37 },
    { TNP_OP_SCALE, 1, &scale_and_bias, -2, 2, PLACE, PLACE },
    { TNP_OP_NEG, 1, NULL, -2, 2, 0, 0 },
    { TNP_OP_SQRT, 1, NULL, 0, 9, PLACE, 0 },
    { TNP_OP_EXP, 1, NULL, -20, 20, 2 * PLACE, 0 },
    { TNP_OP_TANH, 1, NULL, -5, 5, 4 * PLACE, 0 },
    { TNP_OP_SIGMOID, 1, NULL, -20, 20, 8 * PLACE, 0 },
    { TNP_OP_RELU, 1, NULL, -2, 2, 0, 0 },
    { TNP_OP_SILU, 1, NULL, -20, 20, 8 * PLACE, 0 },
    { TNP_OP_GELU, 1, NULL, -4, 4, 30 * PLACE, 0 },
    { TNP_OP_ABS, 1, NULL, -2, 2, 0, 0 },
    { TNP_OP_SQR, 1, NULL, -2, 2, PLACE, 0 },
    { TNP_OP_RSQRT, 1, NULL, 0.01, 9, PLACE, 0 },
    { TNP_OP_LOG, 1, NULL, 0.01, 9, PLACE, 0 },
    { TNP_OP_SIN, 1, NULL, -20, 20, PLACE, 0 },
    { TNP_OP_COS, 1, NULL, -20, 20, PLACE, 0 },
    { TNP_OP_CLAMP, 1, &within, -2, 2, 0, 0 },
    { TNP_OP_GELU_ERF, 1, NULL, -9, 9, PLACE, 0 },
    { TNP_OP_GELU_QUICK, 1, NULL, -9, 9, 16 * PLACE, 0 },
    { TNP_OP_SOFTCAP, 1, &softcap, -12, 12, 6 * PLACE, 0 },
    { TNP_OP_GEGLU, 2, NULL, -4, 4, 31 * PLACE, 0 },
    { TNP_OP_REGLU, 2, NULL, -2, 2, PLACE, 0 },
};

#define OPS (sizeof ops / sizeof ops[0])

static const struct {
    operand a, b, out;
    int in_place;
    const char *says;
} shapes[] = {
    { VALUE(F32, 1), VALUE(F32, 1), VALUE(F32, 1), 0, "one element" },
    { VALUE(F32, 31), VALUE(F32, 31), VALUE(F32, 31), 1, "31 elements in place" },
    { VALUE(F32, 33, 7), VALUE(F32, 33, 7), VALUE(F32, 33, 7), 0, "7 rows of 33" },
    { VALUE(F32, 257, 3, 2, 2), VALUE(F32, 257, 3, 2, 2), VALUE(F32, 257, 3, 2, 2), 1,
      "four dims in place" },
    { VALUE(F32, 1537), VALUE(F32, 1537), VALUE(F32, 1537), 0, "a row longer than a buffer" },
    { VALUE(F32, 33, 7, 2), VALUE(F32, 33), VALUE(F32, 33, 7, 2), 1, "b is a row" },
    { VALUE(F32, 33, 7, 2), VALUE(F32, 1), VALUE(F32, 33, 7, 2), 0, "b is one element" },
    { VALUE(F32, 33, 7, 2), VALUE(F32, 1, 7, 1), VALUE(F32, 33, 7, 2), 0,
      "b has an element a row" },
    { VALUE(F32, 33, 3, 2, 2), VALUE(F32, 33, 1, 2, 1), VALUE(F32, 33, 3, 2, 2), 1,
      "b is broadcast along two dims of four" },
    { VALUE(F32, 33, 3, 2, 2), LAID(TURNED, F16, 1, 3, 1, 2), VALUE(F32, 33, 3, 2, 2), 0,
      "b is broadcast, in F16 and turned" },
    { LAID(PADDED, F32, 33, 7), VALUE(F32, 33, 7), LAID(PADDED, F32, 33, 7), 0,
      "bytes between the rows of a and out" },
    { LAID(TURNED, F32, 33, 7), VALUE(F32, 33, 7), LAID(TURNED, F32, 33, 7), 1,
      "turned, in place" },
    { VALUE(F32, 33, 7), LAID(TURNED, F32, 33, 7), VALUE(F32, 33, 7), 0, "b turned" },
    { VALUE(F32, 33, 7), LAID(REPEATED, F32, 33, 7), VALUE(F32, 33, 7), 0,
      "b repeated by stride 0" },
    { VALUE(F16, 257, 3), VALUE(F16, 257, 3), VALUE(F16, 257, 3), 1, "F16 in place" },
    { VALUE(F16, 33, 3), VALUE(F32, 33, 3), VALUE(F32, 33, 3), 0, "F16 with F32" },
    { LAID(TURNED, F16, 33, 3), VALUE(F32, 33), LAID(TURNED, F16, 33, 3), 0, "F16 turned" },
    { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 5 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 5 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 5 } },
      0,
      "2 of 7 rows" },
    { { .dtype = F32, .dims = { 33, 7 }, .cut = { 30 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 30 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 30 } },
      1,
      "3 of 33 columns" },
    { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } },
      { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } },
      0,
      "no row" },
};

static void every_op_matches_the_reference(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPS; o++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            op_case c = { .says = shapes[s].says,
                          .op = ops[o].op,
                          .attr = ops[o].attr,
                          .in = { shapes[s].a, shapes[s].b },
                          .out = shapes[s].out,
                          .in_place = shapes[s].in_place,
                          .relative = ops[o].relative,
                          .absolute = ops[o].absolute };

            if ((ops[o].op == TNP_OP_SWIGLU || ops[o].op == TNP_OP_GEGLU ||
                 ops[o].op == TNP_OP_REGLU) &&
                memcmp(c.in[0].dims, c.in[1].dims, sizeof c.in[0].dims))
                continue;   // takes no broadcast
            if (ops[o].inputs == 1)
                memset(&c.in[1], 0, sizeof c.in[1]);
            c.in[0].low = c.in[1].low = ops[o].low;
            c.in[0].high = c.in[1].high = ops[o].high;
            if (c.out.dtype == F16) {
                c.relative += 0x1p-10;
                c.absolute += 0x1p-25;
            }
            check_case(&c);
        }
}

static void the_second_operand_may_be_overwritten(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPS; o++) {
        op_case c = { .says = "in place on b",
                      .op = ops[o].op,
                      .in = { VALUE(F32, 33, 5), VALUE(F32, 33, 5) },
                      .out = VALUE(F32, 33, 5),
                      .in_place = 2,
                      .relative = ops[o].relative,
                      .absolute = ops[o].absolute };

        if (ops[o].inputs == 2)
            check_case(&c);
    }
}

static void odd_numbers(cpu_job *job)
{
    static const double numbers[] = { -INFINITY, INFINITY, NAN, 0, -0.0, 1e-40, -3e38 };
    ref_tensor x = as_reference(&job->in[0]);

    for (int64_t i = 0; i < 7; i++)
        ref_set(&x, (int64_t[TNP_MAX_DIMS]){ i }, numbers[i]);
}

static void functions_of_odd_numbers_match_the_reference(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPS; o++) {
        op_case c = { .says = "infinities, NaN, zeros, a subnormal",
                      .op = ops[o].op,
                      .attr = ops[o].attr,
                      .in = { VALUE(F32, 7) },
                      .out = VALUE(F32, 7),
                      .prepare = odd_numbers,
                      .relative = ops[o].relative,
                      .absolute = 1e-37 };

        // x sigmoid(x) of -inf is 0 times infinity; where exp(-x) overflows, kernels give 0
        if (ops[o].inputs == 1 && ops[o].op != TNP_OP_SILU && ops[o].op != TNP_OP_GELU &&
            ops[o].op != TNP_OP_GELU_QUICK)
            check_case(&c);
    }
}

static void integers_and_blocks_are_refused(void **state)
{
    static const op_case cases[] = {
        { .says = "add of I32",
          .op = TNP_OP_ADD,
          .in = { VALUE(TNP_DTYPE_I32, 4), VALUE(TNP_DTYPE_I32, 4) },
          .out = VALUE(TNP_DTYPE_I32, 4) },
        { .says = "exp of Q8_0",
          .op = TNP_OP_EXP,
          .in = { VALUE(TNP_DTYPE_Q8_0, 32) },
          .out = VALUE(F32, 32) },
        { .says = "neg of BF16",
          .op = TNP_OP_NEG,
          .in = { VALUE(TNP_DTYPE_BF16, 32) },
          .out = VALUE(TNP_DTYPE_BF16, 32) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_matches_the_reference),
        cmocka_unit_test(the_second_operand_may_be_overwritten),
        cmocka_unit_test(functions_of_odd_numbers_match_the_reference),
        cmocka_unit_test(integers_and_blocks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
