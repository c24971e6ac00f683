// kernels_levels.c: every kernel of every level against the scalar one, at sizes around the
// vectors' length, with arrays allocated exactly. Bounds: conversions and packing are the same
// bits; sums and functions differ by their roundings.
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blocks.h"

static const int64_t sizes[] = { 0, 1, 3, 7, 8, 9, 15, 16, 31, 32, 33, 64, 65, 100, 257 };

#define SIZES (sizeof sizes / sizeof sizes[0])

static void *exact(size_t bytes)
{
    void *at = malloc(bytes ? bytes : 1);

    assert_non_null(at);
    memset(at, 0xff, bytes);
    return at;
}

static float *random_floats(int64_t n)
{
    float *x = exact((size_t)n * sizeof *x);

    for (int64_t i = 0; i < n; i++)
        x[i] = (float)random_between(-4, 4);
    return x;
}

// Blocks of a weight: any quants; scales, where a block has one or two at its start, are sane.
static char *random_blocks(int64_t blocks, int64_t block_bytes, int scales)
{
    char *at = exact((size_t)(blocks * block_bytes));

    for (int64_t i = 0; i < blocks * block_bytes; i++)
        at[i] = (char)(int)random_between(-128, 128);
    for (int64_t b = 0; b < blocks; b++)
        for (int s = 0; s < scales; s++) {
            uint16_t scale = (uint16_t)(0x1c00 + (int)random_between(0, 1000) +
                                        (random_between(0, 1) < 0.5 ? 0x8000 : 0));
            memcpy(at + b * block_bytes + 2 * s, &scale, sizeof scale);
        }
    return at;
}

static void near(const char *says, const char *level, int64_t n, const float *got,
                 const float *want, double bound)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= bound * fmax(1, fabs((double)want[i]))))
            fail_msg("%s, level %s, n %ld: element %ld is %.9g, the scalar kernel's %.9g", says,
                     level, (long)n, (long)i, (double)got[i], (double)want[i]);
}

static void elementwise_kernels_agree(void **state)
{
    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (size_t s = 0; s < SIZES; s++) {
            const cpu_kernels *k = test_level(l), *plain = test_level(0);
            int64_t n = sizes[s];
            float *a = random_floats(n), *b = random_floats(n), *got = random_floats(n),
                  *want = random_floats(n);

#define BINARY(name, bound)                                                                        \
    k->name(n, a, b, got);                                                                         \
    plain->name(n, a, b, want);                                                                    \
    near(#name, k->level, n, got, want, bound)
#define UNARY(name, bound)                                                                         \
    k->name(n, a, got);                                                                            \
    plain->name(n, a, want);                                                                       \
    near(#name, k->level, n, got, want, bound)
            BINARY(add, 0);
            BINARY(sub, 0);
            BINARY(mul, 0);
            BINARY(div, 0);
            BINARY(swiglu, 1e-6);
            BINARY(geglu, 2e-6);
            UNARY(neg, 0);
            UNARY(relu, 0);
            UNARY(exp, 4e-7);
            UNARY(tanh, 5e-7);
            UNARY(sigmoid, 5e-7);
            UNARY(silu, 1e-6);
            UNARY(gelu, 2e-6);
            plain->mul(n, a, a, a);
            UNARY(sqrt, 0);
            k->scale(n, a, 0.3f, 0.7f, got);
            plain->scale(n, a, 0.3f, 0.7f, want);
            near("scale", k->level, n, got, want, 0);
            k->blend(n, a, 0.3f, b, 0.7f, got);
            plain->blend(n, a, 0.3f, b, 0.7f, want);
            near("blend", k->level, n, got, want, 1e-6);
#undef BINARY
#undef UNARY
            free(a);
            free(b);
            free(got);
            free(want);
        }
}

static void row_kernels_agree(void **state)
{
    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (size_t s = 0; s < SIZES; s++) {
            const cpu_kernels *k = test_level(l), *plain = test_level(0);
            int64_t n = sizes[s], pairs = n / 2;
            float *a = random_floats(n), *b = random_floats(n), *got = random_floats(n),
                  *want = random_floats(n);
            float sum_got, sum_want, top_got, top_want;

            k->rms_norm(n, a, b, 1e-5f, got);
            plain->rms_norm(n, a, b, 1e-5f, want);
            near("rms_norm", k->level, n, got, want, 2e-6);
            k->rms_norm(n, a, NULL, 1e-5f, got);
            plain->rms_norm(n, a, NULL, 1e-5f, want);
            near("rms_norm without weight", k->level, n, got, want, 2e-6);
            k->rope_normal(pairs, a, b, b + pairs, got);
            plain->rope_normal(pairs, a, b, b + pairs, want);
            near("rope_normal", k->level, 2 * pairs, got, want, 1e-6);
            k->rope_neox(pairs, a, b, b + pairs, got);
            plain->rope_neox(pairs, a, b, b + pairs, want);
            near("rope_neox", k->level, 2 * pairs, got, want, 1e-6);
            assert_int_equal(k->argmax(n, a), plain->argmax(n, a));
            memcpy(got, a, (size_t)n * sizeof *a);
            memcpy(want, a, (size_t)n * sizeof *a);
            top_got = k->softmax_part(n, got, &sum_got);
            top_want = plain->softmax_part(n, want, &sum_want);
            assert_true(top_got == top_want);
            near("softmax_part", k->level, n, got, want, 1e-6);
            near("sum of softmax_part", k->level, 1, &sum_got, &sum_want, 1e-6);
            k->softmax(n, a);
            plain->softmax(n, b);
            free(a);
            free(b);
            free(got);
            free(want);
        }
}

static void decoding_and_encoding_agree_bit_for_bit(void **state)
{
    static const struct {
        int64_t block, bytes;
        int scales;
    } forms[] = { { 1, 2, 0 }, { 32, 34, 1 }, { 32, 20, 2 }, { 32, sizeof(cpu_block_q8), 0 } };

    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (size_t s = 0; s < SIZES; s++)
            for (int f = 0; f < 4; f++) {
                const cpu_kernels *k = test_level(l), *plain = test_level(0);
                cpu_decode_kernel *decode[2][3] = {
                    { plain->decode_f16, plain->decode_q8_0, plain->decode_q4_1 },
                    { k->decode_f16, k->decode_q8_0, k->decode_q4_1 }
                };
                cpu_encode_kernel *encode[2][4] = {
                    { plain->encode_f16, plain->encode_q8_0, NULL, plain->encode_q8 },
                    { k->encode_f16, k->encode_q8_0, NULL, k->encode_q8 }
                };
                int64_t n = sizes[s] * forms[f].block, blocks = sizes[s];
                size_t bytes = (size_t)(blocks * forms[f].bytes);
                float *x = random_floats(n), *want = random_floats(n);
                char *from = random_blocks(blocks, forms[f].bytes, forms[f].scales),
                     *to[2] = { exact(bytes), exact(bytes) };

                for (int64_t i = 0; f == 0 && i < blocks;
                     i++)   // F16 without NaN, whose payloads may differ
                    from[2 * i + 1] &= (char)0xbf;
                if (f < 3) {
                    decode[0][f](n, from, want);
                    decode[1][f](n, from, x);
                    assert_memory_equal(x, want, (size_t)n * sizeof *x);
                }
                for (int64_t i = 0; i < n; i++)
                    x[i] = (float)random_between(-4, 4);
                if (n > 64) {   // blocks of zeros, of tiny numbers, with infinity and with NaN
                    for (int i = 0; i < 32; i++) {
                        x[i] = 0;
                        x[32 + i] *= 1e-9f;
                    }
                    x[n - 1] = f == 0 ? INFINITY : n % 64 ? NAN : INFINITY;
                }
                if (encode[0][f]) {
                    encode[0][f](n, x, to[0]);
                    encode[1][f](n, x, to[1]);
                    if (f == 3)   // NaN may differ in its bits
                        for (int64_t b = 0; b < blocks; b++) {
                            cpu_block_q8 *pair[2] = { (cpu_block_q8 *)(void *)to[0] + b,
                                                      (cpu_block_q8 *)(void *)to[1] + b };

                            assert_memory_equal(pair[0]->q, pair[1]->q, sizeof pair[0]->q);
                            assert_true(pair[0]->d == pair[1]->d ||
                                        (isnan(pair[0]->d) && isnan(pair[1]->d)));
                            assert_true(pair[0]->sum == pair[1]->sum ||
                                        (isnan(pair[0]->sum) && isnan(pair[1]->sum)));
                        }
                    else
                        assert_memory_equal(to[0], to[1], bytes);
                }
                free(x);
                free(want);
                free(from);
                free(to[0]);
                free(to[1]);
            }
}

static void products_in_floats_agree(void **state)
{
    static const int64_t counts[] = { 1, 2, 3, 4, 5, 7, 8 };

    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (size_t s = 0; s < SIZES; s++)
            for (int c = 0; c < 49; c++) {
                const cpu_kernels *k = test_level(l), *plain = test_level(0);
                int64_t n = sizes[s], rows = counts[c % 7], tokens = counts[c / 7];
                float *w = random_floats(rows * n), *x = random_floats(tokens * n);
                float *got = random_floats(rows * tokens), *want = random_floats(rows * tokens);
                float *sums[2] = { random_floats(tokens * n), random_floats(tokens * n) },
                      *p = random_floats(tokens * rows);
                uint16_t *half = exact((size_t)(rows * n) * sizeof *half);
                int64_t bytes = n * (int64_t)sizeof(float);

                plain->encode_f16(rows * n, w, half);
                k->matmul_f32(rows, tokens, n, w, bytes, x, bytes, got, rows);
                plain->matmul_f32(rows, tokens, n, w, bytes, x, bytes, want, rows);
                near("matmul_f32", k->level, rows * tokens, got, want, 2e-4);
                k->matmul_f16(rows, tokens, n, half, bytes / 2, x, bytes, got, rows);
                plain->matmul_f16(rows, tokens, n, half, bytes / 2, x, bytes, want, rows);
                near("matmul_f16", k->level, rows * tokens, got, want, 2e-4);
                k->row_sums_f32(tokens, rows, n, p, rows, w, bytes, sums[0], n);
                plain->row_sums_f32(tokens, rows, n, p, rows, w, bytes, sums[1], n);
                near("row_sums_f32", k->level, tokens * n, sums[0], sums[1], 2e-5);
                k->row_sums_f16(tokens, rows, n, p, rows, half, bytes / 2, sums[0], n);
                plain->row_sums_f16(tokens, rows, n, p, rows, half, bytes / 2, sums[1], n);
                near("row_sums_f16", k->level, tokens * n, sums[0], sums[1], 2e-5);
                free(w);
                free(x);
                free(got);
                free(want);
                free(sums[0]);
                free(sums[1]);
                free(p);
                free(half);
            }
}

// Rows of F16 and Q8_0 in products and sums, against the same rows decoded. Of the last block of
// Q8_0 elements from n on would be infinite: they must not be touched.
static void rows_decoded_in_a_product_give_the_bits_of_decoded_rows(void **state)
{
    static const int64_t counts[] = { 1, 2, 3, 4, 6, 7, 64 };

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (size_t s = 0; s < SIZES; s++)
            for (int c = 0; c < 49; c++)
                for (int is_q8_0 = 0; is_q8_0 < 2; is_q8_0++) {
                    const cpu_kernels *k = test_level(l);
                    int64_t n = sizes[s], rows = counts[c % 7], tokens = counts[c / 7],
                            blocks = (n + 31) / 32, room = blocks * 32,
                            stride = is_q8_0 ? blocks * CPU_Q8_0_BYTES : room * 2,
                            bytes = room * (int64_t)sizeof(float);
                    char *w = random_blocks(rows * blocks, is_q8_0 ? CPU_Q8_0_BYTES : 64, is_q8_0);
                    float *decoded = random_floats(rows * room), *x = random_floats(tokens * room),
                          *p = random_floats(tokens * rows);
                    float *products[2] = { random_floats(rows * tokens),
                                           random_floats(rows * tokens) },
                          *sums[2] = { random_floats(tokens * n), random_floats(tokens * n) };

                    for (int64_t i = 0; !is_q8_0 && i < rows * room; i++)   // F16 that is finite
                        w[2 * i + 1] &= (char)0xbf;
                    if (is_q8_0 && n % 32)
                        memcpy(w + (rows - 1) * stride + (blocks - 1) * CPU_Q8_0_BYTES,
                               &(uint16_t){ 0x7c00 }, 2);
                    (is_q8_0 ? test_level(0)->decode_q8_0 : test_level(0)->decode_f16)(rows * room,
                                                                                       w, decoded);
                    (is_q8_0 ? k->matmul_q8_0 : k->matmul_f16)(rows, tokens, n, w, stride, x, bytes,
                                                               products[0], rows);
                    k->matmul_f32(rows, tokens, n, decoded, bytes, x, bytes, products[1], rows);
                    assert_memory_equal(products[0], products[1],
                                        (size_t)(rows * tokens) * sizeof(float));
                    (is_q8_0 ? k->row_sums_q8_0 : k->row_sums_f16)(tokens, rows, n, p, rows, w,
                                                                   stride, sums[0], n);
                    k->row_sums_f32(tokens, rows, n, p, rows, decoded, bytes, sums[1], n);
                    assert_memory_equal(sums[0], sums[1], (size_t)(tokens * n) * sizeof(float));
                    free(w);
                    free(decoded);
                    free(x);
                    free(p);
                    for (int i = 0; i < 2; i++) {
                        free(products[i]);
                        free(sums[i]);
                    }
                }
}

// Of a panel that is alone.
static size_t panel_bytes(const cpu_kernels *k, int is_q4_1, int64_t blocks)
{
    int64_t bytes = is_q4_1 ? (int64_t)sizeof(cpu_panel_q4_1) : k->panel_q8_0_bytes;

    return (size_t)(blocks * k->panels_together * bytes);
}

// Integer sums are exact, so levels differ by the roundings of two products and sums a block: 1e-6
// of the largest term a block.
static void products_in_integers_agree(void **state)
{
    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (int64_t rows = 1; rows <= 8; rows++)
            for (int64_t blocks = 0; blocks < 6; blocks++)
                for (int f = 0; f < 2; f++) {
                    const cpu_kernels *k = test_level(l), *plain = test_level(0);
                    int64_t bytes = f ? CPU_Q4_1_BYTES : CPU_Q8_0_BYTES, tokens = rows + 1;
                    char *w = random_blocks(rows * blocks, bytes, f + 1);
                    void *panel[2] = { exact(panel_bytes(plain, f, blocks)),
                                       exact(panel_bytes(k, f, blocks)) };
                    float *x = random_floats(tokens * blocks * 32),
                          *acc[2] = { random_floats(tokens * 8), random_floats(tokens * 8) }, *one;
                    cpu_block_q8 *q = exact((size_t)(tokens * blocks) * sizeof *q);
                    int64_t stride = blocks * (int64_t)sizeof *q;

                    plain->encode_q8(tokens * blocks * 32, x, q);
                    (f ? plain->pack_q4_1 : plain->pack_q8_0)(rows, blocks, w, blocks * bytes,
                                                              panel[0]);
                    (f ? k->pack_q4_1 : k->pack_q8_0)(rows, blocks, w, blocks * bytes, panel[1]);
                    (f ? plain->matmul_q4_1_q8 : plain->matmul_q8_0_q8)(1, tokens, blocks, panel[0],
                                                                        q, stride, acc[0], 8, 1);
                    (f ? k->matmul_q4_1_q8 : k->matmul_q8_0_q8)(1, tokens, blocks, panel[1], q,
                                                                stride, acc[1], 8, 1);
                    near("matmul in integers", k->level, tokens * 8, acc[1], acc[0], 1e-5);
                    one = random_floats(8);
                    memset(one, 0, 8 * sizeof(float));
                    (f ? k->matvec_q4_1_q8 : k->matvec_q8_0_q8)(rows, blocks, w, blocks * bytes, q,
                                                                one);
                    assert_memory_equal(one, acc[1], 8 * sizeof(float));
                    free(w);
                    free(panel[0]);
                    free(panel[1]);
                    free(x);
                    free(acc[0]);
                    free(acc[1]);
                    free(one);
                    free(q);
                }
}

// The largest products that can be: 15 or -128 times 127, all of one sign.
static void the_largest_products_do_not_overflow(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int f = 0; f < 2; f++)
            for (int sign = 0; sign < 2; sign++) {
                const cpu_kernels *k = test_level(l);
                char w[CPU_Q8_0_BYTES];
                uint16_t unit = 0x3c00;   // 1
                cpu_block_q8 x = { .d = 1, .sum = 0 };
                cpu_panel_q8_0 panel[2];   // or a pair of smaller ones
                float acc[8] = { 0 }, one[8] = { 0 };
                int bytes = f ? CPU_Q4_1_BYTES : CPU_Q8_0_BYTES;
                float want = (f ? 15.0f : -128.0f) * 127.0f * 32.0f * (sign ? -1.0f : 1.0f);

                memset(w, f ? 0xff : 0x80, sizeof w);
                memcpy(w, &unit, 2);
                if (f)
                    memcpy(w + 2, &(uint16_t){ 0 }, 2);
                memset(x.q, sign ? -127 : 127, sizeof x.q);
                (f ? k->pack_q4_1 : k->pack_q8_0)(1, 1, w, bytes, panel);
                (f ? k->matmul_q4_1_q8 : k->matmul_q8_0_q8)(1, 1, 1, panel, &x, sizeof x, acc, 8,
                                                            1);
                (f ? k->matvec_q4_1_q8 : k->matvec_q8_0_q8)(1, 1, w, bytes, &x, one);
                assert_true(acc[0] == want && one[0] == want);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_kernels_agree),
        cmocka_unit_test(row_kernels_agree),
        cmocka_unit_test(decoding_and_encoding_agree_bit_for_bit),
        cmocka_unit_test(products_in_floats_agree),
        cmocka_unit_test(rows_decoded_in_a_product_give_the_bits_of_decoded_rows),
        cmocka_unit_test(products_in_integers_agree),
        cmocka_unit_test(the_largest_products_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
