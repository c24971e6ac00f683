// affine_avx2.h: weights that are d q + m with q of 4 or 5 bits, times q8 activations, 8 rows at a
// time. A type differs from the next only in how it comes to q, d and m.
//
// A byte product (vpmaddubsw) takes 4 activations, repeated in all lanes, against 4 weights of 8
// rows, and adds pairs into 16 bits. An activation is at most 128 in size.
//   4 bits   a weight is at most 15: the 8 steps of a block add up to at most 8 * 2 * 15 * 128 =
//            30720, so one step to 32 bits does for a block
//   5 bits   at most 31: 4 steps add up to at most 4 * 2 * 31 * 128 = 31744, so there are two
#ifndef CPU_AFFINE_AVX2_H
#define CPU_AFFINE_AVX2_H

#include "panel_avx2.h"

#define GROUPS (CPU_BLOCK / 4)
#define PANELS 2
#define TOKENS 4

enum { STEPS_OF_4_BITS = 8, STEPS_OF_5_BITS = 4 };

// One block of 8 rows: q[g] has in lane r elements 4 g to 4 g + 3 of row r.
typedef struct affine {
    __m256i q[GROUPS];
    __m256 d, m;
} affine;

// 4-bit quants from 16 bytes at byte `offset` of row r: elements 0 to 15 in the low halves, 16 to
// 31 in the high ones.
static inline __attribute__((always_inline)) void load_halves(const rows_of_8 *from, int64_t offset,
                                                              __m256i q[GROUPS])
{
    const __m256i low_bits = _mm256_set1_epi8(15);
    __m256i both[4];

    turn_rows(from, offset, both);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        q[g] = _mm256_and_si256(both[g], low_bits);
        q[g + 4] = _mm256_and_si256(_mm256_srli_epi16(both[g], 4), low_bits);
    }
}

static inline __attribute__((always_inline)) void store_panel(cpu_panel_q4_1 *to, const affine *w)
{
    _mm256_storeu_ps(to->d, w->d);
    _mm256_storeu_ps(to->m, w->m);
#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++)
        _mm256_storeu_si256((__m256i *)(void *)to->q[g], w->q[g]);
}

static inline __m256i widen(__m256i pairs)
{
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// acc + m * sum + d * d_x * (q . q_x), rounded in this order wherever a block is multiplied.
static inline __m256 add_block(__m256 acc, __m256i total, __m256 d, __m256 m, const cpu_block_q8 *x)
{
    acc = _mm256_fmadd_ps(m, _mm256_set1_ps(x->sum), acc);
    return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(x->d)), _mm256_cvtepi32_ps(total), acc);
}

// One block with one token.
static inline __attribute__((always_inline)) __m256
multiply_block(int steps, __m256 acc, const affine *w, const cpu_block_q8 *x)
{
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
multiply_tile(int steps, int panels, int tokens, int64_t blocks, const cpu_panel_q4_1 *w,
              const char *x, int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    __m256 sum[TOKENS][PANELS];

#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < panels; p++)
            sum[t][p] = from_0 ? _mm256_setzero_ps()
                               : _mm256_loadu_ps(acc + t * acc_stride + p * CPU_PANEL_ROWS);
    for (const cpu_panel_q4_1 *end = w + blocks; w < end; w++, x += sizeof(cpu_block_q8)) {
        __m256i pairs[TOKENS][PANELS], total[TOKENS][PANELS];

#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++) {
            __m256i q[PANELS];

#pragma GCC unroll 2
            for (int p = 0; p < panels; p++)
                q[p] = _mm256_loadu_si256((const __m256i *)(const void *)w[p * blocks].q[g]);
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
                __m256 d = _mm256_loadu_ps(w[p * blocks].d), m = _mm256_loadu_ps(w[p * blocks].m);

                sum[t][p] = add_block(sum[t][p], total[t][p], d, m,
                                      (const void *)(x + t * x_stride));
            }
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 2
        for (int p = 0; p < panels; p++)
            _mm256_storeu_ps(acc + t * acc_stride + p * CPU_PANEL_ROWS, sum[t][p]);
}

static inline __attribute__((always_inline)) void
multiply_tokens(int steps, int panels, int64_t tokens, int64_t blocks, const cpu_panel_q4_1 *w,
                const char *x, int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    int64_t t = 0;

    for (; t + TOKENS <= tokens; t += TOKENS, x += TOKENS * x_stride, acc += TOKENS * acc_stride)
        multiply_tile(steps, panels, TOKENS, blocks, w, x, x_stride, acc, acc_stride, from_0);
    for (; t < tokens; t++, x += x_stride, acc += acc_stride)
        multiply_tile(steps, panels, 1, blocks, w, x, x_stride, acc, acc_stride, from_0);
}

static inline __attribute__((always_inline)) void
multiply_panels(int steps, int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                const char *x, int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    const cpu_panel_q4_1 *w = panel;
    int64_t p = 0;

    for (; p + PANELS <= panels; p += PANELS)
        multiply_tokens(steps, PANELS, tokens, blocks, w + p * blocks, x, x_stride,
                        acc + p * CPU_PANEL_ROWS, acc_stride, from_0);
    for (; p < panels; p++)
        multiply_tokens(steps, 1, tokens, blocks, w + p * blocks, x, x_stride,
                        acc + p * CPU_PANEL_ROWS, acc_stride, from_0);
}

#endif
