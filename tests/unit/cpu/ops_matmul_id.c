// ops_matmul_id.c: matmul_id against the reference.
//
// A sum of K products in 8 lanes has at most K / 8 + 3 roundings after that of each product,
// decoding one or two more: the error is below (K / 8 + 8) * 2^-24 * sum |w x|, with |x| up to 1.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static void an_id_past_the_end(cpu_job *job)
{
    int32_t past = (int32_t)job->in[1].dims[2];

    memcpy(job->in[2].data + job->in[2].strides[1], &past, sizeof past);
}

static void a_negative_id(cpu_job *job)
{
    int32_t below = -1;

    memcpy(job->in[2].data, &below, sizeof below);
}

static void one_matrix_for_all(cpu_job *job)
{
    memset(job->in[2].data, 0, (size_t)(4 * job->in[2].dims[0] * job->in[2].dims[1]));
}

static void every_weight_type_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "one token, one choice",
          .in = { VALUE(F32, 32), VALUE(0, 32, 8, 3), RANGE(0, 3, I32, 1) },
          .out = VALUE(F32, 8) },
        { .says = "one token, 4 of 16",
          .in = { VALUE(F32, 576), VALUE(0, 576, 33, 16), RANGE(0, 16, I32, 4) },
          .out = VALUE(F32, 33, 4) },
        { .says = "activations of their own for each choice",
          .in = { VALUE(F32, 96, 4, 7), VALUE(0, 96, 31, 5), RANGE(0, 5, I32, 4, 7) },
          .out = VALUE(F32, 31, 4, 7) },
        { .says = "activations that choices share",
          .in = { VALUE(F16, 96, 1, 31), VALUE(0, 96, 9, 5), RANGE(0, 5, I32, 2, 31) },
          .out = VALUE(F32, 9, 2, 31) },
        { .says = "one matrix for all of 70 choices",
          .in = { VALUE(F32, 64, 2, 35), VALUE(0, 64, 9, 3), RANGE(0, 3, I32, 2, 35) },
          .out = VALUE(F32, 9, 2, 35),
          .prepare = one_matrix_for_all },
        { .says = "one matrix to choose from",
          .in = { VALUE(F32, 64, 1, 3), VALUE(0, 64, 9), RANGE(0, 1, I32, 2, 3) },
          .out = VALUE(F32, 9, 2, 3) },
        { .says = "bytes between rows",
          .in = { LAID(PADDED, F32, 64, 2, 5),
                  LAID(PADDED, 0, 64, 9, 3),
                  { .dtype = I32, .dims = { 2, 5 }, .layout = PADDED, .high = 3 } },
          .out = LAID(PADDED, F32, 9, 2, 5) },
        { .says = "turned activations, ids and results",
          .in = { LAID(TURNED, F32, 64, 2, 5),
                  VALUE(0, 64, 9, 3),
                  { .dtype = I32, .dims = { 2, 5 }, .layout = TURNED, .high = 3 } },
          .out = LAID(TURNED, F32, 9, 2, 5) },
        { .says = "every second element, one token for all",
          .in = { LAID(REPEATED, F32, 64, 2, 5),
                  VALUE(0, 64, 9, 3),
                  { .dtype = I32, .dims = { 2, 5 }, .layout = STEPPED, .high = 3 } },
          .out = LAID(STEPPED, F32, 9, 2, 5) },
        { .says = "2 of 5 tokens",
          .in = { { .dtype = F32, .dims = { 64, 2, 5 }, .cut = { 0, 0, 3 } },
                  VALUE(0, 64, 9, 3),
                  { .dtype = I32, .dims = { 2, 5 }, .high = 3, .cut = { 0, 3 } } },
          .out = { .dtype = F32, .dims = { 9, 2, 5 }, .cut = { 0, 0, 3 } } },
        { .says = "no token",
          .in = { { .dtype = F32, .dims = { 64, 2, 5 }, .cut = { 0, 0, 5 } },
                  VALUE(0, 64, 9, 3),
                  { .dtype = I32, .dims = { 2, 5 }, .high = 3, .cut = { 0, 5 } } },
          .out = { .dtype = F32, .dims = { 9, 2, 5 }, .cut = { 0, 0, 5 } } },
        { .says = "an id past the end",
          .in = { VALUE(F32, 64, 2, 5), VALUE(0, 64, 9, 3), RANGE(0, 3, I32, 2, 5) },
          .out = VALUE(F32, 9, 2, 5),
          .prepare = an_id_past_the_end,
          .failure = "an id is that of no matrix" },
        { .says = "a negative id",
          .in = { VALUE(F32, 64, 2, 5), VALUE(0, 64, 9, 3), RANGE(0, 3, I32, 2, 5) },
          .out = VALUE(F32, 9, 2, 5),
          .prepare = a_negative_id,
          .failure = "an id is that of no matrix" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int w = 0; w < WEIGHT_TYPES; w++) {
            op_case c = cases[i];
            double k = (double)whole_blocks(weight_types[w], c.in[0].dims[0]);

            c.op = TNP_OP_MATMUL_ID;
            c.in[0].dims[0] = c.in[1].dims[0] = (int64_t)k;
            c.in[1].dtype = weight_types[w];
            c.absolute = (k / 8 + 8) * 0x1p-24 * k * largest_weight(weight_types[w]);
            check_case(&c);
        }
}

static void odd_inner_sizes_match_the_reference(void **state)
{
    static const int64_t sizes[] = { 1, 7, 31, 33, 257 };

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int half = 0; half < 4; half++) {
            op_case c = { .says = "odd inner size",
                          .op = TNP_OP_MATMUL_ID,
                          .in = { VALUE(half & 1 ? F16 : F32, sizes[s], 1, 5),
                                  VALUE(half & 2 ? F16 : F32, sizes[s], 13, 3),
                                  RANGE(0, 3, I32, 2, 5) },
                          .out = VALUE(F32, 13, 2, 5),
                          .absolute = ((double)sizes[s] / 8 + 8) * 0x1p-24 * (double)sizes[s] };

            check_case(&c);
            c.in[1].layout = TURNED;
            check_case(&c);
        }
}

static void what_does_not_fit_is_refused(void **state)
{
    static const op_case cases[] = {
        { .says = "I64 ids",
          .op = TNP_OP_MATMUL_ID,
          .in = { VALUE(F32, 32), VALUE(F32, 32, 8, 3), VALUE(TNP_DTYPE_I64, 1) },
          .out = VALUE(F32, 8) },
        { .says = "an F16 result",
          .op = TNP_OP_MATMUL_ID,
          .in = { VALUE(F32, 32), VALUE(F32, 32, 8, 3), VALUE(I32, 1) },
          .out = VALUE(F16, 8) },
        { .says = "a weight of I8",
          .op = TNP_OP_MATMUL_ID,
          .in = { VALUE(F32, 32), VALUE(TNP_DTYPE_I8, 32, 8, 3), VALUE(I32, 1) },
          .out = VALUE(F32, 8) },
        { .says = "more ids than results",
          .op = TNP_OP_MATMUL_ID,
          .in = { VALUE(F32, 32), VALUE(F32, 32, 8, 3), VALUE(I32, 2) },
          .out = VALUE(F32, 8) },
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
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
