// fill.comp: one value as each element.
#version 460
#include "include/base.glsl"
#define WALK_OPERANDS 1
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint OUT_TYPE = 1;
layout(push_constant, std430) uniform Push {
    Walk walk;
    uint low, high;   // F16 and BF16: an F32
};
WRITES(0, out)

void main()
{
    const uint index = gl_GlobalInvocationID.x;
    if (index >= walk.count)
        return;
    const uint to =
        address_of(place_of(walk.dims, index), walk.strides[0], walk.offsets[0]);
    if (OUT_TYPE == F16 || OUT_TYPE == BF16) {
        out_put_float(to, OUT_TYPE, uintBitsToFloat(low));
    } else if (OUT_TYPE == I8 || OUT_TYPE == BOOL) {
        out_put_u8(to, low);
    } else if (OUT_TYPE == I16) {
        out_put_u16(to, low);
    } else {
        out_put_u32(to, low);
        if (OUT_TYPE == I64)
            out_put_u32(to + 4, high);
    }
}
