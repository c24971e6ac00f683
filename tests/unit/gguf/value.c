// Conversions of metadata. Row 6 of the cases that broke other programs: never read with the wrong
// stride.
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "base/macros.h"

static gguf_builder sample;
static void *block;
static tn_model *model;

static int open_sample(void **state)
{
    (void)state;
    tn_error err;
    gguf_builder_sample(&sample);
    return check_open(sample.data, sample.bytes, NULL, &block, &model, &err);
}

static int close_sample(void **state)
{
    (void)state;
    tn_model_close(model);
    free(block);
    gguf_builder_finish(&sample);
    return 0;
}

static void every_integer_type_converts_when_it_fits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tn_status status;
        int64_t value;
    } cases[] = {
        { "u8", TN_OK, 200 },
        { "i8", TN_OK, -1 },
        { "u16", TN_OK, 60000 },
        { "i16", TN_OK, -2 },
        { "i32", TN_OK, -3 },
        { "i64", TN_OK, INT64_MIN },
        { "u64", TN_E_FILE, 77 },
        { "f32", TN_E_FILE, 77 },
        { "f64", TN_E_FILE, 77 },
        { "bool", TN_E_FILE, 77 },
        { "types", TN_E_FILE, 77 },
        { "tokens", TN_E_FILE, 77 },
        { "general.architecture", TN_E_FILE, 77 },
        { "none", TN_E_NOT_FOUND, 77 },
        { "general.alignment", TN_OK, 32 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        int64_t value = 77;   // stays after an error
        tn_error err;
        const tn_status status = tn_model_get_i64(model, cases[i].name, &value, &err);
        if (status != cases[i].status || value != cases[i].value)
            fail_msg("%s: got %s, %lld", cases[i].name, tn_status_name(status), (long long)value);
    }
}

static void every_number_converts_to_f64(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tn_status status;
        double value;
    } cases[] = {
        { "u8", TN_OK, 200 },           { "i8", TN_OK, -1 },        { "u16", TN_OK, 60000 },
        { "i16", TN_OK, -2 },           { "i32", TN_OK, -3 },       { "i64", TN_OK, -0x1p63 },
        { "u64", TN_OK, 0x1p64 },       { "f32", TN_OK, 0.5 },      { "f64", TN_OK, 0.1 },
        { "bool", TN_E_FILE, 77 },      { "types", TN_E_FILE, 77 }, { "tokens", TN_E_FILE, 77 },
        { "none", TN_E_NOT_FOUND, 77 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        double value = 77;
        tn_error err;
        const tn_status status = tn_model_get_f64(model, cases[i].name, &value, &err);
        if (status != cases[i].status || fabs(value - cases[i].value) > 0)
            fail_msg("%s: got %s, %g", cases[i].name, tn_status_name(status), value);
    }
}

static void truth_values_and_strings_do_not_convert(void **state)
{
    (void)state;
    tn_error err;
    bool truth = false;
    assert_int_equal(tn_model_get_bool(model, "bool", &truth, &err), TN_OK);
    assert_true(truth);
    assert_int_equal(tn_model_get_bool(model, "u8", &truth, &err), TN_E_FILE);
    assert_int_equal(tn_model_get_bool(model, "none", &truth, &err), TN_E_NOT_FOUND);
    truth = false;
    assert_int_equal(tn_model_get_bool_at(model, "bool", 0, &truth, &err), TN_OK);
    assert_true(truth);
    assert_int_equal(tn_model_get_bool_at(model, "bool", 1, &truth, &err), TN_E_ARG);
    assert_int_equal(tn_model_get_bool_at(model, "types", 0, &truth, &err), TN_E_FILE);
    assert_int_equal(tn_model_get_bool_at(model, "none", 0, &truth, &err), TN_E_NOT_FOUND);

    const char *text = "default";
    size_t bytes = 7;
    assert_int_equal(tn_model_get_string(model, "u8", &text, &bytes, &err), TN_E_FILE);
    assert_string_equal(err.text,
                        "test.gguf: key 'u8', element 0, is of type U8 and does not convert "
                        "to a string");
    assert_int_equal(tn_model_get_string(model, "tokens", &text, &bytes, &err), TN_E_FILE);
    assert_string_equal(text, "default");
    assert_int_equal(bytes, 7);
    assert_int_equal(tn_model_get_string(model, "general.architecture", &text, &bytes, &err),
                     TN_OK);
    assert_string_equal(text, "llama");
    assert_int_equal(bytes, 5);
    assert_int_equal(tn_model_get_string(model, "general.architecture", &text, NULL, &err), TN_OK);
}

static void elements_are_read_one_by_one_up_to_the_count(void **state)
{
    (void)state;
    static const int64_t types[] = { 3, 1, -1 };
    static const char *const tokens[] = { "<s>", "", "end" };
    tn_error err;
    for (uint64_t i = 0; i < 3; i++) {
        int64_t integer;
        double number;
        const char *text;
        size_t bytes;
        assert_int_equal(tn_model_get_i64_at(model, "types", i, &integer, &err), TN_OK);
        assert_int_equal(integer, types[i]);
        assert_int_equal(tn_model_get_f64_at(model, "types", i, &number, &err), TN_OK);
        assert_true(fabs(number - (double)types[i]) <= 0);
        assert_int_equal(tn_model_get_string_at(model, "tokens", i, &text, &bytes, &err), TN_OK);
        assert_string_equal(text, tokens[i]);
        assert_int_equal(tn_model_get_i64_at(model, "tokens", i, &integer, &err), TN_E_FILE);
        assert_int_equal(tn_model_get_string_at(model, "types", i, &text, &bytes, &err), TN_E_FILE);
    }
    int64_t integer = 5;
    assert_int_equal(tn_model_get_i64_at(model, "types", 3, &integer, &err), TN_E_ARG);
    assert_string_equal(err.text, "test.gguf: key 'types' has no element 3, there are 3");
    assert_int_equal(tn_model_get_i64_at(model, "types", UINT64_MAX, &integer, &err), TN_E_ARG);
    assert_int_equal(tn_model_get_i64_at(model, "i32", 0, &integer, &err),
                     TN_OK);   // as if of one element
    assert_int_equal(integer, -3);
    assert_int_equal(tn_model_get_i64_at(model, "i32", 1, &integer, &err), TN_E_ARG);
}

// Token types as U8, U16, I32 or I64 in the file: the same numbers come out.
static void the_width_of_elements_in_the_file_does_not_matter(void **state)
{
    (void)state;
    static const uint32_t types[] = { TN_KEY_U8,  TN_KEY_U16, TN_KEY_I32,
                                      TN_KEY_U64, TN_KEY_F32, TN_KEY_F64 };
    for (size_t t = 0; t < TN_COUNT_OF(types); t++) {
        gguf_builder b;
        gguf_builder_init(&b, 3);
        gguf_builder_key(&b, "odd", TN_KEY_BOOL);   // so that what follows is not aligned
        gguf_builder_u8(&b, 0);
        gguf_builder_array(&b, "a", types[t], 100);
        for (uint8_t i = 0; i < 100; i++) {
            switch (types[t]) {
            case TN_KEY_U8:
                gguf_builder_u8(&b, i);
                break;
            case TN_KEY_U16:
                gguf_builder_u16(&b, i);
                break;
            case TN_KEY_I32:
                gguf_builder_u32(&b, i);
                break;
            case TN_KEY_U64:
                gguf_builder_u64(&b, i);
                break;
            case TN_KEY_F32:
                gguf_builder_f32(&b, i);
                break;
            default:
                gguf_builder_f64(&b, i);
            }
        }
        void *bytes;
        tn_model *other;
        tn_error err;
        assert_int_equal(check_open(b.data, b.bytes, NULL, &bytes, &other, &err), TN_OK);
        for (uint64_t i = 0; i < 100; i++) {
            double number;
            assert_int_equal(tn_model_get_f64_at(other, "a", i, &number, &err), TN_OK);
            assert_true(fabs(number - (double)i) <= 0);
        }
        tn_model_close(other);
        free(bytes);
        gguf_builder_finish(&b);
    }
}

static void a_string_keeps_its_nul_bytes(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_key_string(&b, "s", "a?c");
    b.data[b.bytes - 2] = 0;
    void *bytes_block;
    tn_model *other;
    tn_error err;
    assert_int_equal(check_open(b.data, b.bytes, NULL, &bytes_block, &other, &err), TN_OK);
    const char *text;
    size_t bytes;
    assert_int_equal(tn_model_get_string(other, "s", &text, &bytes, &err), TN_OK);
    assert_int_equal(bytes, 3);
    assert_memory_equal(text, "a\0c", 4);
    tn_model_close(other);
    free(bytes_block);
    gguf_builder_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_type_converts_when_it_fits),
        cmocka_unit_test(every_number_converts_to_f64),
        cmocka_unit_test(truth_values_and_strings_do_not_convert),
        cmocka_unit_test(elements_are_read_one_by_one_up_to_the_count),
        cmocka_unit_test(the_width_of_elements_in_the_file_does_not_matter),
        cmocka_unit_test(a_string_keeps_its_nul_bytes),
    };
    return cmocka_run_group_tests(tests, open_sample, close_sample);
}
