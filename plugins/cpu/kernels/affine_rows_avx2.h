// affine_rows_avx2.h: one block of 8 rows of a weight that is d q + m, from rows to registers and
// to a panel, and what is added for it. For the levels avx2 and above.
#ifndef CPU_AFFINE_ROWS_AVX2_H
#define CPU_AFFINE_ROWS_AVX2_H

#include "panel_avx2.h"

#define GROUPS (CPU_BLOCK / 4)

// One block of 8 rows: q[g] has in lane r elements 4 g to 4 g + 3 of row r.
typedef struct affine {
    __m256i q[GROUPS];
    __m256 d, m;
} affine;

// For one block; 6 bits = cpu_panel_q2_k.
static inline __attribute__((always_inline)) int64_t affine_panel_bytes(int bits)
{
    return bits == 6 ? (int64_t)sizeof(cpu_panel_q2_k) : (int64_t)sizeof(cpu_panel_q4_1);
}

// The m of elements 16 to 31, of 6 bits alone.
static inline const float *later_m_of(const cpu_panel_q4_1 *panel)
{
    return ((const cpu_panel_q2_k *)(const void *)panel)->later_m;
}

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

// acc + m * sum + d * d_x * (q . q_x).
static inline __m256 add_block(__m256 acc, __m256i total, __m256 d, __m256 m, const cpu_block_q8 *x)
{
    return add_scaled(_mm256_fmadd_ps(m, _mm256_set1_ps(x->sum), acc), total, d, x);
}

#endif
