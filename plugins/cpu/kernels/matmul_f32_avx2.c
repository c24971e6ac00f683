// matmul_f32_avx2.c: products of F32 activations with rows of F32 or F16, in tiles of 4 rows by 3
// tokens: 12 sums of 8 lanes stay in registers, and the unit that multiplies and adds is busy while
// 7 vectors are loaded for 12 products. Each result has its own sum, lane k % 8, so the tile it
// falls in does not change its bits.
#include "../kernels.h"
#include "math_avx2.h"

#define ROWS   4
#define TOKENS 3

// All but the pointers and k are constants at each call, so that the arrays become registers.
static inline __attribute__((always_inline)) void
tile(load_vector *load, int64_t w_bytes, int rows, int tokens, int64_t k, const char *w,
     int64_t w_stride, const char *x, int64_t x_stride, float *out, int64_t out_stride)
{
    __m256 sum[TOKENS][ROWS];
    int64_t i = 0;

#pragma GCC unroll 3
    for (int t = 0; t < tokens; t++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            sum[t][r] = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (; i + EIGHT <= k; i += EIGHT) {
        __m256 x_t[TOKENS];

#pragma GCC unroll 3
        for (int t = 0; t < tokens; t++)
            x_t[t] = load_f32(x + t * x_stride + i * (int64_t)sizeof(float), EIGHT);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256 w_r = load(w + r * w_stride + i * w_bytes, EIGHT);

#pragma GCC unroll 3
            for (int t = 0; t < tokens; t++)
                sum[t][r] = _mm256_fmadd_ps(w_r, x_t[t], sum[t][r]);
        }
    }
    if (i < k)
#pragma GCC unroll 3
        for (int t = 0; t < tokens; t++)
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                sum[t][r] = _mm256_fmadd_ps(
                    load(w + r * w_stride + i * w_bytes, k - i),
                    load_f32(x + t * x_stride + i * (int64_t)sizeof(float), k - i), sum[t][r]);
#pragma GCC unroll 3
    for (int t = 0; t < tokens; t++)
        if (rows == ROWS)
            _mm_storeu_ps(out + t * out_stride, sum_lanes_of_4(sum[t]));
        else
            out[t * out_stride] = sum_lanes(sum[t][0]);
}

static inline __attribute__((always_inline)) void
tiles(load_vector *load, int64_t w_bytes, int64_t rows, int64_t tokens, int64_t k, const char *w,
      int64_t w_stride, const char *x, int64_t x_stride, float *out, int64_t out_stride)
{
    int64_t t = 0;

    for (; t + TOKENS <= tokens; t += TOKENS, x += TOKENS * x_stride, out += TOKENS * out_stride) {
        int64_t r = 0;

        for (; r + ROWS <= rows; r += ROWS)
            tile(load, w_bytes, ROWS, TOKENS, k, w + r * w_stride, w_stride, x, x_stride, out + r,
                 out_stride);
        for (; r < rows; r++)
            tile(load, w_bytes, 1, TOKENS, k, w + r * w_stride, w_stride, x, x_stride, out + r,
                 out_stride);
    }
    for (; t < tokens; t++, x += x_stride, out += out_stride) {
        int64_t r = 0;

        for (; r + ROWS <= rows; r += ROWS)
            tile(load, w_bytes, ROWS, 1, k, w + r * w_stride, w_stride, x, x_stride, out + r,
                 out_stride);
        for (; r < rows; r++)
            tile(load, w_bytes, 1, 1, k, w + r * w_stride, w_stride, x, x_stride, out + r,
                 out_stride);
    }
}

void cpu_matmul_f32_avx2(int64_t rows, int64_t tokens, int64_t k, const void *w, int64_t w_stride,
                         const float *x, int64_t x_stride, float *out, int64_t out_stride)
{
    tiles(load_f32, 4, rows, tokens, k, w, w_stride, (const char *)x, x_stride, out, out_stride);
}

void cpu_matmul_f16_avx2(int64_t rows, int64_t tokens, int64_t k, const void *w, int64_t w_stride,
                         const float *x, int64_t x_stride, float *out, int64_t out_stride)
{
    tiles(load_f16, 2, rows, tokens, k, w, w_stride, (const char *)x, x_stride, out, out_stride);
}
