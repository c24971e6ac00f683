// q2_k.c: 256 weights of 2 bits; 16 sub-blocks of 16, each with a scale and a minimum of 4 bits,
// which are multiples of two scales of the whole block.
//
// Q2_K, 84 bytes: w[i] = (d * scale[i / 16]) * q[i] - (dmin * min[i / 16])
//   byte   0                     15  16              79  80  81  82  83
//        | scale and min of each   | quants            |   d   |  dmin  |
//   byte s: scale[s] in its low half, min[s] in its high one
//   quants: 32 bytes for each half of the block. Byte l of half h holds 4 weights, 32 apart:
//
//        bit     7 6           5 4           3 2           1 0
//             | q[h 128+l+96] | q[h 128+l+64] | q[h 128+l+32] | q[h 128+l] |
#include "quant/quant_internal.h"

enum { SUB = 16, SUBS = LARGE / SUB };

// Where quant i is: its byte among the 64, and its shift in there.
static int byte_of(int i)
{
    return i / 128 * 32 + i % 32;
}

static int shift_of(int i)
{
    return i % 128 / 32 * 2;
}

void tni_quant_decode_q2_k(const uint8_t *block, float *to)
{
    float d = load_f16(block + 80), dmin = load_f16(block + 82);

    for (int i = 0; i < LARGE; i++) {
        uint8_t both = block[i / SUB];
        float scale = d * (float)(both & 15), min = dmin * (float)(both >> 4);

        to[i] = scale * (float)(block[16 + byte_of(i)] >> shift_of(i) & 3) - min;
    }
}

void tni_quant_encode_q2_k(const float *from, uint8_t *block)
{
    float scale[SUBS], min[SUBS], most_scale = 0, most_min = 0, d, dmin;

    for (int s = 0; s < SUBS; s++) {
        tni_quant_fit_scale_and_min(SUB, from + s * SUB, 3, &scale[s], &min[s]);
        most_scale = scale[s] > most_scale ? scale[s] : most_scale;
        most_min = min[s] > most_min ? min[s] : most_min;
    }
    d = round_to_f16(most_scale / 15.0f);
    dmin = round_to_f16(most_min / 15.0f);
    store_f16(block + 80, d);
    store_f16(block + 82, dmin);
    for (int i = 0; i < LARGE / 4; i++)
        block[16 + i] = 0;
    for (int s = 0; s < SUBS; s++) {
        int scale_level = tni_quant_nearest(scale[s] * inverse_of(d), 0, 15);
        int min_level = tni_quant_nearest(min[s] * inverse_of(dmin), 0, 15);
        float inverse = inverse_of(d * (float)scale_level), m = dmin * (float)min_level;

        block[s] = (uint8_t)(scale_level | min_level << 4);
        for (int i = s * SUB; i < (s + 1) * SUB; i++) {
            int q = tni_quant_nearest((from[i] + m) * inverse, 0, 3);
            uint8_t *at = block + 16 + byte_of(i);

            *at = (uint8_t)(*at | q << shift_of(i));
        }
    }
}
