// binary.comp: two operands, element by element, one broadcast to the other; gates too.
#version 460
#include "include/base.glsl"
#include "include/math.glsl"
#define WALK_OPERANDS 3
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint OP = 0;
layout(constant_id = 1) const uint OUT_TYPE = 1;
layout(constant_id = 2) const uint A_TYPE = 1;
layout(constant_id = 3) const uint B_TYPE = 1;
layout(push_constant, std430) uniform Push {
    Walk walk;
};
WRITES(0, out)
READS(1, a)
READS(2, b)

float result_of(float a, float b)
{
    switch (OP) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    default:
        return gated(OP, a, b);
    }
}

void main()
{
    uint index = gl_GlobalInvocationID.x;
    if (index >= walk.count)
        return;
    uvec4 at = place_of(walk.dims, index);
    float a = a_float(address_of(at, walk.strides[1], walk.offsets[1]), A_TYPE);
    float b = b_float(address_of(at, walk.strides[2], walk.offsets[2]), B_TYPE);
    out_put_float(address_of(at, walk.strides[0], walk.offsets[0]), OUT_TYPE, result_of(a, b));
}
