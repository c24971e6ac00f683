// matmul_q8_0_avx2.c: Q8_0 and IQ4_NL weights times q8 activations, 8 rows at a time.
//
// Two 8-bit products can exceed 16 bits. For several tokens weights are widened to 16 bits when
// they are packed, activations as they are read, and the product (vpmaddwd) adds pairs into 32
// bits. For one token it is cheaper to leave bytes: the size of a weight (at most 128, unsigned)
// times the activation with the weight's sign (at most 127 in size: q8 has no -128), in pairs at
// most 2 * 128 * 127 = 32512. Both are exact, so the bits agree.
#include "level_avx2.h"
#include "q8_0_rows_avx2.h"
#include "tiles.h"

#define GROUPS (CPU_BLOCK / 2)
#define TOKENS 4

static inline __attribute__((always_inline)) void pack(int is_iq4_nl, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, void *panel)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    cpu_panel_q8_0 *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++) {
        int64_t offset = b * bytes_of(is_iq4_nl);
        __m256i both[4];

        _mm256_storeu_ps(to->d, load_scales(&from, offset));
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m256i q[4];

            load_half(is_iq4_nl, &from, offset, half, both, q);
            // Of the 4 bytes in a lane, 0 and 1 go to one vector, 2 and 3 to the next.
#pragma GCC unroll 4
            for (int g = 0; g < 4; g++) {
                __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(q[g], 8), 8),
                        odd = _mm256_srai_epi16(q[g], 8);
                __m256i first = _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
                __m256i second = _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);

                _mm256_storeu_si256((__m256i *)(void *)to->q[8 * half + 2 * g], first);
                _mm256_storeu_si256((__m256i *)(void *)to->q[8 * half + 2 * g + 1], second);
            }
        }
    }
}

// Activations of a few blocks, widened.
typedef int16_t ready_x[TOKENS][PIECE * CPU_BLOCK];

static inline __attribute__((always_inline)) void widen_x(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    int16_t(*to)[PIECE * CPU_BLOCK] = ready;

    for (int t = 0; t < tokens; t++, x += x_stride)
        for (int64_t b = 0; b < blocks; b++) {
            const int8_t *q = ((const cpu_block_q8 *)(const void *)x)[b].q;

#pragma GCC unroll 2
            for (int half = 0; half < CPU_BLOCK; half += 16)
                _mm256_storeu_si256((__m256i *)(void *)(to[t] + b * CPU_BLOCK + half),
                                    _mm256_cvtepi8_epi16(_mm_loadu_si128(
                                        (const __m128i *)(const void *)(q + half))));
        }
}

static inline __attribute__((always_inline)) void
multiply_tile(int panels, int tokens, int64_t blocks, const char *panel, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const cpu_panel_q8_0 *w = (const void *)panel;
    const int16_t(*q_x)[PIECE * CPU_BLOCK] = ready;
    __m256 sum[TOKENS];

    (void)panels;   // one
    (void)w_stride;

#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        sum[t] = from_0 ? _mm256_setzero_ps() : _mm256_loadu_ps(acc + t * acc_stride);
    for (int64_t b = 0; b < blocks; b++, w++, x += sizeof(cpu_block_q8)) {
        __m256i total[TOKENS];
        __m256 d = _mm256_loadu_ps(w->d);

#pragma GCC unroll 16
        for (int g = 0; g < GROUPS; g++) {
            __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)w->q[g]);

#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++) {
                const int16_t *two = q_x[t] + b * CPU_BLOCK + 2 * g;
                __m256i product = _mm256_madd_epi16(q,
                                                    _mm256_set1_epi32(load_i32((const char *)two)));

                total[t] = g ? _mm256_add_epi32(total[t], product) : product;
                in_this_order(&total[t]);
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++) {
            const cpu_block_q8 *block = (const void *)(x + t * x_stride);
            __m256 scale = _mm256_mul_ps(d, _mm256_set1_ps(block->d));

            sum[t] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(total[t]), sum[t]);
        }
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        _mm256_storeu_ps(acc + t * acc_stride, sum[t]);
}

static inline __attribute__((always_inline)) tiles q8_0_tiles(ready_x ready)
{
    return (tiles){ .multiply = multiply_tile,
                    .prepare = widen_x,
                    .ready = ready,
                    .block_bytes = sizeof(cpu_panel_q8_0),
                    .together = 1,
                    .panels = 1,
                    .tokens = TOKENS };
}

// 16 elements of each row times 16 activations.
static inline __attribute__((always_inline)) __m256i multiply_half(const __m256i q[4],
                                                                   const int8_t *q_x)
{
    __m256i total = _mm256_setzero_si256();

#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        __m256i four = _mm256_set1_epi32(load_i32((const char *)q_x + 4 * g));
        __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(q[g]), _mm256_sign_epi8(four, q[g]));

        total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    return total;
}

#include "matmul_q8_0.inc"
