// encode_avx2.c: F32 to F16, Q8_0 and q8. The same bits as encode_scalar.c.
#include "../kernels.h"
#include "blocks.h"
#include "floats_avx2.h"

void cpu_encode_f16_avx2(int64_t n, const float *from, void *to)
{
    char *at = to;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        _mm_storeu_si128((__m128i *)(void *)(at + 2 * i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    cpu_encode_f16_scalar(n - i, from + i, at + 2 * i);
}

// Packing works within halves of a register; the last step puts groups of four back in order.
static inline __m256i pack_bytes(const __m256i whole[4])
{
    __m256i q = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                                   _mm256_packs_epi32(whole[2], whole[3]));

    return _mm256_permutevar8x32_epi32(q, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
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
        v[i] = _mm256_loadu_ps(x + LANES * i);
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
    *q = pack_bytes(whole);
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

// The largest or the sum of each of 4 vectors, as lanes 0 to 3.
static inline __m128i across(__m256i (*both)(__m256i, __m256i), const __m256i v[4])
{
    __m256i a = both(_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[0], v[1]));
    __m256i b = both(_mm256_unpacklo_epi32(v[2], v[3]), _mm256_unpackhi_epi32(v[2], v[3]));
    __m256i c = both(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    __m256i d = both(c, _mm256_permute2x128_si256(c, c, 1));

    return _mm256_castsi256_si128(d);
}

static inline __m256i larger(__m256i a, __m256i b)
{
    return _mm256_max_epi32(a, b);
}

static inline __m256i added(__m256i a, __m256i b)
{
    return _mm256_add_epi32(a, b);
}

// 4 blocks with the bits of round_block, their divisions at once. 0, and nothing written, when one
// of them is all 0, or so near that its scale is, or has no finite scale.
static inline int encode_four(const float *x, cpu_block_q8 *to)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i top[4], sums[4];
    __m128i tops, halves;
    __m128 scale, inverse, d, sum;
    float inverses[4], ds[4], block_sums[4];

    for (int b = 0; b < 4; b++) {
        const float *at = x + b * CPU_BLOCK;

        top[b] = _mm256_and_si256(magnitude, _mm256_castps_si256(_mm256_loadu_ps(at)));
        for (int i = LANES; i < CPU_BLOCK; i += LANES)
            top[b] = larger(
                top[b], _mm256_and_si256(magnitude, _mm256_castps_si256(_mm256_loadu_ps(at + i))));
    }
    tops = across(larger, top);
    scale = _mm_div_ps(_mm_castsi128_ps(tops), _mm_set1_ps(127.0f));
    halves = _mm_cvtps_ph(scale, _MM_FROUND_TO_NEAREST_INT);
    halves = _mm_cvtepu16_epi32(halves);
    // as integers from 1 to the largest finite number, or not
    if (_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi32(halves, _mm_setzero_si128()),
                                       _mm_cmpgt_epi32(halves, _mm_set1_epi32(0x7bff)))))
        return 0;
    inverse = _mm_div_ps(_mm_set1_ps(1.0f), scale);
    d = _mm_cvtph_ps(_mm_packus_epi32(halves, halves));
    _mm_storeu_ps(inverses, inverse);
    for (int b = 0; b < 4; b++) {
        __m256 factor = _mm256_set1_ps(inverses[b]);
        __m256i whole[4], q;

        for (int i = 0; i < 4; i++)
            whole[i] = _mm256_cvtps_epi32(
                _mm256_mul_ps(_mm256_loadu_ps(x + b * CPU_BLOCK + LANES * i), factor));
        sums[b] = _mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]),
                                   _mm256_add_epi32(whole[2], whole[3]));
        q = pack_bytes(whole);
        _mm256_storeu_si256((__m256i *)(void *)to[b].q, q);
    }
    sum = _mm_mul_ps(d, _mm_cvtepi32_ps(across(added, sums)));
    _mm_storeu_ps(ds, d);
    _mm_storeu_ps(block_sums, sum);
    for (int b = 0; b < 4; b++) {
        to[b].d = ds[b];
        to[b].sum = block_sums[b];
    }
    return 1;
}

static inline void encode_one(const float *x, cpu_block_q8 *to)
{
    __m256i q;
    int sum;

    to->d = _cvtsh_ss(round_block(x, &q, &sum));
    to->sum = to->d * (float)sum;
    _mm256_storeu_si256((__m256i *)(void *)to->q, q);
}

void cpu_encode_q8_avx2(int64_t n, const float *from, void *to)
{
    cpu_block_q8 *block = to;
    int64_t i = 0;

    while (i < n) {
        int done = i + 4 * CPU_BLOCK <= n && encode_four(from + i, block) ? 4 : 1;

        if (done == 1)
            encode_one(from + i, block);
        i += done * CPU_BLOCK;
        block += done;
    }
}
