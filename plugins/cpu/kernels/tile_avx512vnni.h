// tile_avx512vnni.h: up to 32 rows of panels with several tokens, whatever the panels keep. Loads
// of 64 bytes are what there is least of (one or so a cycle, beside two products), so a group of 4
// activations that was loaded meets two pairs of panels. Sums are exact in 32 bits, and rounded as
// at the level avx2: the same bits.
#ifndef CPU_TILE_AVX512VNNI_H
#define CPU_TILE_AVX512VNNI_H

#include <immintrin.h>

#include "pairs_avx512vnni.h"
#include "panel_avx2.h"
#include "sums_avx2.h"
#include "tiles.h"

#define PANELS 4
#define PAIRS  (PANELS / 2)
#define TOKENS 6
#define GROUPS (CPU_BLOCK / 4)

// What panels keep, a constant wherever a tile is compiled.
enum {
    OF_Q4_1,   // d q + m
    OF_Q2_K,   // the same with an m for each half
    OF_Q8_0,   // d q, lifted
    OF_Q6_K    // d q scale with a scale for each half, lifted
};

static inline __attribute__((always_inline)) int64_t bytes_of_pair(int kind)
{
    return kind == OF_Q4_1   ? (int64_t)sizeof(panel_q4_1)
           : kind == OF_Q2_K ? (int64_t)sizeof(panel_q2_k)
           : kind == OF_Q8_0 ? (int64_t)sizeof(panel_q8_0)
                             : (int64_t)sizeof(panel_q6_k);
}

static inline __attribute__((always_inline)) __m512i load_quants(int kind, const void *pair, int g)
{
    return _mm512_loadu_si512(kind == OF_Q8_0   ? ((const panel_q8_0 *)pair)->q[g]
                              : kind == OF_Q6_K ? ((const panel_q6_k *)pair)->q[g]
                                                : ((const panel_q4_1 *)pair)->q[g]);
}

// Of one panel the upper half stays 0, and is not stored. What was beside it in its pair is
// multiplied, and lost.
static inline __attribute__((always_inline)) __m512 load_sums(int is_pair, const float *acc,
                                                              int from_0)
{
    return from_0    ? _mm512_setzero_ps()
           : is_pair ? _mm512_loadu_ps(acc)
                     : _mm512_castsi512_ps(_mm512_inserti64x4(
                           _mm512_setzero_si512(), _mm256_castps_si256(_mm256_loadu_ps(acc)), 0));
}

static inline __attribute__((always_inline)) void store_sums(int is_pair, float *acc, __m512 sums)
{
    if (is_pair)
        _mm512_storeu_ps(acc, sums);
    else
        _mm256_storeu_ps(acc, _mm512_castps512_ps256(sums));
}

// What is added for m, 16 of them.
static inline __attribute__((always_inline)) __m512 add_m(__m512 acc, const float *m, float x_sum)
{
    return _mm512_fmadd_ps(_mm512_loadu_ps(m), _mm512_set1_ps(x_sum), acc);
}

// ready: what lifting is made up for with, or the sums of halves for OF_Q2_K; [t][i][b].
static inline __attribute__((always_inline)) void
multiply_tile(int kind, int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const int pairs = (panels + 1) / 2, is_pair = panels > 1, is_lifted = kind >= OF_Q8_0;
    const int halves = kind == OF_Q6_K ? 2 : 1, groups = kind == OF_Q6_K ? GROUPS / 2 : GROUPS;
    const int32_t(*lift)[2][PIECE] = ready;
    const float(*x_sum)[2][PIECE] = ready;
    __m512 sum[TOKENS][PAIRS];

#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < pairs; p++)
            sum[t][p] = load_sums(is_pair, acc + t * acc_stride + p * PAIR_ROWS, from_0);
    for (int64_t b = 0; b < blocks; b++, w += bytes_of_pair(kind), x += sizeof(cpu_block_q8)) {
        __m512 products[TOKENS][PAIRS];

#pragma GCC unroll 2
        for (int i = 0; i < halves; i++) {
            __m512i total[TOKENS][PAIRS];

#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
                for (int p = 0; p < pairs; p++)
                    total[t][p] = is_lifted ? _mm512_set1_epi32(lift[t][i][b])
                                            : _mm512_setzero_si512();
#pragma GCC unroll 8
            for (int j = 0; j < groups; j++) {
                const int g = groups * i + j;
                __m512i q[PAIRS];

#pragma GCC unroll 2
                for (int p = 0; p < pairs; p++)
                    q[p] = load_quants(kind, w + 2 * p * w_stride, g);
#pragma GCC unroll 8
                for (int t = 0; t < tokens; t++) {
                    const cpu_block_q8 *block = (const void *)(x + t * x_stride);
                    __m512i q_x = _mm512_set1_epi32(load_i32((const char *)block->q + 4 * g));

#pragma GCC unroll 2
                    for (int p = 0; p < pairs; p++)
                        total[t][p] = _mm512_dpbusd_epi32(total[t][p], q[p], q_x);
                }
            }
#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
                for (int p = 0; p < pairs; p++) {
                    const panel_q6_k *of_q6_k = (const void *)(w + 2 * p * w_stride);
                    __m512 half = _mm512_cvtepi32_ps(total[t][p]);

                    if (kind != OF_Q6_K)
                        products[t][p] = half;
                    else if (i == 0)
                        products[t][p] = _mm512_mul_ps(half, _mm512_loadu_ps(of_q6_k->scale[0]));
                    else
                        products[t][p] = _mm512_fmadd_ps(half, _mm512_loadu_ps(of_q6_k->scale[1]),
                                                         products[t][p]);
                }
        }
#pragma GCC unroll 2
        for (int p = 0; p < pairs; p++) {
            const panel_q2_k *pair = (const void *)(w + 2 * p * w_stride);
            __m512 d = _mm512_loadu_ps(pair);   // first in all of them

#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);

                if (kind == OF_Q4_1) {
                    sum[t][p] = add_m(sum[t][p], pair->first.m, block->sum);
                } else if (kind == OF_Q2_K) {
                    sum[t][p] = add_m(sum[t][p], pair->first.m, x_sum[t][0][b]);
                    sum[t][p] = add_m(sum[t][p], pair->later_m, x_sum[t][1][b]);
                }
                sum[t][p] = _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_set1_ps(block->d)),
                                            products[t][p], sum[t][p]);
            }
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < pairs; p++)
            store_sums(is_pair, acc + t * acc_stride + p * PAIR_ROWS, sum[t][p]);
}

#define TILE(kind)                                                                                 \
    static inline __attribute__((always_inline)) void tile_##kind(                                 \
        int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride, const char *x,    \
        int64_t x_stride, const void *ready, float *acc, int64_t acc_stride, int from_0)           \
    {                                                                                              \
        multiply_tile(kind, panels, tokens, blocks, w, w_stride, x, x_stride, ready, acc,          \
                      acc_stride, from_0);                                                         \
    }
TILE(OF_Q4_1)
TILE(OF_Q2_K)
TILE(OF_Q8_0)
TILE(OF_Q6_K)
#undef TILE

// Of OF_Q6_K the products of one half stay while those of the other are made: 24 registers take 4
// tokens.
static inline __attribute__((always_inline)) tiles tiles_of(int kind)
{
    return (tiles){ .multiply = kind == OF_Q4_1   ? tile_OF_Q4_1
                                : kind == OF_Q2_K ? tile_OF_Q2_K
                                : kind == OF_Q8_0 ? tile_OF_Q8_0
                                                  : tile_OF_Q6_K,
                    .block_bytes = bytes_of_pair(kind),
                    .together = 2,
                    .panels = PANELS,
                    .tokens = kind == OF_Q6_K ? 4 : TOKENS };
}

// What lifting the sign off weights is made up for with, for each token and block: -lift times the
// sum of the activations, [t][0][b], or of elements 0 to 15 and of 16 to 31, [t][i][b].
typedef int32_t ready_x[TOKENS][2][PIECE];

// Part of a tile_prepare; `are_halves` and lift are constants.
static inline __attribute__((always_inline)) void sum_x(int are_halves, int lift, int tokens,
                                                        int64_t blocks, const char *x,
                                                        int64_t x_stride, void *ready)
{
    const __m128i factors = _mm_set1_epi32(-lift);
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
                to[t][are_halves && i >= 16][b] -= lift * block[b].q[i];
        }
    }
}

#endif
