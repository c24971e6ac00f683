// simulated_avx512_on_avx2.h: stands before a file of kernels of the level avx512vnni, which then
// is compiled for a processor with AVX2 alone: SIMDe gives its instructions, and those that SIMDe
// 0.7 lacks are here, by two halves or lane by lane. Its scalef overflows where only 2^n does.
#ifndef SIMULATED_AVX512_ON_AVX2_H
#define SIMULATED_AVX512_ON_AVX2_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_INLINE   // else a file takes minutes to compile
#include <math.h>
#include <simde/x86/avx512.h>
#include <stdint.h>
#include <string.h>

typedef union simulated_halves {
    __m512i words;
    __m512 floats;
    struct {
        __m256i half[2];
    };
    float lane[16];
} simulated_halves;

static inline __m512i simulated_cvtepi8_epi32(__m128i v)
{
    simulated_halves h;

    h.half[0] = _mm256_cvtepi8_epi32(v);
    h.half[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8));
    return h.words;
}

static inline __m512 simulated_cvtepi32_ps(__m512i v)
{
    simulated_halves h = { .words = v };

    for (int i = 0; i < 2; i++)
        h.half[i] = _mm256_castps_si256(_mm256_cvtepi32_ps(h.half[i]));
    return h.floats;
}

static inline __m512i simulated_cvtps_epi32(__m512 v)
{
    simulated_halves h = { .floats = v };

    for (int i = 0; i < 2; i++)
        h.half[i] = _mm256_cvtps_epi32(_mm256_castsi256_ps(h.half[i]));
    return h.words;
}

static inline __m512i simulated_srai_epi32(__m512i v, int n)
{
    simulated_halves h = { .words = v };

    for (int i = 0; i < 2; i++)
        h.half[i] = _mm256_srai_epi32(h.half[i], n);
    return h.words;
}

static inline __m512 simulated_cvtph_ps(__m256i v)
{
    simulated_halves h;

    h.half[0] = _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(v)));
    h.half[1] = _mm256_castps_si256(_mm256_cvtph_ps(_mm256_extracti128_si256(v, 1)));
    return h.floats;
}

static inline __m512 simulated_maskz_loadu_ps(__mmask16 mask, const float *from)
{
    simulated_halves h = { .lane = { 0 } };

    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            h.lane[i] = from[i];
    return h.floats;
}

static inline void simulated_mask_storeu_ps(float *to, __mmask16 mask, __m512 v)
{
    simulated_halves h = { .floats = v };

    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            to[i] = h.lane[i];
}

static inline __m512 simulated_scalef_ps(__m512 x, __m512 n)
{
    simulated_halves h = { .floats = x }, by = { .floats = n };

    for (int i = 0; i < 16; i++)
        h.lane[i] = isnan(by.lane[i]) ? NAN : ldexpf(h.lane[i], (int)by.lane[i]);
    return h.floats;
}

#undef _mm512_scalef_ps
#define _mm512_scalef_ps(x, n) simulated_scalef_ps(x, n)
#undef _mm512_shuffle_f32x4   // SIMDe has it, and lacks the alias
#define _mm512_shuffle_f32x4(a, b, chosen) simde_mm512_shuffle_f32x4(a, b, chosen)
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32(v) simulated_cvtepi8_epi32(v)
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps(v) simulated_cvtepi32_ps(v)
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32(v) simulated_cvtps_epi32(v)
#undef _mm512_srai_epi32
#define _mm512_srai_epi32(v, n) simulated_srai_epi32(v, n)
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps(v) simulated_cvtph_ps(v)
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps(mask, from) simulated_maskz_loadu_ps(mask, from)
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps(to, mask, v) simulated_mask_storeu_ps(to, mask, v)

#endif
