// q6_k.c: 256 weights of 6 bits; 16 sub-blocks of 16, each with a scale of 8 bits, a multiple of
// the scale of the whole block.
//
// Q6_K, 210 bytes: w[i] = (d * scale[i / 16]) * (q[i] - 32)
//   byte   0             127  128           191  192          207  208 209
//        | low 4 bits       | upper 2 bits     | scales          |   d   |     d: F16; scale: I8
//
//   Each half of the block has 64 bytes of low bits and 32 of upper ones. In half h, l from 0 to
//   31:
//        low bits, byte 64 h + l         | q[128 h + 64 + l] (7 … 4) | q[128 h + l]      (3 … 0) |
//        low bits, byte 64 h + 32 + l    | q[128 h + 96 + l] (7 … 4) | q[128 h + 32 + l] (3 … 0) |
//        upper bits, byte 32 h + l, from bit 0 up: q[128 h + l], + 32, + 64, + 96
#include "quant/quant_internal.h"

#include <math.h>

enum { SUB = 16, SUBS = LARGE / SUB, HIGH = 128, SCALES = 192, D = 208 };

// Where the parts of quant i are: their bytes in the block, and their shifts in there.
typedef struct place {
    int low, low_shift, high, high_shift;
} place;

static place place_of(int i)
{
    int half = i / 128, quarter = i % 128 / 32, l = i % 32;

    return (place){ .low = 64 * half + 32 * (quarter % 2) + l,
                    .low_shift = quarter / 2 * 4,
                    .high = HIGH + 32 * half + l,
                    .high_shift = quarter * 2 };
}

void tni_quant_decode_q6_k(const uint8_t *block, float *to)
{
    float d = load_f16(block + D);

    for (int i = 0; i < LARGE; i++) {
        place at = place_of(i);
        int q = (block[at.low] >> at.low_shift & 15) | (block[at.high] >> at.high_shift & 3) << 4;
        float scale = d * (float)(int8_t)block[SCALES + i / SUB];

        to[i] = scale * (float)(q - 32);
    }
}

void tni_quant_encode_q6_k(const float *from, uint8_t *block)
{
    float scale[SUBS], largest = 0, d;

    for (int s = 0; s < SUBS; s++) {
        scale[s] = tni_quant_fit_scale(SUB, from + s * SUB, -32, 31);
        if (fabsf(scale[s]) > fabsf(largest))
            largest = scale[s];
    }
    d = round_to_f16(largest / -128.0f);
    for (int i = 0; i < SCALES; i++)
        block[i] = 0;
    store_f16(block + D, d);
    for (int s = 0; s < SUBS; s++) {
        int level = tni_quant_nearest(scale[s] * inverse_of(d), -128, 127);
        float inverse = inverse_of(d * (float)level);

        block[SCALES + s] = (uint8_t)level;
        for (int i = s * SUB; i < (s + 1) * SUB; i++) {
            int q = tni_quant_nearest(from[i] * inverse, -32, 31) + 32;
            place at = place_of(i);

            block[at.low] = (uint8_t)(block[at.low] | (q & 15) << at.low_shift);
            block[at.high] = (uint8_t)(block[at.high] | q >> 4 << at.high_shift);
        }
    }
}
