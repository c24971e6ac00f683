// sums_avx2.h: sums of halves of blocks of activations. For the levels avx2 and above.
#ifndef CPU_SUMS_AVX2_H
#define CPU_SUMS_AVX2_H

#include <immintrin.h>

#include "blocks.h"

// Of 4 blocks: their elements 0 to 15, then 16 to 31.
static inline __attribute__((always_inline)) void sums_of_four(const cpu_block_q8 *x,
                                                               __m128i *first, __m128i *second)
{
    __m256i four[4], all;   // four[b]: in each lane the sum of 4 elements of block b

#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        four[b] = _mm256_madd_epi16(
            _mm256_maddubs_epi16(_mm256_set1_epi8(1),
                                 _mm256_loadu_si256((const __m256i *)(const void *)x[b].q)),
            _mm256_set1_epi16(1));
    all = _mm256_hadd_epi32(_mm256_hadd_epi32(four[0], four[1]),
                            _mm256_hadd_epi32(four[2], four[3]));
    *first = _mm256_castsi256_si128(all);
    *second = _mm256_extracti128_si256(all, 1);
}

// The same as numbers, d * the sum: exact, since d has the precision of F16.
static inline __attribute__((always_inline)) void scaled_sums_of_four(const cpu_block_q8 *x,
                                                                      float *first, float *second)
{
    const __m128 d = _mm_setr_ps(x[0].d, x[1].d, x[2].d, x[3].d);
    __m128i sums[2];

    sums_of_four(x, &sums[0], &sums[1]);
    _mm_storeu_ps(first, _mm_mul_ps(d, _mm_cvtepi32_ps(sums[0])));
    _mm_storeu_ps(second, _mm_mul_ps(d, _mm_cvtepi32_ps(sums[1])));
}

#endif
