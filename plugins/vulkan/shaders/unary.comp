// unary.comp: one operand, element by element.
#version 460
#include "include/base.glsl"
#include "include/math.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint OP = 0;   // number of ops.def
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
    case 32:
        return fma(x, a, b);
    case 33:
        return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u);
    case 34:
        return sqrt(x);
    case 35:
        return exp_of(x);
    case 36:
        return tanh_of(x);
    case 37:
        return sigmoid_of(x);
    case 38:
        return x < 0.0 ? 0.0 : x;
    case 39:
        return silu_of(x);
    case 40:
        return gelu_of(x);
    case 41:
        return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
    case 42:
        return x * x;
    case 43:
        return 1.0 / sqrt(x);
    case 44:
        return log_of(x);
    case 45:
        return sin_of(x);
    case 46:
        return cos_of(x);
    case 47:
        return x < a ? a : x > b ? b : x;
    case 51:
        return 0.5 * x * (1.0 + erf_of(x * 0.707106781186547524));
    case 52:
        return x / (1.0 + exp_of(-1.702 * x));
    default:
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
