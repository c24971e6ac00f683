// panel_avx2.h: the same 4 bytes of 8 rows in one vector, and the scales of 8 rows, from rows as
// the file has them or from a packed group. For products in integers.
#ifndef CPU_PANEL_AVX2_H
#define CPU_PANEL_AVX2_H

#include <immintrin.h>

#include "blocks.h"

// Where the bytes of 8 rows are. is_packed is a constant wherever a kernel is compiled: each kernel
// is there twice, and the choice costs nothing in its loop.
typedef struct rows_of_8 {
    int is_packed;
    const char *row[CPU_PANEL_ROWS];   // packed: row[0] is the group, the others are not used
} rows_of_8;

// Those that are not there repeat the last one, so that no byte beyond the weight is read.
static inline __attribute__((always_inline)) rows_of_8 find_rows(int is_packed, int64_t rows,
                                                                 const void *w, int64_t stride)
{
    rows_of_8 from = { .is_packed = is_packed, .row[0] = w };

#pragma GCC unroll 8
    for (int64_t r = 1; r < CPU_PANEL_ROWS && !is_packed; r++)
        from.row[r] = (const char *)w + (r < rows ? r : rows - 1) * stride;
    return from;
}

// Vector i of what a packed group has for byte `offset` of its rows and on.
static inline __attribute__((always_inline)) __m256i packed_vector(const rows_of_8 *from,
                                                                   int64_t offset, int i)
{
    const char *at = from->row[0] + CPU_PANEL_ROWS * offset + i * (int64_t)sizeof(__m256i);

    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

// to[g]: lane r holds bytes 4 g to 4 g + 3 from byte `offset` of row r.
static inline __attribute__((always_inline)) void turn_rows(const rows_of_8 *from, int64_t offset,
                                                            __m256i to[4])
{
    __m256i both[4], ab_low, ab_high, cd_low,
        cd_high;   // both[i]: row i in the low half, row i + 4 in the high

    if (from->is_packed) {
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++)
            to[g] = packed_vector(from, offset, g);
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        both[i] = _mm256_loadu2_m128i((const __m128i *)(const void *)(from->row[i + 4] + offset),
                                      (const __m128i *)(const void *)(from->row[i] + offset));
    ab_low = _mm256_unpacklo_epi32(both[0], both[1]);
    ab_high = _mm256_unpackhi_epi32(both[0], both[1]);
    cd_low = _mm256_unpacklo_epi32(both[2], both[3]);
    cd_high = _mm256_unpackhi_epi32(both[2], both[3]);
    to[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    to[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    to[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    to[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

// How far ahead a packed group asks. Its stream goes on in the next group, and the processor's own
// prefetching, which follows it, stops at each page.
#define AHEAD 2048

// Asks for what is multiplied after these rows, by the measure of `bytes` bytes of a row from
// `offset` on. Packed: as much, some way ahead. Else the bytes at the same place of the next 8
// rows. Rows of a weight follow one another, so 8 of them are read as 8 short streams: too many and
// too short for the processor's own prefetching (decoding a 135M model in Q4_1, layers alone, 1
// thread, EPYC 7003: 10.3 ms a token without, 7.7 with). An address beyond the weight is never
// read.
static inline __attribute__((always_inline)) void ask_ahead(const rows_of_8 *from, int64_t offset,
                                                            int64_t bytes, int64_t stride)
{
    if (from->is_packed) {
#pragma GCC unroll 16
        for (int64_t i = 0; i < CPU_PANEL_ROWS * bytes; i += 64)
            _mm_prefetch((const void *)((uintptr_t)from->row[0] +
                                        (uintptr_t)(CPU_PANEL_ROWS * offset + AHEAD + i)),
                         _MM_HINT_T0);
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < CPU_PANEL_ROWS; r++)
        _mm_prefetch(
            (const void *)((uintptr_t)from->row[r] + (uintptr_t)(offset + CPU_PANEL_ROWS * stride)),
            _MM_HINT_T0);
}

// Keeps the compiler from adding up what follows as a tree: that takes more registers than there
// are (8 rows of Q4_1 times 4 tokens, EPYC 7003: 154 GOP/s as a tree, 222 in order).
static inline __attribute__((always_inline)) void in_this_order(__m256i *sum)
{
    __asm__("" : "+x"(*sum));
}

static inline int load_i32(const char *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

// F16 at byte `offset` of row r as F32, in lane r.
static inline __attribute__((always_inline)) __m256 load_scales(const rows_of_8 *from,
                                                                int64_t offset)
{
    const char *const *row = from->row;

    if (from->is_packed)
        return _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)(row[0] + CPU_PANEL_ROWS * offset)));
    return _mm256_cvtph_ps(
        _mm_setr_epi16((short)cpu_load_u16(row[0] + offset), (short)cpu_load_u16(row[1] + offset),
                       (short)cpu_load_u16(row[2] + offset), (short)cpu_load_u16(row[3] + offset),
                       (short)cpu_load_u16(row[4] + offset), (short)cpu_load_u16(row[5] + offset),
                       (short)cpu_load_u16(row[6] + offset), (short)cpu_load_u16(row[7] + offset)));
}

// Two F16 in each lane: the lower ones, and the upper ones.
static inline void split_scales(__m256i both, __m256 *lower, __m256 *upper)
{
    // the lower of 4 lanes, then the upper, in each half
    const __m256i apart = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);

    both = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(both, apart), 0xd8);
    *lower = _mm256_cvtph_ps(_mm256_castsi256_si128(both));
    *upper = _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1));
}

// 4 bytes from byte `offset` of row r, in lane r.
static inline __attribute__((always_inline)) __m256i load_words(const rows_of_8 *from,
                                                                int64_t offset)
{
    const char *const *row = from->row;

    if (from->is_packed)
        return packed_vector(from, offset, 0);
    return _mm256_setr_epi32(load_i32(row[0] + offset), load_i32(row[1] + offset),
                             load_i32(row[2] + offset), load_i32(row[3] + offset),
                             load_i32(row[4] + offset), load_i32(row[5] + offset),
                             load_i32(row[6] + offset), load_i32(row[7] + offset));
}

// acc + d * d_x * total, rounded in this order wherever a block is multiplied.
static inline __m256 add_scaled(__m256 acc, __m256i total, __m256 d, const cpu_block_q8 *x)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(x->d)), _mm256_cvtepi32_ps(total), acc);
}

#endif
