// blocks.h: the layouts that kernels read and write. Weights are those of GGUF files; q8 and the
// panels are this plugin's own and live in scratch.
//
// Q8_0, 34 bytes, 32 weights: w[i] = d * q[i]
//   byte   0   1   2                33
//        |   d   | q[0] ……………… q[31] |        d: F16 little-endian; q: I8
//
// Q4_1, 20 bytes, 32 weights: w[i] = d * q[i] + m
//   byte   0   1   2   3   4                       19
//        |   d   |   m   | q[0] q[16] ……… q[15] q[31] |   d, m: F16; q: 4 bits, 0 to 15; q[0] is the
//                                                          low half of its byte
//
// q8, 40 bytes, 32 activations: x[i] = d * q[i]
//   byte   0      3   4      7   8               39
//        |     d    |   sum    | q[0] …………… q[31] |      d: F32 with the precision of F16; q: I8
//   q is in -127 to 127; sum = d * (q[0] + … + q[31]) is what the m of Q4_1 is multiplied with.
//
// Panels hold 8 rows of a weight, one struct for each block of 32 along the row: what one vector
// instruction takes stands side by side, a lane a row. [g][r][j] is element 4 g + j (2 g + j for 16
// bits) of row r.
#ifndef CPU_BLOCKS_H
#define CPU_BLOCKS_H

#include <stdint.h>
#include <string.h>

#define CPU_BLOCK      32
#define CPU_PANEL_ROWS 8
#define CPU_Q8_0_BYTES 34
#define CPU_Q4_1_BYTES 20

typedef struct cpu_block_q8 {
    float d, sum;
    int8_t q[CPU_BLOCK];
} cpu_block_q8;

typedef struct cpu_panel_q4_1 {
    float d[CPU_PANEL_ROWS], m[CPU_PANEL_ROWS];
    uint8_t q[CPU_BLOCK / 4][CPU_PANEL_ROWS][4];
} cpu_panel_q4_1;

// 16 bits: two products of 8-bit numbers do not fit the 16 of a byte product.
typedef struct cpu_panel_q8_0 {
    float d[CPU_PANEL_ROWS];
    int16_t q[CPU_BLOCK / 2][CPU_PANEL_ROWS][2];
} cpu_panel_q8_0;

static inline float cpu_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u,
             fraction = half & 1023u;
    uint32_t bits;
    float value;

    if (exponent == 0) {   // zero or subnormal: fraction * 2^-24, exact in F32
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | fraction << 13;
    if (exponent == 31 && fraction)
        bits |= 0x00400000u;   // a quiet NaN, as the processor's own conversion gives
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Rounds to nearest, ties to even.
static inline uint16_t cpu_float_to_half(float value)
{
    uint32_t bits, magnitude, sign, shift, rest, half_way, result;

    memcpy(&bits, &value, sizeof bits);
    sign = (bits >> 16) & 0x8000u;
    magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x47800000u)   // 65536 and up, infinity too
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x33000000u)   // below 2^-25: to zero
        return (uint16_t)sign;
    if (magnitude < 0x38800000u) {   // subnormal: below 2^-14
        shift = 126u - (magnitude >> 23);
        result = ((magnitude & 0x7fffffu) | 0x800000u);
        rest = result & ((1u << shift) - 1u);
        half_way = 1u << (shift - 1u);
        result >>= shift;
    } else {
        rest = magnitude & 0x1fffu;
        half_way = 0x1000u;
        result = (magnitude - 0x38000000u) >> 13;
    }
    if (rest > half_way || (rest == half_way && (result & 1u)))
        result++;   // may carry into the exponent, up to infinity: that is the right result
    return (uint16_t)(sign | result);
}

static inline uint16_t cpu_load_u16(const void *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#endif
