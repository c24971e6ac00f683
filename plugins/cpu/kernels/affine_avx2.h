// affine_avx2.h: weights that are d q + m with q of 4 or 5 bits, times q8 activations, 8 rows at a
// time; and panels with q of 6 bits and an m for each half (cpu_panel_q2_k). A type differs from
// the next only in how it comes to q, d and m.
//
// A byte product (vpmaddubsw) takes 4 activations, repeated in all lanes, against 4 weights of 8
// rows, and adds pairs into 16 bits. An activation is at most 128 in size.
//   4 bits   a weight is at most 15: the 8 steps of a block add up to at most 8 * 2 * 15 * 128 =
//            30720, so one step to 32 bits does for a block
//   5 bits   at most 31: 4 steps add up to at most 4 * 2 * 31 * 128 = 31744, so there are two
//   6 bits   at most 63: 2 steps add up to at most 2 * 2 * 63 * 128 = 32256, so there are four
#ifndef CPU_AFFINE_AVX2_H
#define CPU_AFFINE_AVX2_H

#include "blocks.h"
#include "level_avx2.h"
#include "tiles.h"

#define PANELS 2
#define TOKENS 4
#define GROUPS (CPU_BLOCK / 4)

typedef cpu_panel_q4_1 panel_q4_1;
typedef cpu_panel_q2_k panel_q2_k;

#include "affine_rows.inc"

// For one block; 6 bits = panel_q2_k.
static inline __attribute__((always_inline)) int64_t affine_panel_bytes(int bits)
{
    return bits == 6 ? (int64_t)sizeof(panel_q2_k) : (int64_t)sizeof(panel_q4_1);
}

// The m of elements 16 to 31, of 6 bits alone.
static inline const float *later_m_of(const panel_q4_1 *panel)
{
    return ((const panel_q2_k *)(const void *)panel)->later_m;
}

static inline __attribute__((always_inline)) int steps_of(int bits)
{
    return bits == 4 ? 8 : bits == 5 ? 4 : 2;
}

static inline __m256i widen(__m256i pairs)
{
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// One block with one token.
static inline __attribute__((always_inline)) __m256
multiply_block(int bits, __m256 acc, const affine *w, const cpu_block_q8 *x)
{
    const int steps = steps_of(bits);
    __m256i pairs = _mm256_setzero_si256(), total = _mm256_setzero_si256();

#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        __m256i q_x = _mm256_set1_epi32(load_i32((const char *)x->q + 4 * g));

        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w->q[g], q_x));
        if (g % steps == steps - 1) {
            total = _mm256_add_epi32(total, widen(pairs));
            pairs = _mm256_setzero_si256();
        }
    }
    return add_block(acc, total, w->d, w->m, x);
}

// The panels of a tile with its tokens: 1 or PANELS, 1 or TOKENS. An activation that was loaded
// meets all panels.
static inline __attribute__((always_inline)) void
multiply_tile(int bits, int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const int steps = steps_of(bits);
    const float(*x_sum)[2][PIECE] = ready;   // 6 bits alone: of halves
    __m256 sum[TOKENS][PANELS];

#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < panels; p++)
            sum[t][p] = from_0 ? _mm256_setzero_ps()
                               : _mm256_loadu_ps(acc + t * acc_stride + p * CPU_PANEL_ROWS);
    for (int64_t b = 0; b < blocks; b++, w += affine_panel_bytes(bits), x += sizeof(cpu_block_q8)) {
        const panel_q4_1 *panel[PANELS];
        __m256i pairs[TOKENS][PANELS], total[TOKENS][PANELS];

#pragma GCC unroll 2
        for (int p = 0; p < panels; p++)
            panel[p] = (const void *)(w + p * w_stride);
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++) {
            __m256i q[PANELS];

#pragma GCC unroll 2
            for (int p = 0; p < panels; p++)
                q[p] = _mm256_loadu_si256((const __m256i *)(const void *)panel[p]->q[g]);
#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);
                __m256i q_x = _mm256_set1_epi32(load_i32((const char *)block->q + 4 * g));

#pragma GCC unroll 2
                for (int p = 0; p < panels; p++) {
                    __m256i product = _mm256_maddubs_epi16(q[p], q_x);

                    pairs[t][p] = g % steps ? _mm256_add_epi16(pairs[t][p], product) : product;
                    in_this_order(&pairs[t][p]);
                    if (g == steps - 1)
                        total[t][p] = widen(pairs[t][p]);
                    else if (g % steps == steps - 1)
                        total[t][p] = _mm256_add_epi32(total[t][p], widen(pairs[t][p]));
                }
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
            for (int p = 0; p < panels; p++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);
                __m256 d = _mm256_loadu_ps(panel[p]->d), m = _mm256_loadu_ps(panel[p]->m);

                if (bits < 6) {
                    sum[t][p] = add_block(sum[t][p], total[t][p], d, m, block);
                    continue;
                }
                sum[t][p] = _mm256_fmadd_ps(m, _mm256_set1_ps(x_sum[t][0][b]), sum[t][p]);
                m = _mm256_loadu_ps(later_m_of(panel[p]));
                sum[t][p] = _mm256_fmadd_ps(m, _mm256_set1_ps(x_sum[t][1][b]), sum[t][p]);
                sum[t][p] = add_scaled(sum[t][p], total[t][p], d, block);
            }
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < panels; p++)
            _mm256_storeu_ps(acc + t * acc_stride + p * CPU_PANEL_ROWS, sum[t][p]);
}

#define TILE(bits)                                                                                 \
    static inline __attribute__((always_inline)) void tile_of_##bits##_bits(                       \
        int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride, const char *x,    \
        int64_t x_stride, const void *ready, float *acc, int64_t acc_stride, int from_0)           \
    {                                                                                              \
        multiply_tile(bits, panels, tokens, blocks, w, w_stride, x, x_stride, ready, acc,          \
                      acc_stride, from_0);                                                         \
    }
TILE(4)
TILE(5)
TILE(6)
#undef TILE

static inline __attribute__((always_inline)) tiles affine_tiles(int bits)
{
    return (tiles){ .multiply = bits == 4   ? tile_of_4_bits
                                : bits == 5 ? tile_of_5_bits
                                            : tile_of_6_bits,
                    .block_bytes = affine_panel_bytes(bits),
                    .together = 1,
                    .panels = PANELS,
                    .tokens = TOKENS };
}

#endif
