// move.comp: elements of a plain type from one place to another.
#version 460
#include "include/base.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint BYTES = 4;   // of an element
layout(push_constant, std430) uniform Push {
    Walk walk;
};
WRITES(0, out)
READS(1, x)

void main()
{
    const uint index = gl_GlobalInvocationID.x;
    if (index >= walk.count)
        return;
    const uvec4 at = place_of(walk.dims, index);
    const uint from = address_of(at, walk.strides[1], walk.offsets[1]);
    const uint to = address_of(at, walk.strides[0], walk.offsets[0]);
    if (BYTES == 1) {
        out_put_u8(to, x_u8(from));
    } else if (BYTES == 2) {
        out_put_u16(to, x_u16(from));
    } else {
        out_put_u32(to, x_u32(from));
        if (BYTES == 8)
            out_put_u32(to + 4, x_u32(from + 4));
    }
}
