// ops_convert.c: convert and concat against the reference: the same values, but for one rounding of
// Q4_1's d q + m.
#include "ops_support.h"

#include <math.h>

#define F32  TNP_DTYPE_F32
#define F16  TNP_DTYPE_F16
#define Q8_0 TNP_DTYPE_Q8_0
#define Q4_1 TNP_DTYPE_Q4_1
#define I32  TNP_DTYPE_I32

static void convert_matches_the_reference(void **state)
{
    static const op_case cases[] = {
        { .says = "F32 to F16",
          .in = { RANGE(-70000, 70000, F32, 257, 3) },
          .out = VALUE(F16, 257, 3) },
        { .says = "small F32 to F16",
          .in = { RANGE(-1e-5, 1e-5, F32, 257, 3) },
          .out = VALUE(F16, 257, 3) },
        { .says = "F16 to F32", .in = { VALUE(F16, 257, 3) }, .out = VALUE(F32, 257, 3) },
        { .says = "F32 to Q8_0", .in = { VALUE(F32, 576, 3) }, .out = VALUE(Q8_0, 576, 3) },
        { .says = "Q8_0 to F32", .in = { VALUE(Q8_0, 576, 3) }, .out = VALUE(F32, 576, 3) },
        { .says = "Q4_1 to F32",
          .in = { VALUE(Q4_1, 1536) },
          .out = VALUE(F32, 1536),
          .absolute = 0x1p-24 },
        { .says = "turned to contiguous",
          .in = { LAID(TURNED, F32, 33, 7, 2) },
          .out = VALUE(F32, 33, 7, 2) },
        { .says = "turned F16",
          .in = { LAID(TURNED, F16, 33, 7, 2) },
          .out = VALUE(F16, 33, 7, 2) },
        { .says = "turned I32",
          .in = { LAID(TURNED, I32, 33, 7, 2) },
          .out = VALUE(I32, 33, 7, 2) },
        { .says = "turned I64",
          .in = { { .dtype = TNP_DTYPE_I64,
                    .dims = { 33, 7 },
                    .layout = TURNED,
                    .low = -1e9,
                    .high = 1e9 } },
          .out = VALUE(TNP_DTYPE_I64, 33, 7) },
        { .says = "I8",
          .in = { LAID(PADDED, TNP_DTYPE_I8, 33, 7) },
          .out = VALUE(TNP_DTYPE_I8, 33, 7) },
        { .says = "repeated",
          .in = { LAID(REPEATED, F32, 33, 7, 2) },
          .out = VALUE(F32, 33, 7, 2) },
        { .says = "one row of 700", .in = { VALUE(F32, 700) }, .out = VALUE(F32, 700) },
        { .says = "3 of 7 rows",
          .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 4 } } },
          .out = { .dtype = F16, .dims = { 33, 7 }, .cut = { 0, 4 } } },
        { .says = "no row",
          .in = { { .dtype = F32, .dims = { 33, 7 }, .cut = { 0, 7 } } },
          .out = { .dtype = F16, .dims = { 33, 7 }, .cut = { 0, 7 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i];
        tnp_convert_attr attr = { sizeof attr, c.out.dtype };

        c.op = TNP_OP_CONVERT;
        c.attr = &attr;
        check_case(&c);
    }
}

// Of a decoded element each of the products and sums is rounded once; of an F16 result got and want
// may be neighbours, as may be the levels of one in Q8_0.
static void every_block_type_is_converted(void **state)
{
    static const op_case shapes[] = {
        { .says = "one row of 2048", .in = { VALUE(0, 2048) }, .out = VALUE(0, 2048) },
        { .says = "rows apart", .in = { LAID(PADDED, 0, 768, 3, 2) }, .out = VALUE(0, 768, 3, 2) },
        { .says = "one row stands for all",
          .in = { LAID(REPEATED, 0, 256, 5) },
          .out = LAID(PADDED, 0, 256, 5) },
        { .says = "2 of 5 rows",
          .in = { { .dims = { 512, 5 }, .cut = { 0, 3 } } },
          .out = { .dims = { 512, 5 }, .cut = { 0, 3 } } },
    };
    static const tnp_dtype to[] = { F32, F16, Q8_0 };

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int w = 0; w < WEIGHT_TYPES; w++)
            for (int t = 0; t < 3; t++) {
                tnp_convert_attr attr = { sizeof attr, to[t] };
                double largest = largest_weight(weight_types[w]);
                op_case c = shapes[s];

                c.op = TNP_OP_CONVERT;
                c.attr = &attr;
                c.in[0].dtype = weight_types[w];
                c.out.dtype = to[t];
                c.absolute = largest * 0x1p-23;
                if (to[t] == F16)
                    c.relative = 0x1p-10;
                if (to[t] == Q8_0 && weight_types[w] != F32 && weight_types[w] != F16)
                    c.absolute = largest / 127;
                if (weight_types[w] != to[t] || to[t] != Q8_0)
                    check_case(&c);
            }
}

static void edges(cpu_job *job)
{
    static const double numbers[] = { -1e30,    -9.3e18, -2147483649.0, -2147483648.0, -32769,
                                      -129,     -128.75, -1.75,         -0.5,          -0.0,
                                      0.25,     0.75,    1.5,           127.5,         128,
                                      32767.75, 65519,   65520,         2.2e9,         9.3e18,
                                      1e30,     NAN,     INFINITY,      -INFINITY };
    ref_tensor x = as_reference(&job->in[0]);

    for (int64_t i = 0; i < 24; i++)
        ref_set(&x, (int64_t[TNP_MAX_DIMS]){ i }, numbers[i]);
}

// Of an I64 the reference keeps 53 bits: contents are within these.
static void every_plain_type_converts_to_every_other(void **state)
{
    static const tnp_dtype types[] = {
        F32, F16, TNP_DTYPE_BF16, I32, TNP_DTYPE_I64, TNP_DTYPE_I16, TNP_DTYPE_I8, TNP_DTYPE_BOOL
    };
    static const double largest[] = { 300, 300, 300, 2147483648.0, 0x1p52, 32768, 128, 2 };
    static const int bytes[] = { 4, 2, 2, 4, 8, 2, 1, 1 };
    static const op_case shapes[] = {
        { .says = "33 by 3", .in = { VALUE(0, 33, 3) }, .out = VALUE(0, 33, 3) },
        { .says = "one row", .in = { VALUE(0, 700) }, .out = VALUE(0, 700) },
        { .says = "turned", .in = { LAID(TURNED, 0, 33, 3) }, .out = LAID(PADDED, 0, 33, 3) },
        { .says = "stepped", .in = { LAID(STEPPED, 0, 33, 3) }, .out = LAID(STEPPED, 0, 33, 3) },
        { .says = "repeated", .in = { LAID(REPEATED, 0, 33, 3) }, .out = LAID(TURNED, 0, 33, 3) },
        { .says = "edges", .in = { VALUE(0, 24) }, .out = VALUE(0, 24), .prepare = edges },
    };

    (void)state;
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++)
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
                tnp_convert_attr attr = { sizeof attr, types[to] };
                op_case c = shapes[s];

                c.op = TNP_OP_CONVERT;
                c.attr = &attr;
                c.in[0].dtype = types[from];
                c.out.dtype = types[to];
                c.in[0].low = from == 7 ? 0 : -largest[from];
                c.in[0].high = largest[from];
                if (from == 4 && to == 4 && c.prepare)
                    continue;   // the largest I64, which has 63 bits
                check_case(&c);
                c.in_place = 1;
                if (bytes[from] == bytes[to] && c.in[0].layout == c.out.layout)
                    check_case(&c);
            }
}

static void concat_matches_the_reference(void **state)
{
    static const struct {
        op_case c;
        uint32_t axis;
    } cases[] = {
        { { .says = "along 0",
            .in = { VALUE(F32, 31, 3), VALUE(F32, 2, 3) },
            .out = VALUE(F32, 33, 3) },
          0 },
        { { .says = "along 1",
            .in = { VALUE(F16, 31, 3), VALUE(F16, 31, 5) },
            .out = VALUE(F16, 31, 8) },
          1 },
        { { .says = "along 3",
            .in = { VALUE(I32, 5, 3, 2, 1), VALUE(I32, 5, 3, 2, 4) },
            .out = VALUE(I32, 5, 3, 2, 5) },
          3 },
        { { .says = "turned",
            .in = { LAID(TURNED, F32, 31, 3), VALUE(F32, 31, 5) },
            .out = LAID(TURNED, F32, 31, 8) },
          1 },
        { { .says = "padded",
            .in = { VALUE(F32, 31, 3), LAID(PADDED, F32, 31, 3) },
            .out = LAID(PADDED, F32, 62, 3) },
          0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_case c = cases[i].c;
        tnp_axis_attr attr = { sizeof attr, cases[i].axis };

        c.op = TNP_OP_CONCAT;
        c.attr = &attr;
        check_case(&c);
    }
}

static void other_conversions_are_refused(void **state)
{
    static const tnp_axis_attr axis = { sizeof axis, 1 };
    static const op_case cases[] = {
        { .says = "I32 to Q8_0",
          .op = TNP_OP_CONVERT,
          .in = { VALUE(I32, 32) },
          .out = VALUE(Q8_0, 32) },
        { .says = "Q8_0 to I32",
          .op = TNP_OP_CONVERT,
          .in = { VALUE(Q8_0, 32) },
          .out = VALUE(I32, 32) },
        { .says = "F32 to Q4_1",
          .op = TNP_OP_CONVERT,
          .in = { VALUE(F32, 32) },
          .out = VALUE(Q4_1, 32) },
        { .says = "Q4_K to BF16",
          .op = TNP_OP_CONVERT,
          .in = { VALUE(TNP_DTYPE_Q4_K, 256) },
          .out = VALUE(TNP_DTYPE_BF16, 256) },
        { .says = "F32 to Q4_K",
          .op = TNP_OP_CONVERT,
          .in = { VALUE(F32, 256) },
          .out = VALUE(TNP_DTYPE_Q4_K, 256) },
        { .says = "concat of Q8_0",
          .op = TNP_OP_CONCAT,
          .attr = &axis,
          .in = { VALUE(Q8_0, 32, 2), VALUE(Q8_0, 32, 2) },
          .out = VALUE(Q8_0, 32, 4) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refusal(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convert_matches_the_reference),
        cmocka_unit_test(every_block_type_is_converted),
        cmocka_unit_test(every_plain_type_converts_to_every_other),
        cmocka_unit_test(concat_matches_the_reference),
        cmocka_unit_test(other_conversions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
