// matmul_q6_k_avx512vnni.c: Q3_K and Q6_K weights times q8 activations. For several tokens a weight
// is raised by 32. A half of a part sums up to at most 16 * 32 * 127 = 65024, times a scale 2^23,
// and both halves together stay below 2^24: exact in F32, so that scales multiply there, in one
// instruction a half, and the bits are those of the level avx2.
#include "level_avx512vnni.h"
#include "pairs_avx512vnni.h"
#include "parts_of_16_avx2.h"

typedef lifted_x ready_x;

static inline __attribute__((always_inline)) void prepare(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    sum_x(1, -32, tokens, blocks, x, x_stride, ready);
}

// Scales stand twice in a lane.
static inline __m512 as_floats(__m512i scales)
{
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(scales, 16));
}

static inline __attribute__((always_inline)) void
multiply_tile(int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const int32_t(*x_sum)[2][PIECE] = ready;
    __m512 sum[TOKENS];

#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        sum[t] = load_sums(panels, acc + t * acc_stride, from_0);
    for (int64_t b = 0; b < blocks; b++, w += sizeof(cpu_panel_q6_k), x += sizeof(cpu_block_q8)) {
        const cpu_panel_q6_k *first = (const void *)w, *second = (const void *)(w + w_stride);
        __m512 d = load_float_pair(panels, first->d, second->d);
        __m512 part[TOKENS];

#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            __m512 scale = as_floats(load_pair(panels, first->scale[i], second->scale[i]));
            __m512i total[TOKENS];

#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++)
                total[t] = _mm512_set1_epi32(x_sum[t][i][b]);
#pragma GCC unroll 4
            for (int g = 4 * i; g < 4 * i + 4; g++) {
                __m512i q = _mm512_add_epi8(load_pair(panels, first->q[g], second->q[g]),
                                            _mm512_set1_epi8(32));

#pragma GCC unroll 8
                for (int t = 0; t < tokens; t++) {
                    const cpu_block_q8 *block = (const void *)(x + t * x_stride);

                    total[t] = _mm512_dpbusd_epi32(
                        total[t], q, _mm512_set1_epi32(load_i32((const char *)block->q + 4 * g)));
                }
            }
#pragma GCC unroll 8
            for (int t = 0; t < tokens; t++) {
                __m512 half = _mm512_cvtepi32_ps(total[t]);

                part[t] = i ? _mm512_fmadd_ps(half, scale, part[t]) : _mm512_mul_ps(half, scale);
            }
        }
#pragma GCC unroll 8
        for (int t = 0; t < tokens; t++)
            sum[t] = add_scaled_pair(sum[t], part[t], d, (const void *)(x + t * x_stride));
    }
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        store_sums(panels, acc + t * acc_stride, sum[t]);
}

static inline __attribute__((always_inline)) tiles q6_k_tiles(ready_x ready)
{
    return (tiles){ .multiply = multiply_tile,
                    .prepare = prepare,
                    .ready = ready,
                    .panel_bytes = sizeof(cpu_panel_q6_k),
                    .panels = PANELS,
                    .tokens = TOKENS };
}

#include "matmul_q6_k.inc"
