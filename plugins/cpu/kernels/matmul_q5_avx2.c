// matmul_q5_avx2.c: Q5_0 and Q5_1 weights times q8 activations, 8 rows at a time.
#include "../kernels.h"
#include "affine_avx2.h"

// Adds the fifth bits to q: fifths has in lane r those of row r, bit i for element i.
//
// Group g looks at bits 4 g to 4 g + 3. A shuffle repeats their byte 4 times within the lane, once
// for each element, and a mask leaves each element its own bit, in the upper half of the byte: 16,
// 32, 64 or 128. The lesser of that and 16 is the fifth bit in its place. For groups of an even
// number, whose bits are the lower half of the byte, everything is shifted up by 4 first.
static inline __attribute__((always_inline)) void add_fifths(__m256i fifths, __m256i q[GROUPS])
{
    const __m256i repeat = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0,
                                            0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const __m256i own = _mm256_set1_epi32((int)0x80402010u), fifth = _mm256_set1_epi8(16);
    __m256i shifted = _mm256_slli_epi32(fifths, 4);

#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        __m256i byte = _mm256_add_epi8(repeat, _mm256_set1_epi8((char)(g / 2)));
        __m256i bits = _mm256_shuffle_epi8(g % 2 ? fifths : shifted, byte);

        q[g] = _mm256_or_si256(q[g], _mm256_min_epu8(_mm256_and_si256(bits, own), fifth));
    }
}

// The 8 blocks at row[r] + offset. Scale and fifth bits are taken from the first 8 bytes of the
// block: turning 16 at once is cheaper than fetching twice from 8 rows.
//
//   first[0]  | d, 16 bits | fifths, lower 16 |      first[1]  | fifths, upper 16 | … |
static inline __attribute__((always_inline)) affine load_q5_0(const char *const row[CPU_PANEL_ROWS],
                                                              int64_t offset)
{
    __m256i first[4], fifths;
    __m256 unused;
    affine w;

    turn_rows(row, offset, first);
    split_scales(first[0], &w.d, &unused);
    fifths = _mm256_or_si256(_mm256_srli_epi32(first[0], 16), _mm256_slli_epi32(first[1], 16));
    load_halves(row, offset + 6, w.q);
    add_fifths(fifths, w.q);
    w.m = _mm256_mul_ps(w.d, _mm256_set1_ps(-16.0f));
    return w;
}

static inline __attribute__((always_inline)) affine load_q5_1(const char *const row[CPU_PANEL_ROWS],
                                                              int64_t offset)
{
    __m256i first[4];   // d and m; fifths
    affine w;

    turn_rows(row, offset, first);
    split_scales(first[0], &w.d, &w.m);
    load_halves(row, offset + 8, w.q);
    add_fifths(first[1], w.q);
    return w;
}

void cpu_pack_q5_0_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    const char *row[CPU_PANEL_ROWS];

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_q5_0(row, b * CPU_Q5_0_BYTES);

        store_panel((cpu_panel_q4_1 *)panel + b, &block);
    }
}

void cpu_pack_q5_1_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    const char *row[CPU_PANEL_ROWS];

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_q5_1(row, b * CPU_Q5_1_BYTES);

        store_panel((cpu_panel_q4_1 *)panel + b, &block);
    }
}

void cpu_matmul_q5_1_q8_avx2(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                             const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                             int from_0)
{
    multiply_panels(STEPS_OF_5_BITS, panels, tokens, blocks, panel, x, x_stride, acc, acc_stride,
                    from_0);
}

void cpu_matvec_q5_0_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    const char *row[CPU_PANEL_ROWS];
    const cpu_block_q8 *x_b = x;
    __m256 sum = _mm256_loadu_ps(acc);

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (b % 2 == 0)   // every 44 bytes
            ask_for_next_rows(row, b * CPU_Q5_0_BYTES, stride);
        block = load_q5_0(row, b * CPU_Q5_0_BYTES);
        sum = multiply_block(STEPS_OF_5_BITS, sum, &block, x_b + b);
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_matvec_q5_1_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    const char *row[CPU_PANEL_ROWS];
    const cpu_block_q8 *x_b = x;
    __m256 sum = _mm256_loadu_ps(acc);

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (b % 2 == 0)   // every 48 bytes
            ask_for_next_rows(row, b * CPU_Q5_1_BYTES, stride);
        block = load_q5_1(row, b * CPU_Q5_1_BYTES);
        sum = multiply_block(STEPS_OF_5_BITS, sum, &block, x_b + b);
    }
    _mm256_storeu_ps(acc, sum);
}
