// ops_rows.c: get_rows and set_rows against the reference. Decoding is exact but for one rounding
// of Q4_1's d q + m; encoding gives the very values of the reference.
#include "ops_support.h"

#include <string.h>

#define F32  TNP_DTYPE_F32
#define F16  TNP_DTYPE_F16
#define Q8_0 TNP_DTYPE_Q8_0
#define Q4_1 TNP_DTYPE_Q4_1
#define I32  TNP_DTYPE_I32
#define BF16 TNP_DTYPE_BF16

static void index_at_the_end(cpu_job *job)
{
    cpu_tensor *indices = &job->in[job->op == TNP_OP_SET_ROWS ? 2 : 1];
    int32_t past = (int32_t)job->in[0].dims[1];

    memcpy(indices->data + 4, &past, sizeof past);
}

static void negative_index(cpu_job *job)
{
    int32_t below = -1;

    memcpy(job->in[job->op == TNP_OP_SET_ROWS ? 2 : 1].data, &below, sizeof below);
}

#define OUTSIDE "an index is outside the table"

static void get_rows_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "F32",
          .in = { VALUE(F32, 31, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 31, 9) },
        { .says = "F16",
          .in = { VALUE(F16, 257, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 257, 9) },
        { .says = "Q8_0",
          .in = { VALUE(Q8_0, 576, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 576, 9) },
        { .says = "Q4_1",
          .in = { VALUE(Q4_1, 1536, 7), RANGE(0, 7, I32, 1) },
          .out = VALUE(F32, 1536, 1) },
        { .says = "I32",
          .in = { RANGE(-1e9, 1e9, I32, 33, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(I32, 33, 9) },
        { .says = "a matrix for each of the indices' rows",
          .in = { VALUE(F32, 31, 7, 3), RANGE(0, 7, I32, 9, 3) },
          .out = VALUE(F32, 31, 9, 3) },
        { .says = "Q8_0 of three dims and more",
          .in = { VALUE(Q8_0, 576, 7, 3, 2), RANGE(0, 7, I32, 1, 3, 2) },
          .out = VALUE(F32, 576, 1, 3, 2) },
        { .says = "one row chosen in each matrix, turned",
          .in = { LAID(TURNED, F16, 33, 7, 3),
                  { .dtype = I32, .dims = { 2, 3 }, .layout = PADDED, .high = 7 } },
          .out = LAID(TURNED, F32, 33, 2, 3) },
        { .says = "2 of 3 matrices",
          .in = { { .dtype = F32, .dims = { 31, 7, 3 }, .cut = { 0, 0, 1 } },
                  { .dtype = I32, .dims = { 9, 3 }, .high = 7, .cut = { 0, 1 } } },
          .out = { .dtype = F32, .dims = { 31, 9, 3 }, .cut = { 0, 0, 1 } } },
        { .says = "BF16",
          .in = { VALUE(BF16, 31, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 31, 9) },
        { .says = "I8",
          .in = { RANGE(-128, 128, TNP_DTYPE_I8, 31, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 31, 9) },
        { .says = "I64, padded",
          .in = { { .dtype = TNP_DTYPE_I64,
                    .dims = { 31, 7 },
                    .layout = PADDED,
                    .low = -1e12,
                    .high = 1e12 },
                  RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 31, 9) },
        { .says = "past the end of one of three matrices",
          .in = { VALUE(F32, 33, 7, 3), RANGE(0, 7, I32, 9, 3) },
          .out = VALUE(F32, 33, 9, 3),
          .prepare = index_at_the_end,
          .failure = OUTSIDE },
        { .says = "past an extent",
          .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 3 } }, RANGE(0, 4, I32, 9) },
          .out = VALUE(F32, 33, 9),
          .prepare = index_at_the_end,
          .failure = OUTSIDE },
        { .says = "padded",
          .in = { LAID(PADDED, Q8_0, 64, 7), RANGE(0, 7, I32, 9) },
          .out = LAID(PADDED, F32, 64, 9) },
        { .says = "turned",
          .in = { LAID(TURNED, F16, 33, 7), RANGE(0, 7, I32, 9) },
          .out = LAID(TURNED, F32, 33, 9) },
        { .says = "rows of one element",
          .in = { VALUE(F32, 1, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 1, 9) },
        { .says = "no index",
          .in = { VALUE(F32, 33, 7), { .dtype = I32, .dims = { 9 }, .cut = { 9 } } },
          .out = { .dtype = F32, .dims = { 33, 9 }, .cut = { 0, 9 } } },
        { .says = "past the end",
          .in = { VALUE(F32, 33, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 33, 9),
          .prepare = index_at_the_end,
          .failure = OUTSIDE },
        { .says = "below",
          .in = { VALUE(Q4_1, 32, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 32, 9),
          .prepare = negative_index,
          .failure = OUTSIDE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_GET_ROWS;
        c.absolute = c.in[0].dtype == Q4_1 ? 0x1p-24
                                           : 0;   // values are below 0.2: twice the rounding
        check_case(&c);
    }
}

// Of a decoded element each of the products and sums is rounded once.
static double decoded_bound(tnp_dtype dtype)
{
    return largest_weight(dtype) * 0x1p-23;
}

static void rows_of_every_weight_type_are_got(void **state)
{
    static const op_case cases[] = {
        { .says = "9 rows of 7",
          .in = { VALUE(0, 300, 7), RANGE(0, 7, I32, 9) },
          .out = VALUE(F32, 300, 9) },
        { .says = "rows longer than a buffer, apart",
          .in = { LAID(PADDED, 0, 768, 7), RANGE(0, 7, I32, 2) },
          .out = LAID(PADDED, F32, 768, 2) },
        { .says = "three matrices, every second index",
          .in = { VALUE(0, 33, 7, 3),
                  { .dtype = I32, .dims = { 2, 3 }, .layout = STEPPED, .high = 7 } },
          .out = LAID(TURNED, F32, 33, 2, 3) },
        { .says = "one row stands for all",
          .in = { LAID(REPEATED, 0, 33, 7), RANGE(0, 7, I32, 3) },
          .out = LAID(STEPPED, F32, 33, 3) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int w = 0; w < WEIGHT_TYPES; w++) {
            op_case c = cases[i];

            c.op = TNP_OP_GET_ROWS;
            c.in[0].dtype = weight_types[w];
            c.in[0].dims[0] = c.out.dims[0] = whole_blocks(weight_types[w], c.out.dims[0]);
            c.absolute = decoded_bound(weight_types[w]);
            check_case(&c);
        }
}

static void same_row_twice(cpu_job *job)
{
    int32_t row = 3;

    memcpy(job->in[2].data, &row, sizeof row);
    memcpy(job->in[2].data + 4 * (job->in[2].dims[0] - 1), &row, sizeof row);
}

static void set_rows_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "F32",
          .in = { VALUE(F32, 31, 7), VALUE(F32, 31, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(F32, 31, 7) },
        { .says = "F16",
          .in = { VALUE(F16, 257, 7), VALUE(F32, 257, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(F16, 257, 7) },
        { .says = "Q8_0",
          .in = { VALUE(Q8_0, 576, 7), VALUE(F32, 576, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(Q8_0, 576, 7) },
        { .says = "longer than a buffer",
          .in = { VALUE(F16, 1600, 7), VALUE(F32, 1600, 1), RANGE(0, 7, I32, 1) },
          .out = VALUE(F16, 1600, 7) },
        { .says = "the last of equal indices stays",
          .in = { VALUE(F16, 192, 7), VALUE(F32, 192, 9), RANGE(0, 7, I32, 9) },
          .out = VALUE(F16, 192, 7),
          .prepare = same_row_twice },
        { .says = "padded",
          .in = { LAID(PADDED, Q8_0, 64, 7), LAID(PADDED, F32, 64, 3), RANGE(0, 7, I32, 3) },
          .out = LAID(PADDED, Q8_0, 64, 7) },
        { .says = "turned",
          .in = { LAID(TURNED, F16, 33, 7), LAID(TURNED, F32, 33, 3), RANGE(0, 7, I32, 3) },
          .out = LAID(TURNED, F16, 33, 7) },
        { .says = "every second element",
          .in = { LAID(STEPPED, F16, 33, 7),
                  LAID(STEPPED, F32, 33, 3),
                  { .dtype = I32, .dims = { 3 }, .layout = STEPPED, .high = 7 } },
          .out = LAID(STEPPED, F16, 33, 7) },
        { .says = "one row for all",
          .in = { VALUE(Q8_0, 96, 7), LAID(REPEATED, F32, 96, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(Q8_0, 96, 7) },
        { .says = "2 of 5 rows",
          .in = { VALUE(F16, 33, 7),
                  { .dtype = F32, .dims = { 33, 5 }, .cut = { 0, 3 } },
                  { .dtype = I32, .dims = { 5 }, .high = 7, .cut = { 3 } } },
          .out = VALUE(F16, 33, 7) },
        { .says = "past the end",
          .in = { VALUE(F32, 33, 7), VALUE(F32, 33, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(F32, 33, 7),
          .prepare = index_at_the_end,
          .failure = OUTSIDE },
        { .says = "below",
          .in = { VALUE(Q8_0, 64, 7), VALUE(F32, 64, 3), RANGE(0, 7, I32, 3) },
          .out = VALUE(Q8_0, 64, 7),
          .prepare = negative_index,
          .failure = OUTSIDE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];

        c.op = TNP_OP_SET_ROWS;
        c.in_place = 1;   // it writes through the table
        check_case(&c);
    }
}

static void other_tables_are_refused(void **state)
{
    static const op_case cases[] = {
        { .says = "Q4_0 to I32",
          .op = TNP_OP_GET_ROWS,
          .in = { VALUE(TNP_DTYPE_Q4_0, 32, 4), VALUE(I32, 1) },
          .out = VALUE(I32, 32, 1) },
        { .says = "an F16 result",
          .op = TNP_OP_GET_ROWS,
          .in = { VALUE(F32, 32, 4), VALUE(I32, 1) },
          .out = VALUE(F16, 32, 1) },
        { .says = "more matrices than indices for them",
          .op = TNP_OP_GET_ROWS,
          .in = { VALUE(F32, 32, 4, 3), VALUE(I32, 1, 2) },
          .out = VALUE(F32, 32, 1, 2) },
        { .says = "I64 index",
          .op = TNP_OP_GET_ROWS,
          .in = { VALUE(F32, 32, 4), VALUE(TNP_DTYPE_I64, 1) },
          .out = VALUE(F32, 32, 1) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
    for (int w = 0; w < WEIGHT_TYPES; w++) {
        tnp_dtype dtype = weight_types[w];
        op_case into = { .says = dtype_name(dtype),
                         .op = TNP_OP_SET_ROWS,
                         .in = { VALUE(dtype, 256, 4), VALUE(F32, 256, 1), VALUE(I32, 1) },
                         .out = VALUE(dtype, 256, 4) };

        if (dtype != F32 && dtype != F16 && dtype != Q8_0)
            check_refusal(&into);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(get_rows_matches_the_reference),
        cmocka_unit_test(rows_of_every_weight_type_are_got),
        cmocka_unit_test(set_rows_matches_the_reference),
        cmocka_unit_test(other_tables_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
