// floats_avx512vnni.h: as floats_avx2.h, vectors of 16 floats.
#ifndef CPU_FLOATS_AVX512VNNI_H
#define CPU_FLOATS_AVX512VNNI_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "blocks.h"
#include "level_avx512vnni.h"

#define LANES 16

typedef __m512 floats;

static inline __mmask16 first_lanes(int64_t n)   // 0 <= n < 16
{
    return (__mmask16)((1u << n) - 1);
}

static inline floats v_set(float x)
{
    return _mm512_set1_ps(x);
}

static inline floats v_add(floats a, floats b)
{
    return _mm512_add_ps(a, b);
}

static inline __m256 lower_half(floats v)
{
    return _mm512_castps512_ps256(v);
}

static inline __m256 upper_half(floats v)
{
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}

// Lanes from n on are 0, and not read.
static inline floats load_first(const float *at, int64_t n)
{
    return n >= LANES ? _mm512_loadu_ps(at) : _mm512_maskz_loadu_ps(first_lanes(n), at);
}

static inline void store_first(float *at, int64_t n, floats value)
{
    if (n >= LANES)
        _mm512_storeu_ps(at, value);
    else
        _mm512_mask_storeu_ps(at, first_lanes(n), value);
}

static inline floats v_first(int64_t n, floats v, floats fill)
{
    return n >= LANES ? v : _mm512_mask_blend_ps(first_lanes(n), fill, v);
}

// n <= 16 elements as floats: numbers i to i + n - 1 of what lies at `at`, of Q8_0 of one block
// there, i a multiple of 16; lanes from n on are 0, and not read where elements stand alone.
typedef floats load_vector(const char *at, int64_t i, int64_t n);

static inline floats load_f32(const char *at, int64_t i, int64_t n)
{
    return load_first((const float *)(const void *)at + i, n);
}

static inline floats load_f16(const char *at, int64_t i, int64_t n)
{
    uint16_t first[LANES] = { 0 };

    if (n >= LANES)
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(at + 2 * i)));
    memcpy(first, at + 2 * i, (size_t)n * sizeof *first);
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)first));
}

static inline floats load_q8_0(const char *at, int64_t i, int64_t n)
{
    __m128i q = _mm_loadu_si128((const __m128i *)(const void *)(at + 2 + i));
    __m512 d = _mm512_cvtph_ps(_mm256_set1_epi16((short)cpu_load_u16(at)));

    return v_first(n, _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q))), v_set(0.0f));
}

// The order of the sum is fixed: halves, quarters, eighths, then the pair.
static inline __m128 quarters_of_sum(floats v)
{
    __m256 eight = _mm256_add_ps(lower_half(v), upper_half(v));

    return _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
}

static inline float sum_lanes(floats v)
{
    __m128 four = quarters_of_sum(v);
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// to[r] = sum_lanes(v[r]), with the same bits.
static inline void store_sums_of_4(float *to, const floats v[4])
{
    __m128 a = quarters_of_sum(v[0]), b = quarters_of_sum(v[1]), c = quarters_of_sum(v[2]),
           d = quarters_of_sum(v[3]);
    __m128 ab = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a)),
           cd = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));

    _mm_storeu_ps(to, _mm_hadd_ps(ab, cd));
}

// The steps of sum_lanes for several vectors at once: after each one twice as many have their lanes
// in one vector, half as many each.
static inline floats add_halves(floats a, floats b)   // lanes 0 to 7: a's; 8 to 15: b's
{
    return v_add(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
}

static inline floats add_quarters(const floats v[4])   // 4 lanes each: v[0], v[1], v[2], v[3]
{
    floats ab = add_halves(v[0], v[1]), cd = add_halves(v[2], v[3]);

    return v_add(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}

static inline floats add_eighths(floats a, floats b)   // in each quarter 2 lanes: a's; then b's
{
    __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));
    __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));

    return v_add(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
}

static inline floats add_pairs(floats a, floats b)   // in each quarter: a's two, b's two
{
    return v_add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

// 3 or 4 tokens, 4 sums each.
static inline __attribute__((always_inline)) void
store_sums_together(float *to, int64_t stride, int tokens, const floats (*v)[4])
{
    const __m512i turned = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    floats third = add_quarters(v[2]), fourth = tokens == 4 ? add_quarters(v[3]) : third;
    floats all = add_pairs(add_eighths(add_quarters(v[0]), add_quarters(v[1])),
                           add_eighths(third, fourth));

    all = _mm512_permutexvar_ps(turned, all);
    _mm_storeu_ps(to, _mm512_castps512_ps128(all));
    _mm_storeu_ps(to + stride, _mm512_extractf32x4_ps(all, 1));
    _mm_storeu_ps(to + 2 * stride, _mm512_extractf32x4_ps(all, 2));
    if (tokens == 4)
        _mm_storeu_ps(to + 3 * stride, _mm512_extractf32x4_ps(all, 3));
}

// to[t * stride + r] = sum_lanes(v[t][r]), with the same bits; those of 3 or 4 tokens in the same
// steps.
static inline __attribute__((always_inline)) void
store_sums_of_tile(float *to, int64_t stride, int tokens, const floats (*v)[4])
{
    if (tokens == 3 || tokens == 4)
        store_sums_together(to, stride, tokens, v);
    else
#pragma GCC unroll 8
        for (int t = 0; t < tokens; t++)
            store_sums_of_4(to + t * stride, v[t]);
}

// NaN in any lane may be lost.
static inline float max_lanes(floats v)
{
    __m256 eight = _mm256_max_ps(lower_half(v), upper_half(v));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline floats v_sub(floats a, floats b)
{
    return _mm512_sub_ps(a, b);
}

static inline floats v_mul(floats a, floats b)
{
    return _mm512_mul_ps(a, b);
}

static inline floats v_div(floats a, floats b)
{
    return _mm512_div_ps(a, b);
}

static inline floats v_fma(floats a, floats b, floats c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline floats v_fnma(floats a, floats b, floats c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

static inline floats v_max(floats a, floats b)
{
    return _mm512_max_ps(a, b);
}

static inline floats v_min(floats a, floats b)
{
    return _mm512_min_ps(a, b);
}

static inline floats v_sqrt(floats x)
{
    return _mm512_sqrt_ps(x);
}

static inline floats v_neg(floats x)
{
    return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f));
}

static inline floats v_abs(floats x)
{
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x);
}

static inline floats v_with_sign(floats size, floats x)
{
    return _mm512_or_ps(_mm512_and_ps(_mm512_set1_ps(-0.0f), x), size);
}

static inline floats v_round(floats x)
{
    return _mm512_cvtepi32_ps(_mm512_cvtps_epi32(x));
}

static inline floats v_scale(floats x, floats n)
{
    return _mm512_scalef_ps(x, n);
}

// value, but 0 where x < least
static inline floats v_or_0_below(floats x, floats least, floats value)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), value);
}

static inline floats v_power_of_two(floats n)
{
    return v_scale(v_set(1.0f), n);
}

#endif
