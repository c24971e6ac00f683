// The shape rule of every op that computes: types, dims and extents of its output, and what it
// refuses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "shapes_support.h"

#define SCALE     SIZED(tnp_scale_attr, .scale = 2)
#define ROPE(rot) SIZED(tnp_rope_attr, .rot_dims = (rot), .base = 10000, .scale = 1)
#define ATTENTION SIZED(tnp_attention_attr, .scale = 1)
#define TO(type)  SIZED(tnp_convert_attr, .dtype = TN_DTYPE_##type)
#define SOFTMAX   SIZED(tnp_softmax_attr, .scale = 1)

// ------------------------------------------------------------------------------ element by element

static void ops_of_two_operands_broadcast_the_second_to_the_first(void **state)
{
    (void)state;
    static const tnp_op ops[] = { TNP_OP_ADD, TNP_OP_SUB, TNP_OP_MUL, TNP_OP_DIV };
    static const shape_case cases[] = {
        { .in = { "F32 {4, 3}", "F32 {4, 3}" }, .out = "F32 {4, 3}" },
        { .in = { "F32 {4, 3}", "F32 {4}" }, .out = "F32 {4, 3}" },
        { .in = { "F32 {4, 3}", "F32 {1, 3}" }, .out = "F32 {4, 3}" },
        { .in = { "F32 {4, 3}", "F32 {}" }, .out = "F32 {4, 3}" },
        { .in = { "F32 {}", "F32 {}" }, .out = "F32 {}" },
        { .in = { "F32 {4}", "F32 {4, 1, 1}" }, .out = "F32 {4}" },
        { .in = { "F32 {2, 1, 2, 1, 2, 1, 2, 3}", "F32 {1, 1, 1, 1, 1, 1, 1, 3}" },
          .out = "F32 {2, 1, 2, 1, 2, 1, 2, 3}" },
        { .in = { "F16 {4}", "F32 {4}" }, .out = "F16 {4}" },
        { .in = { "F32 {4}", "F16 {4}" }, .out = "F32 {4}" },
        { .in = { "F32 {4, 0}", "F32 {4}" }, .out = "F32 {4, 0}" },
        { .in = { "F32 {4, 3 of n}", "F32 {4}" }, .out = "F32 {4, 3 of n}" },
        { .in = { "F32 {4, 3}", "F32 {4, 3 of n}" }, .out = "F32 {4, 3 of n}" },
        { .in = { "F32 {4, 3 of n}", "F32 {4, 3 of n}" }, .out = "F32 {4, 3 of n}" },
        { .in = { "F32 {4 of k, 3 of n}", "F32 {4 of k}" }, .out = "F32 {4 of k, 3 of n}" },
        { .in = { "F32 {4, 3}", "F32 {3}" },
          .status = TN_E_SHAPE,
          .shown = { 1, 2 },
          .words = "each dim of b" },
        { .in = { "F32 {4, 1}", "F32 {4, 3}" },
          .status = TN_E_SHAPE,
          .shown = { 1, 2 },
          .words = "each dim of b" },
        { .in = { "F32 {4}", "F32 {0}" },
          .status = TN_E_SHAPE,
          .shown = { 1, 2 },
          .words = "each dim of b" },
        { .in = { "F32 {}", "F32 {4}" },
          .status = TN_E_SHAPE,
          .shown = { 1, 2 },
          .words = "each dim of b" },
        { .in = { "F32 {4, 3 of n}", "F32 {4, 3 of m}" },
          .status = TN_E_SHAPE,
          .words = "the extent 'n' in one operand and 'm'" },
        { .in = { "I32 {4}", "F32 {4}" },
          .status = TN_E_DTYPE,
          .shown = { 1 },
          .words = "a must be F32 or F16" },
        { .in = { "F32 {4}", "I32 {4}" },
          .status = TN_E_DTYPE,
          .shown = { 2 },
          .words = "b must be F32 or F16" },
        { .in = { "F32 {32}", "Q8_0 {32}" },
          .status = TN_E_DTYPE,
          .shown = { 2 },
          .words = "b must be F32 or F16" },
        { .in = { "F32 {4}" },
          .status = TN_E_ARG,
          .words = "1 operands are given, it takes 2 to 2" },
        { .in = { "F32 {4}", "F32 {4}", "F32 {4}" }, .status = TN_E_ARG, .words = "3 operands" },
        { .in = { "F32 {4}", "" }, .status = TN_E_ARG, .words = "operand 1 is missing" },
    };
    for (size_t o = 0; o < TN_COUNT_OF(ops); o++)
        for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
            shape_case c = cases[i];
            c.op = ops[o];
            check_shape(&c);
        }
}

static void ops_of_one_operand_keep_its_shape(void **state)
{
    (void)state;
    const struct {
        tnp_op op;
        const void *attr;
    } ops[] = {
        { TNP_OP_SCALE, SCALE },
        { TNP_OP_NEG, NULL },
        { TNP_OP_SQRT, NULL },
        { TNP_OP_EXP, NULL },
        { TNP_OP_TANH, NULL },
        { TNP_OP_SIGMOID, NULL },
        { TNP_OP_RELU, NULL },
        { TNP_OP_SILU, NULL },
        { TNP_OP_GELU, NULL },
        { TNP_OP_ABS, NULL },
        { TNP_OP_SQR, NULL },
        { TNP_OP_RSQRT, NULL },
        { TNP_OP_LOG, NULL },
        { TNP_OP_SIN, NULL },
        { TNP_OP_COS, NULL },
        { TNP_OP_GELU_ERF, NULL },
        { TNP_OP_GELU_QUICK, NULL },
        { TNP_OP_CLAMP, SIZED(tnp_clamp_attr, .min = -1, .max = 1) },
        { TNP_OP_SOFTCAP, SIZED(tnp_softcap_attr, .cap = 30) },
    };
    static const shape_case cases[] = {
        { .in = { "F32 {4, 3}" }, .out = "F32 {4, 3}" },
        { .in = { "F16 {4, 3, 1, 1}" }, .out = "F16 {4, 3, 1, 1}" },
        { .in = { "F32 {}" }, .out = "F32 {}" },
        { .in = { "F32 {0}" }, .out = "F32 {0}" },
        { .in = { "F32 {4 of k, 3 of n}" }, .out = "F32 {4 of k, 3 of n}" },
        { .in = { "I32 {4}" },
          .status = TN_E_DTYPE,
          .shown = { 1 },
          .words = "x must be F32 or F16" },
        { .in = { "BF16 {4}" },
          .status = TN_E_DTYPE,
          .shown = { 1 },
          .words = "x must be F32 or F16" },
        { .in = { "Q8_0 {32}" },
          .status = TN_E_DTYPE,
          .shown = { 1 },
          .words = "x must be F32 or F16" },
        { .in = { "" }, .status = TN_E_ARG, .words = "operand 0 is missing" },
        { .in = { "F32 {4}", "F32 {4}" }, .status = TN_E_ARG, .words = "2 operands" },
        { .in = { NULL }, .status = TN_E_ARG, .words = "0 operands" },
    };
    for (size_t o = 0; o < TN_COUNT_OF(ops); o++)
        for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
            shape_case c = cases[i];
            c.op = ops[o].op;
            c.attr = ops[o].attr;
            check_shape(&c);
        }
}

static void limits_are_numbers_in_order(void **state)
{
    (void)state;
    const struct {
        tnp_op op;
        const void *attr;
        const char *words;   // NULL = taken
    } cases[] = {
        { TNP_OP_CLAMP, SIZED(tnp_clamp_attr, .min = 2, .max = 2), NULL },
        { TNP_OP_CLAMP, SIZED(tnp_clamp_attr, .min = -INFINITY, .max = INFINITY), NULL },
        { TNP_OP_CLAMP, SIZED(tnp_clamp_attr, .min = 1, .max = 0), "min must be at most max" },
        { TNP_OP_CLAMP, SIZED(tnp_clamp_attr, .min = NAN, .max = 0), "min must be at most max" },
        { TNP_OP_SOFTCAP, SIZED(tnp_softcap_attr, .cap = 0), "above 0 and finite, it is 0" },
        { TNP_OP_SOFTCAP, SIZED(tnp_softcap_attr, .cap = -1), "above 0 and finite" },
        { TNP_OP_SOFTCAP, SIZED(tnp_softcap_attr, .cap = NAN), "above 0 and finite" },
        { TNP_OP_SOFTCAP, SIZED(tnp_softcap_attr, .cap = INFINITY), "above 0 and finite" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        shape_case c = { cases[i].op,   cases[i].attr,
                         { "F32 {4}" }, cases[i].words ? NULL : "F32 {4}",
                         TN_E_ARG,      cases[i].words,
                         { 0 } };
        check_shape(&c);
    }
}

static void gate_and_up_have_one_shape(void **state)
{
    (void)state;
    static const tnp_op ops[] = { TNP_OP_SWIGLU, TNP_OP_GEGLU, TNP_OP_REGLU };
    static const shape_case cases[] = {
        { .in = { "F32 {4, 3}", "F32 {4, 3}" }, .out = "F32 {4, 3}" },
        { .in = { "F16 {4, 3 of n}", "F16 {4, 3 of n}" }, .out = "F16 {4, 3 of n}" },
        { .in = { "F32 {4, 3}", "F32 {4}" },
          .status = TN_E_SHAPE,
          .words = "one shape and type",
          .shown = { 1, 2 } },
        { .in = { "F32 {4}", "F16 {4}" },
          .status = TN_E_SHAPE,
          .words = "one shape and type",
          .shown = { 1, 2 } },
        { .in = { "I32 {4}", "I32 {4}" },
          .status = TN_E_DTYPE,
          .words = "F32 or F16",
          .shown = { 1 } },
    };
    for (size_t o = 0; o < TN_COUNT_OF(ops); o++)
        for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
            shape_case c = cases[i];
            c.op = ops[o];
            check_shape(&c);
        }
}

// ------------------------------------------------------------------------------------- along a dim

static void norms_keep_the_shape_and_need_a_weight_a_column(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_RMS_NORM, EPS(0), { "F32 {4, 3}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_RMS_NORM, EPS(0), { "F32 {4, 3}", "" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_RMS_NORM,
          EPS(1e-5f),
          { "F16 {4, 3 of n}", "F32 {4}" },
          "F16 {4, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_RMS_NORM, EPS(0), { "F32 {4, 0}", "F32 {4}" }, "F32 {4, 0}", 0, 0, { 0 } },
        { TNP_OP_RMS_NORM,
          EPS(0),
          { "F32 {4, 3}", "F32 {3}" },
          NULL,
          TN_E_SHAPE,
          "the weight must be",
          { 1, 2 } },
        { TNP_OP_RMS_NORM,
          EPS(0),
          { "F32 {4, 3}", "F16 {4}" },
          NULL,
          TN_E_SHAPE,
          "the weight must be",
          { 1, 2 } },
        { TNP_OP_RMS_NORM,
          EPS(0),
          { "F32 {4, 3}", "F32 {4, 3}" },
          NULL,
          TN_E_SHAPE,
          "the weight must be",
          { 1, 2 } },
        { TNP_OP_RMS_NORM,
          EPS(0),
          { "F32 {4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of x has an extent",
          { 0 } },
        { TNP_OP_RMS_NORM, EPS(0), { "F32 {0, 3}" }, NULL, TN_E_SHAPE, "0 elements", { 0 } },
        { TNP_OP_RMS_NORM,
          EPS(-1),
          { "F32 {4}" },
          NULL,
          TN_E_ARG,
          "eps must be 0 or more, it is -1",
          { 0 } },
        { TNP_OP_RMS_NORM,
          EPS(NAN),
          { "F32 {4}" },
          NULL,
          TN_E_ARG,
          "eps must be 0 or more",
          { 0 } },
        { TNP_OP_RMS_NORM, EPS(0), { "I32 {4}" }, NULL, TN_E_DTYPE, "F32 or F16", { 1, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void norms_with_a_bias_need_one_a_column_or_channel(void **state)
{
    (void)state;
    static const tnp_group_norm_attr two = { sizeof two, 2, 1e-5f, 0 },
                                     none = { sizeof none, 0, 1e-5f, 0 },
                                     negative = { sizeof negative, 2, -1, 0 };
    const shape_case cases[] = {
        { TNP_OP_LAYER_NORM, EPS(0), { "F32 {4, 3}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_LAYER_NORM,
          EPS(0),
          { "F16 {4, 3 of n}", "F32 {4}", "F32 {4}" },
          "F16 {4, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_LAYER_NORM, EPS(0), { "F32 {4, 3}", "", "F32 {4}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_LAYER_NORM,
          EPS(0),
          { "F32 {4, 3}", "F32 {4}", "F32 {3}" },
          NULL,
          TN_E_SHAPE,
          "the bias must be F32 with 4 elements",
          { 3, 0 } },
        { TNP_OP_LAYER_NORM,
          EPS(0),
          { "F32 {4, 3}", "F16 {4}" },
          NULL,
          TN_E_SHAPE,
          "the weight must be F32",
          { 2, 0 } },
        { TNP_OP_LAYER_NORM,
          EPS(0),
          { "F32 {4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of x has an extent",
          { 0 } },
        { TNP_OP_LAYER_NORM, EPS(-1), { "F32 {4}" }, NULL, TN_E_ARG, "eps must be", { 0 } },
        { TNP_OP_L2_NORM, EPS(1e-6f), { "F32 {4, 3 of n}" }, "F32 {4, 3 of n}", 0, 0, { 0 } },
        { TNP_OP_L2_NORM, EPS(NAN), { "F32 {4}" }, NULL, TN_E_ARG, "eps must be", { 0 } },
        { TNP_OP_L2_NORM, EPS(0), { "F32 {0, 3}" }, NULL, TN_E_SHAPE, "0 elements", { 0 } },
        { TNP_OP_L2_NORM, EPS(0), { "F32 {4}", "F32 {4}" }, NULL, TN_E_ARG, "2 operands", { 0 } },
        { TNP_OP_GROUP_NORM,
          &two,
          { "F32 {5, 3, 4, 2 of n}", "F32 {4}", "F32 {4}" },
          "F32 {5, 3, 4, 2 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_GROUP_NORM, &two, { "F16 {5, 3, 4}" }, "F16 {5, 3, 4}", 0, 0, { 0 } },
        { TNP_OP_GROUP_NORM,
          &two,
          { "F32 {5, 3, 3}" },
          NULL,
          TN_E_ARG,
          "2 groups must divide 3 channels",
          { 0 } },
        { TNP_OP_GROUP_NORM, &none, { "F32 {5, 3, 4}" }, NULL, TN_E_ARG, "0 groups", { 0 } },
        { TNP_OP_GROUP_NORM, &negative, { "F32 {5, 3, 4}" }, NULL, TN_E_ARG, "eps", { 0 } },
        { TNP_OP_GROUP_NORM,
          &two,
          { "F32 {5, 3, 4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 2 of x has an extent",
          { 0 } },
        { TNP_OP_GROUP_NORM,
          &two,
          { "F32 {5, 3, 4}", "F32 {5}" },
          NULL,
          TN_E_SHAPE,
          "the weight must be F32 with 4 elements",
          { 2, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void softmax_keeps_the_shape_and_broadcasts_its_mask(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_SOFTMAX, SOFTMAX, { "F32 {4, 3}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_SOFTMAX, SOFTMAX, { "F16 {4 of n, 3}" }, "F16 {4 of n, 3}", 0, 0, { 0 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "F32 {4, 3, 2}", "F16 {4, 1, 2}" },
          "F32 {4, 3, 2}",
          0,
          0,
          { 0 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "F32 {4, 3}", "F32 {4 of n}" },
          "F32 {4 of n, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "F32 {4, 3}", "F32 {3}" },
          NULL,
          TN_E_SHAPE,
          "each dim of the mask",
          { 1, 2 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "F32 {4 of n}", "F32 {4 of m}" },
          NULL,
          TN_E_SHAPE,
          "the extent 'n'",
          { 0 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "F32 {4}", "I32 {4}" },
          NULL,
          TN_E_DTYPE,
          "mask must be F32 or F16",
          { 2, 0 } },
        { TNP_OP_SOFTMAX,
          SIZED(tnp_softmax_attr, .scale = 1, .alibi_max_bias = 8),
          { "F32 {4, 3, 2}", "F32 {4, 3}" },
          "F32 {4, 3, 2}",
          0,
          0,
          { 0 } },
        { TNP_OP_SOFTMAX,
          SIZED(tnp_softmax_attr, .scale = 1, .alibi_max_bias = -8),
          { "F32 {4, 3, 2}", "F32 {4, 3}" },
          NULL,
          TN_E_ARG,
          "alibi_max_bias must be 0 or more",
          { 0 } },
        { TNP_OP_SOFTMAX,
          SOFTMAX,
          { "I8 {4}" },
          NULL,
          TN_E_DTYPE,
          "x must be F32 or F16",
          { 1, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void rope_needs_a_position_a_token(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_ROPE, ROPE(4), { "F32 {4, 2, 3}", "I32 {3}" }, "F32 {4, 2, 3}", 0, 0, { 0 } },
        { TNP_OP_ROPE, ROPE(2), { "F16 {4, 2}", "I32 {1}" }, "F16 {4, 2}", 0, 0, { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3, 5}", "I32 {3}", "F32 {2}" },
          "F32 {4, 2, 3, 5}",
          0,
          0,
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "I32 {3 of n}" },
          "F32 {4, 2, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3 of n}", "I32 {3}", "" },
          "F32 {4, 2, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "I32 {4}" },
          NULL,
          TN_E_SHAPE,
          "a position for each token",
          { 1, 2 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "F32 {3}" },
          NULL,
          TN_E_DTYPE,
          "position must be I32",
          { 2, 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "I32 {1, 3}" },
          NULL,
          TN_E_DTYPE,
          "one dim",
          { 2, 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "I32 {3}", "F32 {4}" },
          NULL,
          TN_E_SHAPE,
          "rot_dims / 2",
          { 1, 3 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3}", "I32 {3}", "F16 {2}" },
          NULL,
          TN_E_SHAPE,
          "rot_dims / 2",
          { 1, 3 } },
        { TNP_OP_ROPE,
          ROPE(3),
          { "F32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "even and 2 to 4, it is 3",
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(6),
          { "F32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "even and 2 to 4, it is 6",
          { 0 } },
        { TNP_OP_ROPE, ROPE(0), { "F32 {4, 2, 3}", "I32 {3}" }, NULL, TN_E_ARG, "it is 0", { 0 } },
        { TNP_OP_ROPE,
          SIZED(tnp_rope_attr, .rot_dims = 4, .base = 0, .scale = 1),
          { "F32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "base and scale",
          { 0 } },
        { TNP_OP_ROPE,
          SIZED(tnp_rope_attr, .rot_dims = 4, .base = 1, .scale = NAN),
          { "F32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "base and scale",
          { 0 } },
        { TNP_OP_ROPE,
          SIZED(tnp_rope_attr, .rot_dims = 4, .base = 1, .scale = 1, .layout = 2),
          { "F32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "layout 0 or 1",
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4 of n, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of x",
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2 of n, 3}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 1 of x",
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "F32 {4, 2, 3 of n}", "I32 {3 of m}" },
          NULL,
          TN_E_SHAPE,
          "the extent 'n'",
          { 0 } },
        { TNP_OP_ROPE,
          ROPE(4),
          { "I32 {4, 2, 3}", "I32 {3}" },
          NULL,
          TN_E_DTYPE,
          "x must be",
          { 1, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

// ------------------------------------------------------------------------------- matmul, attention

static void yarn_needs_a_context_and_betas(void **state)
{
    (void)state;
    static const tnp_rope_attr good = { .size = sizeof good,
                                        .rot_dims = 4,
                                        .base = 10000,
                                        .scale = 0.25f,
                                        .yarn_extrapolation = 1,
                                        .yarn_beta_fast = 32,
                                        .yarn_beta_slow = 1,
                                        .yarn_context = 4096 };
    tnp_rope_attr bad[6] = { good, good, good, good, good, good };
    bad[0].yarn_context = 0;
    bad[1].yarn_beta_fast = 0;
    bad[2].yarn_beta_slow = NAN;
    bad[3].base = 1;
    bad[4].yarn_extrapolation = -1;
    bad[5].yarn_extrapolation = NAN;
    check_shape(&(shape_case){
        TNP_OP_ROPE, &good, { "F32 {4, 2, 3}", "I32 {3}" }, "F32 {4, 2, 3}", 0, 0, { 0 } });
    for (size_t i = 0; i < TN_COUNT_OF(bad); i++)
        check_shape(&(shape_case){ TNP_OP_ROPE,
                                   &bad[i],
                                   { "F32 {4, 2, 3}", "I32 {3}" },
                                   NULL,
                                   TN_E_ARG,
                                   "YaRN needs",
                                   { 0 } });
}

static void matmul_joins_the_inner_dim_and_broadcasts_the_weight(void **state)
{
    (void)state;
    static const shape_case cases[] = {
        { TNP_OP_MATMUL, NULL, { "F32 {4, 3}", "F32 {4, 5}" }, "F32 {5, 3}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {4}", "F32 {4, 5}" }, "F32 {5, 1}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {4, 3}", "F32 {4}" }, "F32 {1, 3}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F16 {64, 3}", "Q8_0 {64, 5}" }, "F32 {5, 3}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {256, 3}", "Q4_K {256, 5}" }, "F32 {5, 3}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {4, 3, 6}", "F32 {4, 5, 2}" }, "F32 {5, 3, 6}", 0, 0, { 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3, 6, 2}", "F32 {4, 5}" },
          "F32 {5, 3, 6, 2}",
          0,
          0,
          { 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3 of n}", "F32 {4, 5}" },
          "F32 {5, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3}", "F32 {4, 5 of n}" },
          "F32 {5 of n, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4 of n, 3}", "F32 {4 of n, 5}" },
          "F32 {5, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {4, 0}", "F32 {4, 5}" }, "F32 {5, 0}", 0, 0, { 0 } },
        { TNP_OP_MATMUL, NULL, { "F32 {4, 3}", "F32 {4, 0}" }, "F32 {0, 3}", 0, 0, { 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3}", "F32 {5, 4}" },
          NULL,
          TN_E_SHAPE,
          "inner sizes differ",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {0, 3}", "F32 {0, 5}" },
          NULL,
          TN_E_SHAPE,
          "inner sizes",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3, 5}", "F32 {4, 5, 2}" },
          NULL,
          TN_E_SHAPE,
          "must divide",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3}", "F32 {4, 5, 2}" },
          NULL,
          TN_E_SHAPE,
          "must divide",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3, 2}", "F32 {4, 5, 0}" },
          NULL,
          TN_E_SHAPE,
          "must divide",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4 of n, 3}", "F32 {4, 5}" },
          NULL,
          TN_E_SHAPE,
          "one extent",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {4, 3, 2}", "F32 {4, 5, 2 of n}" },
          NULL,
          TN_E_SHAPE,
          "must divide",
          { 1, 2 } },
        { TNP_OP_MATMUL,
          NULL,
          { "I32 {4, 3}", "F32 {4, 5}" },
          NULL,
          TN_E_DTYPE,
          "x must be",
          { 1, 0 } },
        { TNP_OP_MATMUL,
          NULL,
          { "Q8_0 {32, 3}", "F32 {32, 5}" },
          NULL,
          TN_E_DTYPE,
          "x must be",
          { 1, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void matmul_id_has_a_matrix_for_each_choice(void **state)
{
    (void)state;
    static const shape_case cases[] = {
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7, 5}", "I32 {2, 3}" }, .out = "F32 {7, 2, 3}" },
        { .in = { "F16 {4, 1, 3}", "F16 {4, 7, 5}", "I32 {2, 3}" }, .out = "F32 {7, 2, 3}" },
        { .in = { "F32 {256}", "Q4_K {256, 7, 5}", "I32 {2}" }, .out = "F32 {7, 2, 1}" },
        { .in = { "F32 {4}", "F32 {4, 7}", "I32 {1}" }, .out = "F32 {7, 1, 1}" },
        { .in = { "F32 {4, 2, 3 of n}", "F32 {4, 7, 5}", "I32 {2, 3 of n}" },
          .out = "F32 {7, 2, 3 of n}" },
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7, 5}", "I32 {2, 3 of n}" },
          .out = "F32 {7, 2, 3 of n}" },
        { .in = { "F32 {4, 2, 3 of m}", "F32 {4, 7, 5}", "I32 {2, 3 of n}" },
          .status = TN_E_SHAPE,
          .words = "the extent 'm'" },
        { .in = { "F32 {5, 2, 3}", "F32 {4, 7, 5}", "I32 {2, 3}" },
          .status = TN_E_SHAPE,
          .words = "inner sizes differ",
          .shown = { 1, 2 } },
        { .in = { "F32 {4, 3, 3}", "F32 {4, 7, 5}", "I32 {2, 3}" },
          .status = TN_E_SHAPE,
          .words = "the choices of each token, or 1",
          .shown = { 1, 3 } },
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7, 5}", "I32 {2, 4}" },
          .status = TN_E_SHAPE,
          .words = "the choices of each token, or 1",
          .shown = { 1, 3 } },
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7, 5}", "F32 {2, 3}" },
          .status = TN_E_SHAPE,
          .words = "ids are I32",
          .shown = { 1, 3 } },
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7, 5, 2}", "I32 {2, 3}" },
          .status = TN_E_SHAPE,
          .words = "at most 3 dims" },
        { .in = { "F32 {4, 2, 3}", "F32 {4, 7 of n, 5}", "I32 {2, 3}" },
          .status = TN_E_SHAPE,
          .words = "dim 1 of w has an extent" },
        { .in = { "F32 {4, 2 of n, 3}", "F32 {4, 7, 5}", "I32 {2 of n, 3}" },
          .status = TN_E_SHAPE,
          .words = "dim 1 of x has an extent" },
        { .in = { "I32 {4, 2, 3}", "F32 {4, 7, 5}", "I32 {2, 3}" },
          .status = TN_E_DTYPE,
          .words = "x must be",
          .shown = { 1 } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        shape_case c = cases[i];
        c.op = TNP_OP_MATMUL_ID;
        check_shape(&c);
    }
}

static void attention_shares_key_heads_among_query_heads(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          "F32 {5, 6, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F16 {32, 6, 3}", "Q8_0 {32, 6, 9}", "F16 {32, 6, 9}", "I32 {3}", "" },
          "F32 {32, 6, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6}", "F32 {4, 2}", "F32 {5, 2}", "I32 {1}", "F32 {1, 1}" },
          "F32 {5, 6, 1}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}", "F16 {9, 3}" },
          "F32 {5, 6, 3}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9 of n}", "F32 {5, 2, 9 of n}", "I32 {3 of m}" },
          "F32 {5, 6, 3 of m}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 0}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {0}" },
          "F32 {5, 6, 0}",
          0,
          0,
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {5, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "heads differ in size",
          { 1, 2 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 5, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "a multiple of those of k",
          { 1, 2 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 5, 3}", "F32 {4, 0, 9}", "F32 {5, 0, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "a multiple of those of k",
          { 1, 2 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 0}", "F32 {5, 2, 0}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "0 tokens",
          { 1, 2 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {0, 6, 3}", "F32 {0, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "0 elements",
          { 1, 2 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 3, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "of k and v must agree",
          { 2, 3 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 8}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "of k and v must agree",
          { 2, 3 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9 of n}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "of k and v must agree",
          { 2, 3 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {2}" },
          NULL,
          TN_E_SHAPE,
          "a position for each token",
          { 1, 4 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I64 {3}" },
          NULL,
          TN_E_DTYPE,
          "position must be I32",
          { 4, 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}", "F32 {3, 9}" },
          NULL,
          TN_E_SHAPE,
          "the mask must be",
          { 2, 5 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}", "I8 {9, 3}" },
          NULL,
          TN_E_SHAPE,
          "the mask must be",
          { 2, 5 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3, 2}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "at most 3 dims",
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4 of n, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of q",
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2 of n, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 1 of k",
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5 of n, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of v",
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3 of n}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3 of m}" },
          NULL,
          TN_E_SHAPE,
          "the extent 'n'",
          { 0 } },
        { TNP_OP_ATTENTION,
          SIZED(tnp_attention_attr, .scale = 1, .softcap = -1),
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "softcap",
          { 0 } },
        { TNP_OP_ATTENTION,
          SIZED(tnp_attention_attr, .scale = NAN),
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_ARG,
          "scale a number",
          { 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "I32 {4, 6, 3}", "F32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_DTYPE,
          "q must be",
          { 1, 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "I32 {4, 2, 9}", "F32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_DTYPE,
          "k must be",
          { 2, 0 } },
        { TNP_OP_ATTENTION,
          ATTENTION,
          { "F32 {4, 6, 3}", "F32 {4, 2, 9}", "I32 {5, 2, 9}", "I32 {3}" },
          NULL,
          TN_E_DTYPE,
          "v must be",
          { 3, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

// ------------------------------------------------------------------------------ rows, copies, sums

static void rows_are_taken_by_index(void **state)
{
    (void)state;
    static const shape_case cases[] = {
        { TNP_OP_GET_ROWS, NULL, { "F32 {4, 9}", "I32 {3}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS, NULL, { "Q8_0 {32, 9}", "I32 {3}" }, "F32 {32, 3}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS, NULL, { "I32 {4, 9}", "I32 {3}" }, "I32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS, NULL, { "F16 {4}", "I32 {3 of n}" }, "F32 {4, 3 of n}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS, NULL, { "F32 {4, 9}", "I32 {0}" }, "F32 {4, 0}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS, NULL, { "F32 {4, 9 of n}", "I32 {3}" }, "F32 {4, 3}", 0, 0, { 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4, 0}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "the table has no rows",
          { 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4, 9, 2}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "must be those of the table from 2 on",
          { 1, 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4, 9}", "F32 {3}" },
          NULL,
          TN_E_DTYPE,
          "index must be I32",
          { 2, 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4, 9}", "I32 {1, 3}" },
          NULL,
          TN_E_SHAPE,
          "must be those of the table from 2 on",
          { 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4, 9, 2}", "I32 {3, 2 of n}" },
          "F32 {4, 3, 2 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F32 {4 of n, 9}", "I32 {3}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of the table",
          { 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void conversions_keep_the_dims(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_CONVERT, TO(F16), { "F32 {4, 3 of n}" }, "F16 {4, 3 of n}", 0, 0, { 0 } },
        { TNP_OP_CONVERT, TO(F32), { "I32 {4}" }, "F32 {4}", 0, 0, { 0 } },
        { TNP_OP_CONVERT, TO(BOOL), { "I64 {}" }, "BOOL {}", 0, 0, { 0 } },
        { TNP_OP_CONVERT, TO(Q8_0), { "F32 {64, 3}" }, "Q8_0 {64, 3}", 0, 0, { 0 } },
        { TNP_OP_CONVERT, TO(F32), { "Q4_K {256, 3}" }, "F32 {256, 3}", 0, 0, { 0 } },
        { TNP_OP_CONVERT, TO(Q8_0), { "Q8_0 {32}" }, "Q8_0 {32}", 0, 0, { 0 } },
        { TNP_OP_CONVERT,
          TO(Q8_0),
          { "F32 {33}" },
          NULL,
          TN_E_SHAPE,
          "not whole blocks of 32",
          { 0 } },
        { TNP_OP_CONVERT,
          TO(Q8_0),
          { "F16 {32}" },
          NULL,
          TN_E_DTYPE,
          "from and to F32 only, not F16 {32} to Q8_0",
          { 1, 0 } },
        { TNP_OP_CONVERT,
          TO(F16),
          { "Q8_0 {32}" },
          NULL,
          TN_E_DTYPE,
          "from and to F32 only",
          { 1, 0 } },
        { TNP_OP_CONVERT,
          TO(Q8_0),
          { "Q4_0 {32}" },
          NULL,
          TN_E_DTYPE,
          "from and to F32 only",
          { 1, 0 } },
        { TNP_OP_CONVERT,
          SIZED(tnp_convert_attr, .dtype = 9999),
          { "F32 {4}" },
          NULL,
          TN_E_DTYPE,
          "9999 is no element type",
          { 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void concatenations_add_up_along_one_axis(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_CONCAT, AXIS(0), { "F32 {4, 3}", "F32 {2, 3}" }, "F32 {6, 3}", 0, 0, { 0 } },
        { TNP_OP_CONCAT, AXIS(1), { "I32 {4, 3}", "I32 {4, 5}" }, "I32 {4, 8}", 0, 0, { 0 } },
        { TNP_OP_CONCAT, AXIS(1), { "F32 {4}", "F32 {4}" }, "F32 {4, 2}", 0, 0, { 0 } },
        { TNP_OP_CONCAT,
          AXIS(7),
          { "F32 {4}", "F32 {4}" },
          "F32 {4, 1, 1, 1, 1, 1, 1, 2}",
          0,
          0,
          { 0 } },
        { TNP_OP_CONCAT, AXIS(0), { "Q8_0 {32, 3}", "Q8_0 {64, 3}" }, "Q8_0 {96, 3}", 0, 0, { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4, 3 of n}", "F32 {2, 3 of n}" },
          "F32 {6, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_CONCAT, AXIS(0), { "F32 {0, 3}", "F32 {2, 3}" }, "F32 {2, 3}", 0, 0, { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4, 3}", "F32 {4, 2}" },
          NULL,
          TN_E_SHAPE,
          "all dims but the axis",
          { 1, 2 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4}", "F16 {4}" },
          NULL,
          TN_E_SHAPE,
          "agree in type",
          { 1, 2 } },
        { TNP_OP_CONCAT,
          AXIS(8),
          { "F32 {4}", "F32 {4}" },
          NULL,
          TN_E_ARG,
          "axis 8 of at most 8",
          { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4 of n}", "F32 {4}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of a has an extent",
          { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4}", "F32 {4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of b has an extent",
          { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "F32 {4, 3 of n}", "F32 {4, 3 of m}" },
          NULL,
          TN_E_SHAPE,
          "the extent 'n'",
          { 0 } },
        { TNP_OP_CONCAT,
          AXIS(0),
          { "I8 {9223372036854775807}", "I8 {1}" },
          NULL,
          TN_E_SHAPE,
          "too large",
          { 1, 2 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void reductions_leave_one_element_of_their_axis(void **state)
{
    (void)state;
    static const tnp_op ops[] = { TNP_OP_SUM, TNP_OP_MEAN, TNP_OP_MAX };
    for (size_t o = 0; o < TN_COUNT_OF(ops); o++) {
        const shape_case cases[] = {
            { ops[o], AXIS(0), { "F32 {4, 3}" }, "F32 {1, 3}", 0, 0, { 0 } },
            { ops[o], AXIS(1), { "F16 {4, 3 of n}" }, "F32 {4, 1}", 0, 0, { 0 } },
            { ops[o], AXIS(1), { "F32 {4 of k, 3 of n}" }, "F32 {4 of k, 1}", 0, 0, { 0 } },
            { ops[o], AXIS(7), { "F32 {4}" }, "F32 {4}", 0, 0, { 0 } },
            { ops[o], AXIS(0), { "F32 {4, 0}" }, "F32 {1, 0}", 0, 0, { 0 } },
            { ops[o], AXIS(1), { "F32 {4, 0}" }, NULL, TN_E_SHAPE, "dim 1 has 0 elements", { 0 } },
            { ops[o], AXIS(8), { "F32 {4}" }, NULL, TN_E_ARG, "axis 8 of at most 8", { 0 } },
            { ops[o], AXIS(0), { "I32 {4}" }, NULL, TN_E_DTYPE, "x must be", { 1, 0 } },
        };
        check_shapes(cases, TN_COUNT_OF(cases));
    }
    static const shape_case cases[] = {
        { TNP_OP_ARGMAX, NULL, { "F32 {4, 3 of n}" }, "I32 {1, 3 of n}", 0, 0, { 0 } },
        { TNP_OP_ARGMAX, NULL, { "F16 {4 of n}" }, "I32 {1}", 0, 0, { 0 } },
        { TNP_OP_ARGMAX, NULL, { "F32 {0, 3}" }, NULL, TN_E_SHAPE, "dim 0 has 0 elements", { 0 } },
        { TNP_OP_ARGMAX, NULL, { "I32 {4}" }, NULL, TN_E_DTYPE, "x must be", { 1, 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

static void sorts_give_indices_of_whole_rows(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_CUMSUM, AXIS(1), { "F16 {4, 3 of n}" }, "F32 {4, 3 of n}", 0, 0, { 0 } },
        { TNP_OP_CUMSUM, AXIS(0), { "F32 {0, 3}" }, "F32 {0, 3}", 0, 0, { 0 } },
        { TNP_OP_CUMSUM, AXIS(8), { "F32 {4}" }, NULL, TN_E_ARG, "axis 8 of at most 8", { 0 } },
        { TNP_OP_CUMSUM, AXIS(0), { "I32 {4}" }, NULL, TN_E_DTYPE, "x must be", { 1, 0 } },
        { TNP_OP_ARGSORT,
          SIZED(tnp_argsort_attr, .order = TNP_SORT_DESCENDING),
          { "F16 {4, 3 of n}" },
          "I32 {4, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_ARGSORT,
          SIZED(tnp_argsort_attr, .order = 2),
          { "F32 {4}" },
          NULL,
          TN_E_ARG,
          "ascending (0) or descending (1)",
          { 0 } },
        { TNP_OP_ARGSORT,
          SIZED(tnp_argsort_attr, .order = 0),
          { "F32 {4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of x has an extent",
          { 0 } },
        { TNP_OP_ARGSORT,
          SIZED(tnp_argsort_attr, .order = 0),
          { "F32 {2147483648}" },
          NULL,
          TN_E_SHAPE,
          "no I32 index",
          { 0 } },
        { TNP_OP_TOP_K,
          SIZED(tnp_top_k_attr, .k = 2),
          { "F32 {4, 3 of n}" },
          "I32 {2, 3 of n}",
          0,
          0,
          { 0 } },
        { TNP_OP_TOP_K, SIZED(tnp_top_k_attr, .k = 4), { "F16 {4}" }, "I32 {4}", 0, 0, { 0 } },
        { TNP_OP_TOP_K,
          SIZED(tnp_top_k_attr, .k = 5),
          { "F32 {4}" },
          NULL,
          TN_E_ARG,
          "k must be 1 to 4, it is 5",
          { 0 } },
        { TNP_OP_TOP_K,
          SIZED(tnp_top_k_attr, .k = 0),
          { "F32 {4}" },
          NULL,
          TN_E_ARG,
          "k must",
          { 0 } },
        { TNP_OP_TOP_K,
          SIZED(tnp_top_k_attr, .k = 1),
          { "F32 {4 of n}" },
          NULL,
          TN_E_SHAPE,
          "dim 0 of x has an extent",
          { 0 } },
    };
    check_shapes(cases, TN_COUNT_OF(cases));
}

// ----------------------------------------------------------------------------------- leaves, sizes

static void a_leaf_has_a_type_dims_and_a_size_that_is_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        tn_dtype dtype;
        uint32_t rank;
        int64_t dims[9];
        tn_status status;
        const char *words;
    } cases[] = {
        { "no dims", TN_DTYPE_F32, 0, { 0 }, TN_OK, "" },
        { "8 dims", TN_DTYPE_I8, 8, { 1, 2, 3, 4, 5, 6, 7, 8 }, TN_OK, "" },
        { "a dim of 0", TN_DTYPE_F32, 2, { 0, 1ll << 60 }, TN_OK, "" },
        { "as many bytes as can be", TN_DTYPE_I8, 1, { INT64_MAX }, TN_OK, "" },
        { "9 dims",
          TN_DTYPE_F32,
          9,
          { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
          TN_E_SHAPE,
          "9 dims, at most 8" },
        { "a negative dim",
          TN_DTYPE_F32,
          2,
          { 4, -1 },
          TN_E_SHAPE,
          "{4, -1} is negative or too large" },
        { "the most negative dim", TN_DTYPE_F32, 1, { INT64_MIN }, TN_E_SHAPE, "negative" },
        { "more bytes than can be counted",
          TN_DTYPE_F32,
          1,
          { INT64_MAX },
          TN_E_SHAPE,
          "too large" },
        { "a product that wraps",
          TN_DTYPE_F32,
          3,
          { 1ll << 31, 1ll << 31, 2 },
          TN_E_SHAPE,
          "too large" },
        { "a product that wraps to 0",
          TN_DTYPE_I8,
          2,
          { 1ll << 32, 1ll << 32 },
          TN_E_SHAPE,
          "too large" },
        { "one that wraps beside a dim of 0",
          TN_DTYPE_F32,
          3,
          { 0, 1ll << 40, 1ll << 40 },
          TN_E_SHAPE,
          "too large" },
        { "no type", 9999, 1, { 4 }, TN_E_DTYPE, "9999 is no element type" },
        { "half a block", TN_DTYPE_Q8_0, 1, { 16 }, TN_E_SHAPE, "not whole blocks of 32" },
        { "a block type without dims",
          TN_DTYPE_Q8_0,
          0,
          { 0 },
          TN_E_SHAPE,
          "not whole blocks of 32" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        tn_value value = tn_graph_input(graph, "leaf", cases[i].dtype, cases[i].rank,
                                        cases[i].dims);
        assert_int_equal(tn_value_is_none(value), cases[i].status != TN_OK);
        if (cases[i].status == TN_OK) {
            test_finish(graph, value);
            tn_graph_destroy(graph);
        } else {
            test_refused(graph, cases[i].says, cases[i].status,
                         (const char *[]){ "input 'leaf'", cases[i].words, NULL });
        }
    }
}

static void a_weight_has_the_bytes_that_its_shape_needs(void **state)
{
    (void)state;
    static const float data[12];
    static const struct {
        const char *says;
        const void *data;
        uint64_t bytes;
        tn_status status;
        const char *words;
    } cases[] = {
        { "all bytes", data, 48, TN_OK, "" },
        { "too few", data, 47, TN_E_ARG, "47 bytes are given, its shape needs 48" },
        { "too many", data, 49, TN_E_ARG, "49 bytes are given, its shape needs 48" },
        { "none", NULL, 48, TN_E_ARG, "no bytes are given" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        tn_value value = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 },
                                         cases[i].data, cases[i].bytes);
        if (cases[i].status == TN_OK) {
            test_finish(graph, value);
            tn_graph_destroy(graph);
        } else {
            test_refused(graph, cases[i].says, cases[i].status,
                         (const char *[]){ "weight 'w'", cases[i].words, NULL });
        }
    }
    tn_graph *graph = test_graph();   // a weight without elements has no bytes to give
    test_finish(graph, tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 0 }, NULL, 0));
    tn_graph_destroy(graph);
}

static void an_output_that_is_too_large_is_refused(void **state)
{
    (void)state;
    const shape_case cases[] = {
        { TNP_OP_MATMUL,
          NULL,
          { "F32 {1, 4294967296}", "F32 {1, 4294967296}" },
          NULL,
          TN_E_SHAPE,
          "too large",
          { 0 } },
        { TNP_OP_CONVERT,
          TO(I64),
          { "I8 {9223372036854775807}" },
          NULL,
          TN_E_SHAPE,
          "too large",
          { 0 } },
        { TNP_OP_GET_ROWS,
          NULL,
          { "F16 {4611686018427387903}", "I32 {8}" },
          NULL,
          TN_E_SHAPE,
          "too large",
          { 0 } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        // The sentence is that of the layout: "op 'node': shape is negative or too large".
        check_shape(&cases[i]);
    }
}

// Every op of the table has a case above: it is refused for its operands, not for want of a rule.
static void every_op_has_a_shape_rule(void **state)
{
    (void)state;
    for (tnp_op number = 0; number < 4096; number++) {
        const tni_op *op = tni_op_find(number);
        if (!op)
            continue;
        union {
            uint32_t size;
            unsigned char bytes[256];
        } attr = { .bytes = { 0 } };
        attr.size = op->attr_bytes;
        tn_graph *graph = test_graph();
        tn_value in[TNI_MAX_INPUTS];
        for (uint32_t i = 0; i < op->inputs_max; i++)
            in[i] = test_value(graph, (char[]){ 'a', (char)('0' + i), 0 }, "BOOL {3, 5, 7}");
        tn_graph_op(graph, number, NULL, in, op->inputs_max, op->attr_bytes ? &attr : NULL);
        if (graph->first_error.status == TN_E_INTERNAL)
            fail_msg("%s", graph->first_error.text);
        tn_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_of_two_operands_broadcast_the_second_to_the_first),
        cmocka_unit_test(ops_of_one_operand_keep_its_shape),
        cmocka_unit_test(limits_are_numbers_in_order),
        cmocka_unit_test(gate_and_up_have_one_shape),
        cmocka_unit_test(norms_keep_the_shape_and_need_a_weight_a_column),
        cmocka_unit_test(norms_with_a_bias_need_one_a_column_or_channel),
        cmocka_unit_test(softmax_keeps_the_shape_and_broadcasts_its_mask),
        cmocka_unit_test(rope_needs_a_position_a_token),
        cmocka_unit_test(yarn_needs_a_context_and_betas),
        cmocka_unit_test(matmul_joins_the_inner_dim_and_broadcasts_the_weight),
        cmocka_unit_test(matmul_id_has_a_matrix_for_each_choice),
        cmocka_unit_test(attention_shares_key_heads_among_query_heads),
        cmocka_unit_test(rows_are_taken_by_index),
        cmocka_unit_test(conversions_keep_the_dims),
        cmocka_unit_test(concatenations_add_up_along_one_axis),
        cmocka_unit_test(reductions_leave_one_element_of_their_axis),
        cmocka_unit_test(sorts_give_indices_of_whole_rows),
        cmocka_unit_test(a_leaf_has_a_type_dims_and_a_size_that_is_a_number),
        cmocka_unit_test(a_weight_has_the_bytes_that_its_shape_needs),
        cmocka_unit_test(an_output_that_is_too_large_is_refused),
        cmocka_unit_test(every_op_has_a_shape_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
