// matmul_q4_1_avx2.c: Q4_1 weights times q8 activations, 8 rows at a time.
//
// A byte product (vpmaddubsw) takes 4 activations, repeated in all lanes, against 4 weights of 8
// rows, and adds pairs into 16 bits. A weight is at most 15 and an activation at most 128 in size,
// so the 8 steps of a block add up to at most 8 * 2 * 15 * 128 = 30720: no overflow, and one step
// to 32 bits and to F32 for the whole block.
#include "../kernels.h"
#include "math_avx2.h"
#include "panel_avx2.h"

#define GROUPS (CPU_BLOCK / 4)
#define TOKENS 4

// The 8 blocks at row[r] + offset as 8 vectors of quants and their scales.
static inline __attribute__((always_inline)) void unpack(const char *const row[CPU_PANEL_ROWS],
                                                         int64_t offset, __m256i q[GROUPS],
                                                         __m256 *d, __m256 *m)
{
    const __m256i low_bits = _mm256_set1_epi8(15);
    // d of 4 rows, then m of 4 rows, in each half
    const __m256i apart = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    __m256i both[4], scales;

    turn_rows(row, offset + 4, both);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        q[g] = _mm256_and_si256(both[g], low_bits);
        q[g + 4] = _mm256_and_si256(_mm256_srli_epi16(both[g], 4), low_bits);
    }
    scales = _mm256_setr_epi32(load_i32(row[0] + offset), load_i32(row[1] + offset),
                               load_i32(row[2] + offset), load_i32(row[3] + offset),
                               load_i32(row[4] + offset), load_i32(row[5] + offset),
                               load_i32(row[6] + offset), load_i32(row[7] + offset));
    scales = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(scales, apart), 0xd8);
    *d = _mm256_cvtph_ps(_mm256_castsi256_si128(scales));
    *m = _mm256_cvtph_ps(_mm256_extracti128_si256(scales, 1));
}

void cpu_pack_q4_1_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    const char *row[CPU_PANEL_ROWS];
    cpu_panel_q4_1 *to = panel;

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++, to++) {
        __m256i q[GROUPS];
        __m256 d, m;

        unpack(row, b * CPU_Q4_1_BYTES, q, &d, &m);
        _mm256_storeu_ps(to->d, d);
        _mm256_storeu_ps(to->m, m);
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++)
            _mm256_storeu_si256((__m256i *)(void *)to->q[g], q[g]);
    }
}

// acc + m * sum + d * d_x * (q . q_x), rounded in this order wherever a block is multiplied.
static inline __m256 add_block(__m256 acc, __m256i pairs, __m256 d, __m256 m, const cpu_block_q8 *x)
{
    __m256 product = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));

    acc = _mm256_fmadd_ps(m, _mm256_set1_ps(x->sum), acc);
    return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(x->d)), product, acc);
}

static inline __attribute__((always_inline)) void tile(int tokens, int64_t blocks,
                                                       const cpu_panel_q4_1 *w, const char *x,
                                                       int64_t x_stride, float *acc)
{
    __m256 sum[TOKENS];

#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        sum[t] = _mm256_loadu_ps(acc + t * CPU_PANEL_ROWS);
    for (int64_t b = 0; b < blocks; b++, w++, x += sizeof(cpu_block_q8)) {
        __m256i pairs[TOKENS];
        __m256 d = _mm256_loadu_ps(w->d), m = _mm256_loadu_ps(w->m);

#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
            pairs[t] = _mm256_setzero_si256();
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++) {
            __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)w->q[g]);

#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);
                __m256i q_x = _mm256_set1_epi32(load_i32((const char *)block->q + 4 * g));

                pairs[t] = _mm256_add_epi16(pairs[t], _mm256_maddubs_epi16(q, q_x));
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
            sum[t] = add_block(sum[t], pairs[t], d, m, (const void *)(x + t * x_stride));
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        _mm256_storeu_ps(acc + t * CPU_PANEL_ROWS, sum[t]);
}

void cpu_matmul_q4_1_q8_avx2(int64_t tokens, int64_t blocks, const void *panel, const void *x,
                             int64_t x_stride, float *acc)
{
    const char *x_t = x;
    int64_t t = 0;

    for (; t + TOKENS <= tokens; t += TOKENS, x_t += TOKENS * x_stride)
        tile(TOKENS, blocks, panel, x_t, x_stride, acc + t * CPU_PANEL_ROWS);
    for (; t < tokens; t++, x_t += x_stride)
        tile(1, blocks, panel, x_t, x_stride, acc + t * CPU_PANEL_ROWS);
}

void cpu_matvec_q4_1_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    const char *row[CPU_PANEL_ROWS];
    const cpu_block_q8 *block = x;
    __m256 sum = _mm256_loadu_ps(acc);

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++, block++) {
        __m256i q[GROUPS], pairs = _mm256_setzero_si256();
        __m256 d, m;

        if (b % 3 == 0)   // every 60 bytes
            ask_for_next_rows(row, b * CPU_Q4_1_BYTES, stride);
        unpack(row, b * CPU_Q4_1_BYTES, q, &d, &m);
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++) {
            __m256i q_x = _mm256_set1_epi32(load_i32((const char *)block->q + 4 * g));

            pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(q[g], q_x));
        }
        sum = add_block(sum, pairs, d, m, block);
    }
    _mm256_storeu_ps(acc, sum);
}
