// q4_k.c: 256 weights of 4 or 5 bits; 8 sub-blocks of 32, each with a scale and a minimum of 6
// bits, which are multiples of two scales of the whole block.
//
// Q4_K, 144 bytes: w[i] = (d * scale[i / 32]) * q[i] - (dmin * min[i / 32])
//   byte   0   1   2   3   4      15  16                  143
//        |   d   |  dmin  | scales  | low bits              |
//
// Q5_K, 176 bytes: the same with a fifth bit
//   byte   0   1   2   3   4      15  16      47  48                  175
//        |   d   |  dmin  | scales  | fifth bits | low bits              |
//
//   scales, 6 bits each, j from 0 to 3:
//        bit     7 6                        5 … 0
//   j         | scale[4 + j], upper 2    | scale[j]          |
//   4 + j     | min[4 + j], upper 2      | min[j]            |
//   8 + j     | min[4 + j], low 4 (7 … 4) | scale[4 + j], low 4 (3 … 0) |
//
//   low bits: 32 bytes for each quarter of the block. Byte l of quarter c has q[64 c + l] in its
//   low half and q[64 c + 32 + l] in its high one fifth bits: byte l has those of q[l], q[l + 32] …
//   q[l + 224], from bit 0 up
#include "quant/quant_internal.h"

enum { SUB = 32, SUBS = LARGE / SUB, SCALES = 4, SCALE_BYTES = 12 };

static void load_scales(const uint8_t *at, int scale[SUBS], int min[SUBS])
{
    for (int j = 0; j < 4; j++) {
        scale[j] = at[j] & 63;
        min[j] = at[4 + j] & 63;
        scale[4 + j] = (at[8 + j] & 15) | at[j] >> 6 << 4;
        min[4 + j] = at[8 + j] >> 4 | at[4 + j] >> 6 << 4;
    }
}

static void store_scales(uint8_t *at, const int scale[SUBS], const int min[SUBS])
{
    for (int j = 0; j < 4; j++) {
        at[j] = (uint8_t)(scale[j] | scale[4 + j] >> 4 << 6);
        at[4 + j] = (uint8_t)(min[j] | min[4 + j] >> 4 << 6);
        at[8 + j] = (uint8_t)((scale[4 + j] & 15) | (min[4 + j] & 15) << 4);
    }
}

// fifth NULL = there are none.
static void decode(const uint8_t *block, const uint8_t *fifth, const uint8_t *low, float *to)
{
    float d = load_f16(block), dmin = load_f16(block + 2);
    int scale[SUBS], min[SUBS];

    load_scales(block + SCALES, scale, min);
    for (int s = 0; s < SUBS; s++) {
        float d_s = d * (float)scale[s], m_s = dmin * (float)min[s];

        for (int l = 0; l < SUB; l++) {
            int q = low[s / 2 * SUB + l] >> s % 2 * 4 & 15;

            if (fifth)
                q |= (fifth[l] >> s & 1) << 4;
            to[s * SUB + l] = d_s * (float)q - m_s;
        }
    }
}

static void encode(const float *from, int most, uint8_t *block, uint8_t *fifth, uint8_t *low)
{
    float scale[SUBS], min[SUBS], most_scale = 0, most_min = 0, d, dmin;
    int scale_level[SUBS], min_level[SUBS];

    for (int s = 0; s < SUBS; s++) {
        tni_quant_fit_scale_and_min(SUB, from + s * SUB, most, &scale[s], &min[s]);
        most_scale = scale[s] > most_scale ? scale[s] : most_scale;
        most_min = min[s] > most_min ? min[s] : most_min;
    }
    d = round_to_f16(most_scale / 63.0f);
    dmin = round_to_f16(most_min / 63.0f);
    store_f16(block, d);
    store_f16(block + 2, dmin);
    for (int i = 0; i < LARGE / 2; i++)
        low[i] = 0;
    for (int i = 0; fifth && i < SUB; i++)
        fifth[i] = 0;
    for (int s = 0; s < SUBS; s++) {
        float inverse, m;

        scale_level[s] = tni_quant_nearest(scale[s] * inverse_of(d), 0, 63);
        min_level[s] = tni_quant_nearest(min[s] * inverse_of(dmin), 0, 63);
        inverse = inverse_of(d * (float)scale_level[s]);
        m = dmin * (float)min_level[s];
        for (int l = 0; l < SUB; l++) {
            int q = tni_quant_nearest((from[s * SUB + l] + m) * inverse, 0, most);
            uint8_t *at = low + s / 2 * SUB + l;

            *at = (uint8_t)(*at | (q & 15) << s % 2 * 4);
            if (fifth)
                fifth[l] = (uint8_t)(fifth[l] | q >> 4 << s);
        }
    }
    store_scales(block + SCALES, scale_level, min_level);
}

void tni_quant_decode_q4_k(const uint8_t *block, float *to)
{
    decode(block, NULL, block + SCALES + SCALE_BYTES, to);
}

void tni_quant_encode_q4_k(const float *from, uint8_t *block)
{
    encode(from, 15, block, NULL, block + SCALES + SCALE_BYTES);
}

void tni_quant_decode_q5_k(const uint8_t *block, float *to)
{
    const uint8_t *fifth = block + SCALES + SCALE_BYTES;

    decode(block, fifth, fifth + SUB, to);
}

void tni_quant_encode_q5_k(const float *from, uint8_t *block)
{
    uint8_t *fifth = block + SCALES + SCALE_BYTES;

    encode(from, 31, block, fifth, fifth + SUB);
}
