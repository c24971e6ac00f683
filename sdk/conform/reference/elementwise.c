// elementwise.c: ops whose element j depends on element j of each operand.
#include "reference.h"

#include <math.h>

static double silu(double x)
{
    return x / (1 + exp(-x));
}

// 0.5 x (1 + tanh(u)) with tanh(u) = 2 / (1 + exp(-2 u)) - 1 put in, which keeps its digits for
// large negative x.
static double gelu(double x)
{
    const double sqrt_2_over_pi = 0.79788456080286535588;
    double u = sqrt_2_over_pi * (x + 0.044715 * x * x * x);

    return x / (1 + exp(-2 * u));
}

// 0.5 (1 + erf(u)) is 0.5 erfc(-u), which keeps its digits for large negative x.
static double gelu_erf(double x)
{
    const double sqrt_1_2 = 0.70710678118654752440;

    return 0.5 * x * erfc(-x * sqrt_1_2);
}

static double relu(double x)
{
    return x < 0 ? 0 : x;   // a NaN stays one
}

static double clamp(const tnp_clamp_attr *attr, double x)
{
    return x < attr->min ? attr->min : x > attr->max ? attr->max : x;   // a NaN stays one
}

int ref_elementwise(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_scale_attr *scale = attr;
    const tnp_softcap_attr *softcap = attr;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    if (ref_is_empty(out))
        return REF_OK;
    do {
        double a = ref_get(&in[0], at), b = in[1].data ? ref_get_broadcast(&in[1], at) : 0, result;

        switch (op) {
        case TNP_OP_ADD:
            result = a + b;
            break;
        case TNP_OP_SUB:
            result = a - b;
            break;
        case TNP_OP_MUL:
            result = a * b;
            break;
        case TNP_OP_DIV:
            result = a / b;
            break;
        case TNP_OP_SCALE:
            result = a * scale->scale + scale->bias;
            break;
        case TNP_OP_NEG:
            result = -a;
            break;
        case TNP_OP_SQRT:
            result = sqrt(a);
            break;
        case TNP_OP_EXP:
            result = exp(a);
            break;
        case TNP_OP_TANH:
            result = tanh(a);
            break;
        case TNP_OP_SIGMOID:
            result = 1 / (1 + exp(-a));
            break;
        case TNP_OP_RELU:
            result = relu(a);
            break;
        case TNP_OP_SILU:
            result = silu(a);
            break;
        case TNP_OP_GELU:
            result = gelu(a);
            break;
        case TNP_OP_ABS:
            result = fabs(a);
            break;
        case TNP_OP_SQR:
            result = a * a;
            break;
        case TNP_OP_RSQRT:
            result = 1 / sqrt(a);
            break;
        case TNP_OP_LOG:
            result = log(a);
            break;
        case TNP_OP_SIN:
            result = sin(a);
            break;
        case TNP_OP_COS:
            result = cos(a);
            break;
        case TNP_OP_CLAMP:
            result = clamp(attr, a);
            break;
        case TNP_OP_GELU_ERF:
            result = gelu_erf(a);
            break;
        case TNP_OP_GELU_QUICK:
            result = a / (1 + exp(-1.702 * a));
            break;
        case TNP_OP_SOFTCAP:
            result = softcap->cap * tanh(a / softcap->cap);
            break;
        case TNP_OP_SWIGLU:
            result = silu(a) * b;
            break;
        case TNP_OP_GEGLU:
            result = gelu(a) * b;
            break;
        case TNP_OP_REGLU:
            result = relu(a) * b;
            break;
        default:
            return REF_UNKNOWN_OP;
        }
        ref_set(out, at, result);
    } while (ref_next(out->dims, at));
    return REF_OK;
}
