// q4.c: 32 weights of 4 bits, with one scale, or with a scale and a minimum.
//
// Q4_0, 18 bytes: w[i] = d * (q[i] - 8)
//   byte   0   1   2                        17
//        |   d   | q[0] q[16] …… q[15] q[31] |        d: F16; q: 0 to 15; q[0] is the low half of
//                                                     its byte, q[16] the high one
// Q4_1, 20 bytes: w[i] = d * q[i] + m
//   byte   0   1   2   3   4                        19
//        |   d   |   m   | q[0] q[16] …… q[15] q[31] |
#include "quant/quant_internal.h"

#include <math.h>

static void store_halves(uint8_t *to, const int q[SMALL])
{
    for (int i = 0; i < SMALL / 2; i++)
        to[i] = (uint8_t)(q[i] | q[i + SMALL / 2] << 4);
}

void tni_quant_decode_q4_0(const uint8_t *block, float *to)
{
    float d = load_f16(block);

    for (int i = 0; i < SMALL / 2; i++) {
        uint8_t both = block[2 + i];

        to[i] = d * (float)((both & 15) - 8);
        to[i + SMALL / 2] = d * (float)((both >> 4) - 8);
    }
}

// The largest, with its sign, becomes -8 d.
void tni_quant_encode_q4_0(const float *from, uint8_t *block)
{
    float largest = from[0], d, inverse;
    int q[SMALL];

    for (int i = 1; i < SMALL; i++)
        if (fabsf(from[i]) > fabsf(largest))
            largest = from[i];
    d = largest / -8.0f;
    inverse = inverse_of(d);
    for (int i = 0; i < SMALL; i++)
        q[i] = to_level(from[i] * inverse + 8.5f, 0, 15);
    store_f16(block, d);
    store_halves(block + 2, q);
}

void tni_quant_decode_q4_1(const uint8_t *block, float *to)
{
    float d = load_f16(block), m = load_f16(block + 2);

    for (int i = 0; i < SMALL / 2; i++) {
        uint8_t both = block[4 + i];

        to[i] = d * (float)(both & 15) + m;
        to[i + SMALL / 2] = d * (float)(both >> 4) + m;
    }
}

void tni_quant_encode_q4_1(const float *from, uint8_t *block)
{
    float min = from[0], max = from[0], d, inverse;
    int q[SMALL];

    for (int i = 1; i < SMALL; i++) {
        min = from[i] < min ? from[i] : min;
        max = from[i] > max ? from[i] : max;
    }
    d = (max - min) / 15.0f;
    inverse = inverse_of(d);
    for (int i = 0; i < SMALL; i++)
        q[i] = to_level((from[i] - min) * inverse + 0.5f, 0, 15);
    store_f16(block, d);
    store_f16(block + 2, min);
    store_halves(block + 4, q);
}
