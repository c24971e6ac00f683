// matmul_q6_k_avx2.c: Q6_K weights times q8 activations, 8 rows at a time.
//
// A part of 32 has two scales of 8 bits. They are multiplied as integers, so that one step to F32
// does for the part: in place of ones they widen the sums of pairs to 32 bits (vpmaddwd).
//
// Byte products take one factor without a sign, the other with one. In a panel weights are q, -32
// to 31, and activations are raised by 128: pairs are at most 2 * 32 * 255 = 16320, and two of them
// fit 16 bits; what the 128 adds is known when the panel is made (cpu_panel_q6_k.offset). For one
// token there is no such time; weights stay as they are stored, q + 32, 0 to 63: pairs are at most
// 2 * 63 * 127 = 16002, and what the 32 adds is 32 times the scales times sums of 16 activations,
// which serve all 8 rows. All sums are exact and below 2^26, so the bits agree.
#include "../kernels.h"
#include "math_avx2.h"
#include "panel.h"
#include "panel_avx2.h"

#define GROUPS (CPU_BLOCK / 4)
#define TOKENS 4
#define PIECE  16   // blocks
#define SCALES 192
#define D      208

// scale[j]: byte k of lane r is scale 4 j + k of row r.
static inline __attribute__((always_inline)) void
load_scales_of_parts(const rows_of_8 *from, int64_t offset, __m256i scale[4])
{
    turn_rows(from, offset + SCALES, scale);
}

// Scales first and second of a row as two 16-bit numbers in its lane.
static inline __attribute__((always_inline)) __m256i two_scales(const __m256i scale[4], int first,
                                                                int second)
{
    // Each goes to the upper byte of its 16 bits, and a shift brings the sign.
    const __m256i lane = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0,
                                          0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const int place = (int)(0x00800080u | (unsigned)(first % 4) << 8 |
                            (unsigned)(second % 4) << 24);
    __m256i byte = _mm256_add_epi8(lane, _mm256_set1_epi32(place));

    return _mm256_srai_epi16(_mm256_shuffle_epi8(scale[first / 4], byte), 8);
}

// 16 elements of 4 parts: half i of parts 4 h to 4 h + 3, q[k][g] with elements 4 g to 4 g + 3 of
// part 4 h + k, 0 to 63.
static inline __attribute__((always_inline)) void
load_quarters(const rows_of_8 *from, int64_t offset, int h, int i, __m256i q[4][4])
{
    const __m256i low_bits = _mm256_set1_epi8(15), two = _mm256_set1_epi8(48);
    __m256i even[4], odd[4], upper[4];

    turn_rows(from, offset + 64 * h + 16 * i, even);
    turn_rows(from, offset + 64 * h + CPU_BLOCK + 16 * i, odd);
    turn_rows(from, offset + 128 + CPU_BLOCK * h + 16 * i, upper);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        q[0][g] = _mm256_or_si256(_mm256_and_si256(even[g], low_bits),
                                  _mm256_and_si256(_mm256_slli_epi16(upper[g], 4), two));
        q[1][g] = _mm256_or_si256(_mm256_and_si256(odd[g], low_bits),
                                  _mm256_and_si256(_mm256_slli_epi16(upper[g], 2), two));
        q[2][g] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(even[g], 4), low_bits),
                                  _mm256_and_si256(upper[g], two));
        q[3][g] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(odd[g], 4), low_bits),
                                  _mm256_and_si256(_mm256_srli_epi16(upper[g], 2), two));
    }
}

static inline __m256i as_vector(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

static inline void store_vector(void *at, __m256i value)
{
    _mm256_storeu_si256((__m256i *)at, value);
}

// Half i of a part to its panel, and what it adds to the offset.
static inline __attribute__((always_inline)) void pack_half(cpu_panel_q6_k *to, int i,
                                                            const __m256i q[4], __m256i scale)
{
    __m256i pairs = _mm256_setzero_si256(), offset;

    store_vector(to->scale[i], scale);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        __m256i signed_q = _mm256_sub_epi8(q[g], _mm256_set1_epi8(32));

        store_vector(to->q[4 * i + g], signed_q);
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(_mm256_set1_epi8(1), signed_q));
    }
    offset = _mm256_slli_epi32(_mm256_madd_epi16(pairs, scale), 7);
    store_vector(to->offset,
                 _mm256_sub_epi32(i ? as_vector(to->offset) : _mm256_setzero_si256(), offset));
}

static inline __attribute__((always_inline)) void pack(int is_packed, int64_t rows, int64_t blocks,
                                                       const void *w, int64_t stride, void *panel)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    int64_t offset = 0;

    for (int64_t b = 0; b < blocks; b += CPU_K_PARTS, offset += CPU_Q6_K_BYTES) {
        __m256 d = load_scales(&from, offset + D);
        __m256i scale[4];

        load_scales_of_parts(&from, offset, scale);
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                __m256i q[4][4];

                load_quarters(&from, offset, h, i, q);
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) {
                    const int s = 4 * h + k;
                    cpu_panel_q6_k *to = (cpu_panel_q6_k *)panel + b + s;

                    if (b + s >= blocks)
                        break;
                    _mm256_storeu_ps(to->d, d);
                    pack_half(to, i, q[k], two_scales(scale, 2 * s + i, 2 * s + i));
                }
            }
    }
}

void cpu_pack_q6_k_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    if (stride == CPU_PACKED)
        pack(1, rows, blocks, w, stride, panel);
    else
        pack(0, rows, blocks, w, stride, panel);
}

// acc + d * d_x * total, rounded in this order wherever a part is multiplied.
static inline __m256 add_part(__m256 acc, __m256i total, __m256 d, const cpu_block_q8 *x)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(x->d)), _mm256_cvtepi32_ps(total), acc);
}

// Activations of a few blocks, raised by 128.
typedef uint8_t raised_x[TOKENS][PIECE * CPU_BLOCK];

static inline __attribute__((always_inline)) void raise_x(int tokens, int64_t blocks, const char *x,
                                                          int64_t x_stride, raised_x to)
{
    for (int t = 0; t < tokens; t++, x += x_stride)
        for (int64_t b = 0; b < blocks; b++)
            store_vector(to[t] + b * CPU_BLOCK,
                         _mm256_xor_si256(as_vector(((const cpu_block_q8 *)(const void *)x)[b].q),
                                          _mm256_set1_epi8((char)0x80)));
}

static inline __attribute__((always_inline)) void tile(int tokens, int64_t blocks,
                                                       const cpu_panel_q6_k *w, const char *x,
                                                       int64_t x_stride, raised_x raised,
                                                       float *acc, int64_t acc_stride, int from_0)
{
    __m256 sum[TOKENS];

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

                total[t] = _mm256_add_epi32(total[t], _mm256_madd_epi16(pairs, scale));
                in_this_order(&total[t]);
            }
        }
#pragma GCC unroll 4
        for (int t = 0; t < tokens; t++)
            sum[t] = add_part(sum[t], total[t], d, (const void *)(x + t * x_stride));
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; t++)
        _mm256_storeu_ps(acc + t * acc_stride, sum[t]);
}

// All panels with 1 or TOKENS tokens, PIECE blocks at a time.
static inline __attribute__((always_inline)) void
multiply_tokens(int tokens, int64_t panels, int64_t blocks, const cpu_panel_q6_k *w, const char *x,
                int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    raised_x raised;
    int64_t b = 0;

    do {   // once for no blocks
        int64_t count = blocks - b < PIECE ? blocks - b : PIECE;
        const char *x_b = x + b * (int64_t)sizeof(cpu_block_q8);

        raise_x(tokens, count, x_b, x_stride, raised);
        for (int64_t p = 0; p < panels; p++)
            tile(tokens, count, w + p * blocks + b, x_b, x_stride, raised, acc + p * CPU_PANEL_ROWS,
                 acc_stride, from_0 && b == 0);
        b += PIECE;
    } while (b < blocks);
}

void cpu_matmul_q6_k_q8_avx2(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                             const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                             int from_0)
{
    const char *x_t = x;
    int64_t t = 0;

    for (; t + TOKENS <= tokens; t += TOKENS, x_t += TOKENS * x_stride, acc += TOKENS * acc_stride)
        multiply_tokens(TOKENS, panels, blocks, panel, x_t, x_stride, acc, acc_stride, from_0);
    for (; t < tokens; t++, x_t += x_stride, acc += acc_stride)
        multiply_tokens(1, panels, blocks, panel, x_t, x_stride, acc, acc_stride, from_0);
}

// For 4 blocks of activations: the sum of elements 0 to 15 and that of 16 to 31 as the two 16-bit
// halves of a word.
static inline __attribute__((always_inline)) __m128i sums_of_16(const cpu_block_q8 *x)
{
    __m256i four[4], all;   // four[b]: in each lane the sum of 4 elements of block b
    __m128i first, second;

#pragma GCC unroll 4
    for (int b = 0; b < 4; b++)
        four[b] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), as_vector(x[b].q)),
                                    _mm256_set1_epi16(1));
    all = _mm256_hadd_epi32(_mm256_hadd_epi32(four[0], four[1]),
                            _mm256_hadd_epi32(four[2], four[3]));
    first = _mm256_castsi256_si128(all);
    second = _mm256_extracti128_si256(all, 1);
    return _mm_blend_epi16(first, _mm_slli_epi32(second, 16), 0xaa);
}

// Parts 4 h to 4 h + 3 of the blocks at byte `offset` of row r with one token.
static inline __attribute__((always_inline)) __m256 multiply_four(const rows_of_8 *from,
                                                                  int64_t offset, int h,
                                                                  const __m256i scale[4], __m256 d,
                                                                  const cpu_block_q8 *x, __m256 acc)
{
    __m256i total[4];
    int32_t sums[4];

    _mm_storeu_si128((__m128i *)(void *)sums, sums_of_16(x));
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const int s = 4 * h + k;
        __m256i more = _mm256_madd_epi16(two_scales(scale, 2 * s, 2 * s + 1),
                                         _mm256_set1_epi32(sums[k]));

        total[k] = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(more, 5));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m256i q[4][4];

        load_quarters(from, offset, h, i, q);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const int j = 2 * (4 * h + k) + i;
            const char *q_x = (const char *)x[k].q + 16 * i;
            __m256i factor = two_scales(scale, j, j);

#pragma GCC unroll 2
            for (int g = 0; g < 4; g += 2) {
                __m256i pairs = _mm256_add_epi16(
                    _mm256_maddubs_epi16(q[k][g], _mm256_set1_epi32(load_i32(q_x + 4 * g))),
                    _mm256_maddubs_epi16(q[k][g + 1],
                                         _mm256_set1_epi32(load_i32(q_x + 4 * g + 4))));

                total[k] = _mm256_add_epi32(total[k], _mm256_madd_epi16(pairs, factor));
            }
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        acc = add_part(acc, total[k], d, x + k);
    return acc;
}

// Whole blocks of 256.
static inline __attribute__((always_inline)) void multiply_one(int is_packed, int64_t rows,
                                                               int64_t blocks, const void *w,
                                                               int64_t stride,
                                                               const cpu_block_q8 *x, float *acc)
{
    const rows_of_8 from = find_rows(is_packed, rows, w, stride);
    __m256 sum = _mm256_setzero_ps();

    for (int64_t b = 0; b < blocks; b++, x += CPU_K_PARTS) {
        int64_t offset = b * CPU_Q6_K_BYTES;
        __m256 d = load_scales(&from, offset + D);
        __m256i scale[4];

        load_scales_of_parts(&from, offset, scale);
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {   // twice 53 bytes on
            ask_ahead(&from, offset + 106 * h, 53, stride);
            ask_ahead(&from, offset + 106 * h + 53, 53, stride);
            sum = multiply_four(&from, offset, h, scale, d, x + 4 * h, sum);
        }
    }
    _mm256_storeu_ps(acc, sum);
}

void cpu_matvec_q6_k_q8_avx2(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             const void *x, float *acc)
{
    int64_t whole = blocks / CPU_K_PARTS, rest = blocks % CPU_K_PARTS;

    if (stride == CPU_PACKED)
        multiply_one(1, rows, whole, w, stride, x, acc);
    else
        multiply_one(0, rows, whole, w, stride, x, acc);
    matvec_by_panel(cpu_pack_q6_k_avx2, cpu_matmul_q6_k_q8_avx2, CPU_K_PARTS, CPU_Q6_K_BYTES, rows,
                    rest, blocks_on(w, stride, whole * CPU_Q6_K_BYTES), stride,
                    (const cpu_block_q8 *)x + whole * CPU_K_PARTS, acc, 0);
}
