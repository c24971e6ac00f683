// attention_merge.comp: what the workgroups of attention.comp made of some of the keys each, as one:
// a workgroup a head of a token. A sink is a score without a value.
#version 460
#define GROUP 64
#include "include/base.glsl"
#include "include/math.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const bool HAS_SINKS = false;
layout(constant_id = 1) const bool HAS_TOKENS = false;
layout(push_constant, std430) uniform Push {
    uint out_e, out_h, out_t, sink_h;   // strides
    uint offsets;                       // a byte each: out parts sinks tokens
    uint E, H, T, splits;
};
WRITES(0, out)
READS(1, parts)
READS(2, sinks)
LENGTH(3, tokens)

void main()
{
    const uint head = gl_WorkGroupID.x, t = gl_WorkGroupID.y, step = H * T * (E + 2) * 4;
    if (HAS_TOKENS && t >= tokens_of(offsets >> 24, T))
        return;
    const uint first = (offsets >> 8 & 255u) + (head * T + t) * (E + 2) * 4;
    const float sink =
        HAS_SINKS ? sinks_float((offsets >> 16 & 255u) + head * sink_h, F32) : -INFINITY;
    float largest = sink;
    for (uint s = 0; s < splits; s++)
        largest = max(largest, parts_float(first + s * step + 4 * E, F32));
    const float base = largest == -INFINITY ? 0.0 : largest;
    float total = exp_of(sink - base);
    for (uint s = 0; s < splits; s++)
        total += parts_float(first + s * step + 4 * E + 4, F32) *
                 exp_of(parts_float(first + s * step + 4 * E, F32) - base);
    for (uint e = gl_LocalInvocationIndex; e < E; e += GROUP) {
        float sum = 0.0;
        for (uint s = 0; s < splits; s++) {
            const float factor = exp_of(parts_float(first + s * step + 4 * E, F32) - base);
            if (factor != 0.0)
                sum = fma(parts_float(first + s * step + 4 * e, F32), factor, sum);
        }
        out_put_u32((offsets & 255u) + head * out_h + t * out_t + e * out_e,
                    floatBitsToUint(total == 0.0 ? 0.0 : sum / total));
    }
}
