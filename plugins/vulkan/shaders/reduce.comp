// reduce.comp: sum, mean, max and argmax along an axis. IS_WIDE: a workgroup a line, which lies
// along dims[0]; else an invocation a line, neighbouring ones beside each other.
#version 460
#define GROUP 128
#include "include/base.glsl"
#include "include/order.glsl"
#include "include/reduce.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const uint OP = OP_SUM;
layout(constant_id = 1) const uint X_TYPE = 1;
layout(constant_id = 2) const bool IS_WIDE = true;
layout(constant_id = 3) const bool HAS_LENGTH = false;   // of a line
layout(push_constant, std430) uniform Push {
    Walk walk;
    uint n, stride, length_offset;
};
WRITES(0, out)
READS(1, x)
LENGTH(2, line)
GROUP_SUM
GROUP_HIGHEST
GROUP_LOWEST

void main()
{
    const uint count = HAS_LENGTH ? line_of(length_offset, n) : n;
    const uint first = IS_WIDE ? gl_LocalInvocationIndex : 0, step = IS_WIDE ? GROUP : 1;
    const uint line = IS_WIDE ? gl_WorkGroupID.x : gl_GlobalInvocationID.x;
    if (line >= walk.count)
        return;
    const uvec4 at = place_of(walk.dims, line);
    const uint x_line = address_of(at, walk.strides[1], walk.offsets[1]);
    const uint to = address_of(at, walk.strides[0], walk.offsets[0]);
    uint result;
    if (OP == OP_SUM || OP == OP_MEAN) {
        float sum = 0.0;
        for (uint i = first; i < count; i += step)
            sum += x_float(x_line + i * stride, X_TYPE);
        if (IS_WIDE)
            sum = group_sum(sum);
        if (OP == OP_MEAN)
            sum = count == 0 ? uintBitsToFloat(0x7fc00000u) : sum / float(count);
        result = floatBitsToUint(sum);
    } else {
        uint highest = 0, index = 0xffffffffu;
        for (uint i = first; i < count; i += step) {
            const uint order = order_of(x_float(x_line + i * stride, X_TYPE));
            if (order > highest || index == 0xffffffffu) {
                highest = order;
                index = i;
            }
        }
        if (IS_WIDE) {
            const uint own = highest;
            highest = group_highest(own);
            if (OP == OP_ARGMAX)
                index = group_lowest(own == highest ? index : 0xffffffffu);
        }
        if (OP == OP_MAX)
            result = floatBitsToUint(count == 0 ? -INFINITY : of_order(highest));
        else
            result = count == 0 ? 0 : index;
    }
    if (first == 0)
        out_put_u32(to, result);
}
