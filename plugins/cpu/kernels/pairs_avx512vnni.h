// pairs_avx512vnni.h: a panel of 8 rows in the lower half of a vector, the next panel in the upper
// one, and what products of bytes want of activations. For products in integers.
//
// A product of bytes (vpdpbusd) adds 4 of them to 32 bits at once, exactly; its first factor has no
// sign. Where weights have one, it is lifted off: q + c in place of q, and -c times the sum of the
// activations where the sum begins.
#ifndef CPU_PAIRS_AVX512VNNI_H
#define CPU_PAIRS_AVX512VNNI_H

#include <immintrin.h>

#include "panel_avx2.h"
#include "sums_avx2.h"
#include "tiles.h"

#define PANELS 2
#define TOKENS 8

// `panels` is 1 or PANELS, a constant. Of one panel the upper half is 0, and never stored.
static inline __attribute__((always_inline)) __m512i load_pair(int panels, const void *first,
                                                               const void *second)
{
    __m512i lower = _mm512_inserti64x4(_mm512_setzero_si512(),
                                       _mm256_loadu_si256((const __m256i *)first), 0);

    return panels == 1 ? lower
                       : _mm512_inserti64x4(lower, _mm256_loadu_si256((const __m256i *)second), 1);
}

static inline __attribute__((always_inline)) __m512 load_float_pair(int panels, const float *first,
                                                                    const float *second)
{
    return _mm512_castsi512_ps(load_pair(panels, first, second));
}

static inline __attribute__((always_inline)) __m512 load_sums(int panels, const float *acc,
                                                              int from_0)
{
    return from_0 ? _mm512_setzero_ps()
                  : load_float_pair(panels, acc, acc + (panels - 1) * CPU_PANEL_ROWS);
}

static inline __attribute__((always_inline)) void store_sums(int panels, float *acc, __m512 sums)
{
    if (panels == 1)
        _mm256_storeu_ps(acc, _mm512_castps512_ps256(sums));
    else
        _mm512_storeu_ps(acc, sums);
}

// total + first * second, in 16 bits, in pairs.
static inline __m256i add_products(__m256i total, __m256i first, __m256i second)
{
    return _mm256_dpwssd_epi32(total, first, second);
}

// acc + d * d_x * total, rounded in the order of the level avx2.
static inline __m512 add_scaled_pair(__m512 acc, __m512 total, __m512 d, const cpu_block_q8 *x)
{
    return _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_set1_ps(x->d)), total, acc);
}

// What lifting the sign off weights is made up for with, for each token and block: factor times the
// sum of the activations, [t][0][b], or of elements 0 to 15 and of 16 to 31, [t][i][b].
typedef int32_t lifted_x[TOKENS][2][PIECE];

// Part of a tile_prepare; `are_halves` and factor are constants.
static inline __attribute__((always_inline)) void sum_x(int are_halves, int factor, int tokens,
                                                        int64_t blocks, const char *x,
                                                        int64_t x_stride, void *ready)
{
    const __m128i factors = _mm_set1_epi32(factor);
    int32_t(*to)[2][PIECE] = ready;

    for (int t = 0; t < tokens; t++, x += x_stride) {
        const cpu_block_q8 *block = (const void *)x;
        int64_t b = 0;

        for (; b + 4 <= blocks; b += 4) {
            __m128i first, second;

            sums_of_four(block + b, &first, &second);
            if (!are_halves)
                first = _mm_add_epi32(first, second);
            _mm_storeu_si128((__m128i *)(void *)&to[t][0][b], _mm_mullo_epi32(first, factors));
            if (are_halves)
                _mm_storeu_si128((__m128i *)(void *)&to[t][1][b], _mm_mullo_epi32(second, factors));
        }
        for (; b < blocks; b++) {
            to[t][0][b] = to[t][1][b] = 0;
            for (int i = 0; i < CPU_BLOCK; i++)
                to[t][are_halves && i >= 16][b] += factor * block[b].q[i];
        }
    }
}

#endif
