// q6_k_rows_avx2.h: 8 rows of Q6_K, from rows to registers, and what is added for a part. For the
// levels avx2 and above.
#ifndef CPU_Q6_K_ROWS_AVX2_H
#define CPU_Q6_K_ROWS_AVX2_H

#include "panel_avx2.h"

#define GROUPS (CPU_BLOCK / 4)
#define SCALES 192
#define D      208

// scale[j]: byte k of lane r is scale 4 j + k of row r.
static inline __attribute__((always_inline)) void
load_scales_of_parts(const rows_of_8 *from, int64_t offset, __m256i scale[4])
{
    turn_rows(from, offset + SCALES, scale);
}

// Scales first and second of a row as two 16-bit numbers in its lane.
static inline __attribute__((always_inline)) __m256i two_scales(const __m256i scale[4], int first,
                                                                int second)
{
    // Each goes to the upper byte of its 16 bits, and a shift brings the sign.
    const __m256i lane = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0,
                                          0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const int place = (int)(0x00800080u | (unsigned)(first % 4) << 8 |
                            (unsigned)(second % 4) << 24);
    __m256i byte = _mm256_add_epi8(lane, _mm256_set1_epi32(place));

    return _mm256_srai_epi16(_mm256_shuffle_epi8(scale[first / 4], byte), 8);
}

// 16 elements of 4 parts: half i of parts 4 h to 4 h + 3, q[k][g] with elements 4 g to 4 g + 3 of
// part 4 h + k, 0 to 63.
static inline __attribute__((always_inline)) void
load_quarters(const rows_of_8 *from, int64_t offset, int h, int i, __m256i q[4][4])
{
    const __m256i low_bits = _mm256_set1_epi8(15), two = _mm256_set1_epi8(48);
    __m256i even[4], odd[4], upper[4];

    turn_rows(from, offset + 64 * h + 16 * i, even);
    turn_rows(from, offset + 64 * h + CPU_BLOCK + 16 * i, odd);
    turn_rows(from, offset + 128 + CPU_BLOCK * h + 16 * i, upper);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        q[0][g] = _mm256_or_si256(_mm256_and_si256(even[g], low_bits),
                                  _mm256_and_si256(_mm256_slli_epi16(upper[g], 4), two));
        q[1][g] = _mm256_or_si256(_mm256_and_si256(odd[g], low_bits),
                                  _mm256_and_si256(_mm256_slli_epi16(upper[g], 2), two));
        q[2][g] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(even[g], 4), low_bits),
                                  _mm256_and_si256(upper[g], two));
        q[3][g] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(odd[g], 4), low_bits),
                                  _mm256_and_si256(_mm256_srli_epi16(upper[g], 2), two));
    }
}

static inline __m256i as_vector(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

static inline void store_vector(void *at, __m256i value)
{
    _mm256_storeu_si256((__m256i *)at, value);
}

// acc + d * d_x * total, rounded in this order wherever a part is multiplied.
static inline __m256 add_part(__m256 acc, __m256i total, __m256 d, const cpu_block_q8 *x)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(x->d)), _mm256_cvtepi32_ps(total), acc);
}

#endif
