// affine_avx512vnni.h: weights that are d q + m with q of 4 or 5 bits, times q8 activations: 8 rows
// with one token, the 16 rows of two panels with several; and panels with q of 6 bits and an m for
// each half (cpu_panel_q2_k). Sums are exact in 32 bits, and rounded as at the level avx2: the same
// bits.
#ifndef CPU_AFFINE_AVX512VNNI_H
#define CPU_AFFINE_AVX512VNNI_H

#include "affine_rows_avx2.h"
#include "level_avx512vnni.h"
#include "pairs_avx512vnni.h"

// One block with one token.
static inline __attribute__((always_inline)) __m256
multiply_block(int bits, __m256 acc, const affine *w, const cpu_block_q8 *x)
{
    __m256i total = _mm256_setzero_si256();

    (void)bits;   // 4 and 5 alike
#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++)
        total = _mm256_dpbusd_epi32(total, w->q[g],
                                    _mm256_set1_epi32(load_i32((const char *)x->q + 4 * g)));
    return add_block(acc, total, w->d, w->m, x);
}

static inline __attribute__((always_inline)) void
multiply_tile(int bits, int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const float(*x_sum)[2][PIECE] = ready;   // 6 bits alone: of halves
    __m512 sum[TOKENS];

#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        sum[t] = load_sums(panels, acc + t * acc_stride, from_0);
    for (int64_t b = 0; b < blocks; b++, w += affine_panel_bytes(bits), x += sizeof(cpu_block_q8)) {
        const cpu_panel_q4_1 *first = (const void *)w, *second = (const void *)(w + w_stride);
        __m512 d = load_float_pair(panels, first->d, second->d),
               m = load_float_pair(panels, first->m, second->m);
        __m512 later_m = bits < 6 ? m
                                  : load_float_pair(panels, later_m_of(first), later_m_of(second));
        __m512i total[TOKENS];

#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++) {
            __m512i q = load_pair(panels, first->q[g], second->q[g]);

#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);

                total[t] = _mm512_dpbusd_epi32(
                    g ? total[t] : _mm512_setzero_si512(), q,
                    _mm512_set1_epi32(load_i32((const char *)block->q + 4 * g)));
            }
        }
#pragma GCC unroll 8
        for (int t = 0; t < tokens; t++) {
            const cpu_block_q8 *block = (const void *)(x + t * x_stride);

            if (bits < 6) {
                sum[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(block->sum), sum[t]);
            } else {
                sum[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(x_sum[t][0][b]), sum[t]);
                sum[t] = _mm512_fmadd_ps(later_m, _mm512_set1_ps(x_sum[t][1][b]), sum[t]);
            }
            sum[t] = add_scaled_pair(sum[t], _mm512_cvtepi32_ps(total[t]), d, block);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        store_sums(panels, acc + t * acc_stride, sum[t]);
}

#define TILE(bits)                                                                                 \
    static inline __attribute__((always_inline)) void tile_of_##bits##_bits(                       \
        int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride, const char *x,    \
        int64_t x_stride, const void *ready, float *acc, int64_t acc_stride, int from_0)           \
    {                                                                                              \
        multiply_tile(bits, panels, tokens, blocks, w, w_stride, x, x_stride, ready, acc,          \
                      acc_stride, from_0);                                                         \
    }
TILE(4)   // and 5
TILE(6)
#undef TILE

static inline __attribute__((always_inline)) tiles affine_tiles(int bits)
{
    return (tiles){ .multiply = bits < 6 ? tile_of_4_bits : tile_of_6_bits,
                    .panel_bytes = affine_panel_bytes(bits),
                    .panels = PANELS,
                    .tokens = TOKENS };
}

#endif
