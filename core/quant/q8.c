// q8.c: 32 weights of 8 bits with one scale.
//
// Q8_0, 34 bytes: w[i] = d * q[i]
//   byte   0   1   2                33
//        |   d   | q[0] ……………… q[31] |        d: F16; q: I8
#include "quant/quant_internal.h"

#include <math.h>

void tni_quant_decode_q8_0(const uint8_t *block, float *to)
{
    float d = load_f16(block);

    for (int i = 0; i < SMALL; i++)
        to[i] = d * (float)(int8_t)block[2 + i];
}

// The largest becomes 127 d or -127 d. Ties go away from zero.
void tni_quant_encode_q8_0(const float *from, uint8_t *block)
{
    float largest = 0, d, inverse;

    for (int i = 0; i < SMALL; i++)
        largest = fabsf(from[i]) > largest ? fabsf(from[i]) : largest;
    d = largest / 127.0f;
    inverse = inverse_of(d);
    store_f16(block, d);
    for (int i = 0; i < SMALL; i++)
        block[2 + i] = (uint8_t)tni_quant_nearest(from[i] * inverse, -128, 127);
}
