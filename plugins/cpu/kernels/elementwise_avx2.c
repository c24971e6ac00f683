// elementwise_avx2.c: arithmetic and activations, 8 elements at a time. The last, shorter vector is
// loaded and stored by mask, so that an element's bits do not depend on where a row is cut.
#include "../kernels.h"
#include "math_avx2.h"

typedef __m256 unary_vector(__m256 x);
typedef __m256 binary_vector(__m256 a, __m256 b);

static inline __attribute__((always_inline)) void map_unary(int64_t n, const float *x, float *out,
                                                            unary_vector *f)
{
    for (int64_t i = 0; i < n; i += EIGHT)
        store_first(out + i, n - i, f(load_first(x + i, n - i)));
}

static inline __attribute__((always_inline)) void
map_binary(int64_t n, const float *a, const float *b, float *out, binary_vector *f)
{
    for (int64_t i = 0; i < n; i += EIGHT)
        store_first(out + i, n - i, f(load_first(a + i, n - i), load_first(b + i, n - i)));
}

static inline __m256 add_vector(__m256 a, __m256 b)
{
    return _mm256_add_ps(a, b);
}

static inline __m256 sub_vector(__m256 a, __m256 b)
{
    return _mm256_sub_ps(a, b);
}

static inline __m256 mul_vector(__m256 a, __m256 b)
{
    return _mm256_mul_ps(a, b);
}

static inline __m256 div_vector(__m256 a, __m256 b)
{
    return _mm256_div_ps(a, b);
}

static inline __m256 swiglu_vector(__m256 gate, __m256 up)
{
    return _mm256_mul_ps(silu_avx2(gate), up);
}

static inline __m256 neg_vector(__m256 x)
{
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

static inline __m256 sqrt_vector(__m256 x)
{
    return _mm256_sqrt_ps(x);
}

static inline __m256 relu_vector(__m256 x)
{
    return _mm256_max_ps(_mm256_setzero_ps(), x);   // in this order a NaN stays one
}

// As in elementwise_scalar.c: x sigmoid(2 u).
static inline __m256 gelu_vector(__m256 x)
{
    __m256 cube = _mm256_mul_ps(_mm256_mul_ps(x, x), x);
    __m256 u = _mm256_fmadd_ps(cube, _mm256_set1_ps(0.044715f), x);
    __m256 e = exp_avx2(
        _mm256_mul_ps(u, _mm256_set1_ps(-1.5957691216057308f)));   // -2 sqrt(2 / pi)

    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), e));
}

static inline __m256 geglu_vector(__m256 gate, __m256 up)
{
    return _mm256_mul_ps(gelu_vector(gate), up);
}

void cpu_add_avx2(int64_t n, const float *a, const float *b, float *out)
{
    map_binary(n, a, b, out, add_vector);
}

void cpu_sub_avx2(int64_t n, const float *a, const float *b, float *out)
{
    map_binary(n, a, b, out, sub_vector);
}

void cpu_mul_avx2(int64_t n, const float *a, const float *b, float *out)
{
    map_binary(n, a, b, out, mul_vector);
}

void cpu_div_avx2(int64_t n, const float *a, const float *b, float *out)
{
    map_binary(n, a, b, out, div_vector);
}

void cpu_swiglu_avx2(int64_t n, const float *gate, const float *up, float *out)
{
    map_binary(n, gate, up, out, swiglu_vector);
}

void cpu_geglu_avx2(int64_t n, const float *gate, const float *up, float *out)
{
    map_binary(n, gate, up, out, geglu_vector);
}

void cpu_scale_avx2(int64_t n, const float *x, float scale, float bias, float *out)
{
    __m256 factor = _mm256_set1_ps(scale), offset = _mm256_set1_ps(bias);

    for (int64_t i = 0; i < n; i += EIGHT)
        store_first(out + i, n - i,
                    _mm256_add_ps(_mm256_mul_ps(load_first(x + i, n - i), factor), offset));
}

void cpu_neg_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, neg_vector);
}

void cpu_sqrt_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, sqrt_vector);
}

void cpu_exp_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, exp_avx2);
}

void cpu_tanh_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, tanh_avx2);
}

void cpu_sigmoid_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, sigmoid_avx2);
}

void cpu_relu_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, relu_vector);
}

void cpu_silu_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, silu_avx2);
}

void cpu_gelu_avx2(int64_t n, const float *x, float *out)
{
    map_unary(n, x, out, gelu_vector);
}
