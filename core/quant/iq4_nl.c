// iq4_nl.c: 32 weights of 4 bits, which number the 16 entries of a fixed table: dense around zero,
// where most weights are.
//
// IQ4_NL, 18 bytes: w[i] = d * value[q[i]]
//   byte   0   1   2                        17
//        |   d   | q[0] q[16] …… q[15] q[31] |        as Q4_0
#include "quant/quant_internal.h"

#include <math.h>

static const int8_t value[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113 };

void tni_quant_decode_iq4_nl(const uint8_t *block, float *to)
{
    float d = load_f16(block);

    for (int i = 0; i < SMALL / 2; i++) {
        uint8_t both = block[2 + i];

        to[i] = d * (float)value[both & 15];
        to[i + SMALL / 2] = d * (float)value[both >> 4];
    }
}

static int nearest_entry(float x)
{
    int best = 0;

    for (int i = 1; i < 16; i++)
        if (fabsf(x - (float)value[i]) < fabsf(x - (float)value[best]))
            best = i;
    return best;
}

// For the entries nearest to x / d, the sums that tell the best scale for them, xv / vv, and by how
// much it lowers the sum of squares, xv * xv / vv.
static void measure(const float *x, float d, double *xv, double *vv)
{
    float inverse = inverse_of(d);

    *xv = *vv = 0;
    for (int i = 0; i < SMALL; i++) {
        double v = value[nearest_entry(x[i] * inverse)];

        *xv += (double)x[i] * v;
        *vv += v * v;
    }
}

void tni_quant_encode_iq4_nl(const float *from, uint8_t *block)
{
    float largest = 0, d = 0, inverse;
    double best = 0;

    for (int i = 0; i < SMALL; i++)
        if (fabsf(from[i]) > fabsf(largest))
            largest = from[i];
    // The largest becomes something near -127 or near 113.
    for (int step = -8; step <= 8 && largest != 0.0f; step++)
        for (int end = 0; end < 2; end++) {
            double xv, vv;

            measure(from, largest / (float)(value[15 * end] + step), &xv, &vv);
            if (xv * xv > best * vv) {
                best = xv * xv / vv;
                d = (float)(xv / vv);
            }
        }
    d = round_to_f16(d);
    inverse = inverse_of(d);
    store_f16(block, d);
    for (int i = 0; i < SMALL / 2; i++)
        block[2 + i] = (uint8_t)(nearest_entry(from[i] * inverse) |
                                 nearest_entry(from[i + SMALL / 2] * inverse) << 4);
}
