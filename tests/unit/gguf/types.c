#include "check.h"

#include <string.h>

#include "base/macros.h"
#include "gguf/gguf_internal.h"

static void a_type_of_the_file_becomes_the_dtype_of_its_name(void **state)
{
    (void)state;
    uint32_t known = 0;
    for (uint32_t i = 0; i < 64; i++) {
        const tn_dtype dtype = tni_gguf_dtype(i);
        if (!dtype)
            continue;
        known++;
        assert_string_equal(tn_dtype_name(dtype), tni_gguf_tensor_type_name(i));
    }
    assert_int_equal(known, 18);   // all of dtypes.def but BOOL, which files do not have
}

// The numbers, as the format's description has them.
static void numbers_are_those_of_the_format(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        const char *name;
    } cases[] = {
        { 0, "F32" },     { 1, "F16" },     { 2, "Q4_0" },     { 3, "Q4_1" },
        { 6, "Q5_0" },    { 7, "Q5_1" },    { 8, "Q8_0" },     { 10, "Q2_K" },
        { 11, "Q3_K" },   { 12, "Q4_K" },   { 13, "Q5_K" },    { 14, "Q6_K" },
        { 19, "IQ1_S" },  { 20, "IQ4_NL" }, { 24, "I8" },      { 25, "I16" },
        { 26, "I32" },    { 27, "I64" },    { 28, "F64" },     { 30, "BF16" },
        { 4, "unknown" }, { 5, "unknown" }, { 31, "unknown" }, { UINT32_MAX, "unknown" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++)
        assert_string_equal(tni_gguf_tensor_type_name(cases[i].number), cases[i].name);
}

static void only_numbers_and_truth_values_have_a_width(void **state)
{
    (void)state;
    static const size_t widths[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8, 0, 0 };
    for (uint32_t i = 0; i < TN_COUNT_OF(widths); i++)
        assert_int_equal(tni_gguf_key_type_bytes(i), widths[i]);
    assert_int_equal(tni_gguf_key_type_bytes(UINT32_MAX), 0);
    assert_string_equal(tni_gguf_key_type_name(13), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_of_the_file_becomes_the_dtype_of_its_name),
        cmocka_unit_test(numbers_are_those_of_the_format),
        cmocka_unit_test(only_numbers_and_truth_values_have_a_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
