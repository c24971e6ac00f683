// sort_step.comp: one step of a bitonic sort in scratch, see sort.comp.
#version 460
#include "include/base.glsl"

layout(local_size_x = 128) in;
layout(push_constant, std430) uniform Push {
    uint offset, length, period, apart;
};
WRITES(0, pairs)

void main()
{
    const uint i = gl_GlobalInvocationID.x, row = offset / 4 + 2 * length * gl_WorkGroupID.y;
    if (i >= length / 2)
        return;
    const uint a = 2 * i - i % apart, b = a + apart;
    const uint rank_a = pairs_words[row + a], rank_b = pairs_words[row + b];
    const uint index_a = pairs_words[row + length + a], index_b = pairs_words[row + length + b];
    const bool is_rising = (a & period) == 0;
    const bool is_above = rank_a > rank_b || rank_a == rank_b && index_a > index_b;
    if (is_above != is_rising)
        return;
    pairs_words[row + a] = rank_b;
    pairs_words[row + b] = rank_a;
    pairs_words[row + length + a] = index_b;
    pairs_words[row + length + b] = index_a;
}
