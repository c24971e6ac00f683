// matmul_q5_avx2.c: Q5_0 and Q5_1 weights times q8 activations, 8 rows at a time.
#include "../kernels.h"
#include "affine_avx2.h"

// Adds the fifth bits to q: fifths has in lane r those of row r, bit i for element i.
//
// Group g looks at bits 4 g to 4 g + 3. A shuffle repeats their byte 4 times within the lane, once
// for each element, and a mask leaves each element its own bit, in the upper half of the byte: 16,
// 32, 64 or 128. The lesser of that and 16 is the fifth bit in its place. For groups of an even
// number, whose bits are the lower half of the byte, everything is shifted up by 4 first.
static inline __attribute__((always_inline)) void add_fifths(__m256i fifths, __m256i q[GROUPS])
{
    const __m256i repeat = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0,
                                            0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const __m256i own = _mm256_set1_epi32((int)0x80402010u), fifth = _mm256_set1_epi8(16);
    __m256i shifted = _mm256_slli_epi32(fifths, 4);

#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        __m256i byte = _mm256_add_epi8(repeat, _mm256_set1_epi8((char)(g / 2)));
        __m256i bits = _mm256_shuffle_epi8(g % 2 ? fifths : shifted, byte);

        q[g] = _mm256_or_si256(q[g], _mm256_min_epu8(_mm256_and_si256(bits, own), fifth));
    }
}

// The 8 blocks at byte `offset` of the rows: Q5_1, which has an m, or Q5_0. Scale and fifth bits
// are taken from the first 8 bytes of the block: turning 16 at once is cheaper than fetching twice
// from 8 rows. Q5_0, not packed:
//
//   first[0]  | d, 16 bits | fifths, lower 16 |      first[1]  | fifths, upper 16 | … |
static inline __attribute__((always_inline)) affine load_block(int has_m, const rows_of_8 *from,
                                                               int64_t offset)
{
    __m256i first[4], fifths;
    __m256 unused;
    affine w;

    if (has_m) {
        turn_rows(from, offset, first);   // d and m; fifths
        split_scales(first[0], &w.d, &w.m);
        fifths = first[1];
    } else if (from->is_packed) {
        w.d = load_scales(from, offset);
        fifths = load_words(from, offset + 2);
    } else {
        turn_rows(from, offset, first);
        split_scales(first[0], &w.d, &unused);
        fifths = _mm256_or_si256(_mm256_srli_epi32(first[0], 16), _mm256_slli_epi32(first[1], 16));
    }
    load_halves(from, offset + (has_m ? 8 : 6), w.q);
    add_fifths(fifths, w.q);
    if (!has_m)
        w.m = _mm256_mul_ps(w.d, _mm256_set1_ps(-16.0f));
    return w;
}

static inline __attribute__((always_inline)) void pack(int has_m, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, cpu_panel_q4_1 *to)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);

    for (int64_t b = 0; b < blocks; b++) {
        affine block = load_block(has_m, &from, b * (has_m ? CPU_Q5_1_BYTES : CPU_Q5_0_BYTES));

        store_panel(to + b, &block);
    }
}

static inline __attribute__((always_inline)) void multiply_one(int has_m, int is_packed,
                                                               int64_t rows, int64_t blocks,
                                                               const void *w, int64_t stride,
                                                               const cpu_block_q8 *x, float *acc)
{
    const int64_t bytes = has_m ? CPU_Q5_1_BYTES : CPU_Q5_0_BYTES;
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    __m256 sum = _mm256_setzero_ps();

    for (int64_t b = 0; b < blocks; b++) {
        affine block;

        if (is_packed || b % 2 == 0)   // every 44 or 48 bytes of a row
            ask_ahead(&from, b * bytes, bytes, stride);
        block = load_block(has_m, &from, b * bytes);
        sum = multiply_block(STEPS_OF_5_BITS, sum, &block, x + b);
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_pack_q5_0_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(0, 1, rows, blocks, w, stride, panel);
    else
        pack(0, 0, rows, blocks, w, stride, panel);
}

void cpu_pack_q5_1_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(1, 1, rows, blocks, w, stride, panel);
    else
        pack(1, 0, rows, blocks, w, stride, panel);
}

void cpu_matmul_q5_1_q8_avx2(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                             const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                             int from_0)
{
    multiply_panels(STEPS_OF_5_BITS, panels, tokens, blocks, panel, x, x_stride, acc, acc_stride,
                    from_0);
}

void cpu_matvec_q5_0_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    if (stride == CPU_PACKED)
        multiply_one(0, 1, rows, blocks, w, stride, x, acc);
    else
        multiply_one(0, 0, rows, blocks, w, stride, x, acc);
}

void cpu_matvec_q5_1_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    if (stride == CPU_PACKED)
        multiply_one(1, 1, rows, blocks, w, stride, x, acc);
    else
        multiply_one(1, 0, rows, blocks, w, stride, x, acc);
}
