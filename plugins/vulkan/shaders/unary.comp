// unary.comp: one operand, element by element.
#version 460
#include "include/base.glsl"
#include "include/math.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint OP = 0;
layout(constant_id = 1) const uint OUT_TYPE = 1;
layout(constant_id = 2) const uint X_TYPE = 1;
layout(push_constant, std430) uniform Push {
    Walk walk;
    float a, b;   // scale and bias; least and most of clamp; the cap
};
WRITES(0, out)
READS(1, x)

float result_of(float x)
{
    switch (OP) {
    case OP_SCALE:
        return fma(x, a, b);
    case OP_NEG:
        return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u);
    case OP_SQRT:
        return sqrt(x);
    case OP_EXP:
        return exp_of(x);
    case OP_TANH:
        return tanh_of(x);
    case OP_SIGMOID:
        return sigmoid_of(x);
    case OP_RELU:
        return x < 0.0 ? 0.0 : x;
    case OP_SILU:
        return silu_of(x);
    case OP_GELU:
        return gelu_of(x);
    case OP_ABS:
        return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
    case OP_SQR:
        return x * x;
    case OP_RSQRT:
        return 1.0 / sqrt(x);
    case OP_LOG:
        return log_of(x);
    case OP_SIN:
        return sin_of(x);
    case OP_COS:
        return cos_of(x);
    case OP_CLAMP:
        return x < a ? a : x > b ? b : x;
    case OP_GELU_ERF:
        return 0.5 * x * (1.0 + erf_of(x * 0.707106781186547524));
    case OP_GELU_QUICK:
        return x / (1.0 + exp_of(-1.702 * x));
    default:   // softcap
        return a * tanh_of(x / a);
    }
}

void main()
{
    uint index = gl_GlobalInvocationID.x;
    if (index >= walk.count)
        return;
    uvec4 at = place_of(walk.dims, index);
    float x = x_float(address_of(at, walk.strides[1], walk.offsets[1]), X_TYPE);
    out_put_float(address_of(at, walk.strides[0], walk.offsets[0]), OUT_TYPE, result_of(x));
}
