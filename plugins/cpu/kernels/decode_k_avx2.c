// decode_k_avx2.c: blocks of 256 to F32. The same bits as decode_k_scalar.c.
#include "../kernels.h"
#include "decode_avx2.h"
#include "floats_avx2.h"

static inline __m128i load_16(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i low_halves(__m128i both)
{
    return _mm_and_si128(both, _mm_set1_epi8(15));
}

void cpu_decode_q4_k_avx2(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q4_K_BYTES)
        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            float d, m;

            scales_of_part(block, s, &d, &m);
            for (int j = 0; j < CPU_BLOCK; j += 16) {
                __m128i both = load_16(block + 16 + s / 2 * CPU_BLOCK + j);

                store_affine(low_halves(_mm_srl_epi16(both, _mm_cvtsi32_si128(s % 2 * 4))),
                             _mm256_set1_ps(d), _mm256_set1_ps(m), to + j);
            }
        }
}

void cpu_decode_q5_k_avx2(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q5_K_BYTES)
        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            const __m128i bit = _mm_set1_epi8((char)(1 << s));
            float d, m;

            scales_of_part(block, s, &d, &m);
            for (int j = 0; j < CPU_BLOCK; j += 16) {
                __m128i both = load_16(block + 48 + s / 2 * CPU_BLOCK + j);
                __m128i low = low_halves(_mm_srl_epi16(both, _mm_cvtsi32_si128(s % 2 * 4)));
                __m128i is_set = _mm_cmpeq_epi8(_mm_and_si128(load_16(block + 16 + j), bit), bit);

                store_affine(_mm_or_si128(low, _mm_and_si128(is_set, _mm_set1_epi8(16))),
                             _mm256_set1_ps(d), _mm256_set1_ps(m), to + j);
            }
        }
}

void cpu_decode_q6_k_avx2(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q6_K_BYTES) {
        float d = cpu_half_to_float(cpu_load_u16(block + 208));

        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            int half = s / 4, quarter = s % 4;

            for (int j = 0; j < CPU_BLOCK; j += 16) {
                __m128i low = load_16(block + 64 * half + quarter % 2 * CPU_BLOCK + j);
                __m128i high = load_16(block + 128 + CPU_BLOCK * half + j);
                float scale = d * (float)(int8_t)block[192 + 2 * s + j / 16];
                __m128i q;

                low = low_halves(_mm_srl_epi16(low, _mm_cvtsi32_si128(quarter / 2 * 4)));
                high = _mm_srl_epi16(high, _mm_cvtsi32_si128(quarter * 2));
                high = _mm_slli_epi16(_mm_and_si128(high, _mm_set1_epi8(3)), 4);
                q = _mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32));
                store_scaled(q, _mm256_set1_ps(scale), to + j);
            }
        }
    }
}
