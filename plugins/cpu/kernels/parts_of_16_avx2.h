// parts_of_16_avx2.h: 8 rows of Q2_K, Q3_K or Q6_K, in which 16 elements have a scale of their own,
// from rows to registers. For the levels avx2 and above.
#ifndef CPU_PARTS_OF_16_AVX2_H
#define CPU_PARTS_OF_16_AVX2_H

#include "panel_avx2.h"

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

// d and -dmin of Q2_K.
static inline __attribute__((always_inline)) void
load_d_and_dmin(const rows_of_8 *from, int64_t offset, __m256 *d, __m256 *minus_dmin)
{
    split_scales(load_words(from, offset + 80), d, minus_dmin);
    *minus_dmin = _mm256_xor_ps(*minus_dmin, _mm256_set1_ps(-0.0f));
}

// The bits of `of` under `mask`, after they moved up.
static inline __attribute__((always_inline)) __m256i bits_of(__m256i of, int up, int mask)
{
    __m256i moved = up < 0 ? _mm256_srli_epi16(of, -up) : _mm256_slli_epi16(of, up);

    return _mm256_and_si256(up ? moved : of, _mm256_set1_epi8((char)mask));
}

// Scales of Q3_K: of each byte 4 bits of `low` from bit `down` up, and two of `upper` from `place`.
static inline __attribute__((always_inline)) __m256i join_scales(__m256i low, int down,
                                                                 __m256i upper, int place)
{
    return _mm256_sub_epi8(_mm256_or_si256(bits_of(low, -down, 15), bits_of(upper, 4 - place, 48)),
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
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        scale[j] = join_scales(all[1 + j % 2], j / 2 * 4, all[3], 2 * j);
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

// The bytes that 16 elements of 4 parts are in: half i of parts 4 h to 4 h + 3.
typedef struct quarters {
    __m256i upper[4];    // two bits of each part; Q6_K: the upper ones
    __m256i low[2][4];   // Q6_K alone: four bits of two parts each
    __m256i thirds[4];   // Q3_K alone
} quarters;

static inline __attribute__((always_inline)) void
load_quarters(int type, const rows_of_8 *from, int64_t offset, int h, int i, quarters *to)
{
    const int64_t upper = type == Q2_K ? 16 : type == Q3_K ? 32 : 128;

    turn_rows(from, offset + upper + CPU_BLOCK * h + 16 * i, to->upper);
    if (type == Q3_K)
        turn_rows(from, offset + 16 * i, to->thirds);
    for (int j = 0; j < 2 && type == Q6_K; j++)
        turn_rows(from, offset + 64 * h + CPU_BLOCK * j + 16 * i, to->low[j]);
}

// Elements 4 g to 4 g + 3 of part 4 h + k. Without a sign: 0 to 3, 7 or 63.
static inline __attribute__((always_inline)) __m256i quants_of(int type, const quarters *of, int h,
                                                               int k, int g)
{
    const __m256i two = of->upper[g];

    if (type == Q2_K)
        return bits_of(two, -2 * k, 3);
    if (type == Q3_K)
        return _mm256_or_si256(bits_of(two, -2 * k, 3), bits_of(of->thirds[g], 2 - (4 * h + k), 4));
    return _mm256_or_si256(bits_of(of->low[k % 2][g], k / 2 * -4, 15), bits_of(two, 4 - 2 * k, 48));
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
