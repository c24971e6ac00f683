// matmul_q4_avx2.c: Q4_0 and Q4_1 weights times q8 activations, 8 rows at a time.
#include "../kernels.h"
#include "affine_avx2.h"

// The 8 blocks at byte `offset` of the rows: Q4_1, which has an m, or Q4_0.
static inline __attribute__((always_inline)) affine load_block(int has_m, const rows_of_8 *from,
                                                               int64_t offset)
{
    affine w;

    load_halves(from, offset + (has_m ? 4 : 2), w.q);
    if (has_m) {
        split_scales(load_words(from, offset), &w.d, &w.m);
    } else {
        w.d = load_scales(from, offset);
        w.m = _mm256_mul_ps(w.d, _mm256_set1_ps(-8.0f));
    }
    return w;
}

static inline __attribute__((always_inline)) void pack(int has_m, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, cpu_panel_q4_1 *to)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);

    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_block(has_m, &from, b * (has_m ? CPU_Q4_1_BYTES : CPU_Q4_0_BYTES));

        store_panel(to + b, &block);
    }
}

static inline __attribute__((always_inline)) void multiply_one(int has_m, int is_packed,
                                                               int64_t rows, int64_t blocks,
                                                               const void *w, int64_t stride,
                                                               const cpu_block_q8 *x, float *acc)
{
    const int64_t bytes = has_m ? CPU_Q4_1_BYTES : CPU_Q4_0_BYTES;
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    __m256 sum = _mm256_setzero_ps();

    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (is_packed || b % 3 == 0)   // every 54 or 60 bytes of a row
            ask_ahead(&from, b * bytes, bytes, stride);
        block = load_block(has_m, &from, b * bytes);
        sum = multiply_block(STEPS_OF_4_BITS, sum, &block, x + b);
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_pack_q4_0_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(0, 1, rows, blocks, w, stride, panel);
    else
        pack(0, 0, rows, blocks, w, stride, panel);
}

void cpu_pack_q4_1_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(1, 1, rows, blocks, w, stride, panel);
    else
        pack(1, 0, rows, blocks, w, stride, panel);
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
    if (stride == CPU_PACKED)
        multiply_one(0, 1, rows, blocks, w, stride, x, acc);
    else
        multiply_one(0, 0, rows, blocks, w, stride, x, acc);
}

void cpu_matvec_q4_1_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    if (stride == CPU_PACKED)
        multiply_one(1, 1, rows, blocks, w, stride, x, acc);
    else
        multiply_one(1, 0, rows, blocks, w, stride, x, acc);
}
