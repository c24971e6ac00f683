// simulated_avx512.h: stands before a file of kernels of the level avx512vnni, which then is
// compiled for a processor with AVX2 alone: SIMDe gives its instructions, and those that SIMDe 0.7
// lacks are here, by two halves.
#ifndef SIMULATED_AVX512_H
#define SIMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_INLINE   // else a file takes minutes to compile
#include <simde/x86/avx512.h>

#define upper_half(v) _mm512_extracti64x4_epi64(v, 1)
#define lower_half(v) _mm512_castsi512_si256(v)

static inline __m512i two_halves(__m256i lower, __m256i upper)
{
    return _mm512_inserti64x4(_mm512_inserti64x4(_mm512_setzero_si512(), lower, 0), upper, 1);
}

#define _mm512_cvtepi32_ps(v)                                                                      \
    _mm512_castsi512_ps(two_halves(_mm256_castps_si256(_mm256_cvtepi32_ps(lower_half(v))),         \
                                   _mm256_castps_si256(_mm256_cvtepi32_ps(upper_half(v)))))
#define _mm512_srai_epi32(v, n)                                                                    \
    two_halves(_mm256_srai_epi32(lower_half(v), n), _mm256_srai_epi32(upper_half(v), n))

#endif
