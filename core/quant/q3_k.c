// q3_k.c: 256 weights of 3 bits; 16 sub-blocks of 16, each with a signed scale of 6 bits, a
// multiple of the scale of the whole block.
//
// Q3_K, 110 bytes: w[i] = (d * (scale[i / 16] - 32)) * (q[i] - 4)
//   byte   0            31  32              95  96             107  108 109
//        | highest bits   | lower two bits    | scales            |   d    |
//   highest bits: byte l has those of q[l], q[l + 32] … q[l + 224], from bit 0 up
//   lower two bits: as the quants of Q2_K
//   scales, 6 bits each: bytes 0 to 7 have the low 4 bits of scale[0 … 7] in their low half and of
//   scale[8 … 15] in their high one; bytes 8 to 11 have the upper 2:
//
//        bit     7 6             5 4            3 2            1 0
//   8 + j     | scale[12 + j] | scale[8 + j] | scale[4 + j] | scale[j] |
#include "quant/quant_internal.h"

#include <math.h>

enum { SUB = 16, SUBS = LARGE / SUB, LOW = 32, SCALES = 96 };

static int byte_of(int i)
{
    return i / 128 * 32 + i % 32;
}

static int shift_of(int i)
{
    return i % 128 / 32 * 2;
}

static int load_scale(const uint8_t *scales, int s)
{
    int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;

    return (low | (scales[8 + s % 4] >> s / 4 * 2 & 3) << 4) - 32;
}

static void add_scale(uint8_t *scales, int s, int scale)   // to bytes that are 0
{
    uint8_t *low = scales + s % 8, *high = scales + 8 + s % 4;
    int bits = scale + 32;

    *low = (uint8_t)(*low | (bits & 15) << (s < 8 ? 0 : 4));
    *high = (uint8_t)(*high | bits >> 4 << s / 4 * 2);
}

void tni_quant_decode_q3_k(const uint8_t *block, float *to)
{
    float d = load_f16(block + 108);

    for (int i = 0; i < LARGE; i++) {
        float scale = d * (float)load_scale(block + SCALES, i / SUB);
        int low = block[LOW + byte_of(i)] >> shift_of(i) & 3, high = block[i % 32] >> i / 32 & 1;

        to[i] = scale * (float)((low | high << 2) - 4);
    }
}

void tni_quant_encode_q3_k(const float *from, uint8_t *block)
{
    float scale[SUBS], largest = 0, d;

    for (int s = 0; s < SUBS; s++) {
        scale[s] = tni_quant_fit_scale(SUB, from + s * SUB, -4, 3);
        if (fabsf(scale[s]) > fabsf(largest))
            largest = scale[s];
    }
    d = round_to_f16(largest / -32.0f);
    for (int i = 0; i < 108; i++)
        block[i] = 0;
    store_f16(block + 108, d);
    for (int s = 0; s < SUBS; s++) {
        int level = tni_quant_nearest(scale[s] * inverse_of(d), -32, 31);
        float inverse = inverse_of(d * (float)level);

        add_scale(block + SCALES, s, level);
        for (int i = s * SUB; i < (s + 1) * SUB; i++) {
            int q = tni_quant_nearest(from[i] * inverse, -4, 3) + 4;
            uint8_t *low = block + LOW + byte_of(i), *high = block + i % 32;

            *low = (uint8_t)(*low | (q & 3) << shift_of(i));
            *high = (uint8_t)(*high | q >> 2 << i / 32);
        }
    }
}
