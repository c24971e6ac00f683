// plain.c: F32, F16 and BF16: types whose block is one element.
//
//   F32   | sign | exponent 8 | fraction 23            |   bias 127
//   F16   | sign | exponent 5 | fraction 10 |              bias 15; exponent 0: fraction * 2^-24
//   BF16  | sign | exponent 8 | fraction 7 |               the upper half of an F32
#include "quant/quant_internal.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

float tni_quant_from_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u,
             fraction = bits & 1023u;

    if (exponent == 0) {   // zero or subnormal: exact in F32
        float size = (float)fraction * 0x1p-24f;
        return sign ? -size : size;
    }
    if (exponent == 31)   // infinity; or NaN, with the bit that makes it quiet
        return from_bits(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x00400000u : 0));
    return from_bits(sign | (exponent + 127u - 15u) << 23 | fraction << 13);
}

// `bits` without its last `count` bits, rounded to nearest, ties to even. May carry into the
// exponent, up to infinity: that is the right result.
static uint32_t cut(uint32_t bits, uint32_t count)
{
    uint32_t rest = bits & ((1u << count) - 1u), half_way = 1u << (count - 1u),
             kept = bits >> count;

    return kept + (rest > half_way || (rest == half_way && (kept & 1u)));
}

uint16_t tni_quant_to_f16(float value)
{
    uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;

    if (size > 0x7f800000u)   // NaN
        return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x1ffu));
    if (size >= 0x47800000u)   // 65536 and up, infinity too
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x33000000u)   // below 2^-25: to zero
        return (uint16_t)sign;
    if (size < 0x38800000u)   // below 2^-14: subnormal
        return (uint16_t)(sign | cut((size & 0x7fffffu) | 0x800000u, 126u - (size >> 23)));
    return (uint16_t)(sign | cut(size - ((127u - 15u) << 23), 13));
}

float tni_quant_from_bf16(uint16_t bits)
{
    return from_bits((uint32_t)bits << 16);
}

uint16_t tni_quant_to_bf16(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)   // NaN
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)cut(bits, 16);
}

static uint32_t load(const uint8_t *at, int bytes)
{
    uint32_t bits = 0;

    for (int i = 0; i < bytes; i++)
        bits |= (uint32_t)at[i] << 8 * i;
    return bits;
}

static void store(uint8_t *at, int bytes, uint32_t bits)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(bits >> 8 * i & 255u);
}

void tni_quant_decode_f32(const uint8_t *block, float *to)
{
    to[0] = from_bits(load(block, 4));
}

void tni_quant_encode_f32(const float *from, uint8_t *block)
{
    store(block, 4, bits_of(from[0]));
}

void tni_quant_decode_f16(const uint8_t *block, float *to)
{
    to[0] = tni_quant_from_f16((uint16_t)load(block, 2));
}

void tni_quant_encode_f16(const float *from, uint8_t *block)
{
    store(block, 2, tni_quant_to_f16(from[0]));
}

void tni_quant_decode_bf16(const uint8_t *block, float *to)
{
    to[0] = tni_quant_from_bf16((uint16_t)load(block, 2));
}

void tni_quant_encode_bf16(const float *from, uint8_t *block)
{
    store(block, 2, tni_quant_to_bf16(from[0]));
}
