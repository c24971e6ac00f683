// ops_rope.c: rope against the reference.
//
// Bound. The angle is right to 1e-12 at the positions here (doubles), so cosine and sine have one
// rounding to F32, each product another: |error| <= 3 * 2^-24 * (|a| + |b|), 4e-7 for elements up
// to 1 in size, whatever the position.
#include "ops_support.h"

#include <string.h>

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16
#define I32 TNP_DTYPE_I32

static void rope_matches_the_reference(void **state)
{
    static const operand position = RANGE(0, 8193, I32, 9),
                         anywhere = RANGE(-2000000000, 2000000000, I32, 9);
    static const struct {
        const char *says;
        operand x, position, factors, out;
        int in_place;
        uint32_t rot_dims;
        float yarn;
    } cases[] = {
        { "64 of 64",
          VALUE(F32, 64, 3, 9),
          position,
          { .dtype = 0 },
          VALUE(F32, 64, 3, 9),
          1,
          64,
          0 },
        { "10 of 31",
          VALUE(F32, 31, 3, 9),
          position,
          { .dtype = 0 },
          VALUE(F32, 31, 3, 9),
          0,
          10,
          0 },
        { "200 of 257, with factors", VALUE(F32, 257, 1, 9), position, RANGE(0.5, 4, F32, 100),
          VALUE(F32, 257, 1, 9), 0, 200, 1.25f },
        { "turned",
          LAID(TURNED, F32, 34, 3, 9),
          position,
          { .dtype = 0 },
          LAID(TURNED, F32, 34, 3, 9),
          1,
          34,
          0 },
        { "padded",
          LAID(PADDED, F32, 34, 3, 9),
          position,
          { .dtype = 0 },
          LAID(PADDED, F32, 34, 3, 9),
          0,
          30,
          0 },
        { "two batches of the same positions",
          VALUE(F32, 64, 3, 9, 2),
          position,
          { .dtype = 0 },
          VALUE(F32, 64, 3, 9, 2),
          1,
          64,
          0 },
        { "F16", VALUE(F16, 64, 3, 9), position, { .dtype = 0 }, VALUE(F16, 64, 3, 9), 1, 64, 0 },
        { "any position",
          VALUE(F32, 64, 3, 9),
          anywhere,
          { .dtype = 0 },
          VALUE(F32, 64, 3, 9),
          0,
          64,
          0 },
        { "4 of 9 tokens",
          { .dtype = F32, .dims = { 64, 3, 9 }, .cut = { 0, 0, 5 } },
          { .dtype = I32, .dims = { 9 }, .high = 100, .cut = { 5 } },
          { .dtype = 0 },
          { .dtype = F32, .dims = { 64, 3, 9 }, .cut = { 0, 0, 5 } },
          0,
          64,
          0 },
        { "no token",
          { .dtype = F32, .dims = { 64, 3, 9 }, .cut = { 0, 0, 9 } },
          { .dtype = I32, .dims = { 9 }, .high = 100, .cut = { 9 } },
          { .dtype = 0 },
          { .dtype = F32, .dims = { 64, 3, 9 }, .cut = { 0, 0, 9 } },
          0,
          64,
          0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t layout_of_pairs = 0; layout_of_pairs < 2; layout_of_pairs++) {
            tnp_rope_attr attr = { .size = sizeof attr,
                                   .layout = layout_of_pairs,
                                   .rot_dims = cases[i].rot_dims,
                                   .base = 10000.0f,
                                   .scale = i % 2 ? 0.25f : 1.0f,
                                   .yarn_attention = cases[i].yarn };
            op_case c = { .says = cases[i].says,
                          .op = TNP_OP_ROPE,
                          .attr = &attr,
                          .in = { cases[i].x, cases[i].position, cases[i].factors },
                          .out = cases[i].out,
                          .in_place = cases[i].in_place,
                          .absolute = 4e-7 };

            if (c.out.dtype == F16)
                c.relative = 0x1p-10;
            check_case(&c);
        }
}

static void yarn_matches_the_reference(void **state)
{
    static const struct {
        const char *says;
        float extrapolation, attention, base, beta_fast, beta_slow;
        uint32_t context;
    } cases[] = {
        { "as published", 1, 1.1f, 10000, 32, 1, 4096 },
        { "half", 0.5f, 1, 10000, 32, 1, 4096 },
        { "a long context of a large base", 1, 1, 1e6f, 32, 1, 32768 },
        { "every pair turns fast", 1, 1, 10000, 32, 1, 4000000000u },
        { "every pair turns slowly", 1, 1, 10000, 32, 1, 4 },
        { "a ramp of no length", 1, 0, 10000, 2, 2, 4096 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t layout_of_pairs = 0; layout_of_pairs < 2; layout_of_pairs++)
            for (int has_factors = 0; has_factors < 2; has_factors++) {
                tnp_rope_attr attr = { .size = sizeof attr,
                                       .layout = layout_of_pairs,
                                       .rot_dims = 192,
                                       .base = cases[i].base,
                                       .scale = 0.25f,
                                       .yarn_extrapolation = cases[i].extrapolation,
                                       .yarn_attention = cases[i].attention,
                                       .yarn_beta_fast = cases[i].beta_fast,
                                       .yarn_beta_slow = cases[i].beta_slow,
                                       .yarn_context = cases[i].context };
                op_case c = { .says = cases[i].says,
                              .op = TNP_OP_ROPE,
                              .attr = &attr,
                              .in = { VALUE(F32, 200, 3, 9), RANGE(0, 32768, I32, 9) },
                              .out = VALUE(F32, 200, 3, 9),
                              .absolute = 5e-7 };

                if (has_factors)
                    c.in[2] = (operand)RANGE(0.5, 4, F32, 96);
                check_case(&c);
            }
}

static void bad_attributes_are_refused(void **state)
{
    static const tnp_rope_attr good = {
        .size = sizeof good, .rot_dims = 64, .base = 1e4f, .scale = 1
    };
    tnp_rope_attr bad[5] = { good, good, good, good, good };

    (void)state;
    bad[0].yarn_extrapolation = 1;   // without a context
    bad[1].rot_dims = 63;
    bad[2].rot_dims = 66;
    bad[3].rot_dims = 0;
    bad[4].layout = 2;
    for (int i = 0; i < 5; i++) {
        op_case c = { .says = "bad attribute",
                      .op = TNP_OP_ROPE,
                      .attr = &bad[i],
                      .in = { VALUE(F32, 64, 3, 9), VALUE(I32, 9) },
                      .out = VALUE(F32, 64, 3, 9) };

        check_refusal(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rope_matches_the_reference),
        cmocka_unit_test(yarn_matches_the_reference),
        cmocka_unit_test(bad_attributes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
