// row_sums_avx2.c: weighted sums of rows of F32 or F16, in tiles of 3 sums by 32 elements: 12
// registers of sums, 4 loads and 3 broadcasts for 12 products. Each element is added up in the
// order of the rows, whatever the tile.
#include "../kernels.h"
#include "math_avx2.h"

#define SUMS    3
#define VECTORS 4

// All but the pointers and n are constants at each call, so that the arrays become registers.
static inline __attribute__((always_inline)) void
tile(load_vector *load, int64_t v_bytes, int count, int vectors, int64_t n, const float *p,
     int64_t p_stride, const char *v, int64_t v_stride, float *out, int64_t out_stride)
{
    __m256 sum[SUMS][VECTORS];

#pragma GCC unroll 3
    for (int j = 0; j < count; j++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++)
            sum[j][i] = _mm256_setzero_ps();
    for (int64_t s = 0; s < n; s++, v += v_stride) {
        __m256 p_j[SUMS];

#pragma GCC unroll 3
        for (int j = 0; j < count; j++)
            p_j[j] = _mm256_set1_ps(p[j * p_stride + s]);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) {
            __m256 v_i = load(v + EIGHT * i * v_bytes, EIGHT);

#pragma GCC unroll 3
            for (int j = 0; j < count; j++)
                sum[j][i] = _mm256_fmadd_ps(p_j[j], v_i, sum[j][i]);
        }
    }
#pragma GCC unroll 3
    for (int j = 0; j < count; j++)
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++)
            _mm256_storeu_ps(out + j * out_stride + EIGHT * i, sum[j][i]);
}

// The last `width` < 8 elements of a row.
static inline __attribute__((always_inline)) void narrow(load_vector *load, int64_t n,
                                                         int64_t width, const float *p,
                                                         const char *v, int64_t v_stride,
                                                         float *out)
{
    __m256 sum = _mm256_setzero_ps();

    for (int64_t s = 0; s < n; s++)
        sum = _mm256_fmadd_ps(_mm256_set1_ps(p[s]), load(v + s * v_stride, width), sum);
    store_first(out, width, sum);
}

static inline __attribute__((always_inline)) void
wide(load_vector *load, int64_t v_bytes, int count, int64_t n, int64_t width, const float *p,
     int64_t p_stride, const char *v, int64_t v_stride, float *out, int64_t out_stride)
{
    int64_t i = 0;

    for (; i + EIGHT * VECTORS <= width; i += EIGHT * VECTORS)
        tile(load, v_bytes, count, VECTORS, n, p, p_stride, v + i * v_bytes, v_stride, out + i,
             out_stride);
    for (; i + EIGHT <= width; i += EIGHT)
        tile(load, v_bytes, count, 1, n, p, p_stride, v + i * v_bytes, v_stride, out + i,
             out_stride);
    for (int j = 0; j < count && i < width; j++)
        narrow(load, n, width - i, p + j * p_stride, v + i * v_bytes, v_stride,
               out + j * out_stride + i);
}

static inline __attribute__((always_inline)) void
sums(load_vector *load, int64_t v_bytes, int64_t count, int64_t n, int64_t width, const float *p,
     int64_t p_stride, const char *v, int64_t v_stride, float *out, int64_t out_stride)
{
    int64_t j = 0;

    for (; j + SUMS <= count; j += SUMS)
        wide(load, v_bytes, SUMS, n, width, p + j * p_stride, p_stride, v, v_stride,
             out + j * out_stride, out_stride);
    for (; j < count; j++)
        wide(load, v_bytes, 1, n, width, p + j * p_stride, p_stride, v, v_stride,
             out + j * out_stride, out_stride);
}

void cpu_row_sums_f32_avx2(int64_t count, int64_t n, int64_t width, const float *p,
                           int64_t p_stride, const void *v, int64_t v_stride, float *out,
                           int64_t out_stride)
{
    sums(load_f32, 4, count, n, width, p, p_stride, v, v_stride, out, out_stride);
}

void cpu_row_sums_f16_avx2(int64_t count, int64_t n, int64_t width, const float *p,
                           int64_t p_stride, const void *v, int64_t v_stride, float *out,
                           int64_t out_stride)
{
    sums(load_f16, 2, count, n, width, p, p_stride, v, v_stride, out, out_stride);
}
