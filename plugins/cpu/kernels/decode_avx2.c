// decode_avx2.c: F16 and block types to F32. The same bits as decode_scalar.c: products and sums
// are not fused.
#include "../kernels.h"
#include "blocks.h"
#include "math_avx2.h"

void cpu_decode_f16_avx2(int64_t n, const void *from, float *to)
{
    const char *at = from;
    int64_t i = 0;

    for (; i + EIGHT <= n; i += EIGHT)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + 2 * i))));
    for (; i < n; i++)
        to[i] = _cvtsh_ss(cpu_load_u16(at + 2 * i));
}

static inline __m256 eight_bytes_to_floats(__m128i bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

void cpu_decode_q8_0_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q8_0_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));

        for (int j = 0; j < CPU_BLOCK; j += EIGHT) {
            __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(block + 2 + j));
            _mm256_storeu_ps(to + i + j, _mm256_mul_ps(d, eight_bytes_to_floats(q)));
        }
    }
}

void cpu_decode_q4_1_avx2(int64_t n, const void *from, float *to)
{
    const __m128i low_bits = _mm_set1_epi8(15);
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_1_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));
        __m256 m = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block + 2)));
        __m128i both = _mm_loadu_si128((const __m128i *)(const void *)(block + 4));
        __m128i q[2] = { _mm_and_si128(both, low_bits),
                         _mm_and_si128(_mm_srli_epi16(both, 4), low_bits) };

        for (int j = 0; j < 2; j++) {
            __m256 first = _mm256_mul_ps(d, eight_bytes_to_floats(q[j]));
            __m256 second = _mm256_mul_ps(d, eight_bytes_to_floats(_mm_srli_si128(q[j], 8)));

            _mm256_storeu_ps(to + i + 16 * j, _mm256_add_ps(first, m));
            _mm256_storeu_ps(to + i + 16 * j + EIGHT, _mm256_add_ps(second, m));
        }
    }
}
