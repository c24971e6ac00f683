// matmul_q4_avx2.c: Q4_0 and Q4_1 weights times q8 activations, 8 rows at a time.
#include "../kernels.h"
#include "affine_avx2.h"

// The 8 blocks at row[r] + offset.
static inline __attribute__((always_inline)) affine load_q4_0(const char *const row[CPU_PANEL_ROWS],
                                                              int64_t offset)
{
    affine w;

    load_halves(row, offset + 2, w.q);
    w.d = load_scales(row, offset);
    w.m = _mm256_mul_ps(w.d, _mm256_set1_ps(-8.0f));
    return w;
}

static inline __attribute__((always_inline)) affine load_q4_1(const char *const row[CPU_PANEL_ROWS],
                                                              int64_t offset)
{
    affine w;

    load_halves(row, offset + 4, w.q);
    split_scales(load_words(row, offset), &w.d, &w.m);
    return w;
}

void cpu_pack_q4_0_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    const char *row[CPU_PANEL_ROWS];

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_q4_0(row, b * CPU_Q4_0_BYTES);

        store_panel((cpu_panel_q4_1 *)panel + b, &block);
    }
}

void cpu_pack_q4_1_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    const char *row[CPU_PANEL_ROWS];

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_q4_1(row, b * CPU_Q4_1_BYTES);

        store_panel((cpu_panel_q4_1 *)panel + b, &block);
    }
}

void cpu_matmul_q4_1_q8_avx2(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                             const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                             int from_0)
{
    multiply_panels(STEPS_OF_4_BITS, panels, tokens, blocks, panel, x, x_stride, acc, acc_stride,
                    from_0);
}

void cpu_matvec_q4_0_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    const char *row[CPU_PANEL_ROWS];
    const cpu_block_q8 *x_b = x;
    __m256 sum = _mm256_loadu_ps(acc);

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (b % 3 == 0)   // every 54 bytes
            ask_for_next_rows(row, b * CPU_Q4_0_BYTES, stride);
        block = load_q4_0(row, b * CPU_Q4_0_BYTES);
        sum = multiply_block(STEPS_OF_4_BITS, sum, &block, x_b + b);
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_matvec_q4_1_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    const char *row[CPU_PANEL_ROWS];
    const cpu_block_q8 *x_b = x;
    __m256 sum = _mm256_loadu_ps(acc);

    panel_rows(row, rows, w, stride);
    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (b % 3 == 0)   // every 60 bytes
            ask_for_next_rows(row, b * CPU_Q4_1_BYTES, stride);
        block = load_q4_1(row, b * CPU_Q4_1_BYTES);
        sum = multiply_block(STEPS_OF_4_BITS, sum, &block, x_b + b);
    }
    _mm256_storeu_ps(acc, sum);
}
