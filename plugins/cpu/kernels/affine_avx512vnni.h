// affine_avx512vnni.h: weights that are d q + m with q of 4 or 5 bits, times q8 activations: 8 rows
// with one token, the tiles of panels with several; and panels with q of 6 bits and an m for each
// half (panel_q2_k). Sums are exact in 32 bits, and rounded as at the level avx2: the same bits.
#ifndef CPU_AFFINE_AVX512VNNI_H
#define CPU_AFFINE_AVX512VNNI_H

#include "level_avx512vnni.h"
#include "tile_avx512vnni.h"
#include "affine_rows.inc"

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

static inline __attribute__((always_inline)) tiles affine_tiles(int bits)
{
    return tiles_of(bits < 6 ? OF_Q4_1 : OF_Q2_K);
}

#endif
