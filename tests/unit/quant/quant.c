// quant.c: what the two calls refuse, and blocks that are not numbers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quant/quant.h"

static const struct {
    tn_dtype number;
    const char *name;
    int64_t elements;
    size_t bytes;
} dtypes[] = {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    { number, #NAME, block_elements, block_bytes },
#include <tenon/dtypes.def>
};

#define DTYPES (sizeof dtypes / sizeof dtypes[0])

static void every_float_type_of_the_table_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < DTYPES; i++) {
        int is_integer = dtypes[i].number >= TN_DTYPE_I32 && dtypes[i].number <= TN_DTYPE_BOOL;
        tn_status want = is_integer ? TN_E_DTYPE : TN_OK;

        assert_int_equal(tni_quant_decode(dtypes[i].number, NULL, 0, NULL), want);
        assert_int_equal(tni_quant_encode(dtypes[i].number, NULL, 0, NULL), want);
    }
    assert_int_equal(tni_quant_decode(0, NULL, 0, NULL), TN_E_DTYPE);
    assert_int_equal(tni_quant_encode(9999, NULL, 0, NULL), TN_E_DTYPE);
}

static void parts_of_blocks_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].elements > 1) {
            assert_int_equal(tni_quant_decode(dtypes[i].number, NULL, 31, NULL), TN_E_SHAPE);
            assert_int_equal(
                tni_quant_encode(dtypes[i].number, NULL, dtypes[i].elements + 16, NULL),
                TN_E_SHAPE);
        }
    assert_int_equal(tni_quant_decode(TN_DTYPE_F32, NULL, -1, NULL), TN_E_SHAPE);
}

// Three blocks: the middle one has the strange number, the others are not touched by it.
static void a_block_that_is_no_number_decodes_to_nan_throughout(void **state)
{
    static const float strange[] = { INFINITY, -INFINITY, NAN };

    (void)state;
    for (size_t i = 0; i < DTYPES; i++)
        for (int s = 0; s < 3 && dtypes[i].elements > 1; s++) {
            size_t n = (size_t)dtypes[i].elements;
            float *x = malloc(3 * n * sizeof *x);
            void *blocks = malloc(3 * dtypes[i].bytes);

            assert_true(x && blocks);
            for (size_t j = 0; j < 3 * n; j++)
                x[j] = (float)(j % 7) - 3.0f;
            x[n + n / 3] = strange[s];
            assert_int_equal(tni_quant_encode(dtypes[i].number, x, (int64_t)(3 * n), blocks),
                             TN_OK);
            assert_int_equal(tni_quant_decode(dtypes[i].number, blocks, (int64_t)(3 * n), x),
                             TN_OK);
            for (size_t j = 0; j < 3 * n; j++)
                if (isfinite(x[j]) != (j / n != 1))
                    fail_msg("%s: element %zu is %g", dtypes[i].name, j, (double)x[j]);
            free(x);
            free(blocks);
        }
}

static void a_block_of_zeros_decodes_to_zeros(void **state)
{
    (void)state;
    for (size_t i = 0; i < DTYPES; i++) {
        float x[256] = { 0 };
        unsigned char block[256];

        if (tni_quant_encode(dtypes[i].number, x, dtypes[i].elements, block) != TN_OK)
            continue;
        memset(x, 0xff, sizeof x);
        assert_int_equal(tni_quant_decode(dtypes[i].number, block, dtypes[i].elements, x), TN_OK);
        for (int64_t j = 0; j < dtypes[i].elements; j++)
            assert_true(x[j] == 0.0f);
    }
}

// Numbers at the ends of F32, where scales and their inverses are infinite or 0: no result is
// promised but that there is one.
static void the_largest_and_the_least_numbers_are_taken(void **state)
{
    static const float sizes[] = { 1e-45f, 1e-38f, 1e-30f, 1e-8f, 1e8f, 1e30f, 3e38f };

    (void)state;
    for (size_t i = 0; i < DTYPES; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            float x[256];
            unsigned char block[256];

            for (int j = 0; j < 256; j++)
                x[j] = sizes[s] * (float)(j % 5 - 2) / 2.0f;
            if (tni_quant_encode(dtypes[i].number, x, dtypes[i].elements, block) != TN_OK)
                continue;
            assert_int_equal(tni_quant_decode(dtypes[i].number, block, dtypes[i].elements, x),
                             TN_OK);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float_type_of_the_table_is_known),
        cmocka_unit_test(parts_of_blocks_are_refused),
        cmocka_unit_test(a_block_that_is_no_number_decodes_to_nan_throughout),
        cmocka_unit_test(a_block_of_zeros_decodes_to_zeros),
        cmocka_unit_test(the_largest_and_the_least_numbers_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
