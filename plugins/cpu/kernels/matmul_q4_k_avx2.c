// matmul_q4_k_avx2.c: Q4_K and Q5_K weights times q8 activations, 8 rows at a time. A part of 32 is
// d q + m, with one scale of an activation, so it is multiplied as a block of Q4_1 or Q5_1 is.
#include "../kernels.h"
#include "affine_avx2.h"
#include "panel.h"

// d * scale and -(dmin * min) of all parts.
typedef struct scales {
    __m256 d[CPU_K_PARTS], m[CPU_K_PARTS];
} scales;

// The first 16 bytes of a block, turned: d and dmin, then bytes 0 to 3, 4 to 7 and 8 to 11 of the
// scales, byte j of a word for parts j and 4 + j.
static inline __attribute__((always_inline)) void load_scales_of_parts(const rows_of_8 *from,
                                                                       int64_t offset, scales *to)
{
    const __m256i six = _mm256_set1_epi32(63), four = _mm256_set1_epi32(15),
                  upper = _mm256_set1_epi32(48);
    __m256i first[4];
    __m256 d, m;

    turn_rows(from, offset, first);
    split_scales(first[0], &d, &m);
    m = _mm256_xor_ps(m, _mm256_set1_ps(-0.0f));
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        __m256i a = _mm256_srli_epi32(first[1], 8 * j), b = _mm256_srli_epi32(first[2], 8 * j),
                c = _mm256_srli_epi32(first[3], 8 * j);
        __m256i scale = _mm256_and_si256(a, six), min = _mm256_and_si256(b, six);
        __m256i later_scale = _mm256_or_si256(_mm256_and_si256(c, four),
                                              _mm256_and_si256(_mm256_srli_epi32(a, 2), upper));
        __m256i later_min = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(c, 4), four),
                                            _mm256_and_si256(_mm256_srli_epi32(b, 2), upper));

        to->d[j] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(scale));
        to->m[j] = _mm256_mul_ps(m, _mm256_cvtepi32_ps(min));
        to->d[4 + j] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(later_scale));
        to->m[4 + j] = _mm256_mul_ps(m, _mm256_cvtepi32_ps(later_min));
    }
}

// The low bits of parts 2 c and 2 c + 1, from 32 bytes at byte `offset` of row r.
static inline __attribute__((always_inline)) void
load_two_parts(const rows_of_8 *from, int64_t offset, __m256i even[GROUPS], __m256i odd[GROUPS])
{
    const __m256i low_bits = _mm256_set1_epi8(15);
    __m256i both[GROUPS];

    turn_rows(from, offset, both);
    turn_rows(from, offset + 16, both + 4);
#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        even[g] = _mm256_and_si256(both[g], low_bits);
        odd[g] = _mm256_and_si256(_mm256_srli_epi16(both[g], 4), low_bits);
    }
}

// Bit s of each byte of fifths, as 16, to q.
static inline __attribute__((always_inline)) void add_fifths(const __m256i fifths[GROUPS], int s,
                                                             __m256i q[GROUPS])
{
    const __m256i fifth = _mm256_set1_epi8(16);

#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        __m256i in_place = s < 4 ? _mm256_slli_epi16(fifths[g], 4 - s)
                                 : _mm256_srli_epi16(fifths[g], s - 4);

        q[g] = _mm256_or_si256(q[g], _mm256_and_si256(in_place, fifth));
    }
}

// Parts 2 c and 2 c + 1 of the blocks at byte `offset` of row r; fifths NULL = Q4_K.
static inline __attribute__((always_inline)) void load_affine(const rows_of_8 *from, int64_t offset,
                                                              const scales *s,
                                                              const __m256i *fifths, int c,
                                                              affine to[2])
{
    load_two_parts(from, offset + (fifths ? 48 : 16) + CPU_BLOCK * c, to[0].q, to[1].q);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        if (fifths)
            add_fifths(fifths, 2 * c + i, to[i].q);
        to[i].d = s->d[2 * c + i];
        to[i].m = s->m[2 * c + i];
    }
}

static inline __attribute__((always_inline)) void load_fifths(const rows_of_8 *from, int64_t offset,
                                                              __m256i fifths[GROUPS])
{
    turn_rows(from, offset + 16, fifths);
    turn_rows(from, offset + 32, fifths + 4);
}

static inline __attribute__((always_inline)) void pack(int has_fifths, int is_packed, int64_t rows,
                                                       int64_t blocks, const void *w,
                                                       int64_t stride, cpu_panel_q4_1 *to)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    int64_t offset = 0;

    for (int64_t b = 0; b < blocks; b += CPU_K_PARTS) {
        __m256i fifths[GROUPS];
        scales s;

        load_scales_of_parts(&from, offset, &s);
        if (has_fifths)
            load_fifths(&from, offset, fifths);
#pragma GCC unroll 4
        for (int c = 0; c < CPU_K_PARTS / 2; c++) {
            affine part[2];

            load_affine(&from, offset, &s, has_fifths ? fifths : NULL, c, part);
            for (int i = 0; i < 2 && b + 2 * c + i < blocks; i++)
                store_panel(to + b + 2 * c + i, &part[i]);
        }
        offset += has_fifths ? CPU_Q5_K_BYTES : CPU_Q4_K_BYTES;
    }
}

void cpu_pack_q4_k_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(0, 1, rows, blocks, w, stride, panel);
    else
        pack(0, 0, rows, blocks, w, stride, panel);
}

void cpu_pack_q5_k_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(1, 1, rows, blocks, w, stride, panel);
    else
        pack(1, 0, rows, blocks, w, stride, panel);
}

// Whole blocks of 256.
static inline __attribute__((always_inline)) void multiply_one(int has_fifths, int is_packed,
                                                               int64_t rows, int64_t blocks,
                                                               const void *w, int64_t stride,
                                                               const cpu_block_q8 *x, float *acc)
{
    const int64_t bytes = has_fifths ? CPU_Q5_K_BYTES : CPU_Q4_K_BYTES;
    const int steps = has_fifths ? STEPS_OF_5_BITS : STEPS_OF_4_BITS;
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    __m256 sum = _mm256_setzero_ps();

    for (int64_t b = 0; b < blocks; b++, x += CPU_K_PARTS) {
        int64_t offset = b * bytes;
        __m256i fifths[GROUPS];
        scales s;

        load_scales_of_parts(&from, offset, &s);
        if (has_fifths)
            load_fifths(&from, offset, fifths);
#pragma GCC unroll 4
        for (int c = 0; c < CPU_K_PARTS / 2; c++) {
            affine part[2];

            if (c < 3)   // every 48 or 59 bytes
                ask_ahead(&from, offset + c * (bytes + 2) / 3, (bytes + 2) / 3, stride);
            load_affine(&from, offset, &s, has_fifths ? fifths : NULL, c, part);
            sum = multiply_block(steps, sum, &part[0], x + 2 * c);
            sum = multiply_block(steps, sum, &part[1], x + 2 * c + 1);
        }
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_matvec_q4_k_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    int64_t whole = blocks / CPU_K_PARTS, rest = blocks % CPU_K_PARTS;

    if (stride == CPU_PACKED)
        multiply_one(0, 1, rows, whole, w, stride, x, acc);
    else
        multiply_one(0, 0, rows, whole, w, stride, x, acc);
    matvec_by_panel(cpu_pack_q4_k_avx2, cpu_matmul_q4_1_q8_avx2, CPU_K_PARTS, CPU_Q4_K_BYTES, rows,
                    rest, blocks_on(w, stride, whole * CPU_Q4_K_BYTES), stride,
                    (const cpu_block_q8 *)x + whole * CPU_K_PARTS, acc, 0);
}

void cpu_matvec_q5_k_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    int64_t whole = blocks / CPU_K_PARTS, rest = blocks % CPU_K_PARTS;

    if (stride == CPU_PACKED)
        multiply_one(1, 1, rows, whole, w, stride, x, acc);
    else
        multiply_one(1, 0, rows, whole, w, stride, x, acc);
    matvec_by_panel(cpu_pack_q5_k_avx2, cpu_matmul_q5_1_q8_avx2, CPU_K_PARTS, CPU_Q5_K_BYTES, rows,
                    rest, blocks_on(w, stride, whole * CPU_Q5_K_BYTES), stride,
                    (const cpu_block_q8 *)x + whole * CPU_K_PARTS, acc, 0);
}
