// matmul_q8_0_avx512vnni.c: Q8_0 and IQ4_NL weights times q8 activations. For several tokens a
// weight is raised by 128; for one token its size meets the activation with its sign, as at the
// level avx2.
#include "level_avx512vnni.h"
#include "q8_0_rows_avx2.h"
#include "tile_avx512vnni.h"

static inline __attribute__((always_inline)) void pack(int is_iq4_nl, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, void *panel)
{
    const __m256i lift = _mm256_set1_epi8((char)Q8_0_LIFT);
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    panel_q8_0 *to = panel;

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
                _mm256_storeu_si256((__m256i *)(void *)to->q[4 * half + g],
                                    _mm256_add_epi8(q[g], lift));
        }
    }
}

static inline __attribute__((always_inline)) void prepare(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, void *ready)
{
    sum_x(0, Q8_0_LIFT, tokens, blocks, x, x_stride, ready);
}

static inline __attribute__((always_inline)) tiles q8_0_tiles(ready_x ready)
{
    tiles of = tiles_of(OF_Q8_0);

    of.prepare = prepare;
    of.ready = ready;
    return of;
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
