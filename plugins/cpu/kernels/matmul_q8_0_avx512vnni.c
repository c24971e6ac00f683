// matmul_q8_0_avx512vnni.c: Q8_0 and IQ4_NL weights times q8 activations. Panels keep bytes
// (cpu_panel_q8_0_bytes). For several tokens a weight is raised by 128; for one token its size
// meets the activation with its sign, as at the level avx2.
#include "level_avx512vnni.h"
#include "pairs_avx512vnni.h"
#include "q8_0_rows_avx2.h"

static inline __attribute__((always_inline)) void pack(int is_iq4_nl, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, void *panel)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    cpu_panel_q8_0_bytes *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++) {
        int64_t offset = b * bytes_of(is_iq4_nl);
        __m256i both[4];

        _mm256_storeu_ps(to->d, load_scales(&from, offset));
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m256i q[4];

            load_half(is_iq4_nl, &from, offset, half, both, q);
#pragma GCC unroll 4
            for (int g = 0; g < 4; g++)
                _mm256_storeu_si256((__m256i *)(void *)to->q[4 * half + g], q[g]);
        }
    }
}

typedef lifted_x ready_x;

static inline __attribute__((always_inline)) void prepare(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    sum_x(0, -128, tokens, blocks, x, x_stride, ready);
}

static inline __attribute__((always_inline)) void
multiply_tile(int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const __m512i lift = _mm512_set1_epi8((char)0x80);   // w + 128, without a sign
    const int32_t(*x_sum)[2][PIECE] = ready;
    __m512 sum[TOKENS];

#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        sum[t] = load_sums(panels, acc + t * acc_stride, from_0);
    for (int64_t b = 0; b < blocks;
         b++, w += sizeof(cpu_panel_q8_0_bytes), x += sizeof(cpu_block_q8)) {
        const cpu_panel_q8_0_bytes *first = (const void *)w, *second = (const void *)(w + w_stride);
        __m512 d = load_float_pair(panels, first->d, second->d);
        __m512i total[TOKENS];

#pragma GCC unroll 8
        for (int t = 0; t < tokens; t++)
            total[t] = _mm512_set1_epi32(x_sum[t][0][b]);
#pragma GCC unroll 8
        for (int g = 0; g < CPU_BLOCK / 4; g++) {
            __m512i q = _mm512_xor_si512(load_pair(panels, first->q[g], second->q[g]), lift);

#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++) {
                const cpu_block_q8 *block = (const void *)(x + t * x_stride);

                total[t] = _mm512_dpbusd_epi32(
                    total[t], q, _mm512_set1_epi32(load_i32((const char *)block->q + 4 * g)));
            }
        }
#pragma GCC unroll 8
        for (int t = 0; t < tokens; t++)
            sum[t] = add_scaled_pair(sum[t], _mm512_cvtepi32_ps(total[t]), d,
                                     (const void *)(x + t * x_stride));
    }
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        store_sums(panels, acc + t * acc_stride, sum[t]);
}

static inline __attribute__((always_inline)) tiles q8_0_tiles(ready_x ready)
{
    return (tiles){ .multiply = multiply_tile,
                    .prepare = prepare,
                    .ready = ready,
                    .panel_bytes = sizeof(cpu_panel_q8_0_bytes),
                    .panels = PANELS,
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

        total = _mm256_dpbusd_epi32(total, _mm256_abs_epi8(q[g]), _mm256_sign_epi8(four, q[g]));
    }
    return total;
}

#include "matmul_q8_0.inc"
