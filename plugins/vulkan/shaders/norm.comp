// norm.comp: rms_norm, layer_norm and l2_norm: a workgroup a row.
#version 460
#define GROUP 128
#include "include/base.glsl"
#include "include/reduce.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"
#include "include/lines.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const uint OP = OP_RMS_NORM;
layout(constant_id = 1) const uint OUT_TYPE = 1;
layout(constant_id = 2) const uint X_TYPE = 1;
layout(constant_id = 3) const bool HAS_WEIGHT = false;
layout(constant_id = 4) const bool HAS_BIAS = false;
layout(constant_id = 5) const bool IS_COUNTED = false;
layout(push_constant, std430) uniform Push {
    Walk walk;
    uint weight_offset, bias_offset;
    LineCount rows;
    uint n, out_stride, x_stride, weight_stride, bias_stride;
    float eps;
};
WRITES(0, out)
READS(1, x)
READS(2, weight)
READS(3, bias)
COUNTED_LINES(4)
GROUP_SUM

void main()
{
    const uint row = gl_WorkGroupID.x, first = gl_LocalInvocationIndex;
    if (IS_COUNTED && is_beyond(rows, row))
        return;
    const uvec4 at = place_of(walk.dims, row);
    const uint x_row = address_of(at, walk.strides[1], walk.offsets[1]);
    const uint out_row = address_of(at, walk.strides[0], walk.offsets[0]);
    float mean = 0.0, sum = 0.0;
    if (OP == OP_LAYER_NORM) {   // from the first element on, so that equal ones have exactly their mean
        const float pivot = x_float(x_row, X_TYPE);
        for (uint i = first; i < n; i += GROUP)
            sum += x_float(x_row + i * x_stride, X_TYPE) - pivot;
        mean = pivot + group_sum(sum) / float(n);
        sum = 0.0;
    }
    for (uint i = first; i < n; i += GROUP) {
        float x = x_float(x_row + i * x_stride, X_TYPE) - mean;
        sum = fma(x, x, sum);
    }
    sum = group_sum(sum);
    float size = sqrt(OP == OP_L2_NORM ? sum : sum / float(n) + eps);
    if (OP == OP_L2_NORM && size < eps)
        size = eps;
    const float factor = 1.0 / size;
    for (uint i = first; i < n; i += GROUP) {
        float y = (x_float(x_row + i * x_stride, X_TYPE) - mean) * factor;
        if (HAS_WEIGHT)
            y *= weight_float(weight_offset + i * weight_stride, F32);
        if (HAS_BIAS)
            y += bias_float(bias_offset + i * bias_stride, F32);
        out_put_float(out_row + i * out_stride, OUT_TYPE, y);
    }
}
