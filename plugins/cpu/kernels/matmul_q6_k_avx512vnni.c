// matmul_q6_k_avx512vnni.c: Q3_K and Q6_K weights times q8 activations. For several tokens a weight
// is raised by 32. A half of a part sums up to at most 16 * 32 * 127 = 65024, times a scale 2^23,
// and both halves together stay below 2^24: exact in F32, so that scales multiply there, in one
// instruction a half, and the bits are those of the level avx2.
#include "level_avx512vnni.h"
#include "parts_of_16_avx2.h"
#include "products_avx512vnni.h"
#include "tile_avx512vnni.h"

static inline __attribute__((always_inline)) void prepare(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    sum_x(1, Q6_K_LIFT, tokens, blocks, x, x_stride, ready);
}

static inline __attribute__((always_inline)) tiles q6_k_tiles(ready_x ready)
{
    tiles of = tiles_of(OF_Q6_K);

    of.prepare = prepare;
    of.ready = ready;
    return of;
}

// Half i of a part to its panel. The scale stands twice in a lane.
static inline __attribute__((always_inline)) void
store_half(panel_q6_k *to, int i, const __m256i signed_q[4], __m256i scale)
{
    _mm256_storeu_ps(to->scale[i], _mm256_cvtepi32_ps(_mm256_srai_epi32(scale, 16)));
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++)
        store_vector(to->q[4 * i + g], _mm256_add_epi8(signed_q[g], _mm256_set1_epi8(Q6_K_LIFT)));
}

#include "matmul_q6_k.inc"
