// rope_avx2.c: sine and cosine of angles in double, and the rotation of pairs.
//
// An angle is n pi / 2 + r, |r| <= pi / 4; the Taylor polynomials of sin r (to r^11) and cos r (to
// r^10) are off by at most 7e-12 and 1.2e-10, far below half a last place of F32, 3e-8. pi / 2 in
// two doubles and fused products keep r exact to 1e-15 up to the bound below.
#include "../kernels.h"
#include "floats_avx2.h"

#include <math.h>

#define FOUR          4
#define LARGEST_ANGLE 1e8   // n stays far inside 32 bits; beyond it, and for NaN, the C library

static inline __m256d sin_polynomial(__m256d r, __m256d r2)
{
    __m256d p = _mm256_fmadd_pd(r2, _mm256_set1_pd(-1.0 / 39916800), _mm256_set1_pd(1.0 / 362880));

    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(-1.0 / 5040));
    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(1.0 / 120));
    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(-1.0 / 6));
    return _mm256_fmadd_pd(_mm256_mul_pd(p, r2), r, r);
}

static inline __m256d cos_polynomial(__m256d r2)
{
    __m256d p = _mm256_fmadd_pd(r2, _mm256_set1_pd(-1.0 / 3628800), _mm256_set1_pd(1.0 / 40320));

    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(-1.0 / 720));
    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(1.0 / 24));
    p = _mm256_fmadd_pd(p, r2, _mm256_set1_pd(-0.5));
    return _mm256_fmadd_pd(p, r2, _mm256_set1_pd(1.0));
}

static inline void sin_cos_vector(__m256d angle, __m128 *cos_out, __m128 *sin_out)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256d n = _mm256_round_pd(_mm256_mul_pd(angle, _mm256_set1_pd(0x1.45f306dc9c883p-1)),
                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d r = _mm256_fnmadd_pd(n, _mm256_set1_pd(0x1.921fb54442d18p+0), angle), r2, s, c, odd,
            swapped_s, swapped_c;
    __m256i quarter = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n));

    r = _mm256_fnmadd_pd(n, _mm256_set1_pd(0x1.1a62633145c07p-54), r);
    r2 = _mm256_mul_pd(r, r);
    s = sin_polynomial(r, r2);
    c = cos_polynomial(r2);
    odd = _mm256_castsi256_pd(
        _mm256_slli_epi64(quarter, 63));   // by a quarter or three: they change places
    swapped_s = _mm256_blendv_pd(s, c, odd);
    swapped_c = _mm256_blendv_pd(c, s, odd);
    // quarters 2 and 3: sine negative; 1 and 2: cosine negative
    s = _mm256_and_pd(sign, _mm256_castsi256_pd(_mm256_slli_epi64(quarter, 62)));
    c = _mm256_and_pd(sign, _mm256_castsi256_pd(_mm256_slli_epi64(
                                _mm256_add_epi64(quarter, _mm256_set1_epi64x(1)), 62)));
    *sin_out = _mm256_cvtpd_ps(_mm256_xor_pd(swapped_s, s));
    *cos_out = _mm256_cvtpd_ps(_mm256_xor_pd(swapped_c, c));
}

void cpu_sin_cos_avx2(int64_t n, const double *angle, float *cos_out, float *sin_out)
{
    int64_t i = 0;

    for (; i + FOUR <= n; i += FOUR) {
        __m256d a = _mm256_loadu_pd(angle + i);
        __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
        __m128 c, s;

        if (_mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(LARGEST_ANGLE), _CMP_LE_OQ)) !=
            15) {
            cpu_sin_cos_scalar(FOUR, angle + i, cos_out + i, sin_out + i);
            continue;
        }
        sin_cos_vector(a, &c, &s);
        _mm_storeu_ps(cos_out + i, c);
        _mm_storeu_ps(sin_out + i, s);
    }
    cpu_sin_cos_scalar(n - i, angle + i, cos_out + i, sin_out + i);
}

void cpu_rope_normal_avx2(int64_t n, const float *x, const float *cos_in, const float *sin_in,
                          float *out)
{
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    int64_t i = 0;

    for (; i + FOUR <= n; i += FOUR) {   // v = a0 b0 a1 b1 ...; a c - b s and b c + a s in turn
        __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cos_in + i)),
                                            twice);
        __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sin_in + i)),
                                            twice);
        __m256 v = _mm256_loadu_ps(x + 2 * i);
        __m256 swapped = _mm256_permute_ps(v, 0xb1);

        _mm256_storeu_ps(out + 2 * i,
                         _mm256_addsub_ps(_mm256_mul_ps(v, c), _mm256_mul_ps(swapped, s)));
    }
    cpu_rope_normal_scalar(n - i, x + 2 * i, cos_in + i, sin_in + i, out + 2 * i);
}

void cpu_rope_neox_avx2(int64_t n, const float *x, const float *cos_in, const float *sin_in,
                        float *out)
{
    for (int64_t i = 0; i < n; i += LANES) {
        __m256 c = load_first(cos_in + i, n - i), s = load_first(sin_in + i, n - i);
        __m256 a = load_first(x + i, n - i), b = load_first(x + i + n, n - i);

        store_first(out + i, n - i, _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)));
        store_first(out + i + n, n - i, _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c)));
    }
}
