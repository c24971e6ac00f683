// quant_internal.h: for the .c files of this folder.
#ifndef TNI_QUANT_INTERNAL_H
#define TNI_QUANT_INTERNAL_H

#include "quant/quant.h"

#include <stdint.h>

// Elements of a block; one of the K types is cut into sub-blocks of 16 or 32 with scales of their
// own.
enum { SMALL = 32, LARGE = 256 };

// One block to F32, and one from F32. Every number in `from` is finite.
typedef void quant_decode_block(const uint8_t *block, float *to);
typedef void quant_encode_block(const float *from, uint8_t *block);

#define QUANT_BLOCK(name)                                                                          \
    quant_decode_block tni_quant_decode_##name;                                                    \
    quant_encode_block tni_quant_encode_##name
QUANT_BLOCK(f32);   // plain.c
QUANT_BLOCK(f16);
QUANT_BLOCK(bf16);
QUANT_BLOCK(q4_0);   // q4.c
QUANT_BLOCK(q4_1);
QUANT_BLOCK(q5_0);   // q5.c
QUANT_BLOCK(q5_1);
QUANT_BLOCK(q8_0);   // q8.c
QUANT_BLOCK(q2_k);   // q2_k.c
QUANT_BLOCK(q3_k);   // q3_k.c
QUANT_BLOCK(q4_k);   // q4_k.c
QUANT_BLOCK(q5_k);
QUANT_BLOCK(q6_k);     // q6_k.c
QUANT_BLOCK(iq4_nl);   // iq4_nl.c
#undef QUANT_BLOCK

// A number in F16 at `at`, little-endian whatever the machine is.
static inline float load_f16(const uint8_t *at)
{
    return tni_quant_from_f16((uint16_t)(at[0] | at[1] << 8));
}

static inline void store_f16(uint8_t *at, float value)
{
    uint16_t bits = tni_quant_to_f16(value);

    at[0] = (uint8_t)(bits & 255);
    at[1] = (uint8_t)(bits >> 8);
}

// As it will be read back.
static inline float round_to_f16(float value)
{
    return tni_quant_from_f16(tni_quant_to_f16(value));
}

// 1 / d; 0 for 0, so that a block of zeros has quants of 0.
static inline float inverse_of(float d)
{
    return d == 0.0f ? 0.0f : 1.0f / d;
}

// value without its fraction, held in low .. high. NaN (a scale too small to have an inverse) gives
// low.
static inline int to_level(float value, int low, int high)
{
    if (!(value > (float)low))
        return low;
    return value < (float)high ? (int)value : high;
}

// The level nearest to value, ties away from zero, held in low .. high; 0 for NaN.
int tni_quant_nearest(float value, int low, int high);

// search.c: scales for the types whose encoder is our own. Both try several scales around the
// plain one, and give what makes the sum of squared errors least. The plain one is among those
// tried, so the result is never worse.

// x[i] ~ d q[i], q in low .. high, low < 0. d takes the sign that maps the largest x to low.
float tni_quant_fit_scale(int n, const float *x, int low, int high);

// x[i] ~ d q[i] - m, q in 0 .. high; d and m are not negative.
void tni_quant_fit_scale_and_min(int n, const float *x, int high, float *d, float *m);

#endif
