// blocks.h: the layouts that kernels read and write. Weights are those of GGUF files; q8 and the
// panels are this plugin's own and live in scratch.
//
// Q8_0, 34 bytes, 32 weights: w[i] = d * q[i]
//   byte   0   1   2                33
//        |   d   | q[0] ……………… q[31] |        d: F16 little-endian; q: I8
//
// Q4_1, 20 bytes, 32 weights: w[i] = d * q[i] + m
//   byte   0   1   2   3   4                       19
//        |   d   |   m   | q[0] q[16] ……… q[15] q[31] |   d, m: F16; q: 4 bits, 0 to 15; q[0] is
//        the
//                                                          low half of its byte
//
// Q4_0, 18 bytes, 32 weights: w[i] = d * (q[i] - 8)
//   byte   0   1   2                       17
//        |   d   | q[0] q[16] ……… q[15] q[31] |           as Q4_1
//
// Q5_0, 22 bytes, 32 weights: w[i] = d * (q[i] - 16)
//   byte   0   1   2      5   6                       21
//        |   d   |  fifths  | q[0] q[16] ……… q[15] q[31] |   q: 5 bits, the lower 4 as in Q4_1; bit
//        i
//                                                          of fifths is the upper one of q[i]
// Q5_1, 24 bytes, 32 weights: w[i] = d * q[i] + m
//   byte   0   1   2   3   4      7   8                       23
//        |   d   |   m   |  fifths  | q[0] q[16] ……… q[15] q[31] |
//
// IQ4_NL, 18 bytes: w[i] = d * cpu_iq4_nl_values[q[i]]; laid out as Q4_0.
//
// BF16: the upper half of an F32.
//
// Blocks of 256 weights (K types) are 8 parts of 32 for the kernels here: part s has elements 32 s
// to 32 s + 31. Numbers of 6 and 8 bits scale the parts.
//
// Q2_K, 84 bytes: w[i] = (d * scale[i / 16]) * q[i] - (dmin * min[i / 16])
//   byte   0                       15  16       79  80  81  82   83
//        | scale: low half, min: high | two bits  |   d   |  dmin  |
//   two bits: byte 32 h + l has element l of parts 4 h, 4 h + 1, 4 h + 2, 4 h + 3, from bit 0 up
//
// Q3_K, 110 bytes: w[i] = (d * (scale[i / 16] - 32)) * (q[i] - 4)
//   byte   0       31  32       95  96  107  108 109
//        | thirds    | two bits   | scales |   d   |
//   two bits: as Q2_K
//   thirds: bit s of byte l belongs to element l of part s
//   scales: byte j < 8 has the low 4 bits of scale[j] in its low half, of scale[8 + j] in its high
//   one; byte 8 + j has the upper 2 of scale[j], scale[4 + j], scale[8 + j], scale[12 + j], from
//   bit 0 up
//
// Q4_K, 144 bytes: w[i] = (d * scale[s]) * q[i] - (dmin * min[s])
//   byte   0   1   2    3   4      15  16                  143
//        |   d   |  dmin  | scales   | low bits              |
//   scales, j from 0 to 3, bit 7 on the left:
//        byte     j   | scale[4 + j], upper 2 | scale[j]                 |
//        byte 4 + j   | min[4 + j], upper 2   | min[j]                   |
//        byte 8 + j   | min[4 + j], low 4     | scale[4 + j], low 4      |
//   low bits: byte 32 c + l has element l of part 2 c in its low half, of part 2 c + 1 in its high
//   one
//
// Q5_K, 176 bytes: as Q4_K, with a fifth bit
//   byte   0   1   2    3   4      15  16      47  48                  175
//        |   d   |  dmin  | scales   | fifths    | low bits              |
//   fifths: bit s of byte l belongs to element l of part s
//
// Q6_K, 210 bytes: w[i] = (d * scale[i / 16]) * (q[i] - 32)
//   byte   0           127  128          191  192         207  208 209
//        | low 4 bits     | upper 2 bits    | scale: I8      |   d   |
//   half h has parts 4 h to 4 h + 3; l from 0 to 31:
//        low bits, byte 64 h + l        part 4 h in its low half, part 4 h + 2 in its high one
//        low bits, byte 64 h + 32 + l   parts 4 h + 1 and 4 h + 3
//        upper bits, byte 32 h + l      parts 4 h, 4 h + 1, 4 h + 2, 4 h + 3, from bit 0 up
//
// q8, 40 bytes, 32 activations: x[i] = d * q[i]
//   byte   0      3   4      7   8               39
//        |     d    |   sum    | q[0] …………… q[31] |      d: F32 with the precision of F16; q: I8
//   q is in -127 to 127; sum = d * (q[0] + … + q[31]) is what the m of Q4_1 is multiplied with.
//
// A packed weight (pack.h, layout 1) has groups of 8 rows, and in a group block after block. What
// stands at byte o of a row's block stands for all 8 rows at byte 8 o of the group's, an F16 or 4
// bytes at a time, so that one stream is read where there were 8, and nothing must be turned:
//
//   Q8_0 in the file     | d | q[0..3] | q[4..7] | … | q[28..31] |              34 bytes, 8 times
//   packed, 272 bytes    | d of rows 0 to 7 | q[0..3] of rows 0 to 7 | q[4..7] of rows 0 to 7 | …
//   byte                  0               15 16                    47 48
//
// A block whose bytes are no multiple of 4 has one F16 beside words of 4 (cpu_lone_half). Q4_1 has
// d and m of a row in one word. Rows that the last group lacks repeat the last one there is.
//
// Panels hold 8 rows of a weight, one struct for each block of 32 along the row: what one vector
// instruction takes stands side by side, a lane a row. [g][r][j] is element 4 g + j (2 g + j for 16
// bits) of row r. Panels follow one another; or, where a level's vectors are of 64 bytes, they lie
// in pairs, each field of 32 bytes of the one beside the same of the other: then the second begins
// 32 bytes after the first, and what a field keeps is the level's (pairs_<level>.h).
#ifndef CPU_BLOCKS_H
#define CPU_BLOCKS_H

#include <stdint.h>
#include <string.h>

#define CPU_BLOCK        32
#define CPU_PANEL_ROWS   8
#define CPU_PAIRED_BYTES 32   // from one panel of a pair to the other
#define CPU_Q8_0_BYTES   34
#define CPU_Q4_0_BYTES   18
#define CPU_Q4_1_BYTES   20
#define CPU_Q5_0_BYTES   22
#define CPU_Q5_1_BYTES   24
#define CPU_IQ4_NL_BYTES 18

#define CPU_K_BLOCK      256
#define CPU_K_PARTS      (CPU_K_BLOCK / CPU_BLOCK)
#define CPU_Q2_K_BYTES   84
#define CPU_Q3_K_BYTES   110
#define CPU_Q4_K_BYTES   144
#define CPU_Q5_K_BYTES   176
#define CPU_Q6_K_BYTES   210

// Where the F16 stands that no word of 4 bytes takes in: in front in blocks of 32, at the end in
// blocks of 256. -1 = a block of such words alone.
static inline int64_t cpu_lone_half(int64_t block_bytes)
{
    if (block_bytes % 4 == 0)
        return -1;
    return block_bytes < CPU_Q2_K_BYTES ? 0 : block_bytes - 2;
}

typedef struct cpu_block_q8 {
    float d, sum;
    int8_t q[CPU_BLOCK];
} cpu_block_q8;

// For all weights that are d q + m with q of 4 or 5 bits: Q4_1 and Q5_1; Q4_0 and Q5_0 with m = -8
// d and -16 d; a part of Q4_K and Q5_K with d * scale and -(dmin * min).
typedef struct cpu_panel_q4_1 {
    float d[CPU_PANEL_ROWS], m[CPU_PANEL_ROWS];
    uint8_t q[CPU_BLOCK / 4][CPU_PANEL_ROWS][4];
} cpu_panel_q4_1;

// A part of Q2_K: d times q, which has the scale of its half in it (0 to 45), + m for elements 0 to
// 15, + later_m for 16 to 31.
typedef struct cpu_panel_q2_k {
    cpu_panel_q4_1 first;
    float later_m[CPU_PANEL_ROWS];
} cpu_panel_q2_k;

// Q8_0, and IQ4_NL by its values, where two products of 8-bit numbers do not fit the 16 of a byte
// product: widened.
typedef struct cpu_panel_q8_0 {
    float d[CPU_PANEL_ROWS];
    int16_t q[CPU_BLOCK / 2][CPU_PANEL_ROWS][2];
} cpu_panel_q8_0;

// Q8_0 where 4 products of bytes are added to 32 bits at once. Which of the two a level's kernels
// take, or one in pairs, is told by the size that it names (cpu_kernels.panel_q8_0_bytes).
typedef struct cpu_panel_q8_0_bytes {
    float d[CPU_PANEL_ROWS];
    int8_t q[CPU_BLOCK / 4][CPU_PANEL_ROWS][4];
} cpu_panel_q8_0_bytes;

// A part of Q6_K: w = d * scale[i / 16] * q[i], q in -32 to 31; or of Q3_K, q in -4 to 3. Each
// scale stands twice, for the two products that one 32-bit sum is made of. Activations are
// multiplied as q_x + 128, which is not negative; `offset` is what must be added for that:
// -128 * sum(scale[i / 16] * q[i]).
typedef struct cpu_panel_q6_k {
    float d[CPU_PANEL_ROWS];
    int32_t offset[CPU_PANEL_ROWS];
    int16_t scale[2][CPU_PANEL_ROWS][2];
    int8_t q[CPU_BLOCK / 4][CPU_PANEL_ROWS][4];
} cpu_panel_q6_k;

// Where panel p begins of those of `bytes` bytes each, of which `together` lie together.
static inline char *cpu_panel_at(char *panels, int64_t together, int64_t p, int64_t bytes)
{
    int64_t beside = p % together;

    return panels + (p - beside) * bytes + beside * CPU_PAIRED_BYTES;
}

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

// d * (q[0] + … + q[15]), or of q[16] to q[31]: exact, since d has the precision of F16.
static inline float cpu_scaled_sum_of_half(const cpu_block_q8 *x, int half)
{
    int sum = 0;

    for (int i = 0; i < CPU_BLOCK / 2; i++)
        sum += x->q[CPU_BLOCK / 2 * half + i];
    return x->d * (float)sum;
}

static inline uint16_t cpu_load_u16(const void *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#endif
