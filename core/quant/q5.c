// q5.c: 32 weights of 5 bits, with one scale, or with a scale and a minimum. The fifth bits stand
// together, apart from the other four.
//
// Q5_0, 22 bytes: w[i] = d * (q[i] - 16)
//   byte   0   1   2        5   6                        21
//        |   d   |  fifths    | q[0] q[16] …… q[15] q[31] |   d: F16; q: 0 to 31, its low 4 bits as
//                                                             in Q4_0; fifths: bit i is bit 4 of
//                                                             q[i], bit 0 the lowest of byte 2
// Q5_1, 24 bytes: w[i] = d * q[i] + m
//   byte   0   1   2   3   4        7   8                        23
//        |   d   |   m   |  fifths    | q[0] q[16] …… q[15] q[31] |
#include "quant/quant_internal.h"

#include <math.h>

// fifths, then halves, at `at`.
static void load_quants(const uint8_t *at, int q[SMALL])
{
    for (int i = 0; i < SMALL; i++) {
        int low = i < SMALL / 2 ? at[4 + i] & 15 : at[4 + i - SMALL / 2] >> 4;

        q[i] = low | (at[i / 8] >> i % 8 & 1) << 4;
    }
}

static void store_quants(uint8_t *at, const int q[SMALL])
{
    for (int i = 0; i < 4; i++)
        at[i] = 0;
    for (int i = 0; i < SMALL; i++)
        at[i / 8] = (uint8_t)(at[i / 8] | (q[i] >> 4) << i % 8);
    for (int i = 0; i < SMALL / 2; i++)
        at[4 + i] = (uint8_t)((q[i] & 15) | (q[i + SMALL / 2] & 15) << 4);
}

void tni_quant_decode_q5_0(const uint8_t *block, float *to)
{
    float d = load_f16(block);
    int q[SMALL];

    load_quants(block + 2, q);
    for (int i = 0; i < SMALL; i++)
        to[i] = d * (float)(q[i] - 16);
}

// The largest, with its sign, becomes -16 d.
void tni_quant_encode_q5_0(const float *from, uint8_t *block)
{
    float largest = from[0], d, inverse;
    int q[SMALL];

    for (int i = 1; i < SMALL; i++)
        if (fabsf(from[i]) > fabsf(largest))
            largest = from[i];
    d = largest / -16.0f;
    inverse = inverse_of(d);
    for (int i = 0; i < SMALL; i++)
        q[i] = to_level(from[i] * inverse + 16.5f, 0, 31);
    store_f16(block, d);
    store_quants(block + 2, q);
}

void tni_quant_decode_q5_1(const uint8_t *block, float *to)
{
    float d = load_f16(block), m = load_f16(block + 2);
    int q[SMALL];

    load_quants(block + 4, q);
    for (int i = 0; i < SMALL; i++)
        to[i] = d * (float)q[i] + m;
}

void tni_quant_encode_q5_1(const float *from, uint8_t *block)
{
    float min = from[0], max = from[0], d, inverse;
    int q[SMALL];

    for (int i = 1; i < SMALL; i++) {
        min = from[i] < min ? from[i] : min;
        max = from[i] > max ? from[i] : max;
    }
    d = (max - min) / 31.0f;
    inverse = inverse_of(d);
    for (int i = 0; i < SMALL; i++)
        q[i] = to_level((from[i] - min) * inverse + 0.5f, 0, 31);
    store_f16(block, d);
    store_f16(block + 2, min);
    store_quants(block + 4, q);
}
