// set_rows.comp: rows of F32, as they are or encoded. An invocation does a block of 32, else one
// element. Rounding is that of core/quant.
#version 460
#include "include/base.glsl"
#include "include/rows.glsl"
WRITES(0, out)
READS(1, from)
READS(2, index)

float x[32];   // the block
uint q[32];    // its levels

float inverse_of(float d)
{
    return d == 0.0 ? 0.0 : 1.0 / d;
}

// Without its fraction, held in 0 .. high.
uint level_of(float value, float high)
{
    return value > 0.0 ? uint(min(value, high)) : 0u;
}

// The nearest, ties away from zero.
uint signed_level_of(float value)
{
    if (is_nan(value))
        return 0;
    return uint(int(clamp(value, -128.0, 127.0) + (value < 0.0 ? -0.5 : 0.5))) & 0xffu;
}

// The largest by size, with its sign.
float largest_of()
{
    float largest = x[0];
    for (uint i = 1; i < 32; i++)
        if (abs(x[i]) > abs(largest))
            largest = x[i];
    return largest;
}

void put_nibbles(uint at)
{
    for (uint i = 0; i < 16; i += 2)
        out_put_u16(at + i, q[i] & 15u | (q[i + 16] & 15u) << 4 | (q[i + 1] & 15u) << 8 |
                                (q[i + 17] & 15u) << 12);
}

void put_fifth_bits(uint at)
{
    uint bits = 0;
    for (uint i = 0; i < 32; i++)
        bits |= (q[i] >> 4) << i;
    out_put_u16(at, bits & 0xffffu);
    out_put_u16(at + 2, bits >> 16);
}

// Q4_0 and Q5_0: the largest becomes the level 0.
void put_around_zero(uint at, float steps)
{
    float d = largest_of() / -steps, inverse = inverse_of(d);
    for (uint i = 0; i < 32; i++)
        q[i] = level_of(x[i] * inverse + steps + 0.5, 2.0 * steps - 1.0);
    out_put_u16(at, half_from_float(d));
}

// Q4_1 and Q5_1.
void put_from_least(uint at, float steps)
{
    float least = x[0], most = x[0];
    for (uint i = 1; i < 32; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    float d = (most - least) / steps, inverse = inverse_of(d);
    for (uint i = 0; i < 32; i++)
        q[i] = level_of((x[i] - least) * inverse + 0.5, steps);
    out_put_u16(at, half_from_float(d));
    out_put_u16(at + 2, half_from_float(least));
}

void put_q8_0(uint at)
{
    float d = abs(largest_of()) / 127.0, inverse = inverse_of(d);
    out_put_u16(at, half_from_float(d));
    for (uint i = 0; i < 32; i += 2)
        out_put_u16(at + 2 + i, signed_level_of(x[i] * inverse) |
                                    signed_level_of(x[i + 1] * inverse) << 8);
}

const float entries[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                            1,    13,   25,  38,  53,  69,  89,  113 };

uint nearest_entry(float value)
{
    uint nearest = 0;
    for (uint i = 0; i < 15; i++)
        nearest += value > 0.5 * (entries[i] + entries[i + 1]) ? 1 : 0;
    return nearest;
}

// The scale with the least sum of squared errors of some around the plain ones.
void put_iq4_nl(uint at)
{
    float largest = largest_of(), best = 0.0, d = 0.0;
    for (int step = 0; step < 34 && largest != 0.0; step++) {
        float inverse = ((step & 1) == 0 ? -127.0 : 113.0) + float(step / 2 - 8);
        inverse /= largest;
        float xv = 0.0, vv = 0.0;
        for (uint i = 0; i < 32; i++) {
            float v = entries[nearest_entry(x[i] * inverse)];
            xv = fma(x[i], v, xv);
            vv = fma(v, v, vv);
        }
        if (xv * xv > best * vv) {
            best = xv * xv / vv;
            d = xv / vv;
        }
    }
    uint bits = half_from_float(d);
    float inverse = inverse_of(half_to_float(bits));
    for (uint i = 0; i < 32; i++)
        q[i] = nearest_entry(x[i] * inverse);
    out_put_u16(at, bits);
}

void encode(uint from, uint to, uint unit)
{
    if (DTYPE < Q4_0) {
        uint bits = from_u32(from + unit * from_stride);
        to += unit * out_stride;
        if (DTYPE == F32)
            out_put_u32(to, bits);
        else
            out_put_float(to, DTYPE, uintBitsToFloat(bits));
        return;
    }
    for (uint i = 0; i < 32; i++)
        x[i] = uintBitsToFloat(from_u32(from + (32 * unit + i) * from_stride));
    to += unit * out_stride;
    switch (DTYPE) {
    case Q4_0:
        put_around_zero(to, 8.0);
        put_nibbles(to + 2);
        break;
    case Q4_1:
        put_from_least(to, 15.0);
        put_nibbles(to + 4);
        break;
    case Q5_0:
        put_around_zero(to, 16.0);
        put_fifth_bits(to + 2);
        put_nibbles(to + 6);
        break;
    case Q5_1:
        put_from_least(to, 31.0);
        put_fifth_bits(to + 4);
        put_nibbles(to + 8);
        break;
    case Q8_0:
        put_q8_0(to);
        break;
    default:
        put_iq4_nl(to);
        put_nibbles(to + 2);
        break;
    }
}

void main()
{
    uint unit = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
    if (unit >= elements / (DTYPE < Q4_0 ? 1 : 32) || is_beyond_lengths(row))
        return;
    uvec4 at = place_of(walk.dims, row);
    uint to = address_of(at, walk.strides[0], walk.offsets[0]);
    if (BY_INDEX) {
        uint chosen = index_u32(address_of(at, walk.strides[2], walk.offsets[2]));
        if (chosen >= row_count) {
            check_word = 1;
            return;
        }
        to += chosen * row_stride;
    }
    encode(address_of(at, walk.strides[1], walk.offsets[1]), to, unit);
}
