// parts_of_16_avx2.h: 8 rows of Q2_K, Q3_K or Q6_K, in which 16 elements have a scale of their own,
// from rows to registers. For the levels avx2 and above.
#ifndef CPU_PARTS_OF_16_AVX2_H
#define CPU_PARTS_OF_16_AVX2_H

#include "panel_avx2.h"

#ifndef GROUPS
#define GROUPS (CPU_BLOCK / 4)
#endif

// Types, constants wherever a kernel is compiled.
enum { Q2_K, Q3_K, Q6_K };

static inline __attribute__((always_inline)) int64_t bytes_of(int type)
{
    return type == Q2_K ? CPU_Q2_K_BYTES : type == Q3_K ? CPU_Q3_K_BYTES : CPU_Q6_K_BYTES;
}

// The F16 that scales the block, as F32.
static inline __attribute__((always_inline)) __m256 load_d(int type, const rows_of_8 *from,
                                                           int64_t offset)
{
    return load_scales(from, offset + (type == Q3_K ? 108 : 208));
}

// Of the scales of Q3_K: 4 bits of each byte of `low`, and the two of `upper` from bit `place` up.
static inline __attribute__((always_inline)) __m256i join_scales(__m256i low, __m256i upper,
                                                                 int place)
{
    const __m256i four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(48);
    __m256i high = place < 4 ? _mm256_slli_epi16(upper, 4 - place)
                             : _mm256_srli_epi16(upper, place - 4);

    return _mm256_sub_epi8(
        _mm256_or_si256(_mm256_and_si256(low, four), _mm256_and_si256(high, two)),
        _mm256_set1_epi8(32));
}

// scale[j]: byte k of lane r is scale 4 j + k of row r; of Q2_K with the min in its upper half.
static inline __attribute__((always_inline)) void
load_scales_of_parts(int type, const rows_of_8 *from, int64_t offset, __m256i scale[4])
{
    __m256i all[4];   // Q3_K: the last 12 of 16 bytes, in front of d

    if (type != Q3_K) {
        turn_rows(from, offset + (type == Q2_K ? 0 : 192), scale);
        return;
    }
    turn_rows(from, offset + 92, all);
    scale[0] = join_scales(all[1], all[3], 0);
    scale[1] = join_scales(all[2], all[3], 2);
    scale[2] = join_scales(_mm256_srli_epi16(all[1], 4), all[3], 4);
    scale[3] = join_scales(_mm256_srli_epi16(all[2], 4), all[3], 6);
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

// 2 bits of each of 4 parts, as load_quarters has them.
static inline __attribute__((always_inline)) void load_two_bits(const rows_of_8 *from,
                                                                int64_t offset, __m256i q[4][4])
{
    const __m256i two = _mm256_set1_epi8(3);
    __m256i all[4];

    turn_rows(from, offset, all);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++)
            q[k][g] = _mm256_and_si256(_mm256_srli_epi16(all[g], 2 * k), two);
}

// Bit s of each byte of thirds, as 4, to q.
static inline __attribute__((always_inline)) void add_thirds(const __m256i thirds[4], int s,
                                                             __m256i q[4])
{
    const __m256i third = _mm256_set1_epi8(4);

#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        __m256i in_place = s < 2 ? _mm256_slli_epi16(thirds[g], 2 - s)
                                 : _mm256_srli_epi16(thirds[g], s - 2);

        q[g] = _mm256_or_si256(q[g], _mm256_and_si256(in_place, third));
    }
}

static inline __attribute__((always_inline)) void
load_six_bits(const rows_of_8 *from, int64_t offset, int h, int i, __m256i q[4][4])
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

// 16 elements of 4 parts: half i of parts 4 h to 4 h + 3, q[k][g] with elements 4 g to 4 g + 3 of
// part 4 h + k. Without a sign: 0 to 3, 7 or 63.
static inline __attribute__((always_inline)) void
load_quarters(int type, const rows_of_8 *from, int64_t offset, int h, int i, __m256i q[4][4])
{
    __m256i thirds[4];

    if (type == Q6_K) {
        load_six_bits(from, offset, h, i, q);
        return;
    }
    load_two_bits(from, offset + (type == Q2_K ? 16 : 32) + CPU_BLOCK * h + 16 * i, q);
    if (type == Q2_K)
        return;
    turn_rows(from, offset + 16 * i, thirds);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        add_thirds(thirds, 4 * h + k, q[k]);
}

static inline __m256i as_vector(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

static inline void store_vector(void *at, __m256i value)
{
    _mm256_storeu_si256((__m256i *)at, value);
}

#endif
