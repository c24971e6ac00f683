// ops_attention.c: attention against the reference.
//
// Bound. A score is a sum of D products in 8 lanes, off by at most (D / 8 + 4) * 2^-24 * sum |q k|,
// below 3e-6 for the sizes here (D <= 64, scale 1/8, elements below 1), and its exponential by as
// much, relatively; the weighted mean of v, whose elements are below 1, then is off by at most
// twice that, and by roundings of the sums, below 300 * 2^-24 in the worst case and far below in
// fact: 6e-6 in all. Keys in Q8_0 are below 1.6: 1e-5.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32  TNP_DTYPE_F32
#define F16  TNP_DTYPE_F16
#define Q8_0 TNP_DTYPE_Q8_0
#define I32  TNP_DTYPE_I32

static const tnp_attention_attr causal = { .size = sizeof causal,
                                           .flags = TNP_ATTENTION_CAUSAL,
                                           .scale = 0.125f },
                                window = { .size = sizeof window,
                                           .flags = TNP_ATTENTION_CAUSAL,
                                           .scale = 0.125f,
                                           .window = 70 },
                                capped = { .size = sizeof capped,
                                           .flags = TNP_ATTENTION_CAUSAL,
                                           .scale = 0.5f,
                                           .softcap = 2.0f },
                                open = { .size = sizeof open, .scale = 0.125f },
                                open_window = { .size = sizeof open_window,
                                                .scale = 0.125f,
                                                .window = 3 };

// Token t at position S - T + t, as when a prompt is read in batches.
static void last_positions(cpu_job *job)
{
    ref_tensor position = as_reference(&job->in[3]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    for (; at[0] < position.dims[0]; at[0]++)
        ref_set(&position, at, (double)(job->in[1].dims[2] - position.dims[0] + at[0]));
}

// Keys that the first tokens do not see hold NaN: they must not be touched. Positions from 10 on.
static void nan_beyond_what_is_seen(cpu_job *job)
{
    ref_tensor position = as_reference(&job->in[3]), v = as_reference(&job->in[2]),
               k = as_reference(&job->in[1]);
    int64_t at[TNP_MAX_DIMS] = { 0 }, element[TNP_MAX_DIMS] = { 1, 1, 0 };

    for (; at[0] < position.dims[0]; at[0]++)
        ref_set(&position, at, 10 + (double)at[0]);
    for (element[2] = 10 + position.dims[0]; element[2] < v.dims[2]; element[2]++) {
        ref_set(&v, element, NAN);
        ref_set(&k, element, NAN);
    }
}

// The last token that can see the only NaN is the last one: the others must not notice, though they
// share a tile with it.
static void nan_for_the_last_token(cpu_job *job)
{
    ref_tensor v = as_reference(&job->in[2]);
    int64_t element[TNP_MAX_DIMS] = { 1, 1, v.dims[2] - 1 };

    last_positions(job);
    ref_set(&v, element, NAN);
}

static void hide_by_mask(cpu_job *job)
{
    ref_tensor mask = as_reference(&job->in[4]);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    last_positions(job);
    do {
        if (random_between(0, 1) < 0.3 || at[1] == 1)   // the second token sees nothing
            ref_set(&mask, at, -INFINITY);
    } while (ref_next(mask.dims, at));
}

#define QKV(dtype_of_kv, D, E, H, G, T, S)                                                         \
    .in = { VALUE(F32, D, H, T), VALUE(dtype_of_kv, D, G, S), VALUE(dtype_of_kv, E, G, S),         \
            VALUE(I32, T) },                                                                       \
    .out = VALUE(F32, E, H, T)

static const op_case cases[] = {
    { .says = "one token, one key", .attr = &causal, QKV(F32, 64, 64, 3, 1, 1, 1) },
    { .says = "one token, 64 keys", .attr = &causal, QKV(F32, 64, 64, 9, 3, 1, 64) },
    { .says = "one token, 257 keys in F16", .attr = &causal, QKV(F16, 64, 64, 9, 3, 1, 257) },
    { .says = "one token, 200 keys in Q8_0",
      .attr = &causal,
      QKV(Q8_0, 64, 64, 9, 3, 1, 200),
      .absolute = 1e-5 },
    { .says = "33 tokens", .attr = &causal, QKV(F32, 64, 64, 9, 3, 33, 33) },
    { .says = "33 tokens after 100", .attr = &causal, QKV(F16, 64, 64, 9, 3, 33, 133) },
    { .says = "5 tokens in Q8_0",
      .attr = &causal,
      QKV(Q8_0, 32, 64, 4, 4, 5, 70),
      .absolute = 1e-5 },
    { .says = "odd sizes", .attr = &causal, QKV(F32, 31, 33, 5, 5, 7, 65) },
    { .says = "odd sizes in F16", .attr = &causal, QKV(F16, 31, 33, 5, 1, 7, 65) },
    { .says = "heads of one element", .attr = &causal, QKV(F32, 1, 1, 2, 1, 3, 5) },
    { .says = "32 heads share one key head", .attr = &causal, QKV(F16, 40, 24, 32, 1, 3, 70) },
    { .says = "window", .attr = &window, QKV(F16, 64, 64, 6, 2, 9, 200) },
    { .says = "window, one token", .attr = &window, QKV(F16, 64, 64, 6, 2, 1, 200) },
    { .says = "softcap", .attr = &capped, QKV(F32, 64, 64, 6, 2, 9, 70), .absolute = 2e-5 },
    { .says = "not causal", .attr = &open, QKV(F32, 64, 64, 6, 2, 9, 70) },
    { .says = "not causal, window", .attr = &open_window, QKV(F32, 64, 64, 6, 2, 9, 70) },
    { .says = "what no token sees may be NaN",
      .attr = &causal,
      QKV(F32, 64, 64, 6, 2, 9, 70),
      .prepare = nan_beyond_what_is_seen },
    { .says = "what one token does not see may be NaN",
      .attr = &causal,
      QKV(F32, 8, 8, 6, 2, 9, 70),
      .prepare = nan_for_the_last_token },
};

static void attention_matches_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_ATTENTION;
        if (!c.prepare)
            c.prepare = last_positions;
        if (c.absolute == 0)
            c.absolute = 6e-6;
        check_case(&c);
    }
}

static void masks_and_layouts_match_the_reference(void **state)
{
    static const op_case more[] = {
        { .says = "mask",
          .attr = &open,
          .in = { VALUE(F32, 64, 6, 5), VALUE(F32, 64, 2, 70), VALUE(F32, 64, 2, 70), VALUE(I32, 5),
                  VALUE(F32, 70, 5) },
          .out = VALUE(F32, 64, 6, 5),
          .prepare = hide_by_mask },
        { .says = "F16 mask, one token",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 1), VALUE(F16, 64, 2, 70), VALUE(F16, 64, 2, 70), VALUE(I32, 1),
                  VALUE(F16, 70, 1) },
          .out = VALUE(F32, 64, 6, 1),
          .prepare = last_positions },
        { .says = "turned mask",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 5), VALUE(F32, 64, 2, 70), VALUE(F32, 64, 2, 70), VALUE(I32, 5),
                  LAID(TURNED, F32, 70, 5) },
          .out = VALUE(F32, 64, 6, 5),
          .prepare = hide_by_mask },
        { .says = "everything turned",
          .attr = &causal,
          .in = { LAID(TURNED, F16, 64, 6, 5), LAID(TURNED, F32, 64, 2, 70),
                  LAID(TURNED, F16, 64, 2, 70), VALUE(I32, 5) },
          .out = LAID(TURNED, F32, 64, 6, 5),
          .prepare = last_positions },
        { .says = "padded",
          .attr = &causal,
          .in = { LAID(PADDED, F32, 64, 6, 5), LAID(PADDED, F16, 64, 2, 70),
                  LAID(PADDED, F32, 64, 2, 70), VALUE(I32, 5) },
          .out = LAID(PADDED, F32, 64, 6, 5),
          .prepare = last_positions },
        { .says = "extents",
          .attr = &causal,
          .in = { { .dtype = F32, .dims = { 64, 6, 5 }, .cut = { 0, 0, 2 } },
                  { .dtype = F16, .dims = { 64, 2, 200 }, .cut = { 0, 0, 123 } },
                  { .dtype = F16, .dims = { 64, 2, 200 }, .cut = { 0, 0, 123 } },
                  { .dtype = I32, .dims = { 5 }, .cut = { 2 } } },
          .out = { .dtype = F32, .dims = { 64, 6, 5 }, .cut = { 0, 0, 2 } },
          .prepare = last_positions },
        { .says = "no keys",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 5),
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  VALUE(I32, 5) },
          .out = VALUE(F32, 64, 6, 5) },
        { .says = "no keys, one token",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 1),
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  VALUE(I32, 1) },
          .out = VALUE(F32, 64, 6, 1) },
        { .says = "any position",
          .attr = &window,
          .in = { VALUE(F32, 64, 6, 9), VALUE(F32, 64, 2, 70), VALUE(F32, 64, 2, 70),
                  RANGE(-2147483648.0, 2147483647.0, I32, 9) },
          .out = VALUE(F32, 64, 6, 9) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        op_case c = more[i];

        c.op = TNP_OP_ATTENTION;
        c.absolute = 6e-6;
        check_case(&c);
    }
}

static void sinks_of_nothing_and_of_much(cpu_job *job)
{
    ref_tensor sinks = as_reference(&job->in[5]);

    last_positions(job);
    ref_set(&sinks, (int64_t[TNP_MAX_DIMS]){ 0 }, -INFINITY);   // as if there were none
    ref_set(&sinks, (int64_t[TNP_MAX_DIMS]){ 1 }, 1000);        // takes all
    ref_set(&sinks, (int64_t[TNP_MAX_DIMS]){ 2 }, -1000);
}

static void sinks_match_the_reference(void **state)
{
    static const op_case more[] = {
        { .says = "one token, 257 keys",
          .attr = &causal,
          .in = { VALUE(F32, 64, 9, 1),
                  VALUE(F16, 64, 3, 257),
                  VALUE(F16, 64, 3, 257),
                  VALUE(I32, 1),
                  { .dtype = 0 },
                  RANGE(-3, 8, F32, 9) },
          .out = VALUE(F32, 64, 9, 1) },
        { .says = "9 tokens after 61",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 9),
                  VALUE(F32, 64, 2, 70),
                  VALUE(F32, 48, 2, 70),
                  VALUE(I32, 9),
                  { .dtype = 0 },
                  RANGE(-3, 8, F32, 6) },
          .out = VALUE(F32, 48, 6, 9) },
        { .says = "a window and a mask, turned",
          .attr = &window,
          .in = { VALUE(F32, 64, 6, 9), VALUE(F32, 64, 2, 78), VALUE(F32, 64, 2, 78), VALUE(I32, 9),
                  VALUE(F32, 78, 9), RANGE(-3, 3, F32, 6) },
          .out = LAID(TURNED, F32, 64, 6, 9),
          .prepare = hide_by_mask },
        { .says = "softcap, which the sink does not pass",
          .attr = &capped,
          .in = { VALUE(F32, 64, 4, 9),
                  VALUE(F32, 64, 4, 70),
                  VALUE(F32, 64, 4, 70),
                  VALUE(I32, 9),
                  { .dtype = 0 },
                  RANGE(3, 8, F32, 4) },
          .out = VALUE(F32, 64, 4, 9) },
        { .says = "-inf, and so much that nothing else counts",
          .attr = &causal,
          .in = { VALUE(F32, 64, 3, 5),
                  VALUE(F32, 64, 1, 70),
                  VALUE(F32, 64, 1, 70),
                  VALUE(I32, 5),
                  { .dtype = 0 },
                  VALUE(F32, 3) },
          .out = VALUE(F32, 64, 3, 5),
          .prepare = sinks_of_nothing_and_of_much },
        { .says = "no keys",
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 5),
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  { .dtype = F16, .dims = { 64, 2, 70 }, .cut = { 0, 0, 70 } },
                  VALUE(I32, 5),
                  { .dtype = 0 },
                  VALUE(F32, 6) },
          .out = VALUE(F32, 64, 6, 5) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        op_case c = more[i];

        c.op = TNP_OP_ATTENTION;
        if (!c.prepare)
            c.prepare = last_positions;
        c.absolute = 6e-6;
        check_case(&c);
    }
}

// With keys of size w and D elements a scale of 8 / (D w) gives scores as above; values of size w
// give results off by w times as much.
static void keys_and_values_of_every_type_match_the_reference(void **state)
{
    static const op_case shapes[] = {
        { .says = "one token", QKV(0, 64, 64, 2, 1, 1, 70) },
        { .says = "3 tokens", QKV(0, 64, 32, 2, 1, 3, 9) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int w = 0; w < WEIGHT_TYPES; w++) {
            tnp_dtype dtype = weight_types[w];
            double largest = largest_weight(dtype);
            tnp_attention_attr attr = { .size = sizeof attr, .flags = TNP_ATTENTION_CAUSAL };
            op_case c = shapes[i];

            if (dtype == TNP_DTYPE_BF16)
                continue;
            c.op = TNP_OP_ATTENTION;
            c.attr = &attr;
            c.in[1].dtype = c.in[2].dtype = dtype;
            c.in[0].dims[0] = c.in[1].dims[0] = whole_blocks(dtype, c.in[1].dims[0]);
            c.in[2].dims[0] = c.out.dims[0] = whole_blocks(dtype, c.in[2].dims[0]);
            attr.scale = (float)(8 / ((double)c.in[0].dims[0] * largest));
            c.prepare = last_positions;
            c.absolute = 1e-5 * largest;
            check_case(&c);
        }
}

static void a_token_alone_gives_the_bits_it_has_in_a_batch(void **state)
{
    static const tnp_dtype dtypes[] = { F32, F16, Q8_0 };

    (void)state;
    for (uint32_t level = 0; test_level(level); level++)
        for (int d = 0; d < 3; d++) {
            op_case c = { .says = "batch",
                          .op = TNP_OP_ATTENTION,
                          .attr = &causal,
                          QKV(dtypes[d], 64, 64, 9, 3, 10, 150),
                          .prepare = last_positions };
            op_run run;
            float batch[64 * 9 * 10];

            op_run_init(&run, &c, test_level(level));
            op_run_all(&run, 2);
            memcpy(batch, run.job.out.data, sizeof batch);
            run.job.in[0].dims[2] = run.job.in[3].dims[0] = run.job.out.dims[2] = 1;
            for (int t = 0; t < 10; t++) {
                run.job.in[0].data = run.memory[0] + t * run.job.in[0].strides[2];
                run.job.in[3].data = run.memory[3] + t * run.job.in[3].strides[0];
                op_run_all(&run, 3);
                assert_memory_equal(run.job.out.data, batch + 64 * 9 * t, 64 * 9 * sizeof(float));
            }
            op_run_finish(&run);
        }
}

static void what_is_not_known_is_refused(void **state)
{
    static const tnp_attention_attr flag = { .size = sizeof flag, .flags = 2, .scale = 1 };
    static const op_case bad[] = {
        { .says = "flag", .op = TNP_OP_ATTENTION, .attr = &flag, QKV(F32, 64, 64, 6, 2, 9, 70) },
        { .says = "BF16 keys",
          .op = TNP_OP_ATTENTION,
          .attr = &causal,
          QKV(TNP_DTYPE_BF16, 64, 64, 6, 2, 9, 70) },
        { .says = "sinks in F16",
          .op = TNP_OP_ATTENTION,
          .attr = &causal,
          .in = { VALUE(F32, 64, 6, 9),
                  VALUE(F32, 64, 2, 70),
                  VALUE(F32, 64, 2, 70),
                  VALUE(I32, 9),
                  { .dtype = 0 },
                  VALUE(F16, 6) },
          .out = VALUE(F32, 64, 6, 9) },
        { .says = "5 heads, 2 key heads",
          .op = TNP_OP_ATTENTION,
          .attr = &causal,
          QKV(F32, 64, 64, 5, 2, 9, 70) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refusal(&bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_matches_the_reference),
        cmocka_unit_test(masks_and_layouts_match_the_reference),
        cmocka_unit_test(sinks_match_the_reference),
        cmocka_unit_test(keys_and_values_of_every_type_match_the_reference),
        cmocka_unit_test(a_token_alone_gives_the_bits_it_has_in_a_batch),
        cmocka_unit_test(what_is_not_known_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
