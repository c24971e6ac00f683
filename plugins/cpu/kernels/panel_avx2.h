// panel_avx2.h: 8 rows of 16 bytes turned so that the same 4 bytes of all rows stand in one vector,
// and the scales of 8 rows. For products in integers.
#ifndef CPU_PANEL_AVX2_H
#define CPU_PANEL_AVX2_H

#include <immintrin.h>

#include "blocks.h"

// The rows of a panel: those that are not there repeat the last one, so that no byte beyond the
// weight is read.
static inline void panel_rows(const char *row[CPU_PANEL_ROWS], int64_t rows, const void *w,
                              int64_t stride)
{
    for (int64_t r = 0; r < CPU_PANEL_ROWS; r++)
        row[r] = (const char *)w + (r < rows ? r : rows - 1) * stride;
}

// to[g]: lane r holds bytes 4 g to 4 g + 3 from row[r] + offset.
static inline __attribute__((always_inline)) void turn_rows(const char *const row[CPU_PANEL_ROWS],
                                                            int64_t offset, __m256i to[4])
{
    __m256i both[4], ab_low, ab_high, cd_low,
        cd_high;   // both[i]: row i in the low half, row i + 4 in the high

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        both[i] = _mm256_loadu2_m128i((const __m128i *)(const void *)(row[i + 4] + offset),
                                      (const __m128i *)(const void *)(row[i] + offset));
    ab_low = _mm256_unpacklo_epi32(both[0], both[1]);
    ab_high = _mm256_unpackhi_epi32(both[0], both[1]);
    cd_low = _mm256_unpacklo_epi32(both[2], both[3]);
    cd_high = _mm256_unpackhi_epi32(both[2], both[3]);
    to[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    to[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    to[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    to[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

// Asks for the bytes at the same place of the 8 rows after these, which are multiplied next. Rows
// of a weight follow one another, so 8 of them are read as 8 short streams: too many and too short
// for the processor's own prefetching (decoding a 135M model in Q4_1, layers alone, 1 thread, EPYC
// 7003: 10.3 ms a token without, 7.7 with). An address beyond the weight is never read.
static inline __attribute__((always_inline)) void
ask_for_next_rows(const char *const row[CPU_PANEL_ROWS], int64_t offset, int64_t stride)
{
#pragma GCC unroll 8
    for (int r = 0; r < CPU_PANEL_ROWS; r++)
        _mm_prefetch(
            (const void *)((uintptr_t)row[r] + (uintptr_t)(offset + CPU_PANEL_ROWS * stride)),
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

// F16 at row[r] + offset as F32, in lane r.
static inline __m256 load_scales(const char *const row[CPU_PANEL_ROWS], int64_t offset)
{
    __m128i d = _mm_setr_epi16(
        (short)cpu_load_u16(row[0] + offset), (short)cpu_load_u16(row[1] + offset),
        (short)cpu_load_u16(row[2] + offset), (short)cpu_load_u16(row[3] + offset),
        (short)cpu_load_u16(row[4] + offset), (short)cpu_load_u16(row[5] + offset),
        (short)cpu_load_u16(row[6] + offset), (short)cpu_load_u16(row[7] + offset));
    return _mm256_cvtph_ps(d);
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

// 4 bytes at row[r] + offset, in lane r.
static inline __m256i load_words(const char *const row[CPU_PANEL_ROWS], int64_t offset)
{
    return _mm256_setr_epi32(load_i32(row[0] + offset), load_i32(row[1] + offset),
                             load_i32(row[2] + offset), load_i32(row[3] + offset),
                             load_i32(row[4] + offset), load_i32(row[5] + offset),
                             load_i32(row[6] + offset), load_i32(row[7] + offset));
}

#endif
