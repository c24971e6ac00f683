// softmax.comp: softmax over rows of x * scale + slope * mask: a workgroup a row.
#version 460
#define GROUP 128
#include "include/base.glsl"
#include "include/math.glsl"
#include "include/reduce.glsl"
#define WALK_OPERANDS 3
#include "include/walk.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const uint OUT_TYPE = 1;
layout(constant_id = 1) const uint X_TYPE = 1;
layout(constant_id = 2) const uint MASK_TYPE = 0;   // 0: no mask
layout(constant_id = 3) const bool IS_ALIBI = false;
layout(constant_id = 4) const bool HAS_LENGTH = false;   // of a row
layout(constant_id = 5) const bool HAS_HEADS = false;    // a length of H
layout(push_constant, std430) uniform Push {
    Walk walk;
    uint n, first_row, rows_of_head, heads, out_stride, x_stride, mask_stride;
    uint length_offset, heads_offset;
    float scale, max_bias;
};
WRITES(0, out)
READS(1, x)
READS(2, mask)
LENGTH(3, row)
LENGTH(4, counted)
GROUP_SUM
GROUP_MAX

float slope_of(uint row)
{
    const uint head = row / rows_of_head % heads;
    const uint all = HAS_HEADS ? counted_of(heads_offset, heads) : heads;
    const int power = 1 << findMSB(max(all, 1));
    const float way = head < power ? float(head + 1) / float(power)
                                   : float(2 * (head - power) + 1) / float(2 * power);
    return exp_of(-max_bias * way * 0.693147180559945309);
}

uint x_row, mask_row;
float slope = 1.0;
float value_at(uint i)
{
    float y = x_float(x_row + i * x_stride, X_TYPE) * scale;
    if (MASK_TYPE != 0)
        y += slope * mask_float(mask_row + i * mask_stride, MASK_TYPE);
    return y;
}

void main()
{
    const uint first = gl_LocalInvocationIndex;
    const uint count = HAS_LENGTH ? row_of(length_offset, n) : n;
    const uvec4 at = place_of(walk.dims, gl_WorkGroupID.x);
    const uint out_row = address_of(at, walk.strides[0], walk.offsets[0]);
    x_row = address_of(at, walk.strides[1], walk.offsets[1]);
    mask_row = address_of(at, walk.strides[2], walk.offsets[2]);
    if (IS_ALIBI)
        slope = slope_of(first_row + gl_WorkGroupID.x);
    float largest = -INFINITY, sum = 0.0;
    for (uint i = first; i < count; i += GROUP)
        largest = max(largest, value_at(i));
    largest = group_max(largest);
    const bool is_empty = largest == -INFINITY;
    if (is_empty)
        largest = 0.0;
    for (uint i = first; i < count; i += GROUP)
        sum += exp_of(value_at(i) - largest);
    const float factor = is_empty ? 0.0 : 1.0 / group_sum(sum);
    for (uint i = first; i < count; i += GROUP)
        out_put_float(out_row + i * out_stride, OUT_TYPE, exp_of(value_at(i) - largest) * factor);
}
