// decode_avx2.h: 16 quants to F32. For the decoders.
#ifndef CPU_DECODE_AVX2_H
#define CPU_DECODE_AVX2_H

#include <immintrin.h>

#include "levels.h"

static inline __m256 eight_bytes_to_floats(__m128i bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

// to[i] = d * q[i]
static inline void store_scaled(__m128i q, __m256 d, float *to)
{
    _mm256_storeu_ps(to, _mm256_mul_ps(d, eight_bytes_to_floats(q)));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(d, eight_bytes_to_floats(_mm_srli_si128(q, 8))));
}

// to[i] = d * q[i] + m, in two roundings
static inline void store_affine(__m128i q, __m256 d, __m256 m, float *to)
{
    __m256 first = _mm256_mul_ps(d, eight_bytes_to_floats(q));
    __m256 second = _mm256_mul_ps(d, eight_bytes_to_floats(_mm_srli_si128(q, 8)));

    _mm256_storeu_ps(to, _mm256_add_ps(first, m));
    _mm256_storeu_ps(to + 8, _mm256_add_ps(second, m));
}

#endif
