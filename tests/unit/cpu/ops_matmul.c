// ops_matmul.c: matmul against the reference.
//
// F32 way: a sum of K products in 8 lanes has at most K / 8 + 3 roundings after that of each
// product, so the error is below (K / 8 + 4) * 2^-24 * sum |w x|. Integer way: the reference gets
// activations rounded the same way; what is left are the roundings of one product and one sum for
// each of the K / 32 blocks (of K types: a few, as blocks have parts), below (3 K / 32 + 4) * 2^-24
// * sum of the sizes of the blocks' terms, where d q and m count apart; both are held to
// (K / 8 + 8) * 2^-24 times sum (|w x| + |m x|), here taken as sum |x| * the largest |w| + |m|.
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16

// The reference's operand: the activations as the integer way sees them, in F32.
static ref_tensor round_activations(const ref_tensor *x)
{
    int64_t k = x->dims[0], padded = (k + 31) / 32 * 32, at[TNP_MAX_DIMS] = { 0 },
            rows[TNP_MAX_DIMS];
    float *row = calloc((size_t)padded, sizeof *row);
    ref_tensor rounded = *x;

    rounded.dtype = F32;
    rounded.strides[0] = sizeof(float);
    for (int i = 1; i < TNP_MAX_DIMS; i++)
        rounded.strides[i] = rounded.strides[i - 1] * x->dims[i - 1];
    rounded.data = malloc((size_t)(rounded.strides[TNP_MAX_DIMS - 1] + 1));
    assert_true(row && rounded.data);
    if (ref_is_empty(x)) {
        free(row);
        return rounded;
    }
    memcpy(rows, x->dims, sizeof rows);
    rows[0] = 1;
    do {
        for (at[0] = 0; at[0] < k; at[0]++)
            row[at[0]] = (float)ref_get(x, at);
        ref_round_activations(padded, row, row);
        for (at[0] = 0; at[0] < k; at[0]++)
            ref_set(&rounded, at, row[at[0]]);
        at[0] = 0;
    } while (ref_next(rows, at));
    free(row);
    return rounded;
}

static int goes_the_integer_way(tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_Q4_0 || dtype == TNP_DTYPE_Q4_1 || dtype == TNP_DTYPE_Q5_0 ||
           dtype == TNP_DTYPE_Q5_1 || dtype == TNP_DTYPE_Q8_0 || dtype == TNP_DTYPE_Q2_K ||
           dtype == TNP_DTYPE_Q3_K || dtype == TNP_DTYPE_Q4_K || dtype == TNP_DTYPE_Q5_K ||
           dtype == TNP_DTYPE_Q6_K || dtype == TNP_DTYPE_IQ4_NL;
}

static double sum_of_sizes(const ref_tensor *x, const int64_t out_at[TNP_MAX_DIMS])
{
    int64_t at[TNP_MAX_DIMS];
    double sum = 0;

    memcpy(at, out_at, sizeof at);
    for (at[0] = 0; at[0] < x->dims[0]; at[0]++)
        sum += fabs(ref_get(x, at));
    return sum;
}

static void compare_products(const op_case *c, const op_run *run, const ref_tensor *x,
                             const ref_tensor *want)
{
    ref_tensor got = as_reference(&run->job.out);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    if (ref_is_empty(&got))
        return;
    do {
        double bound = ((double)x->dims[0] / 8 + 8) * 0x1p-24 * largest_weight(c->in[1].dtype) *
                       sum_of_sizes(x, at);
        double g = ref_get(&got, at), w = ref_get(want, at);

        if (!(fabs(g - w) <= bound))
            fail_msg("'%s', %s, level %s, element {%ld, %ld, %ld}: got %.9g, want %.9g, bound %.2g",
                     c->says, dtype_name(c->in[1].dtype), run->job.kernels->level, (long)at[0],
                     (long)at[1], (long)at[2], g, w, bound);
    } while (ref_next(got.dims, at));
}

static void check_product(const op_case *c, const cpu_kernels *kernels)
{
    static const uint32_t worker_counts[] = { 1, 2, 3, 5 };
    tnp_dtype w_dtype = c->in[1].dtype;
    int is_rounded = !c->activations_f32 && goes_the_integer_way(w_dtype);
    op_run run;
    ref_tensor in[MAX_OPERANDS], want, rounded = { .data = NULL };
    char *first;
    size_t out_bytes;

    op_run_init(&run, c, kernels);
    out_bytes = run.bytes[MAX_OPERANDS];
    first = malloc(out_bytes);
    assert_non_null(first);
    for (uint32_t i = 0; i < MAX_OPERANDS; i++)
        in[i] = as_reference(&run.job.in[i]);
    if (is_rounded)
        in[0] = rounded = round_activations(&in[0]);
    want = as_reference(&run.job.out);
    want.data = malloc(out_bytes);
    assert_non_null(want.data);
    assert_int_equal(ref_run(TNP_OP_MATMUL, NULL, in, &want), REF_OK);
    for (uint32_t i = 0; i < 4; i++) {
        memset(run.memory[MAX_OPERANDS], 0xff, out_bytes);
        op_run_all(&run, worker_counts[i]);
        if (i == 0) {
            compare_products(c, &run, &in[0], &want);
            note_errors(&run.job, &want);
            memcpy(first, run.memory[MAX_OPERANDS], out_bytes);
        } else if (memcmp(first, run.memory[MAX_OPERANDS], out_bytes)) {
            fail_msg("'%s', level %s: %u workers give other bits than one", c->says, kernels->level,
                     worker_counts[i]);
        }
    }
    free(want.data);
    free(first);
    free(rounded.data);
    op_run_finish(&run);
}

static const struct {
    operand x, w, out;
    const char *says;
} shapes[] = {
    { VALUE(F32, 32, 1), VALUE(0, 32, 1), VALUE(F32, 1, 1), "one block, one row" },
    { VALUE(F32, 64, 1), VALUE(0, 64, 31), VALUE(F32, 31, 1), "31 rows, one token" },
    { VALUE(F32, 576, 1), VALUE(0, 576, 33), VALUE(F32, 33, 1), "33 rows, one token" },
    { VALUE(F32, 1536, 3), VALUE(0, 1536, 9), VALUE(F32, 9, 3),
      "more than one panel along K, three tokens" },
    { VALUE(F32, 96, 31), VALUE(0, 96, 20), VALUE(F32, 20, 31), "31 tokens" },
    { VALUE(F32, 64, 130), VALUE(0, 64, 5), VALUE(F32, 5, 130), "130 tokens" },
    { LAID(PADDED, F32, 64, 5), LAID(PADDED, 0, 64, 16), LAID(PADDED, F32, 16, 5),
      "rows with bytes between" },
    { LAID(TURNED, F32, 64, 5), VALUE(0, 64, 16), LAID(TURNED, F32, 16, 5), "turned x and out" },
    { VALUE(F32, 64, 5, 4, 2), VALUE(0, 64, 16, 2, 1), VALUE(F32, 16, 5, 4, 2),
      "w shared by matrices" },
    { { .dtype = F32, .dims = { 64, 7 }, .cut = { 0, 4 } },
      VALUE(0, 64, 16),
      { .dtype = F32, .dims = { 16, 7 }, .cut = { 0, 4 } },
      "3 of 7 tokens" },
    { { .dtype = F32, .dims = { 64, 7 }, .cut = { 0, 7 } },
      VALUE(0, 64, 16),
      { .dtype = F32, .dims = { 16, 7 }, .cut = { 0, 7 } },
      "0 of 7 tokens" },
    { { .dtype = F32, .dims = { 64, 3 }, .cut = { 64 } },
      { .dtype = 0, .dims = { 64, 16 }, .cut = { 64 } },
      VALUE(F32, 16, 3),
      "0 of 64 products" },
    { { .dtype = F32, .dims = { 64, 3 }, .cut = { 21 } },
      { .dtype = 0, .dims = { 64, 16 }, .cut = { 21 } },
      VALUE(F32, 16, 3),
      "43 of 64 products, inside a block" },
    { LAID(STEPPED, F16, 64, 5), VALUE(0, 64, 16), LAID(STEPPED, F32, 16, 5),
      "every second element of x and out" },
    { LAID(REPEATED, F32, 64, 5, 2), VALUE(0, 64, 16), VALUE(F32, 16, 5, 2), "one token for all" },
    { VALUE(F32, 64, 5, 4), LAID(REPEATED, 0, 64, 16, 4), VALUE(F32, 16, 5, 4),
      "one row of w for all" },
};

// Inner sizes are rounded up to whole blocks.
static void every_weight_type_matches_the_reference(void **state)
{
    (void)state;
    for (uint32_t level = 0; test_level(level); level++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (int w = 0; w < 2 * WEIGHT_TYPES; w++) {
                tnp_dtype dtype = weight_types[w / 2];
                op_case c = { .says = shapes[s].says,
                              .op = TNP_OP_MATMUL,
                              .in = { shapes[s].x, shapes[s].w },
                              .out = shapes[s].out,
                              .activations_f32 = w % 2 };
                int64_t k = c.in[0].dims[0], whole = whole_blocks(dtype, k);

                if (c.activations_f32 && !goes_the_integer_way(dtype))
                    continue;   // the same as without
                for (int i = 0; i < 2; i++) {
                    c.in[i].dims[0] = whole;
                    if (c.in[i].cut[0] == k)
                        c.in[i].cut[0] = whole;
                }
                c.in[1].dtype = dtype;
                check_product(&c, test_level(level));
            }
}

static void odd_inner_sizes_match_the_reference(void **state)
{
    static const int64_t sizes[] = { 1, 7, 31, 33, 257 };

    (void)state;
    for (uint32_t level = 0; test_level(level); level++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int half = 0; half < 4; half++) {
                op_case c = { .says = "odd inner size",
                              .op = TNP_OP_MATMUL,
                              .in = { VALUE(half & 1 ? F16 : F32, sizes[s], 5),
                                      VALUE(half & 2 ? F16 : F32, sizes[s], 13) },
                              .out = VALUE(F32, 13, 5) };

                check_product(&c, test_level(level));
                c.in[1].layout = TURNED;
                check_product(&c, test_level(level));
            }
}

// A decoded token must not differ from the same token in a batch.
static void a_token_alone_gives_the_bits_it_has_in_a_batch(void **state)
{
    (void)state;
    for (uint32_t level = 0; test_level(level); level++)
        for (int w = 0; w < 2 * WEIGHT_TYPES; w++) {
            op_case c = { .says = "batch",
                          .op = TNP_OP_MATMUL,
                          .in = { VALUE(F32, 768, 7), VALUE(weight_types[w / 2], 768, 20) },
                          .out = VALUE(F32, 20, 7),
                          .activations_f32 = w % 2 };
            op_run run;
            float batch[20 * 7];

            op_run_init(&run, &c, test_level(level));
            op_run_all(&run, 2);
            memcpy(batch, run.job.out.data, sizeof batch);
            run.job.in[0].dims[1] = run.job.out.dims[1] = 1;
            for (int t = 0; t < 7; t++) {
                run.job.in[0].data = run.memory[0] + t * run.job.in[0].strides[1];
                op_run_all(&run, 3);
                assert_memory_equal(run.job.out.data, batch + 20 * t, 20 * sizeof(float));
            }
            op_run_finish(&run);
        }
}

static void what_has_no_kernel_is_refused(void **state)
{
    static const op_case cases[] = {
        { .says = "a weight of I32",
          .op = TNP_OP_MATMUL,
          .in = { VALUE(F32, 32, 1), VALUE(TNP_DTYPE_I32, 32, 4) },
          .out = VALUE(F32, 4, 1) },
        { .says = "I32 activations",
          .op = TNP_OP_MATMUL,
          .in = { VALUE(TNP_DTYPE_I32, 32, 1), VALUE(F32, 32, 4) },
          .out = VALUE(F32, 4, 1) },
        { .says = "an F16 result",
          .op = TNP_OP_MATMUL,
          .in = { VALUE(F32, 32, 1), VALUE(F32, 32, 4) },
          .out = VALUE(F16, 4, 1) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_weight_type_matches_the_reference),
        cmocka_unit_test(odd_inner_sizes_match_the_reference),
        cmocka_unit_test(a_token_alone_gives_the_bits_it_has_in_a_batch),
        cmocka_unit_test(what_has_no_kernel_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
