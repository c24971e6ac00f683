// kernels_blocks.c: block types: decoding against the data of tests/data/quant, products in
// integers against the decoded blocks, the levels against each other, and the ops that take
// every type. Arrays are allocated exactly.
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../quant/data.h"
#include "kernels/blocks.h"
#include "pack.h"

static void *exact(size_t bytes)
{
    void *at = malloc(bytes ? bytes : 1);

    assert_non_null(at);
    memset(at, 0xff, bytes);
    return at;
}

// What the kernels of one type are, at one level.
typedef struct way {
    const char *name;
    tnp_dtype dtype;
    cpu_decode_kernel *decode;
    cpu_pack_kernel *pack;   // NULL = there are no products in integers
    cpu_matmul_q8_kernel *multiply;
    cpu_matvec_q8_kernel *multiply_one;
    int64_t panels_together, panel_bytes;
    int scales[2];   // bytes where F16 stand in a block; 0 = none, but for the first
    int half;        // byte of the F16 that is no part of a word, when packed; -1 = none
} way;

#define DECODED(lower, UPPER)                                                                      \
    {                                                                                              \
        .name = #UPPER, .dtype = TNP_DTYPE_##UPPER, .decode = k->decode_##lower                    \
    }
#define MULTIPLIED(lower, UPPER, shared, ...)                                                      \
    {                                                                                              \
#UPPER, TNP_DTYPE_##UPPER, k->decode_##lower, k->pack_##lower, k->matmul_##shared##_q8,    \
            k->matvec_##lower##_q8, k->panels_together, __VA_ARGS__                                \
    }

enum { DECODED_TYPES = 13, MULTIPLIED_TYPES = 11 };

static way way_of(const cpu_kernels *k, int type)   // those with products come first
{
    const way ways[DECODED_TYPES] = {
        MULTIPLIED(q4_0, Q4_0, q4_1, sizeof(cpu_panel_q4_1), { 0, 0 }, 0),
        MULTIPLIED(q4_1, Q4_1, q4_1, sizeof(cpu_panel_q4_1), { 0, 2 }, -1),
        MULTIPLIED(q5_0, Q5_0, q5_1, sizeof(cpu_panel_q4_1), { 0, 0 }, 0),
        MULTIPLIED(q5_1, Q5_1, q5_1, sizeof(cpu_panel_q4_1), { 0, 2 }, -1),
        MULTIPLIED(q8_0, Q8_0, q8_0, k->panel_q8_0_bytes, { 0, 0 }, 0),
        MULTIPLIED(iq4_nl, IQ4_NL, q8_0, k->panel_q8_0_bytes, { 0, 0 }, 0),
        MULTIPLIED(q2_k, Q2_K, q2_k, sizeof(cpu_panel_q2_k), { 80, 82 }, -1),
        MULTIPLIED(q3_k, Q3_K, q6_k, k->panel_q6_k_bytes, { 108, 0 }, 108),
        MULTIPLIED(q4_k, Q4_K, q4_1, sizeof(cpu_panel_q4_1), { 0, 2 }, -1),
        MULTIPLIED(q5_k, Q5_K, q5_1, sizeof(cpu_panel_q4_1), { 0, 2 }, -1),
        MULTIPLIED(q6_k, Q6_K, q6_k, k->panel_q6_k_bytes, { 208, 0 }, 208),
        DECODED(f16, F16),
        DECODED(bf16, BF16),
    };

    return ways[type];
}

static void blocks_decode_as_gguf_decodes_them(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++) {
            way w = way_of(test_level(l), type);
            const data_section *s = data_find(DATA_DECODE, w.dtype);
            uint32_t n = s ? s->after_bytes / 4 : 0, block = data_block_elements(w.dtype);
            void *blocks = s ? memcpy(exact(s->before_bytes), s->before, s->before_bytes) : NULL;
            float *got = exact(n * sizeof *got);

            assert_true(n > 0);
            w.decode(n, blocks, got);
            for (uint32_t i = 0; i < n; i++) {
                float want;

                memcpy(&want, s->after + 4 * i, sizeof want);
                if (data_bits(got + i) != data_bits(&want))
                    fail_msg("%s, level %s: element %u of block %u decodes to %.9g, not to %.9g",
                             w.name, test_level(l)->level, i % block, i / block, (double)got[i],
                             (double)want);
            }
            free(blocks);
            free(got);
        }
}

static void many_blocks_decode_as_gguf_decodes_them(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++) {
            way w = way_of(test_level(l), type);
            const data_section *s = data_find(DATA_DECODE, w.dtype);
            size_t bytes = (size_t)s->many * data_block_bytes(w.dtype),
                   n = (size_t)s->many * data_block_elements(w.dtype);
            unsigned char *blocks = exact(bytes);
            float *got = exact(n * sizeof *got);

            if (data_block_elements(w.dtype) == 1)
                data_patterns(blocks);
            else
                data_random_bytes(s->seed, bytes, blocks);
            w.decode((int64_t)n, blocks, got);
            if (data_checksum_floats(n, got) != s->checksum)
                fail_msg("%s, level %s: the checksum of %zu elements is wrong", w.name,
                         test_level(l)->level, n);
            free(blocks);
            free(got);
        }
}

static void any_count_of_blocks_is_decoded(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++)
            for (int64_t blocks = 0; blocks < 20; blocks++) {
                way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
                size_t n = (size_t)blocks * data_block_elements(w.dtype),
                       bytes = (size_t)blocks * data_block_bytes(w.dtype);
                unsigned char *from = exact(bytes);
                float *got = exact(n * sizeof *got), *want = exact(n * sizeof *want);

                data_random_bytes(7, bytes, from);
                w.decode((int64_t)n, from, got);
                plain.decode((int64_t)n, from, want);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(data_bits(got + i), data_bits(want + i));
                free(from);
                free(got);
                free(want);
            }
}

// Rows of a weight and tokens of activations, in exactly as many bytes as they need.
typedef struct product {
    int64_t rows, tokens, blocks, stride, x_stride;
    char *w;
    cpu_block_q8 *x;
} product;

static product make_product(const way *w, int64_t rows, int64_t tokens, int64_t blocks)
{
    int64_t elements = data_block_elements(w->dtype), bytes = data_block_bytes(w->dtype);
    int64_t w_blocks = (blocks * CPU_BLOCK + elements - 1) / elements,
            n = tokens * blocks * CPU_BLOCK;
    product p = { rows,
                  tokens,
                  blocks,
                  w_blocks * bytes,
                  blocks * (int64_t)sizeof(cpu_block_q8),
                  .w = exact((size_t)(rows * w_blocks * bytes)),
                  .x = exact((size_t)(tokens * blocks) * sizeof(cpu_block_q8)) };
    float *x = exact((size_t)n * sizeof *x);

    for (int64_t i = 0; i < rows * w_blocks * bytes; i++)
        p.w[i] = (char)(int)random_between(-128, 128);
    for (int64_t b = 0; b < rows * w_blocks; b++)
        for (int s = 0; s < 2; s++) {   // sane scales, of either sign
            uint16_t scale = (uint16_t)(0x1c00 + (int)random_between(0, 1000) +
                                        (random_between(0, 1) < 0.5 ? 0x8000 : 0));

            if (s == 0 || w->scales[s] != 0)
                memcpy(p.w + b * bytes + w->scales[s], &scale, sizeof scale);
        }
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)random_between(-4, 4);
    test_level(0)->encode_q8(n, x, p.x);
    free(x);
    return p;
}

static void free_product(product *p)
{
    free(p->w);
    free(p->x);
}

// Room for panels, which may lie in pairs; all bytes 0.
static char *room_for(const way *w, int64_t panels, int64_t blocks)
{
    int64_t rest = panels % w->panels_together,
            all = panels + (rest ? w->panels_together - rest : 0);
    size_t bytes = (size_t)(all * blocks * w->panel_bytes);

    return memset(exact(bytes), 0, bytes);
}

// By way of a panel, which is made in two pieces where it is long, as the op makes it.
static float *multiply(const way *w, const product *p, int64_t piece)
{
    float *acc = exact((size_t)(p->tokens * CPU_PANEL_ROWS) * sizeof *acc);
    int64_t parts = data_block_elements(w->dtype) / CPU_BLOCK;

    int64_t b = 0;

    do {
        int64_t count = p->blocks - b < piece ? p->blocks - b : piece;
        char *panel = room_for(w, 1, count);

        w->pack(p->rows, count, p->w + b / parts * data_block_bytes(w->dtype), p->stride, panel);
        w->multiply(1, p->tokens, count, panel, p->x + b, p->x_stride, acc, CPU_PANEL_ROWS, b == 0);
        free(panel);
        b += piece;
    } while (b < p->blocks);
    return acc;
}

// The sum of products of decoded blocks in F64, and the sum of their sizes.
static double exact_product(const way *plain, const product *p, int64_t r, int64_t t, double *size)
{
    int64_t n = p->stride / data_block_bytes(plain->dtype) * data_block_elements(plain->dtype);
    float *row = exact((size_t)n * sizeof *row);
    double sum = 0;

    plain->decode(n, p->w + (r < p->rows ? r : p->rows - 1) * p->stride, row);
    *size = 0;
    for (int64_t b = 0; b < p->blocks; b++)
        for (int i = 0; i < CPU_BLOCK; i++) {
            const cpu_block_q8 *x = p->x + t * p->blocks + b;
            double term = (double)row[b * CPU_BLOCK + i] * (double)x->d * x->q[i];

            sum += term;
            *size += fabs(term);
        }
    free(row);
    return sum;
}

// Integer sums are exact; each block adds a few roundings of terms no larger than the sum of
// sizes, but for m: of Q4_0 and Q5_0 it is the size of the largest weight, so terms may be larger
// by 8.
static void products_are_those_of_decoded_blocks(void **state)
{
    static const int64_t counts[] = { 0, 1, 2, 7, 8, 9, 16, 19 };

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int c = 0; c < 8; c++)
                for (int64_t rows = 1; rows <= 8; rows++) {
                    way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
                    product p = make_product(&w, rows, 2 * rows - 1, counts[c]);
                    float *acc = multiply(&w, &p, 32);

                    for (int64_t t = 0; t < p.tokens; t++)
                        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
                            double size, want = exact_product(&plain, &p, r, t, &size);
                            double got = (double)acc[t * CPU_PANEL_ROWS + r];

                            if (!(fabs(got - want) <= 2e-6 * size))
                                fail_msg("%s, level %s, %ld blocks: row %ld of %ld, token %ld is "
                                         "%.9g, not %.9g (terms of %g)",
                                         w.name, test_level(l)->level, (long)counts[c], (long)r,
                                         (long)rows, (long)t, got, want, size);
                        }
                    free(acc);
                    free_product(&p);
                }
}

// A panel of Q8_0 that a level keeps as bytes, as the words of the scalar level.
static void *widen_panel(int64_t blocks, cpu_panel_q8_0_bytes *panel)
{
    cpu_panel_q8_0 *to = exact((size_t)blocks * sizeof *to);

    for (int64_t b = 0; b < blocks; b++) {
        memcpy(to[b].d, panel[b].d, sizeof to->d);
        for (int i = 0; i < CPU_BLOCK * CPU_PANEL_ROWS; i++) {
            int r = i % CPU_PANEL_ROWS, e = i / CPU_PANEL_ROWS;

            to[b].q[e / 2][r][e % 2] = panel[b].q[e / 4][r][e % 4];
        }
    }
    free(panel);
    return to;
}

// Where they lie in pairs, what they keep is the level's: products tell of those.
static void panels_are_those_of_the_scalar_level(void **state)
{
    (void)state;
    for (uint32_t l = 1; test_level(l) && test_level(l)->panels_together == 1; l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int64_t rows = 1; rows <= 8; rows++)
                for (int64_t blocks = 0; blocks < 18; blocks++) {
                    way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
                    product p = make_product(&w, rows, 1, blocks);
                    size_t bytes = (size_t)(blocks * plain.panel_bytes);
                    void *panel[2] = { room_for(&plain, 1, blocks), room_for(&w, 1, blocks) };

                    plain.pack(rows, blocks, p.w, p.stride, panel[0]);
                    w.pack(rows, blocks, p.w, p.stride, panel[1]);
                    if (w.panel_bytes != plain.panel_bytes)
                        panel[1] = widen_panel(blocks, panel[1]);
                    if (bytes && memcmp(panel[0], panel[1], bytes) != 0)
                        fail_msg("%s, level %s: %ld blocks of %ld rows are packed otherwise",
                                 w.name, test_level(l)->level, (long)blocks, (long)rows);
                    free(panel[0]);
                    free(panel[1]);
                    free_product(&p);
                }
}

// The bits of a result do not depend on the tokens beside it, on how its panel is cut, or on
// whether there is one.
static void one_token_gives_the_bits_of_many(void **state)
{
    enum { MANY = 13 };   // tiles of all sizes

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int64_t rows = 1; rows <= 8; rows++)
                for (int64_t blocks = 0; blocks < 20; blocks++) {
                    way w = way_of(test_level(l), type);
                    product p = make_product(&w, rows, MANY, blocks);
                    float *many = multiply(&w, &p, 32), *cut = multiply(&w, &p, 8);

                    assert_memory_equal(many, cut, MANY * CPU_PANEL_ROWS * sizeof(float));
                    for (int64_t t = 0; t < p.tokens; t++) {
                        float *one = exact(CPU_PANEL_ROWS * sizeof *one);
                        cpu_block_q8 *x = exact((size_t)p.x_stride);

                        memset(one, 0, CPU_PANEL_ROWS * sizeof *one);
                        memcpy(x, p.x + t * blocks, (size_t)p.x_stride);
                        w.multiply_one(rows, blocks, p.w, p.stride, x, one);
                        if (memcmp(one, many + t * CPU_PANEL_ROWS, CPU_PANEL_ROWS * sizeof *one))
                            fail_msg("%s, level %s: %ld rows, %ld blocks, token %ld", w.name,
                                     test_level(l)->level, (long)rows, (long)blocks, (long)t);
                        free(one);
                        free(x);
                    }
                    free(many);
                    free(cut);
                    free_product(&p);
                }
}

// Sums are exact in integers, and added to in one order: where the processor has fused products, in
// two roundings a block.
static void vectors_of_any_width_give_the_same_bits(void **state)
{
    const cpu_kernels *first = NULL;

    (void)state;
    for (uint32_t l = 1; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int64_t blocks = 0; blocks < 20; blocks++) {
                way w = way_of(test_level(l), type), plain;
                product p = make_product(&w, 8, 13, blocks);
                float *got = multiply(&w, &p, 16), *want;

                first = first ? first : test_level(l);
                plain = way_of(first, type);
                want = multiply(&plain, &p, 16);
                if (memcmp(got, want, (size_t)(p.tokens * CPU_PANEL_ROWS) * sizeof *got))
                    fail_msg("%s, level %s: %ld blocks differ from those of %s", w.name,
                             test_level(l)->level, (long)blocks, first->level);
                free(got);
                free(want);
                free_product(&p);
            }
}

// Panels side by side, in a result with room between its rows, which stays as it was; and on top of
// what is there.
static void several_panels_give_the_bits_of_one(void **state)
{
    enum { PANELS = 7, STRIDE = PANELS * CPU_PANEL_ROWS + 3, TOKENS = 13 };

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int64_t blocks = 0; blocks < 20; blocks += 3) {
                way w = way_of(test_level(l), type);
                product p = make_product(&w, PANELS * CPU_PANEL_ROWS, TOKENS, blocks);
                int64_t panel_bytes = blocks * w.panel_bytes;
                char *panels = room_for(&w, PANELS, blocks);
                float *got = exact(STRIDE * TOKENS * sizeof *got), *twice;

                for (int i = 0; i < PANELS; i++)
                    w.pack(CPU_PANEL_ROWS, blocks, p.w + i * CPU_PANEL_ROWS * p.stride, p.stride,
                           cpu_panel_at(panels, w.panels_together, i, panel_bytes));
                for (int i = 0; i < STRIDE * TOKENS; i++)
                    got[i] = 7;
                w.multiply(PANELS, TOKENS, blocks, panels, p.x, p.x_stride, got, STRIDE, 1);
                twice = exact(STRIDE * TOKENS * sizeof *got);
                memcpy(twice, got, STRIDE * TOKENS * sizeof *got);
                w.multiply(PANELS, TOKENS, blocks, panels, p.x, p.x_stride, twice, STRIDE, 0);
                for (int i = 0; i < PANELS; i++) {
                    float *one = exact(TOKENS * CPU_PANEL_ROWS * sizeof *one);
                    char *panel = room_for(&w, 1, blocks);

                    w.pack(CPU_PANEL_ROWS, blocks, p.w + i * CPU_PANEL_ROWS * p.stride, p.stride,
                           panel);
                    w.multiply(1, TOKENS, blocks, panel, p.x, p.x_stride, one, CPU_PANEL_ROWS, 1);
                    for (int t = 0; t < TOKENS; t++)
                        assert_memory_equal(got + t * STRIDE + i * CPU_PANEL_ROWS,
                                            one + t * CPU_PANEL_ROWS, CPU_PANEL_ROWS * sizeof *one);
                    w.multiply(1, TOKENS, blocks, panel, p.x, p.x_stride, one, CPU_PANEL_ROWS, 0);
                    for (int t = 0; t < TOKENS; t++)
                        assert_memory_equal(twice + t * STRIDE + i * CPU_PANEL_ROWS,
                                            one + t * CPU_PANEL_ROWS, CPU_PANEL_ROWS * sizeof *one);
                    free(one);
                    free(panel);
                }
                for (int t = 0; t < TOKENS; t++)
                    for (int i = PANELS * CPU_PANEL_ROWS; i < STRIDE; i++)
                        assert_true(twice[t * STRIDE + i] == 7);
                free(panels);
                free(got);
                free(twice);
                free_product(&p);
            }
}

// All groups of p's rows, whole blocks along the rows; the bytes are exactly those of the groups
// asked for.
static char *pack_groups(const way *w, const product *p, int64_t begin, int64_t end)
{
    static cpu_device device = { .tag = CPU_TAG_DEVICE };
    tnp_error err = { .size = sizeof err };
    tnp_value value = { .size = sizeof value, .dtype = w->dtype, .rank = 2, .name = "w" };
    char *to = exact((size_t)((end - begin) * CPU_PACK_ROWS * p->stride));

    value.dims[0] = p->stride / data_block_bytes(w->dtype) * data_block_elements(w->dtype);
    value.dims[1] = p->rows;
    value.strides[0] = data_block_bytes(w->dtype);
    value.strides[1] = p->stride;
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        value.dims[i] = 1;
    if (cpu_pack((tnp_device *)&device, &value, CPU_PACK_LAYOUT, p->w, (uint64_t)begin,
                 (uint64_t)end, to, &err) != TNP_OK)
        fail_msg("%s", err.text);
    return to;
}

// Where byte `at` of a block of row r stands in a packed block, by the picture in blocks.h.
static int64_t packed_place(const way *w, int64_t at, int64_t r)
{
    int64_t word = w->half >= 0 && at >= w->half ? w->half + 2 + (at - w->half - 2) / 4 * 4
                                                 : at / 4 * 4;

    if (w->half >= 0 && at >= w->half && at < w->half + 2)
        return 8 * w->half + 2 * r + at - w->half;
    return 8 * word + 4 * r + at - word;
}

// Groups may be packed one by one, in any order; rows that the last one lacks repeat the last row.
static void a_pack_has_8_rows_side_by_side(void **state)
{
    (void)state;
    for (int type = 0; type < MULTIPLIED_TYPES; type++)
        for (int64_t rows = 1; rows <= 19; rows++) {
            way w = way_of(test_level(0), type);
            product p = make_product(&w, rows, 1, 24);
            int64_t bytes = data_block_bytes(w.dtype), groups = (rows + 7) / 8,
                    group_bytes = 8 * p.stride;
            char *all = pack_groups(&w, &p, 0, groups);

            for (int64_t g = groups - 1; g >= 0; g--) {
                char *alone = pack_groups(&w, &p, g, g + 1);

                assert_memory_equal(alone, all + g * group_bytes, (size_t)group_bytes);
                free(alone);
            }
            for (int64_t i = 0; i < groups * 8 * p.stride; i++) {
                int64_t r = i / p.stride, at = i % p.stride, from = r < rows ? r : rows - 1;
                int64_t place = r / 8 * group_bytes + at / bytes * 8 * bytes +
                                packed_place(&w, at % bytes, r % 8);

                if (all[place] != p.w[from * p.stride + at])
                    fail_msg("%s: byte %ld of row %ld of %ld is not at %ld", w.name, (long)at,
                             (long)r, (long)rows, (long)place);
            }
            free(all);
            free_product(&p);
        }
}

static void what_was_not_asked_for_is_not_packed(void **state)
{
    static const struct {
        const char *says;
        tnp_dtype dtype;
        uint32_t layout, rank;
        int64_t width, rows;
        uint64_t begin, end;
    } cases[] = {
        { "layout 2", TNP_DTYPE_Q8_0, 2, 2, 64, 16, 0, 1 },
        { "layout 1", TNP_DTYPE_F32, 1, 2, 64, 16, 0, 1 },
        { "layout 1", 9999, 1, 2, 64, 16, 0, 1 },
        { "layout 1", TNP_DTYPE_Q8_0, 1, 3, 64, 16, 0, 1 },
        { "layout 1", TNP_DTYPE_Q8_0, 1, 2, 65, 16, 0, 1 },
        { "layout 1", TNP_DTYPE_Q8_0, 1, 2, 64, 0, 0, 1 },
        { "which has 2", TNP_DTYPE_Q8_0, 1, 2, 64, 16, 1, 3 },
        { "which has 2", TNP_DTYPE_Q8_0, 1, 2, 64, 16, 2, 1 },
    };
    cpu_device device = { .tag = CPU_TAG_DEVICE }, foreign = { .tag = CPU_TAG_BUFFER };
    char from[34], to[272];

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tnp_error err = { .size = sizeof err };
        tnp_value value = { .size = sizeof value,
                            .dtype = cases[c].dtype,
                            .rank = cases[c].rank,
                            .dims = { cases[c].width, cases[c].rows, cases[c].rank > 2 ? 2 : 1, 1,
                                      1, 1, 1, 1 },
                            .name = "w" };

        assert_int_equal(cpu_pack((tnp_device *)&device, &value, cases[c].layout, from,
                                  cases[c].begin, cases[c].end, to, &err),
                         TNP_E_ARG);
        if (!strstr(err.text, cases[c].says) || !strstr(err.text, "'w'"))
            fail_msg("case %zu: %s", c, err.text);
        assert_int_equal(
            cpu_pack((tnp_device *)&foreign, &value, cases[c].layout, from, 0, 1, to, &err),
            TNP_E_ARG);
    }
}

// Panels, and products with one token, have the bits that they have for the rows as they were.
static void packed_rows_give_the_bits_of_rows(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int64_t rows = 1; rows <= 8; rows++)
                for (int64_t blocks = 0; blocks < 20; blocks++) {
                    way w = way_of(test_level(l), type);
                    product p = make_product(&w, rows, 1, blocks);
                    char *packed = p.stride ? pack_groups(&w, &p, 0, 1) : exact(0);
                    size_t bytes = (size_t)(w.panels_together * blocks * w.panel_bytes);
                    void *panel[2] = { room_for(&w, 1, blocks), room_for(&w, 1, blocks) };
                    float one[2][CPU_PANEL_ROWS];

                    w.pack(rows, blocks, p.w, p.stride, panel[0]);
                    w.pack(rows, blocks, packed, CPU_PACKED, panel[1]);
                    memset(one, 0xff, sizeof one);
                    w.multiply_one(rows, blocks, p.w, p.stride, p.x, one[0]);
                    w.multiply_one(rows, blocks, packed, CPU_PACKED, p.x, one[1]);
                    if (memcmp(panel[0], panel[1], bytes) || memcmp(one[0], one[1], sizeof one[0]))
                        fail_msg("%s, level %s: %ld blocks of %ld rows are not what they were",
                                 w.name, test_level(l)->level, (long)blocks, (long)rows);
                    free(panel[0]);
                    free(panel[1]);
                    free(packed);
                    free_product(&p);
                }
}

// All bits of the quants set, or none, and scales of parts at both ends: the largest that weights
// can be, times the largest activations, with either sign.
static void the_largest_products_do_not_overflow(void **state)
{
    static const unsigned char fills[] = { 0x00, 0xff, 0x80, 0x7f };

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < MULTIPLIED_TYPES; type++)
            for (int c = 0; c < 4 * 4 * 2; c++) {
                way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
                product p = make_product(&w, 1, 1, 8);
                int64_t bytes = data_block_bytes(w.dtype);
                float *acc, one[CPU_PANEL_ROWS] = { 0 };
                double size, want;
                uint16_t unit = 0x3c00;

                memset(p.w, fills[c % 4], (size_t)p.stride);
                for (int64_t b = 0; b < p.stride / bytes; b++) {
                    char *block = p.w + b * bytes;

                    if (w.dtype == TNP_DTYPE_Q2_K)
                        memset(block, fills[c / 4 % 4], 16);
                    if (w.dtype == TNP_DTYPE_Q3_K)
                        memset(block + 96, fills[c / 4 % 4], 12);
                    if (w.dtype == TNP_DTYPE_Q6_K)
                        memset(block + 192, fills[c / 4 % 4], 16);
                    if (w.dtype == TNP_DTYPE_Q4_K || w.dtype == TNP_DTYPE_Q5_K)
                        memset(block + 4, fills[c / 4 % 4], 12);
                    memcpy(block + w.scales[0], &unit, 2);
                    if (w.scales[1])
                        memcpy(block + w.scales[1], &unit, 2);
                }
                for (int b = 0; b < 8; b++) {
                    memset(p.x[b].q, c < 16 ? 127 : -127, CPU_BLOCK);
                    p.x[b].d = 1;
                    p.x[b].sum = (c < 16 ? 127.0f : -127.0f) * CPU_BLOCK;
                }
                want = exact_product(&plain, &p, 0, 0, &size);
                acc = multiply(&w, &p, 32);
                w.multiply_one(1, 8, p.w, p.stride, p.x, one);
                if (!(fabs((double)acc[0] - want) <= 2e-6 * size + 1e-3 * (size == 0.0)) ||
                    one[0] != acc[0])
                    fail_msg("%s, level %s, case %d: %.9g and %.9g, not %.9g", w.name,
                             test_level(l)->level, c, (double)acc[0], (double)one[0], want);
                free(acc);
                free_product(&p);
            }
}

// get_rows, convert and matmul as ops: a table of `type` of TABLE rows, decoded by the plain
// kernel.
enum { K = 1280, TABLE = 20, TOKENS = 3 };

static cpu_tensor tensor(tnp_dtype dtype, void *data, int64_t width, int64_t rows)
{
    int64_t bytes = width / data_block_elements(dtype) * data_block_bytes(dtype);
    cpu_tensor t = { .data = data, .dtype = dtype, .rank = 2 };

    for (int i = 0; i < TNP_MAX_DIMS; i++) {
        t.dims[i] = i == 0 ? width : i == 1 ? rows : 1;
        t.strides[i] = i == 0 ? data_block_bytes(dtype) : i == 1 ? bytes : bytes * rows;
    }
    return t;
}

static void run_job(op_run *run, tnp_op number, uint32_t inputs)
{
    const char *refusal;

    run->op = cpu_op_find(number);
    run->job.op = number;
    run->job.input_count = inputs;
    run->job.options = &run->options;
    refusal = run->op->refuse(&run->job);
    if (refusal)
        fail_msg("%s: %s", run->says, refusal);
    op_run_all(run, 3);
    assert_null(run->job.failure);
}

// Weights of any type, blocks sane; BF16 and F16 are encoded from what is random.
static float *make_table(const way *w, const way *plain, product *p)
{
    float *decoded = exact(K * TABLE * sizeof *decoded);

    *p = make_product(w, TABLE, TOKENS, K / CPU_BLOCK);
    for (int64_t i = 0; i < TABLE * p->stride && data_block_elements(w->dtype) == 1; i += 2) {
        uint32_t bits;
        float value = (float)random_between(-1, 1);

        memcpy(&bits, &value, sizeof bits);
        if (w->dtype == TNP_DTYPE_BF16)
            memcpy(p->w + i, &(uint16_t){ (uint16_t)(bits >> 16) }, 2);
        else
            test_level(0)->encode_f16(1, &value, p->w + i);
    }
    plain->decode(K * TABLE, p->w, decoded);
    return decoded;
}

// As one row, which workers share.
static void a_row_of_every_type_is_converted(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++) {
            way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
            product p;
            float *table = make_table(&w, &plain, &p), *got = exact(K * TABLE * sizeof *got);
            op_run run = { .says = w.name };

            run.job.kernels = test_level(l);
            run.job.in[0] = tensor(w.dtype, p.w, K * TABLE, 1);
            run.job.out = tensor(TNP_DTYPE_F32, got, K * TABLE, 1);
            run_job(&run, TNP_OP_CONVERT, 1);
            assert_memory_equal(got, table, K * TABLE * sizeof *got);
            free(table);
            free(got);
            free_product(&p);
        }
}

static void rows_of_every_type_are_got(void **state)
{
    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++) {
            way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
            int32_t index[] = { 19, 0, 7 };
            product p;
            float *table = make_table(&w, &plain, &p), *got = exact(3 * K * sizeof *got);
            op_run run = { .says = w.name };

            run.job.kernels = test_level(l);
            run.job.in[0] = tensor(w.dtype, p.w, K, TABLE);
            run.job.in[1] = tensor(TNP_DTYPE_I32, index, 3, 1);
            run.job.out = tensor(TNP_DTYPE_F32, got, K, 3);
            run_job(&run, TNP_OP_GET_ROWS, 2);
            for (int i = 0; i < 3; i++)
                assert_memory_equal(got + i * K, table + index[i] * K, K * sizeof *got);
            free(table);
            free(got);
            free_product(&p);
        }
}

// The same product with w packed, for one token and for all of them.
static void check_packed(op_run *run, const way *w, const product *p, float *x, int64_t width,
                         const float *want)
{
    char *packed = pack_groups(w, p, 0, (TABLE + CPU_PACK_ROWS - 1) / CPU_PACK_ROWS);
    float *got = exact(TABLE * TOKENS * sizeof *got);

    for (int64_t tokens = 1; tokens <= TOKENS; tokens += TOKENS - 1) {
        run->job.in[0] = tensor(TNP_DTYPE_F32, x, width, tokens);
        run->job.in[1].data = packed;
        run->job.in[1].is_packed = 1;
        run->job.out = tensor(TNP_DTYPE_F32, got, TABLE, tokens);
        run_job(run, TNP_OP_MATMUL, 2);
        assert_memory_equal(got, want, (size_t)(TABLE * tokens) * sizeof *got);
    }
    free(packed);
    free(got);
}

// With the full width of the weight, and with an activation that ends inside a block of 256 and of
// 32. Rounded activations are off by at most half a step each, 1/254 of the largest of a block.
static void matmul_takes_every_type(void **state)
{
    static const int64_t widths[] = { K, 1024 + 64 + 5 };

    (void)state;
    for (uint32_t l = 0; test_level(l); l++)
        for (int type = 0; type < DECODED_TYPES; type++)
            for (int c = 0; c < 4; c++) {
                way w = way_of(test_level(l), type), plain = way_of(test_level(0), type);
                int64_t width = widths[c % 2];
                float *x = exact((size_t)(width * TOKENS) * sizeof *x),
                      *got = exact(TABLE * TOKENS * sizeof *got), one[TABLE];
                product p;
                float *table = make_table(&w, &plain, &p);
                op_run run = { .says = w.name, .options.activations_f32 = c / 2 };

                for (int64_t i = 0; i < width * TOKENS; i++)
                    x[i] = (float)random_between(-1, 1);
                run.job.kernels = test_level(l);
                run.job.in[0] = tensor(TNP_DTYPE_F32, x, width, TOKENS);
                run.job.in[1] = tensor(w.dtype, p.w, K, TABLE);
                run.job.out = tensor(TNP_DTYPE_F32, got, TABLE, TOKENS);
                run_job(&run, TNP_OP_MATMUL, 2);
                for (int64_t i = 0; i < TABLE * TOKENS; i++) {
                    const float *row = table + i % TABLE * K, *x_t = x + i / TABLE * width;
                    double want = 0, size = 0, step = w.pack && c < 2 ? 1.0 / 254 : 0;

                    for (int64_t j = 0; j < width; j++) {
                        want += (double)row[j] * (double)x_t[j];
                        size += fabs((double)row[j]) * (1.002 * step + 4e-6);
                    }
                    if (!(fabs((double)got[i] - want) <= size))
                        fail_msg("%s, level %s, width %ld: result %ld is %.9g, not %.9g", w.name,
                                 test_level(l)->level, (long)width, (long)i, (double)got[i], want);
                }
                run.job.in[0].dims[1] = run.job.out.dims[1] = 1;
                run.job.out.data = (char *)one;
                run_job(&run, TNP_OP_MATMUL, 2);
                assert_memory_equal(one, got, sizeof one);
                assert_int_equal(cpu_op_packed_input(&run.job), w.pack && c < 2 ? 1 : -1);
                if (w.pack && c < 2)
                    check_packed(&run, &w, &p, x, width, got);
                free(x);
                free(got);
                free(table);
                free_product(&p);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_decode_as_gguf_decodes_them),
        cmocka_unit_test(many_blocks_decode_as_gguf_decodes_them),
        cmocka_unit_test(any_count_of_blocks_is_decoded),
        cmocka_unit_test(products_are_those_of_decoded_blocks),
        cmocka_unit_test(panels_are_those_of_the_scalar_level),
        cmocka_unit_test(one_token_gives_the_bits_of_many),
        cmocka_unit_test(vectors_of_any_width_give_the_same_bits),
        cmocka_unit_test(several_panels_give_the_bits_of_one),
        cmocka_unit_test(a_pack_has_8_rows_side_by_side),
        cmocka_unit_test(what_was_not_asked_for_is_not_packed),
        cmocka_unit_test(packed_rows_give_the_bits_of_rows),
        cmocka_unit_test(the_largest_products_do_not_overflow),
        cmocka_unit_test(rows_of_every_type_are_got),
        cmocka_unit_test(a_row_of_every_type_is_converted),
        cmocka_unit_test(matmul_takes_every_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
