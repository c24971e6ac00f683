// sort.comp: argsort and top_k: a bitonic sort of (rank, index), SIZE of them in shared memory. A
// row that is longer lies in scratch, and sort_step.comp compares what stands too far apart; there a
// row is | ranks | indices |. Rows are filled up to a power of two by what comes last.
#version 460
#define GROUP 128
#include "include/base.glsl"
#include "include/order.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const uint X_TYPE = 1;
layout(constant_id = 1) const uint SIZE = 256;
layout(constant_id = 2) const bool IS_DESCENDING = false;
layout(constant_id = 3) const bool IS_FIRST = true;   // the elements come from x, not from scratch
layout(constant_id = 4) const bool IS_LAST = true;    // indices go to the result, not to scratch
layout(push_constant, std430) uniform Push {
    Walk walk;
    uint n, kept, x_stride, out_stride;
    uint length;                       // of a row, filled up
    uint first_period, last_period;    // of the bitonic sequences that are made
    uint pairs_offset;
};
WRITES(0, out)
READS(1, x)
WRITES(2, pairs)

shared uint ranks[SIZE];
shared uint indices[SIZE];

void main()
{
    const uint count = min(length, SIZE), row = gl_WorkGroupID.y;
    const uint first = gl_WorkGroupID.x * count, pairs = pairs_offset / 4 + 2 * length * row;
    const uvec4 at = place_of(walk.dims, row);
    const uint x_row = address_of(at, walk.strides[1], walk.offsets[1]);
    const uint out_row = address_of(at, walk.strides[0], walk.offsets[0]);
    for (uint i = gl_LocalInvocationIndex; i < count; i += GROUP) {
        const uint index = first + i;
        if (IS_FIRST) {
            uint rank = 0xffffffffu;
            if (index < n) {
                rank = order_of(x_float(x_row + index * x_stride, X_TYPE));
                rank = IS_DESCENDING ? ~rank : rank;
            }
            ranks[i] = rank;
            indices[i] = index;
        } else {
            ranks[i] = pairs_words[pairs + index];
            indices[i] = pairs_words[pairs + length + index];
        }
    }
    for (uint period = first_period; period <= last_period; period *= 2)
        for (uint apart = min(period, count) / 2; apart > 0; apart /= 2) {
            barrier();
            for (uint i = gl_LocalInvocationIndex; i < count / 2; i += GROUP) {
                const uint a = 2 * i - i % apart, b = a + apart;
                const bool is_rising = (first + a & period) == 0;
                const bool is_above = ranks[a] > ranks[b] ||
                                      ranks[a] == ranks[b] && indices[a] > indices[b];
                if (is_above == is_rising) {
                    const uint rank = ranks[a], index = indices[a];
                    ranks[a] = ranks[b];
                    indices[a] = indices[b];
                    ranks[b] = rank;
                    indices[b] = index;
                }
            }
        }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < count; i += GROUP) {
        const uint place = first + i;
        if (!IS_LAST) {
            pairs_words[pairs + place] = ranks[i];
            pairs_words[pairs + length + place] = indices[i];
        } else if (place < kept) {
            out_put_u32(out_row + place * out_stride, indices[i]);
        }
    }
}
