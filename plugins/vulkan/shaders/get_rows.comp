// get_rows.comp: rows, decoded to F32; of whole numbers, as they are. An invocation does eight
// elements of a block type, else one.
#version 460
#include "include/base.glsl"
#include "include/blocks.glsl"
#include "include/rows.glsl"
WRITES(0, out)
READS(1, from)
READS(2, index)
BLOCKS(from)

void decode(uint from, uint to, uint unit)
{
    if (DTYPE < Q4_0) {
        from += unit * from_stride;
        out_put_u32(to + unit * out_stride,
                    DTYPE == F32 || DTYPE == I32 ? from_u32(from)
                                                 : floatBitsToUint(from_float(from, DTYPE)));
        return;
    }
    uint units = block_elements(DTYPE) / 8;
    Levels levels = from_levels(from + unit / units * from_stride, unit % units, DTYPE);
    vec4 low = fma(vec4(levels.scale), floats_of(levels.bytes.x), vec4(levels.offset));
    vec4 high = fma(vec4(levels.scale), floats_of(levels.bytes.y), vec4(levels.offset));
    to += 8 * unit * out_stride;
    for (uint i = 0; i < 4; i++)
        out_put_u32(to + i * out_stride, floatBitsToUint(low[i]));
    for (uint i = 0; i < 4; i++)
        out_put_u32(to + (i + 4) * out_stride, floatBitsToUint(high[i]));
}

void main()
{
    uint unit = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
    if (unit >= elements / (DTYPE < Q4_0 ? 1 : 8) || is_beyond_lengths(row))
        return;
    uvec4 at = place_of(walk.dims, row);
    uint from = address_of(at, walk.strides[1], walk.offsets[1]);
    if (BY_INDEX) {
        uint chosen = index_u32(address_of(at, walk.strides[2], walk.offsets[2]));
        if (chosen >= row_count) {
            check_word = 1;
            return;
        }
        chosen -= first_row;
        if (chosen >= part_rows)
            return;
        from += chosen * row_stride;
    }
    decode(from, address_of(at, walk.strides[0], walk.offsets[0]), unit);
}
