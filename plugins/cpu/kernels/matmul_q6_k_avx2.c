// matmul_q6_k_avx2.c: Q3_K and Q6_K weights times q8 activations, 8 rows at a time.
//
// A part of 32 has two scales of 8 bits. They are multiplied as integers, so that one step to F32
// does for the part: in place of ones they widen the sums of pairs to 32 bits (vpmaddwd).
//
// Byte products take one factor without a sign, the other with one. In a panel weights are q, -32
// to 31, and activations are raised by 128: pairs are at most 2 * 32 * 255 = 16320, and two of them
// fit 16 bits; what the 128 adds is known when the panel is made (cpu_panel_q6_k.offset). For one
// token there is no such time; weights stay as they are stored, q + 32, 0 to 63: pairs are at most
// 2 * 63 * 127 = 16002, and what the 32 adds is 32 times the scales times sums of 16 activations,
// which serve all 8 rows. Those of Q3_K are smaller: q is -4 to 3, stored as q + 4; for one token
// four pairs fit, 4 * 2 * 7 * 127 = 7112. All sums are exact and below 2^26, so the bits agree.
#include "level_avx2.h"
#include "parts_of_16_avx2.h"
#include "products_avx2.h"
#include "tiles.h"

#define GROUPS (CPU_BLOCK / 4)
#define TOKENS 4

// Activations of a few blocks, raised by 128.
typedef uint8_t ready_x[TOKENS][PIECE * CPU_BLOCK];

static inline __attribute__((always_inline)) void raise_x(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    uint8_t(*to)[PIECE * CPU_BLOCK] = ready;

    for (int t = 0; t < tokens; t++, x += x_stride)
        for (int64_t b = 0; b < blocks; b++)
            store_vector(to[t] + b * CPU_BLOCK,
                         _mm256_xor_si256(as_vector(((const cpu_block_q8 *)(const void *)x)[b].q),
                                          _mm256_set1_epi8((char)0x80)));
}

static inline __attribute__((always_inline)) void
multiply_tile(int panels, int tokens, int64_t blocks, const char *panel, int64_t w_stride,
              const char *x, int64_t x_stride, const void *ready, float *acc, int64_t acc_stride,
              int from_0)
{
    const cpu_panel_q6_k *w = (const void *)panel;
    const uint8_t(*raised)[PIECE * CPU_BLOCK] = ready;
    __m256 sum[TOKENS];

    (void)panels;   // one
    (void)w_stride;

#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        sum[t] = from_0 ? _mm256_setzero_ps() : _mm256_loadu_ps(acc + t * acc_stride);
    for (int64_t b = 0; b < blocks; b++, w++, x += sizeof(cpu_block_q8)) {
        __m256i total[TOKENS];
        __m256 d = _mm256_loadu_ps(w->d);

#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
            total[t] = as_vector(w->offset);
#pragma GCC unroll 4
        for (int g = 0; g < GROUPS; g += 2) {
            __m256i q[2] = { as_vector(w->q[g]), as_vector(w->q[g + 1]) };
            __m256i scale = as_vector(w->scale[g / 4]);

#pragma GCC unroll 4
            for (int t = 0; t < tokens; t++) {
                const char *q_x = (const char *)raised[t] + b * CPU_BLOCK + 4 * g;
                __m256i pairs = _mm256_add_epi16(
                    _mm256_maddubs_epi16(_mm256_set1_epi32(load_i32(q_x)), q[0]),
                    _mm256_maddubs_epi16(_mm256_set1_epi32(load_i32(q_x + 4)), q[1]));

                total[t] = add_products(total[t], pairs, scale);
                in_this_order(&total[t]);
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
            sum[t] = add_scaled(sum[t], total[t], d, (const void *)(x + t * x_stride));
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        _mm256_storeu_ps(acc + t * acc_stride, sum[t]);
}

static inline __attribute__((always_inline)) tiles q6_k_tiles(ready_x ready)
{
    return (tiles){ .multiply = multiply_tile,
                    .prepare = raise_x,
                    .ready = ready,
                    .block_bytes = sizeof(cpu_panel_q6_k),
                    .together = 1,
                    .panels = 1,
                    .tokens = TOKENS };
}

typedef cpu_panel_q6_k panel_q6_k;

// Half i of a part to its panel, and what it adds to the offset.
static inline __attribute__((always_inline)) void
store_half(panel_q6_k *to, int i, const __m256i signed_q[4], __m256i scale)
{
    __m256i pairs = _mm256_setzero_si256(), offset;

    store_vector(to->scale[i], scale);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        store_vector(to->q[4 * i + g], signed_q[g]);
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(_mm256_set1_epi8(1), signed_q[g]));
    }
    offset = _mm256_slli_epi32(_mm256_madd_epi16(pairs, scale), 7);
    store_vector(to->offset,
                 _mm256_sub_epi32(i ? as_vector(to->offset) : _mm256_setzero_si256(), offset));
}

#include "matmul_q6_k.inc"
