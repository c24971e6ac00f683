// rows_avx2.c: what looks at a whole row: norm and softmax. Sums run in 8 lanes, added in a fixed
// order.
#include "../kernels.h"
#include "math_avx2.h"

#include <math.h>

void cpu_rms_norm_avx2(int64_t n, const float *x, const float *weight, float eps, float *out)
{
    __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps(), factor;
    int64_t i = 0;

    for (; i + 2 * EIGHT <= n; i += 2 * EIGHT) {
        __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + EIGHT);

        even = _mm256_fmadd_ps(a, a, even);
        odd = _mm256_fmadd_ps(b, b, odd);
    }
    for (; i < n; i += EIGHT) {
        __m256 a = load_first(x + i, n - i);

        even = _mm256_fmadd_ps(a, a, even);
    }
    factor = _mm256_set1_ps(1.0f /
                            sqrtf(sum_lanes(_mm256_add_ps(even, odd)) / (float)(n ? n : 1) + eps));
    for (i = 0; i < n; i += EIGHT) {
        __m256 y = _mm256_mul_ps(load_first(x + i, n - i), factor);

        store_first(out + i, n - i, weight ? _mm256_mul_ps(y, load_first(weight + i, n - i)) : y);
    }
}

float cpu_softmax_part_avx2(int64_t n, float *x, float *sum)
{
    __m256 lanes = _mm256_set1_ps(-INFINITY), total = _mm256_setzero_ps(), top;
    float max;

    for (int64_t i = 0; i < n; i += EIGHT) {
        __m256 v = load_first(x + i, n - i);

        if (n - i < EIGHT)
            v = _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), v,
                                 _mm256_castsi256_ps(first_lanes(n - i)));
        lanes = _mm256_max_ps(v, lanes);
    }
    max = max_lanes(lanes);
    top = _mm256_set1_ps(max == -INFINITY ? 0.0f : max);   // -inf - 0 stays -inf, whose exp is 0
    for (int64_t i = 0; i < n; i += EIGHT) {
        __m256 e = exp_avx2(_mm256_sub_ps(load_first(x + i, n - i), top));

        if (n - i < EIGHT)
            e = _mm256_and_ps(e, _mm256_castsi256_ps(first_lanes(n - i)));
        store_first(x + i, n - i, e);
        total = _mm256_add_ps(total, e);
    }
    *sum = sum_lanes(total);
    return max;
}

void cpu_softmax_avx2(int64_t n, float *x)
{
    float sum;
    __m256 factor;

    cpu_softmax_part_avx2(n, x, &sum);
    if (sum == 0.0f)
        return;
    factor = _mm256_set1_ps(1.0f / sum);
    for (int64_t i = 0; i < n; i += EIGHT)
        store_first(x + i, n - i, _mm256_mul_ps(load_first(x + i, n - i), factor));
}

void cpu_blend_avx2(int64_t n, const float *a, float factor_a, const float *b, float factor_b,
                    float *out)
{
    __m256 f_a = _mm256_set1_ps(factor_a), f_b = _mm256_set1_ps(factor_b);

    for (int64_t i = 0; i < n; i += EIGHT) {
        __m256 first = _mm256_mul_ps(load_first(a + i, n - i), f_a);

        store_first(out + i, n - i, _mm256_fmadd_ps(load_first(b + i, n - i), f_b, first));
    }
}
