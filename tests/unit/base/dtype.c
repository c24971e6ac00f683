// Element types: names, sizes of rows, what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/macros.h"

static void the_bytes_of_a_row_are_those_of_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *name;   // and what it is about
        tn_dtype dtype;
        int64_t elements;
        uint64_t bytes;
    } cases[] = {
        { "F32", TN_DTYPE_F32, 1, 4 },
        { "F32", TN_DTYPE_F32, 0, 0 },
        { "F32", TN_DTYPE_F32, 1000, 4000 },
        { "F16", TN_DTYPE_F16, 3, 6 },
        { "BF16", TN_DTYPE_BF16, 3, 6 },
        { "I32", TN_DTYPE_I32, 3, 12 },
        { "I64", TN_DTYPE_I64, 3, 24 },
        { "I16", TN_DTYPE_I16, 3, 6 },
        { "I8", TN_DTYPE_I8, 3, 3 },
        { "BOOL", TN_DTYPE_BOOL, 3, 3 },
        { "Q4_0", TN_DTYPE_Q4_0, 64, 36 },
        { "Q4_1", TN_DTYPE_Q4_1, 64, 40 },
        { "Q5_0", TN_DTYPE_Q5_0, 32, 22 },
        { "Q5_1", TN_DTYPE_Q5_1, 32, 24 },
        { "Q8_0", TN_DTYPE_Q8_0, 32, 34 },
        { "Q2_K", TN_DTYPE_Q2_K, 256, 84 },
        { "Q3_K", TN_DTYPE_Q3_K, 256, 110 },
        { "Q4_K", TN_DTYPE_Q4_K, 512, 288 },
        { "Q5_K", TN_DTYPE_Q5_K, 256, 176 },
        { "Q6_K", TN_DTYPE_Q6_K, 256, 210 },
        { "IQ4_NL", TN_DTYPE_IQ4_NL, 32, 18 },
        // no row of that type
        { "F32", TN_DTYPE_F32, -1, 0 },
        { "F32", TN_DTYPE_F32, INT64_MAX, 0 },
        { "F32", TN_DTYPE_F32, INT64_MIN, 0 },
        { "Q8_0", TN_DTYPE_Q8_0, 31, 0 },
        { "Q8_0", TN_DTYPE_Q8_0, 33, 0 },
        { "Q4_K", TN_DTYPE_Q4_K, 32, 0 },
        { "?", 0, 32, 0 },
        { "?", 9999, 32, 0 },
        { "?", UINT32_MAX, 32, 0 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        assert_string_equal(tn_dtype_name(cases[i].dtype), cases[i].name);
        uint64_t bytes = tn_dtype_bytes(cases[i].dtype, cases[i].elements);
        if (bytes != cases[i].bytes)
            fail_msg("%lld elements of %s: %llu bytes, not %llu", (long long)cases[i].elements,
                     cases[i].name, (unsigned long long)bytes, (unsigned long long)cases[i].bytes);
    }
}

static void a_number_that_is_no_type_is_not_found(void **state)
{
    (void)state;
    for (tn_dtype number = 0; number < 300; number++) {
        const tni_dtype *type = tni_dtype_find(number);
        if (type) {
            assert_int_equal(type->number, number);
            assert_true(type->block_elements >= 1 && type->block_bytes >= 1);
        }
    }
    assert_null(tni_dtype_find(0));
    assert_null(tni_dtype_find(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_of_a_row_are_those_of_the_format),
        cmocka_unit_test(a_number_that_is_no_type_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
