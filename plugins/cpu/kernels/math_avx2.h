// math_avx2.h: exp and tanh of 8 floats, and the loads and stores of less than 8. For the _avx2.c
// files only.
//
// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. exp(r) is its Taylor polynomial of
// degree 7: what is cut off is below 0.35^8 / 8! = 5.3e-9, less than a tenth of the last place, so
// the error is that of the roundings, below 1.5 ulp (found over a sweep:
// tests/unit/cpu/kernels_math.c). ln 2 is subtracted in two parts, so that r has all its
// bits (Cody and Waite 1980, Software Manual for the Elementary Functions, chapter 6).
#ifndef CPU_MATH_AVX2_H
#define CPU_MATH_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define EIGHT 8

static inline __m256i first_lanes(int64_t n)   // all ones in lanes 0 to n - 1
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Lanes from n on are 0, and not read.
static inline __m256 load_first(const float *at, int64_t n)
{
    return n >= EIGHT ? _mm256_loadu_ps(at) : _mm256_maskload_ps(at, first_lanes(n));
}

static inline void store_first(float *at, int64_t n, __m256 value)
{
    if (n >= EIGHT)
        _mm256_storeu_ps(at, value);
    else
        _mm256_maskstore_ps(at, first_lanes(n), value);
}

// n <= 8 floats, or F16 numbers as floats, at `at`; lanes from n on are 0, and not read.
typedef __m256 load_vector(const char *at, int64_t n);

static inline __m256 load_f32(const char *at, int64_t n)
{
    return load_first((const float *)(const void *)at, n);
}

static inline __m256 load_f16(const char *at, int64_t n)
{
    uint16_t first[EIGHT] = { 0 };

    if (n >= EIGHT)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at));
    memcpy(first, at, (size_t)n * sizeof *first);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)first));
}

// The order of the sum is fixed: halves, then quarters, then the pair.
static inline float sum_lanes(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// sum_lanes of 4 vectors, with the same bits.
static inline __m128 sum_lanes_of_4(const __m256 v[4])
{
    // a: the half sums of v[0] and of v[1], side by side; b: of v[2] and v[3]
    __m256 a = _mm256_add_ps(_mm256_blend_ps(v[0], v[1], 0xf0),
                             _mm256_permute2f128_ps(v[0], v[1], 0x21));
    __m256 b = _mm256_add_ps(_mm256_blend_ps(v[2], v[3], 0xf0),
                             _mm256_permute2f128_ps(v[2], v[3], 0x21));
    __m256 two = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
    __m256 one = _mm256_hadd_ps(two, two);

    return _mm_unpacklo_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1));
}

// NaN in any lane may be lost.
static inline float max_lanes(__m256 v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// The parts of exp: x = n ln 2 + r; the result is exp(r) - 1.
static inline __m256 exp_reduced(__m256 x, __m256 *n)
{
    const __m256 ln2_high = _mm256_set1_ps(0x1.62e4p-1f), ln2_low = _mm256_set1_ps(0x1.7f7d1cp-20f);
    __m256 r, p;

    *n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(0x1.715476p+0f)),
                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    r = _mm256_fnmadd_ps(*n, ln2_low, _mm256_fnmadd_ps(*n, ln2_high, x));
    p = _mm256_fmadd_ps(r, _mm256_set1_ps(1.0f / 5040), _mm256_set1_ps(1.0f / 720));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    return _mm256_fmadd_ps(_mm256_mul_ps(p, r), r, r);
}

static inline __m256 power_of_two(__m256i n)   // -126 <= n <= 127
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

static inline __m256 exp_avx2(__m256 x)
{
    __m256 n, p;
    __m256i whole, half;

    // Beyond these the result is 0 or infinity anyway. The order of the operands keeps a NaN.
    x = _mm256_min_ps(_mm256_set1_ps(90.0f), _mm256_max_ps(_mm256_set1_ps(-105.0f), x));
    p = _mm256_add_ps(exp_reduced(x, &n), _mm256_set1_ps(1.0f));
    whole = _mm256_cvtps_epi32(n);
    half = _mm256_srai_epi32(
        whole, 1);   // 2^n in two factors: subnormal results and infinity come out right
    return _mm256_mul_ps(_mm256_mul_ps(p, power_of_two(half)),
                         power_of_two(_mm256_sub_epi32(whole, half)));
}

// tanh(x) = e / (e + 2) with e = exp(2 |x|) - 1, which keeps its digits near 0; the sign is put
// back.
static inline __m256 tanh_avx2(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 y = _mm256_andnot_ps(sign, x), n, p, power, e;

    y = _mm256_min_ps(_mm256_set1_ps(20.0f), _mm256_add_ps(y, y));   // tanh(10) rounds to 1
    p = exp_reduced(y, &n);
    power = power_of_two(_mm256_cvtps_epi32(n));
    e = _mm256_fmadd_ps(power, p, _mm256_sub_ps(power, _mm256_set1_ps(1.0f)));
    return _mm256_or_ps(_mm256_and_ps(sign, x),
                        _mm256_div_ps(e, _mm256_add_ps(e, _mm256_set1_ps(2.0f))));
}

static inline __m256 sigmoid_avx2(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);

    return _mm256_div_ps(one, _mm256_add_ps(one, exp_avx2(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

static inline __m256 silu_avx2(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);

    return _mm256_div_ps(x, _mm256_add_ps(one, exp_avx2(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

#endif
