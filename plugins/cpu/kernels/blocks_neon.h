// blocks_neon.h: blocks of 32 of 4 rows of a weight in registers, from rows as the file has them or
// from a packed group. Layouts: blocks.h. A vector has 4 bytes of each row, a lane a row.
#ifndef CPU_BLOCKS_NEON_H
#define CPU_BLOCKS_NEON_H

#include <arm_neon.h>

#include "levels.h"

#define GROUPS (CPU_BLOCK / 4)
#define ROWS   4   // at once: half a panel

// Types, constants wherever a kernel is compiled.
enum { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

// Where the bytes of 4 rows are; is_packed is a constant too.
typedef struct rows_of_4 {
    int is_packed;
    const char *row[ROWS];   // packed: row[0] is the group, for these 4 of its 8 rows
} rows_of_4;

// Half h of 8 rows. Those that are not there repeat the last one.
static inline __attribute__((always_inline)) rows_of_4 find_rows(int is_packed, int h, int64_t rows,
                                                                 const void *w, int64_t stride)
{
    rows_of_4 from = { .is_packed = is_packed, .row[0] = w };

    for (int64_t i = 0; i < ROWS && !is_packed; i++)
        from.row[i] = (const char *)w + (ROWS * h + i < rows ? ROWS * h + i : rows - 1) * stride;
    return from;
}

static inline uint32_t load_u32(const char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

// 4 bytes from byte `offset` of the rows.
static inline __attribute__((always_inline)) uint32x4_t load_words(const rows_of_4 *from, int h,
                                                                   int64_t offset)
{
    uint32_t word[ROWS];

    if (from->is_packed)
        return vreinterpretq_u32_u8(
            vld1q_u8((const uint8_t *)from->row[0] + CPU_PANEL_ROWS * offset + 4 * ROWS * h));
    for (int r = 0; r < ROWS; r++)
        word[r] = load_u32(from->row[r] + offset);
    return vld1q_u32(word);
}

static inline float32x4_t halves_to_floats(uint16x4_t halves)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}

// F16 at byte `offset` of the rows, as F32.
static inline __attribute__((always_inline)) float32x4_t load_scales(const rows_of_4 *from, int h,
                                                                     int64_t offset)
{
    uint16_t half[ROWS];

    if (from->is_packed)
        memcpy(half, from->row[0] + CPU_PANEL_ROWS * offset + 2 * ROWS * h, sizeof half);
    else
        for (int r = 0; r < ROWS; r++)
            half[r] = cpu_load_u16(from->row[r] + offset);
    return halves_to_floats(vld1_u16(half));
}

// w = d q + m, or d q with m not set.
typedef struct block_of_4 {
    int8x16_t q[GROUPS];
    float32x4_t d, m;
    int32x4_t scale[2];    // Q3_K and Q6_K alone: of both halves
    float32x4_t later_m;   // Q2_K alone: of elements 16 to 31
} block_of_4;

static inline uint32x4_t in_bytes(uint32x4_t v, int shift, uint8_t bits)
{
    return vandq_u32(vshlq_u32(v, vdupq_n_s32(-shift)), vreinterpretq_u32_u8(vdupq_n_u8(bits)));
}

// 4-bit quants from 16 bytes.
static inline __attribute__((always_inline)) void load_nibbles(const rows_of_4 *from, int h,
                                                               int64_t offset, uint32x4_t q[GROUPS])
{
    for (int g = 0; g < 4; g++) {
        uint32x4_t both = load_words(from, h, offset + 4 * g);

        q[g] = in_bytes(both, 0, 15);
        q[g + 4] = in_bytes(both, 4, 15);
    }
}

// Bit i of a row's fifths goes to element i, as 16: the product brings bits 4 g to 4 g + 3, moved
// to the bottom, to the bottom of 4 bytes.
static inline __attribute__((always_inline)) void add_fifths(uint32x4_t fifths,
                                                             uint32x4_t q[GROUPS])
{
    for (int g = 0; g < GROUPS; g++) {
        uint32x4_t four = vandq_u32(vshlq_u32(fifths, vdupq_n_s32(-4 * g)), vdupq_n_u32(15));
        uint32x4_t apart = vmulq_n_u32(four, 0x00204081u);

        q[g] = vorrq_u32(q[g], vshlq_n_u32(in_bytes(apart, 0, 1), 4));
    }
}

// d * scale and -(dmin * min) of part s of Q4_K and Q5_K.
static inline __attribute__((always_inline)) void
load_scales_of_part(const rows_of_4 *from, int h, int64_t offset, int s, block_of_4 *to)
{
    uint32x4_t both = load_words(from, h, offset), a = load_words(from, h, offset + 4),
               b = load_words(from, h, offset + 8), c = load_words(from, h, offset + 12), scale,
               min;
    const int32x4_t down = vdupq_n_s32(-8 * (s % 4));
    const uint32x4_t six = vdupq_n_u32(63), four = vdupq_n_u32(15), two = vdupq_n_u32(48);

    a = vshlq_u32(a, down);
    b = vshlq_u32(b, down);
    c = vshlq_u32(c, down);
    if (s < 4) {
        scale = vandq_u32(a, six);
        min = vandq_u32(b, six);
    } else {
        scale = vorrq_u32(vandq_u32(c, four), vandq_u32(vshrq_n_u32(a, 2), two));
        min = vorrq_u32(vandq_u32(vshrq_n_u32(c, 4), four), vandq_u32(vshrq_n_u32(b, 2), two));
    }
    to->d = vmulq_f32(halves_to_floats(vmovn_u32(both)), vcvtq_f32_u32(scale));
    to->m = vnegq_f32(vmulq_f32(halves_to_floats(vshrn_n_u32(both, 16)), vcvtq_f32_u32(min)));
}

// Part s of the block of Q4_K or Q5_K at byte `offset`.
static inline __attribute__((always_inline)) void
load_affine_part(int has_fifths, const rows_of_4 *from, int h, int64_t offset, int s,
                 block_of_4 *to, uint32x4_t q[GROUPS])
{
    load_scales_of_part(from, h, offset, s, to);
    for (int g = 0; g < GROUPS; g++) {
        q[g] = in_bytes(
            load_words(from, h, offset + (has_fifths ? 48 : 16) + s / 2 * CPU_BLOCK + 4 * g),
            s % 2 * 4, 15);
        if (has_fifths)
            q[g] = vorrq_u32(
                q[g], vshlq_n_u32(in_bytes(load_words(from, h, offset + 16 + 4 * g), s, 1), 4));
    }
}

// With the scale of its half in each quant, as a panel has them.
static inline __attribute__((always_inline)) void
load_part_q2_k(const rows_of_4 *from, int h, int64_t offset, int s, block_of_4 *to)
{
    uint32x4_t both = load_words(from, h, offset + 80);
    float32x4_t dmin = halves_to_floats(vshrn_n_u32(both, 16)), m[2];
    uint8x16_t scale[2];

    to->d = halves_to_floats(vmovn_u32(both));
    for (int i = 0; i < 2; i++) {
        const int j = 2 * s + i;
        uint32x4_t byte = vshlq_u32(load_words(from, h, offset + j / 4 * 4),
                                    vdupq_n_s32(-8 * (j % 4)));

        scale[i] = vreinterpretq_u8_u32(vmulq_n_u32(vandq_u32(byte, vdupq_n_u32(15)), 0x01010101u));
        byte = vandq_u32(vshrq_n_u32(byte, 4), vdupq_n_u32(15));
        m[i] = vnegq_f32(vmulq_f32(dmin, vcvtq_f32_u32(byte)));
    }
    to->m = m[0];
    to->later_m = m[1];
    for (int g = 0; g < GROUPS; g++) {
        uint32x4_t two = load_words(from, h, offset + 16 + CPU_BLOCK * (s / 4) + 4 * g);

        to->q[g] = vreinterpretq_s8_u8(
            vmulq_u8(vreinterpretq_u8_u32(in_bytes(two, s % 4 * 2, 3)), scale[g / 4]));
    }
}

static inline __attribute__((always_inline)) void
load_part_q3_k(const rows_of_4 *from, int h, int64_t offset, int s, block_of_4 *to)
{
    to->d = load_scales(from, h, offset + 108);
    for (int i = 0; i < 2; i++) {
        const int j = 2 * s + i;
        uint32x4_t low = load_words(from, h, offset + 96 + j % 8 / 4 * 4),
                   high = load_words(from, h, offset + 104);

        low = vandq_u32(vshlq_u32(low, vdupq_n_s32(-(j % 4 * 8 + j / 8 * 4))), vdupq_n_u32(15));
        high = vandq_u32(vshlq_u32(high, vdupq_n_s32(-(j % 4 * 8 + j / 4 * 2))), vdupq_n_u32(3));
        to->scale[i] = vsubq_s32(vreinterpretq_s32_u32(vorrq_u32(low, vshlq_n_u32(high, 4))),
                                 vdupq_n_s32(32));
    }
    for (int g = 0; g < GROUPS; g++) {
        uint32x4_t two = load_words(from, h, offset + 32 + CPU_BLOCK * (s / 4) + 4 * g);
        uint32x4_t third = load_words(from, h, offset + 4 * g);
        uint32x4_t q = vorrq_u32(in_bytes(two, s % 4 * 2, 3),
                                 vshlq_n_u32(in_bytes(third, s, 1), 2));

        to->q[g] = vsubq_s8(vreinterpretq_s8_u32(q), vdupq_n_s8(4));
    }
}

static inline __attribute__((always_inline)) void
load_part_q6_k(const rows_of_4 *from, int h, int64_t offset, int s, block_of_4 *to)
{
    const int quarter = s % 4;

    to->d = load_scales(from, h, offset + 208);
    for (int i = 0; i < 2; i++) {
        const int j = 2 * s + i;
        int32x4_t four = vreinterpretq_s32_u32(load_words(from, h, offset + 192 + j / 4 * 4));

        to->scale[i] = vshrq_n_s32(vshlq_s32(four, vdupq_n_s32(24 - 8 * (j % 4))), 24);
    }
    for (int g = 0; g < GROUPS; g++) {
        uint32x4_t low = load_words(from, h,
                                    offset + 64 * (s / 4) + quarter % 2 * CPU_BLOCK + 4 * g);
        uint32x4_t high = load_words(from, h, offset + 128 + CPU_BLOCK * (s / 4) + 4 * g);
        uint32x4_t q = vorrq_u32(in_bytes(low, quarter / 2 * 4, 15),
                                 vshlq_n_u32(in_bytes(high, 2 * quarter, 3), 4));

        to->q[g] = vsubq_s8(vreinterpretq_s8_u32(q), vdupq_n_s8(32));
    }
}

static inline __attribute__((always_inline)) int64_t bytes_of(int type)
{
    static const int64_t bytes[] = { CPU_Q4_0_BYTES, CPU_Q4_1_BYTES, CPU_Q5_0_BYTES,
                                     CPU_Q5_1_BYTES, CPU_Q8_0_BYTES, CPU_IQ4_NL_BYTES,
                                     CPU_Q2_K_BYTES, CPU_Q3_K_BYTES, CPU_Q4_K_BYTES,
                                     CPU_Q5_K_BYTES, CPU_Q6_K_BYTES };

    return bytes[type];
}

static inline __attribute__((always_inline)) int64_t parts_of(int type)
{
    return type < Q2_K ? 1 : CPU_K_PARTS;
}

// Half h of block b of 32 of the rows.
static inline __attribute__((always_inline)) block_of_4 load_block(int type, const rows_of_4 *from,
                                                                   int h, int64_t b)
{
    const int64_t parts = parts_of(type), offset = b / parts * bytes_of(type);
    const int s = (int)(b % parts), has_m = type == Q4_1 || type == Q5_1;
    uint32x4_t q[GROUPS];
    block_of_4 to;

    if (type == Q2_K) {
        load_part_q2_k(from, h, offset, s, &to);
        return to;
    }
    if (type == Q3_K) {
        load_part_q3_k(from, h, offset, s, &to);
        return to;
    }
    if (type == Q6_K) {
        load_part_q6_k(from, h, offset, s, &to);
        return to;
    }
    if (type == Q4_K || type == Q5_K) {
        load_affine_part(type == Q5_K, from, h, offset, s, &to, q);
    } else if (has_m) {
        uint32x4_t both = load_words(from, h, offset);

        to.d = halves_to_floats(vmovn_u32(both));
        to.m = halves_to_floats(vshrn_n_u32(both, 16));
    } else {
        to.d = load_scales(from, h, offset);
        to.m = vmulq_n_f32(to.d, type == Q5_0 ? -16.0f : -8.0f);
    }
    if (type == Q8_0)
        for (int g = 0; g < GROUPS; g++)
            q[g] = load_words(from, h, offset + 2 + 4 * g);
    if (type <= Q5_1 || type == IQ4_NL)
        load_nibbles(from, h, offset + (has_m ? 4 : 2) + (type == Q5_0 || type == Q5_1 ? 4 : 0), q);
    if (type == Q5_0 || type == Q5_1)
        add_fifths(load_words(from, h, offset + (has_m ? 4 : 2)), q);
    for (int g = 0; g < GROUPS; g++)
        to.q[g] = type == IQ4_NL
                      ? vqtbl1q_s8(vld1q_s8(cpu_iq4_nl_values), vreinterpretq_u8_u32(q[g]))
                      : vreinterpretq_s8_u32(q[g]);
    return to;
}

#endif
