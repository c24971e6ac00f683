// decompose_elementwise.c: ops that go element by element, and the gated ones. The formulas with
// x / (1 + exp(-y)) keep their digits for large negative x, where 0.5 x (1 + tanh(y / 2)) has lost
// them; exp may become infinite, and the quotient is 0 then.
#include <math.h>

#include "graph/decompose_internal.h"

tn_value tni_decompose_neg(const tni_expansion *e)
{
    return tni_decompose_last(
        e, TNP_OP_SCALE, e->in[0], TN_NO_VALUE,
        &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr), .scale = -1, .bias = -0.0f });
}

tn_value tni_decompose_sqr(const tni_expansion *e)
{
    return tni_decompose_last(e, TNP_OP_MUL, e->in[0], e->in[0], NULL);
}

tn_value tni_decompose_relu(const tni_expansion *e)
{
    return tni_decompose_last(
        e, TNP_OP_CLAMP, e->in[0], TN_NO_VALUE,
        &(tnp_clamp_attr){ .size = sizeof(tnp_clamp_attr), .min = 0, .max = INFINITY });
}

// 1 + exp(x * factor)
static tn_value one_plus_exp(const tni_expansion *e, tn_value x, float factor)
{
    tn_value power = tni_decompose_scale_step(e, "power", x, factor, 0);
    tn_value exp = tni_decompose_step(e, TNP_OP_EXP, "exp", power, TN_NO_VALUE, NULL);
    return tni_decompose_scale_step(e, "1+exp", exp, 1, 1);
}

// Of the shape of the operand.
static tn_value make_ones(const tni_expansion *e)
{
    tni_value x = tni_decompose_value(e, e->in[0]);
    return tni_decompose_broadcast(e, "ones", tni_decompose_constant(e, "1", &(float){ 1 }, 1),
                                   x.rank, x.dims);
}

tn_value tni_decompose_rsqrt(const tni_expansion *e)
{
    tn_value root = tni_decompose_step(e, TNP_OP_SQRT, "sqrt", tni_decompose_operand(e, 0),
                                       TN_NO_VALUE, NULL);
    return tni_decompose_last(e, TNP_OP_DIV, make_ones(e), root, NULL);
}

tn_value tni_decompose_sigmoid(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    return tni_decompose_last(e, TNP_OP_DIV, make_ones(e), one_plus_exp(e, x, -1), NULL);
}

tn_value tni_decompose_silu(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    return tni_decompose_last(e, TNP_OP_DIV, x, one_plus_exp(e, x, -1), NULL);
}

tn_value tni_decompose_gelu_quick(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    return tni_decompose_last(e, TNP_OP_DIV, x, one_plus_exp(e, x, -1.702f), NULL);
}

// 0.5 x (1 + tanh(u)) is x / (1 + exp(-2u)), and u = sqrt(2/pi) (x + 0.044715 x^3)
tn_value tni_decompose_gelu(const tni_expansion *e)
{
    const double twice = 2 * 0.79788456080286535588;   // sqrt(2/pi)
    tn_value x = tni_decompose_operand(e, 0);
    tn_value square = tni_decompose_step(e, TNP_OP_SQR, "square", x, TN_NO_VALUE, NULL);
    tn_value slope = tni_decompose_scale_step(e, "slope", square, (float)(0.044715 * twice),
                                              (float)twice);
    tn_value u = tni_decompose_step(e, TNP_OP_MUL, "2u", x, slope, NULL);
    return tni_decompose_last(e, TNP_OP_DIV, x, one_plus_exp(e, u, -1), NULL);
}

tn_value tni_decompose_softcap(const tni_expansion *e)
{
    float cap = ((const tnp_softcap_attr *)e->attr)->cap;
    tn_value share = tni_decompose_scale_step(e, "share", tni_decompose_operand(e, 0), 1 / cap, 0);
    tn_value tanh = tni_decompose_step(e, TNP_OP_TANH, "tanh", share, TN_NO_VALUE, NULL);
    return tni_decompose_last(e, TNP_OP_SCALE, tanh, TN_NO_VALUE,
                              &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr), .scale = cap });
}

tn_value tni_decompose_gated(const tni_expansion *e)
{
    tnp_op op = e->op == TNP_OP_SWIGLU  ? TNP_OP_SILU
                : e->op == TNP_OP_GEGLU ? TNP_OP_GELU
                                        : TNP_OP_RELU;
    tn_value gate = tni_decompose_step(e, op, "gate", tni_decompose_operand(e, 0), TN_NO_VALUE,
                                       NULL);
    return tni_decompose_last(e, TNP_OP_MUL, gate, tni_decompose_operand(e, 1), NULL);
}
