// levels.h: the quants of one block of 32, or of one part of a block of 256, as bytes, and the
// scales of parts. Plain C, for the scalar kernels. The layouts are drawn in blocks.h.
#ifndef CPU_LEVELS_H
#define CPU_LEVELS_H

#include "blocks.h"

// 16 bytes: 0 to 15 in their low halves, 16 to 31 in the high ones.
static inline void levels_of_halves(const uint8_t *at, uint8_t q[CPU_BLOCK])
{
    for (int i = 0; i < CPU_BLOCK / 2; i++) {
        q[i] = at[i] & 15;
        q[i + CPU_BLOCK / 2] = at[i] >> 4;
    }
}

// 4 bytes of fifth bits, then 16 as above.
static inline void levels_of_fifths(const uint8_t *at, uint8_t q[CPU_BLOCK])
{
    levels_of_halves(at + 4, q);
    for (int i = 0; i < CPU_BLOCK; i++)
        q[i] = (uint8_t)(q[i] | (at[i / 8] >> i % 8 & 1) << 4);
}

// d and m of part s: w = d q + m.
static inline void scales_of_part(const uint8_t *block, int s, float *d, float *m)
{
    const uint8_t *at = block + 4 + s % 4;
    int scale, min;

    if (s < 4) {
        scale = at[0] & 63;
        min = at[4] & 63;
    } else {
        scale = (at[8] & 15) | at[0] >> 6 << 4;
        min = at[8] >> 4 | at[4] >> 6 << 4;
    }
    *d = cpu_half_to_float(cpu_load_u16(block)) * (float)scale;
    *m = -(cpu_half_to_float(cpu_load_u16(block + 2)) * (float)min);
}

static inline void levels_q4_k(const uint8_t *block, int s, uint8_t q[CPU_BLOCK])
{
    for (int l = 0; l < CPU_BLOCK; l++)
        q[l] = block[16 + s / 2 * CPU_BLOCK + l] >> s % 2 * 4 & 15;
}

static inline void levels_q5_k(const uint8_t *block, int s, uint8_t q[CPU_BLOCK])
{
    for (int l = 0; l < CPU_BLOCK; l++)
        q[l] = (uint8_t)((block[48 + s / 2 * CPU_BLOCK + l] >> s % 2 * 4 & 15) |
                         (block[16 + l] >> s & 1) << 4);
}

static inline void levels_q6_k(const uint8_t *block, int s, uint8_t q[CPU_BLOCK])   // 0 to 63
{
    int half = s / 4, quarter = s % 4;

    for (int l = 0; l < CPU_BLOCK; l++) {
        int low = block[64 * half + quarter % 2 * CPU_BLOCK + l] >> quarter / 2 * 4 & 15;
        int high = block[128 + CPU_BLOCK * half + l] >> quarter * 2 & 3;

        q[l] = (uint8_t)(low | high << 4);
    }
}

// Two bits of 64 bytes, as Q2_K and Q3_K have them.
static inline uint8_t two_bits(const uint8_t *at, int s, int l)
{
    return at[s / 4 * CPU_BLOCK + l] >> s % 4 * 2 & 3;
}

static inline void levels_q2_k(const uint8_t *block, int s, uint8_t q[CPU_BLOCK])
{
    for (int l = 0; l < CPU_BLOCK; l++)
        q[l] = two_bits(block + 16, s, l);
}

static inline void levels_q3_k(const uint8_t *block, int s, uint8_t q[CPU_BLOCK])
{
    for (int l = 0; l < CPU_BLOCK; l++)
        q[l] = (uint8_t)(two_bits(block + 32, s, l) | (block[l] >> s & 1) << 2);
}

static inline int scale_q3_k(const uint8_t *block, int j)
{
    int low = block[96 + j % 8] >> j / 8 * 4 & 15, high = block[104 + j % 4] >> j / 4 * 2 & 3;

    return low | high << 4;
}

// Of IQ4_NL.
static const int8_t cpu_iq4_nl_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113 };

#endif
