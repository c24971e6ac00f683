// convert.comp: elements of plain types as another. Whole numbers are 64 bits in between.
#version 460
#include "include/base.glsl"
#define WALK_OPERANDS 2
#include "include/walk.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint OUT_TYPE = 1;
layout(constant_id = 1) const uint X_TYPE = 1;
layout(push_constant, std430) uniform Push {
    Walk walk;
};
WRITES(0, out)
READS(1, x)

bool is_float(uint dtype)
{
    return dtype == F32 || dtype == F16 || dtype == BF16;
}

struct Whole {
    uint low;
    int high;
};
Whole whole_of(int value)
{
    return Whole(uint(value), value >> 31);
}

Whole negated(Whole value)
{
    uint low = ~value.low + 1;
    return Whole(low, ~value.high + (low == 0 ? 1 : 0));
}

Whole read_whole(uint at)
{
    switch (X_TYPE) {
    case I64:
        return Whole(x_u32(at), int(x_u32(at + 4)));
    case I32:
        return whole_of(int(x_u32(at)));
    case I16:
        return whole_of(bitfieldExtract(int(x_u16(at)), 0, 16));
    case I8:
        return whole_of(bitfieldExtract(int(x_u8(at)), 0, 8));
    default:   // BOOL
        return Whole(x_u8(at) != 0 ? 1 : 0, 0);
    }
}

// Of 64 bits the upper 32 that count, and whether any below them is set.
float float_of(Whole value)
{
    bool is_negative = value.high < 0;
    if (is_negative)
        value = negated(value);
    uint high = uint(value.high);
    float size = float(value.low);
    if (high != 0) {
        int shift = findMSB(high) + 1;   // 1 to 32
        uint upper = shift == 32 ? high : high << 32 - shift | value.low >> shift;
        uint lower = shift == 32 ? value.low : value.low << 32 - shift;
        size = float(upper | (lower != 0 ? 1 : 0)) * uintBitsToFloat(uint(shift + 127) << 23);
    }
    return is_negative ? -size : size;
}

// Cut toward zero, held within 64 bits; a NaN becomes 0.
Whole whole_of_float(float value)
{
    if (is_nan(value))
        return Whole(0, 0);
    float size = abs(value);
    if (size >= 9223372036854775808.0)
        return value < 0.0 ? Whole(0, int(0x80000000u)) : Whole(0xffffffffu, 0x7fffffff);
    uint high = uint(size * 2.3283064365386963e-10);   // by 2^32, exact
    Whole whole = Whole(uint(size - float(high) * 4294967296.0), int(high));
    return value < 0.0 ? negated(whole) : whole;
}

int held(Whole value, int least, int most)
{
    if (value.high != int(value.low) >> 31)
        return value.high < 0 ? least : most;
    return clamp(int(value.low), least, most);
}

void put_whole(uint at, Whole value)
{
    switch (OUT_TYPE) {
    case I64:
        out_put_u32(at, value.low);
        out_put_u32(at + 4, uint(value.high));
        break;
    case I32:
        out_put_u32(at, uint(held(value, int(0x80000000u), 0x7fffffff)));
        break;
    case I16:
        out_put_u16(at, uint(held(value, -32768, 32767)) & 0xffffu);
        break;
    case I8:
        out_put_u8(at, uint(held(value, -128, 127)) & 0xffu);
        break;
    default:   // BOOL
        out_put_u8(at, value.low != 0 || value.high != 0 ? 1 : 0);
        break;
    }
}

void copy(uint from, uint to)
{
    switch (X_TYPE) {
    case I64:
        out_put_u32(to, x_u32(from));
        out_put_u32(to + 4, x_u32(from + 4));
        break;
    case F32:
    case I32:
        out_put_u32(to, x_u32(from));
        break;
    case F16:
    case BF16:
    case I16:
        out_put_u16(to, x_u16(from));
        break;
    default:
        out_put_u8(to, x_u8(from));
        break;
    }
}

void convert_float(uint from, uint to)
{
    float x = x_float(from, X_TYPE);
    if (is_float(OUT_TYPE))
        out_put_float(to, OUT_TYPE, x);
    else if (OUT_TYPE == BOOL)
        out_put_u8(to, (floatBitsToUint(x) & 0x7fffffffu) != 0 ? 1 : 0);   // also of a NaN
    else
        put_whole(to, whole_of_float(x));
}

void main()
{
    uint index = gl_GlobalInvocationID.x;
    if (index >= walk.count)
        return;
    uvec4 at = place_of(walk.dims, index);
    uint to = address_of(at, walk.strides[0], walk.offsets[0]);
    uint from = address_of(at, walk.strides[1], walk.offsets[1]);
    if (X_TYPE == OUT_TYPE)
        copy(from, to);
    else if (is_float(X_TYPE))
        convert_float(from, to);
    else if (is_float(OUT_TYPE))
        out_put_float(to, OUT_TYPE, float_of(read_whole(from)));
    else
        put_whole(to, read_whole(from));
}
