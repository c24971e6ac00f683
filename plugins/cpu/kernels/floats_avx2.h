// floats_avx2.h: vectors of 8 floats for the texts that serve every level (*.inc): loads and stores
// of less than a vector, arithmetic, sums across lanes. floats_avx512vnni.h and floats_neon.h have
// the same names.
#ifndef CPU_FLOATS_AVX2_H
#define CPU_FLOATS_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "blocks.h"
#include "level_avx2.h"

#define LANES 8

typedef __m256 floats;

static inline __m256i first_lanes(int64_t n)   // all ones in lanes 0 to n - 1
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Lanes from n on are 0, and not read.
static inline __m256 load_first(const float *at, int64_t n)
{
    return n >= LANES ? _mm256_loadu_ps(at) : _mm256_maskload_ps(at, first_lanes(n));
}

static inline void store_first(float *at, int64_t n, __m256 value)
{
    if (n >= LANES)
        _mm256_storeu_ps(at, value);
    else
        _mm256_maskstore_ps(at, first_lanes(n), value);
}

// Lanes from n on, if there are any, are `fill`.
static inline floats v_first(int64_t n, floats v, floats fill)
{
    return n >= LANES ? v : _mm256_blendv_ps(fill, v, _mm256_castsi256_ps(first_lanes(n)));
}

// n <= 8 elements as floats: numbers i to i + n - 1 of what lies at `at`, of Q8_0 of one block
// there, i a multiple of 8; lanes from n on are 0, and not read where elements stand alone.
typedef __m256 load_vector(const char *at, int64_t i, int64_t n);

static inline __m256 load_f32(const char *at, int64_t i, int64_t n)
{
    return load_first((const float *)(const void *)at + i, n);
}

static inline __m256 load_f16(const char *at, int64_t i, int64_t n)
{
    uint16_t first[LANES] = { 0 };

    if (n >= LANES)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + 2 * i)));
    memcpy(first, at + 2 * i, (size_t)n * sizeof *first);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)first));
}

// The bits of cpu_decode_q8_0: the product is exact, 11 bits times 8.
static inline __m256 load_q8_0(const char *at, int64_t i, int64_t n)
{
    __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(at + 2 + i));
    __m256 d = _mm256_cvtph_ps(_mm_set1_epi16((short)cpu_load_u16(at)));

    return v_first(n, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q))),
                   _mm256_setzero_ps());
}

// The order of the sum is fixed: halves, then quarters, then the pair.
static inline float sum_lanes(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// to[r] = sum_lanes(v[r]), with the same bits.
static inline void store_sums_of_4(float *to, const __m256 v[4])
{
    // a: the half sums of v[0] and of v[1], side by side; b: of v[2] and v[3]
    __m256 a = _mm256_add_ps(_mm256_blend_ps(v[0], v[1], 0xf0),
                             _mm256_permute2f128_ps(v[0], v[1], 0x21));
    __m256 b = _mm256_add_ps(_mm256_blend_ps(v[2], v[3], 0xf0),
                             _mm256_permute2f128_ps(v[2], v[3], 0x21));
    __m256 two = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
    __m256 one = _mm256_hadd_ps(two, two);

    _mm_storeu_ps(to, _mm_unpacklo_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1)));
}

// to[t * stride + r] = sum_lanes(v[t][r]), with the same bits.
static inline __attribute__((always_inline)) void
store_sums_of_tile(float *to, int64_t stride, int tokens, const floats (*v)[4])
{
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        store_sums_of_4(to + t * stride, v[t]);
}

// NaN in any lane may be lost.
static inline float max_lanes(__m256 v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline floats v_set(float x)
{
    return _mm256_set1_ps(x);
}

static inline floats v_add(floats a, floats b)
{
    return _mm256_add_ps(a, b);
}

static inline floats v_sub(floats a, floats b)
{
    return _mm256_sub_ps(a, b);
}

static inline floats v_mul(floats a, floats b)
{
    return _mm256_mul_ps(a, b);
}

static inline floats v_div(floats a, floats b)
{
    return _mm256_div_ps(a, b);
}

// a b + c and c - a b, rounded once
static inline floats v_fma(floats a, floats b, floats c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline floats v_fnma(floats a, floats b, floats c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

// Where one is a NaN: b.
static inline floats v_max(floats a, floats b)
{
    return _mm256_max_ps(a, b);
}

static inline floats v_min(floats a, floats b)
{
    return _mm256_min_ps(a, b);
}

static inline floats v_sqrt(floats x)
{
    return _mm256_sqrt_ps(x);
}

static inline floats v_neg(floats x)
{
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

static inline floats v_abs(floats x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

// size, which is not negative, with the sign of x
static inline floats v_with_sign(floats size, floats x)
{
    return _mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), x), size);
}

// to the nearest whole number, ties to even; x is below 2^31 in size
static inline floats v_round(floats x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline floats power_of_words(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

// 2^n for whole n, -126 <= n <= 127
static inline floats v_power_of_two(floats n)
{
    return power_of_words(_mm256_cvtps_epi32(n));
}

// value, but 0 where x < least
static inline floats v_or_0_below(floats x, floats least, floats value)
{
    return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), value);
}

// x 2^n for whole n; in two factors: subnormal results and infinity come out right
static inline floats v_scale(floats x, floats n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);

    return _mm256_mul_ps(_mm256_mul_ps(x, power_of_words(half)),
                         power_of_words(_mm256_sub_epi32(whole, half)));
}

#endif
