// encode_avx2.c: F32 to F16, Q8_0 and q8. The same bits as encode_scalar.c.
#include "../kernels.h"
#include "blocks.h"
#include "math_avx2.h"

void cpu_encode_f16_avx2(int64_t n, const float *from, void *to)
{
    char *at = to;
    int64_t i = 0;

    for (; i + EIGHT <= n; i += EIGHT)
        _mm_storeu_si128((__m128i *)(void *)(at + 2 * i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    cpu_encode_f16_scalar(n - i, from + i, at + 2 * i);
}

// As round_block of encode_scalar.c. The magnitudes are compared as integers: their order is that
// of the floats, and infinity and NaN come out on top. *sum is q[0] + ... + q[31].
static inline uint16_t round_block(const float *x, __m256i *q, int *sum)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256 v[4], inverse;
    __m256i top, whole[4], sums;
    __m128i four;
    float max, scale;
    uint16_t half;

    for (int i = 0; i < 4; i++)
        v[i] = _mm256_loadu_ps(x + EIGHT * i);
    top = _mm256_and_si256(magnitude, _mm256_castps_si256(v[0]));
    for (int i = 1; i < 4; i++)
        top = _mm256_max_epi32(top, _mm256_and_si256(magnitude, _mm256_castps_si256(v[i])));
    four = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    max = _mm_cvtss_f32(_mm_castsi128_ps(four));
    scale = max / 127.0f;
    half = _mm_cvtsi128_si32(four) < 0x7f800000 ? _cvtss_sh(scale, _MM_FROUND_TO_NEAREST_INT)
                                                : 0x7e00u;   // NaN
    *q = _mm256_setzero_si256();
    *sum = 0;
    if (half == 0 || half == 0x7e00u)
        return half;
    inverse = _mm256_set1_ps(1.0f / scale);
    for (int i = 0; i < 4; i++)
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
    sums = _mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]),
                            _mm256_add_epi32(whole[2], whole[3]));
    four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    *sum = _mm_cvtsi128_si32(four);
    // Packing works within halves of a register; the last step puts groups of four back in order.
    *q = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                            _mm256_packs_epi32(whole[2], whole[3]));
    *q = _mm256_permutevar8x32_epi32(*q, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return half;
}

void cpu_encode_q8_0_avx2(int64_t n, const float *from, void *to)
{
    char *block = to;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q8_0_BYTES) {
        __m256i q;
        int sum;
        uint16_t half = round_block(from + i, &q, &sum);

        memcpy(block, &half, sizeof half);
        _mm256_storeu_si256((__m256i *)(void *)(block + 2), q);
    }
}

void cpu_encode_q8_avx2(int64_t n, const float *from, void *to)
{
    cpu_block_q8 *block = to;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block++) {
        __m256i q;
        int sum;

        block->d = _cvtsh_ss(round_block(from + i, &q, &sum));
        block->sum = block->d * (float)sum;
        _mm256_storeu_si256((__m256i *)(void *)block->q, q);
    }
}
