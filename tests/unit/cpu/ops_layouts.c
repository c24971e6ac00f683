// ops_layouts.c: every op of ops.def with each of its operands in every layout, and in place
// wherever ops.def permits it. What an op computes, over all types and sizes, is tested by the
// files of the families; here each has a row or two of small odd sizes.
//
// Bounds are those of the families, wide enough for these sizes.
#include "ops_support.h"

#include <stdio.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static const tnp_scale_attr scale = { sizeof scale, 0.37f, -1.25f, 0 };
static const tnp_clamp_attr clamp = { sizeof clamp, -0.5f, 0.75f, 0 };
static const tnp_softcap_attr softcap = { sizeof softcap, 2.5f };
static const tnp_norm_attr norm = { sizeof norm, 1e-5f };
static const tnp_group_norm_attr group_norm = { sizeof group_norm, 2, 1e-5f, 0 };
static const tnp_softmax_attr softmax = { sizeof softmax, 0.7f, 4.0f, 0 };
static const tnp_rope_attr rope = { .size = sizeof rope,
                                    .rot_dims = 10,
                                    .base = 10000,
                                    .scale = 0.5f },
                           neox = { .size = sizeof neox,
                                    .layout = TNP_ROPE_NEOX,
                                    .rot_dims = 10,
                                    .base = 10000,
                                    .scale = 0.5f };
static const tnp_top_k_attr top_k = { sizeof top_k, 3 };
static const tnp_attention_attr attention = {
    .size = sizeof attention, .flags = TNP_ATTENTION_CAUSAL, .scale = 0.25f, .window = 9
};
static const tnp_convert_attr to_f32 = { sizeof to_f32, F32 }, to_i32 = { sizeof to_i32, I32 },
                              to_f16 = { sizeof to_f16, F16 },
                              to_bf16 = { sizeof to_bf16, TNP_DTYPE_BF16 };
static const tnp_axis_attr axis0 = { sizeof axis0, 0 }, axis1 = { sizeof axis1, 1 };
static const tnp_pad_attr pad = {
    .size = sizeof pad, .rank = 2, .before = { 1, 2 }, .after = { 3, 0 }, .value = 1.5f
};
static const tnp_dims_attr twice = { sizeof twice, 3, { 14, 5, 6, 1, 1, 1, 1, 1 } };
static const tnp_argsort_attr descending = { sizeof descending, TNP_SORT_DESCENDING };
static const tnp_conv_attr conv = { .size = sizeof conv,
                                    .groups = 1,
                                    .stride = { 2, 1 },
                                    .dilation = { 1, 1 },
                                    .before = { 1, 1 },
                                    .after = { 1, 0 } };
static const tnp_pool_attr pool = { .size = sizeof pool,
                                    .kind = TNP_POOL_MEAN,
                                    .kernel = { 2, 3 },
                                    .stride = { 1, 2 },
                                    .before = { 1, 0 } };
static const tnp_upscale_attr upscale = { sizeof upscale, TNP_UPSCALE_BILINEAR, 11, 7 };

#define UNARY(OP, pointer, low, high)                                                              \
    {                                                                                              \
        .says = #OP, .op = TNP_OP_##OP, .attr = (pointer),                                         \
        .in = { RANGE(low, high, F32, 7, 5, 3) }, .out = VALUE(F32, 7, 5, 3)                       \
    }
#define BINARY(OP)                                                                                 \
    {                                                                                              \
        .says = #OP, .op = TNP_OP_##OP,                                                            \
        .in = { RANGE(0.5, 2, F32, 7, 5, 3), RANGE(0.5, 2, F32, 7, 5, 3) },                        \
        .out = VALUE(F32, 7, 5, 3)                                                                 \
    }
// {7, 5, 3} with a second operand {7, 1, 3}
#define SPREAD(OP)                                                                                 \
    {                                                                                              \
        .says = #OP ", broadcast", .op = TNP_OP_##OP,                                              \
        .in = { RANGE(0.5, 2, F32, 7, 5, 3), RANGE(0.5, 2, F32, 7, 1, 3) },                        \
        .out = VALUE(F32, 7, 5, 3)                                                                 \
    }

static const op_case rows[] = {
    BINARY(ADD),
    BINARY(SUB),
    BINARY(MUL),
    BINARY(DIV),
    SPREAD(ADD),
    SPREAD(SUB),
    SPREAD(MUL),
    SPREAD(DIV),
    UNARY(SCALE, &scale, -2, 2),
    UNARY(NEG, NULL, -2, 2),
    UNARY(SQRT, NULL, 0, 9),
    UNARY(EXP, NULL, -2, 2),
    UNARY(TANH, NULL, -2, 2),
    UNARY(SIGMOID, NULL, -2, 2),
    UNARY(RELU, NULL, -2, 2),
    UNARY(SILU, NULL, -2, 2),
    UNARY(GELU, NULL, -2, 2),
    UNARY(ABS, NULL, -2, 2),
    UNARY(SQR, NULL, -2, 2),
    UNARY(RSQRT, NULL, 0.1, 9),
    UNARY(LOG, NULL, 0.1, 9),
    UNARY(SIN, NULL, -2, 2),
    UNARY(COS, NULL, -2, 2),
    UNARY(CLAMP, &clamp, -2, 2),
    UNARY(GELU_ERF, NULL, -2, 2),
    UNARY(GELU_QUICK, NULL, -2, 2),
    UNARY(SOFTCAP, &softcap, -2, 2),
    BINARY(SWIGLU),
    BINARY(GEGLU),
    BINARY(REGLU),
    { .says = "RMS_NORM",
      .op = TNP_OP_RMS_NORM,
      .attr = &norm,
      .in = { VALUE(F32, 33, 5), VALUE(F32, 33) },
      .out = VALUE(F32, 33, 5) },
    { .says = "LAYER_NORM",
      .op = TNP_OP_LAYER_NORM,
      .attr = &norm,
      .in = { VALUE(F32, 33, 5), VALUE(F32, 33), VALUE(F32, 33) },
      .out = VALUE(F32, 33, 5) },
    { .says = "GROUP_NORM",
      .op = TNP_OP_GROUP_NORM,
      .attr = &group_norm,
      .in = { VALUE(F32, 5, 3, 4, 2), VALUE(F32, 4), VALUE(F32, 4) },
      .out = VALUE(F32, 5, 3, 4, 2) },
    { .says = "L2_NORM",
      .op = TNP_OP_L2_NORM,
      .attr = &norm,
      .in = { RANGE(0.5, 1, F32, 33, 5) },
      .out = VALUE(F32, 33, 5) },
    { .says = "SOFTMAX",
      .op = TNP_OP_SOFTMAX,
      .attr = &softmax,
      .in = { VALUE(F32, 33, 5, 3), VALUE(F32, 33, 5) },
      .out = VALUE(F32, 33, 5, 3) },
    { .says = "ROPE",
      .op = TNP_OP_ROPE,
      .attr = &rope,
      .in = { VALUE(F32, 13, 3, 5), RANGE(0, 50, I32, 5), RANGE(0.5, 4, F32, 5) },
      .out = VALUE(F32, 13, 3, 5) },
    { .says = "ROPE, neox",
      .op = TNP_OP_ROPE,
      .attr = &neox,
      .in = { VALUE(F32, 13, 3, 5, 2), RANGE(0, 50, I32, 5) },
      .out = VALUE(F32, 13, 3, 5, 2) },
    { .says = "MATMUL",
      .op = TNP_OP_MATMUL,
      .in = { VALUE(F32, 33, 5, 4), VALUE(F32, 33, 9, 2) },
      .out = VALUE(F32, 9, 5, 4) },
    { .says = "MATMUL, one token in F16",
      .op = TNP_OP_MATMUL,
      .in = { VALUE(F16, 33, 1), VALUE(F16, 33, 9) },
      .out = VALUE(F32, 9, 1) },
    { .says = "MATMUL_ID",
      .op = TNP_OP_MATMUL_ID,
      .in = { VALUE(F32, 33, 2, 5), VALUE(F32, 33, 9, 3), RANGE(0, 3, I32, 2, 5) },
      .out = VALUE(F32, 9, 2, 5) },
    { .says = "TOP_K",
      .op = TNP_OP_TOP_K,
      .attr = &top_k,
      .in = { VALUE(F32, 33, 5) },
      .out = VALUE(I32, 3, 5) },
    { .says = "ATTENTION",
      .op = TNP_OP_ATTENTION,
      .attr = &attention,
      .in = { VALUE(F32, 16, 6, 5), VALUE(F32, 16, 2, 13), VALUE(F32, 12, 2, 13),
              RANGE(0, 13, I32, 5), VALUE(F32, 13, 5), VALUE(F32, 6) },
      .out = VALUE(F32, 12, 6, 5) },
    { .says = "ATTENTION, one token over F16",
      .op = TNP_OP_ATTENTION,
      .attr = &attention,
      .in = { VALUE(F16, 16, 6, 1), VALUE(F16, 16, 2, 13), VALUE(F16, 12, 2, 13),
              RANGE(5, 13, I32, 1), VALUE(F16, 13, 1), VALUE(F32, 6) },
      .out = VALUE(F32, 12, 6, 1) },
    { .says = "GET_ROWS",
      .op = TNP_OP_GET_ROWS,
      .in = { VALUE(F32, 33, 7, 2), RANGE(0, 7, I32, 3, 2) },
      .out = VALUE(F32, 33, 3, 2) },
    { .says = "SET_ROWS",
      .op = TNP_OP_SET_ROWS,
      .in = { VALUE(F16, 33, 7), VALUE(F32, 33, 3), RANGE(0, 7, I32, 3) },
      .out = VALUE(F16, 33, 7),
      .in_place = 1 },
    { .says = "CONVERT of F32 to itself",
      .op = TNP_OP_CONVERT,
      .attr = &to_f32,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 33, 5, 2) },
    { .says = "CONVERT of F32 to I32",
      .op = TNP_OP_CONVERT,
      .attr = &to_i32,
      .in = { RANGE(-90, 90, F32, 33, 5, 2) },
      .out = VALUE(I32, 33, 5, 2) },
    { .says = "CONVERT of F16 to BF16",
      .op = TNP_OP_CONVERT,
      .attr = &to_bf16,
      .in = { VALUE(F16, 33, 5, 2) },
      .out = VALUE(TNP_DTYPE_BF16, 33, 5, 2) },
    { .says = "CONVERT of F32 to F16",
      .op = TNP_OP_CONVERT,
      .attr = &to_f16,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F16, 33, 5, 2) },
    { .says = "CONCAT",
      .op = TNP_OP_CONCAT,
      .attr = &axis1,
      .in = { VALUE(F32, 33, 3, 2), VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 33, 8, 2) },
    { .says = "CONCAT of rows",
      .op = TNP_OP_CONCAT,
      .attr = &axis0,
      .in = { RANGE(-9, 9, TNP_DTYPE_I64, 4, 3, 2), RANGE(-9, 9, TNP_DTYPE_I64, 5, 3, 2) },
      .out = VALUE(TNP_DTYPE_I64, 9, 3, 2) },
    { .says = "PAD",
      .op = TNP_OP_PAD,
      .attr = &pad,
      .in = { VALUE(F32, 7, 5, 3) },
      .out = VALUE(F32, 11, 7, 3) },
    { .says = "REPEAT",
      .op = TNP_OP_REPEAT,
      .attr = &twice,
      .in = { VALUE(F32, 7, 5, 3) },
      .out = VALUE(F32, 14, 5, 6) },
    { .says = "SUM",
      .op = TNP_OP_SUM,
      .attr = &axis0,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 1, 5, 2) },
    { .says = "MEAN",
      .op = TNP_OP_MEAN,
      .attr = &axis1,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 33, 1, 2) },
    { .says = "MAX",
      .op = TNP_OP_MAX,
      .attr = &axis0,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 1, 5, 2) },
    { .says = "ARGMAX",
      .op = TNP_OP_ARGMAX,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(I32, 1, 5, 2) },
    { .says = "CUMSUM",
      .op = TNP_OP_CUMSUM,
      .attr = &axis1,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(F32, 33, 5, 2) },
    { .says = "ARGSORT",
      .op = TNP_OP_ARGSORT,
      .attr = &descending,
      .in = { VALUE(F32, 33, 5, 2) },
      .out = VALUE(I32, 33, 5, 2) },
    { .says = "CONV_1D",
      .op = TNP_OP_CONV_1D,
      .attr = &conv,
      .in = { VALUE(F32, 11, 3, 2), VALUE(F32, 4, 3, 5) },
      .out = VALUE(F32, 5, 5, 2) },
    { .says = "CONV_2D",
      .op = TNP_OP_CONV_2D,
      .attr = &conv,
      .in = { VALUE(F32, 11, 6, 3, 2), VALUE(F32, 4, 2, 3, 5) },
      .out = VALUE(F32, 5, 6, 5, 2) },
    { .says = "CONV_TRANSPOSE_1D",
      .op = TNP_OP_CONV_TRANSPOSE_1D,
      .attr = &conv,
      .in = { VALUE(F32, 7, 3, 2), VALUE(F32, 4, 5, 3) },
      .out = VALUE(F32, 14, 5, 2) },
    { .says = "POOL_2D",
      .op = TNP_OP_POOL_2D,
      .attr = &pool,
      .in = { VALUE(F32, 9, 7, 3, 2) },
      .out = VALUE(F32, 9, 3, 3, 2) },
    { .says = "UPSCALE",
      .op = TNP_OP_UPSCALE,
      .attr = &upscale,
      .in = { VALUE(F32, 5, 4, 3, 2) },
      .out = VALUE(F32, 11, 7, 3, 2) },
};

#define ROWS (sizeof rows / sizeof rows[0])

static const struct {
    tnp_op op;
    const char *name;
    uint32_t in_place;
} ops[] = {
#define IN(i) (1u << (i))
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, ...)                        \
    { number, #name, in_place },
#include <tenon/ops.def>
#undef IN
};

#define OPS (sizeof ops / sizeof ops[0])
enum { FIRST_OP_OF_NODES = 16 };   // below are views

static const char *const names[LAYOUTS] = {
    [CONTIGUOUS] = "contiguous", [PADDED] = "padded",     [TURNED] = "turned",
    [STEPPED] = "stepped",       [REPEATED] = "repeated", [SINGLE] = "single",
};

static void check_as(const op_case *from, const char *what, layout how)
{
    char says[96];
    op_case c = *from;

    snprintf(says, sizeof says, "%s, %s %s", from->says, what, names[how]);
    c.says = says;
    c.absolute = 1e-5;
    c.relative = c.out.dtype == F16 ? 0x1p-10 : 1e-5;
    if (c.out.dtype == I32 || c.op == TNP_OP_CONCAT || c.op == TNP_OP_PAD ||
        c.op == TNP_OP_REPEAT || c.op == TNP_OP_GET_ROWS)
        c.absolute = c.relative = 0;
    check_case(&c);
}

static void every_op_is_here(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPS; o++) {
        size_t row = 0;

        while (row < ROWS && rows[row].op != ops[o].op)
            row++;
        if (ops[o].op >= FIRST_OP_OF_NODES && row == ROWS)
            fail_msg("op %s has no row", ops[o].name);
    }
}

static void every_operand_may_have_any_layout(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++)
        for (int how = CONTIGUOUS; how < LAYOUTS; how++)
            for (uint32_t i = rows[row].in_place ? 1 : 0; i < MAX_OPERANDS; i++) {
                op_case c = rows[row];
                char what[16];

                snprintf(what, sizeof what, "operand %u", i);
                c.in[i].layout = (layout)how;
                if (c.in[i].dtype)
                    check_as(&c, what, (layout)how);
            }
}

static void results_may_have_any_layout_that_repeats_nothing(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++)
        for (int how = CONTIGUOUS; how < REPEATED; how++) {
            op_case c = rows[row];

            c.out.layout = (layout)how;
            if (c.in_place)
                c.in[c.in_place - 1].layout = (layout)how;
            check_as(&c, "the result", (layout)how);
            for (uint32_t i = 0; i < MAX_OPERANDS; i++)
                c.in[i].layout = (layout)how;
            check_as(&c, "all", (layout)how);
        }
}

static int64_t elements_of(const operand *o)
{
    int64_t count = 1;

    for (int d = 0; d < TEST_DIMS; d++)
        count *= o->dims[d] ? o->dims[d] : 1;
    return count;
}

// As a host does: dims, strides and the size of elements agree.
static void what_may_be_in_place_is(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPS; o++)
        for (uint32_t i = 0; i < MAX_OPERANDS; i++) {
            int tried = 0;

            for (size_t row = 0; row < ROWS && ops[o].in_place >> i & 1; row++) {
                const op_case *from = &rows[row];

                if (from->op != ops[o].op || elements_of(&from->in[i]) != elements_of(&from->out) ||
                    bytes_of(from->in[i].dtype, 1) != bytes_of(from->out.dtype, 1))
                    continue;
                for (int how = CONTIGUOUS; how < REPEATED; how++)
                    for (int half = 0; half < 2; half++) {
                        op_case c = *from;

                        c.in_place = (int)i + 1;
                        c.in[i].layout = c.out.layout = (layout)how;
                        if (half && (c.out.dtype != F32 || c.op == TNP_OP_CONVERT))
                            continue;
                        if (half)
                            c.in[0].dtype = c.in[i].dtype = c.out.dtype = F16;
                        check_as(&c, half ? "in place in F16," : "in place,", (layout)how);
                        tried++;
                    }
            }
            if (ops[o].in_place >> i & 1 && !tried)
                fail_msg("op %s was not tried in place of operand %u", ops[o].name, i);
        }
}

static void both_operands_are_the_first(cpu_job *job)
{
    job->in[1] = job->in[0];
}

static void an_operand_given_twice_may_be_overwritten(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t o = 0; o < OPS; o++) {
            op_case c = rows[row];

            if (ops[o].op != c.op || ops[o].in_place != 3 ||
                elements_of(&c.in[0]) != elements_of(&c.in[1]))
                continue;
            c.prepare = both_operands_are_the_first;
            check_as(&c, "twice the same,", CONTIGUOUS);
            c.in_place = 1;
            check_as(&c, "twice the same, in place,", CONTIGUOUS);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_here),
        cmocka_unit_test(every_operand_may_have_any_layout),
        cmocka_unit_test(results_may_have_any_layout_that_repeats_nothing),
        cmocka_unit_test(what_may_be_in_place_is),
        cmocka_unit_test(an_operand_given_twice_may_be_overwritten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
