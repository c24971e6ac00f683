// decode_avx2.c: F16, BF16 and blocks of 32 to F32. The same bits as decode_scalar.c: products and
// sums are not fused.
#include "../kernels.h"
#include "decode_avx2.h"
#include "floats_avx2.h"

void cpu_decode_f16_avx2(int64_t n, const void *from, float *to)
{
    const char *at = from;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + 2 * i))));
    for (; i < n; i++)
        to[i] = _cvtsh_ss(cpu_load_u16(at + 2 * i));
}

void cpu_decode_bf16_avx2(int64_t n, const void *from, float *to)
{
    const char *at = from;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        __m128i upper = _mm_loadu_si128((const __m128i *)(const void *)(at + 2 * i));
        __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16);

        _mm256_storeu_ps(to + i, _mm256_castsi256_ps(bits));
    }
    for (; i < n; i++) {
        uint32_t bits = (uint32_t)cpu_load_u16(at + 2 * i) << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

void cpu_decode_q8_0_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q8_0_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));

        for (int j = 0; j < CPU_BLOCK; j += LANES) {
            __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(block + 2 + j));
            _mm256_storeu_ps(to + i + j, _mm256_mul_ps(d, eight_bytes_to_floats(q)));
        }
    }
}

// 32 quants of 4 bits at `at`, in the order of the elements.
static inline void load_halves(const char *at, __m128i q[2])
{
    const __m128i low_bits = _mm_set1_epi8(15);
    __m128i both = _mm_loadu_si128((const __m128i *)(const void *)at);

    q[0] = _mm_and_si128(both, low_bits);
    q[1] = _mm_and_si128(_mm_srli_epi16(both, 4), low_bits);
}

// 32 quants of 5 bits: 4 bytes of fifth bits, then the halves.
static inline void load_fifths(const char *at, __m128i q[2])
{
    // Each byte of fifth bits stands below the 8 quants it belongs to, each of which looks at one
    // bit.
    const __m128i spread = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m128i bit = _mm_set1_epi64x((long long)0x8040201008040201u);
    int32_t word;
    __m128i fifths;

    memcpy(&word, at, sizeof word);
    fifths = _mm_cvtsi32_si128(word);
    load_halves(at + 4, q);
    for (int j = 0; j < 2; j++) {
        __m128i mine = _mm_shuffle_epi8(fifths, _mm_add_epi8(spread, _mm_set1_epi8((char)(2 * j))));
        __m128i is_set = _mm_cmpeq_epi8(_mm_and_si128(mine, bit), bit);

        q[j] = _mm_or_si128(q[j], _mm_and_si128(is_set, _mm_set1_epi8(16)));
    }
}

void cpu_decode_q4_0_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_0_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));
        __m128i q[2];

        load_halves(block + 2, q);
        for (int j = 0; j < 2; j++)
            store_scaled(_mm_sub_epi8(q[j], _mm_set1_epi8(8)), d, to + i + 16 * j);
    }
}

void cpu_decode_q4_1_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_1_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));
        __m256 m = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block + 2)));
        __m128i q[2];

        load_halves(block + 4, q);
        for (int j = 0; j < 2; j++)
            store_affine(q[j], d, m, to + i + 16 * j);
    }
}

void cpu_decode_q5_0_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q5_0_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));
        __m128i q[2];

        load_fifths(block + 2, q);
        for (int j = 0; j < 2; j++)
            store_scaled(_mm_sub_epi8(q[j], _mm_set1_epi8(16)), d, to + i + 16 * j);
    }
}

void cpu_decode_q5_1_avx2(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q5_1_BYTES) {
        __m256 d = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block)));
        __m256 m = _mm256_set1_ps(_cvtsh_ss(cpu_load_u16(block + 2)));
        __m128i q[2];

        load_fifths(block + 4, q);
        for (int j = 0; j < 2; j++)
            store_affine(q[j], d, m, to + i + 16 * j);
    }
}
