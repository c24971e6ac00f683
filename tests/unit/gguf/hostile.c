// Damaged files, and no memory: always a status, never a crash. Meant to run with the sanitizers,
// too.
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "gguf/gguf.h"

// Opens and, when it opens, walks; what is wrong is told in one line.
static tn_status try_open(const void *data, size_t bytes)
{
    void *block;
    tn_model *model;
    tn_error err = { 0 };
    const tn_status status = check_open(data, bytes, NULL, &block, &model, &err);
    if (status == TN_OK)
        check_walk(model);
    else if (status != TN_E_FILE || err.status != status || !err.text[0] ||
             strchr(err.text, '\n') || model)
        fail_msg("status %s, \"%s\"", tn_status_name(status), err.text);
    assert_int_equal(check_inspect(block, bytes, status == TN_OK ? "" : err.text) > 0,
                     status != TN_OK);
    tn_model_close(model);
    free(block);
    return status;
}

static void a_file_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_sample(&b);
    assert_int_equal(try_open(b.data, b.bytes), TN_OK);
    for (size_t i = 0; i < b.bytes; i++)
        if (try_open(b.data, i) == TN_OK)
            fail_msg("opens when cut to %zu of %zu bytes", i, b.bytes);
    gguf_builder_finish(&b);
}

static void a_byte_changed_anywhere_is_no_crash(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_sample(&b);
    for (size_t i = 0; i < b.bytes; i++) {
        const unsigned char was = b.data[i];
        b.data[i] = 0;
        (void)try_open(b.data, b.bytes);
        b.data[i] = 0xff;
        (void)try_open(b.data, b.bytes);
        b.data[i] = (unsigned char)(was + 1);
        (void)try_open(b.data, b.bytes);
        b.data[i] = was;
    }
    gguf_builder_finish(&b);
}

static void the_embedded_model_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    unsigned char *data = check_read_file(TEST_MODEL, &bytes);
    for (size_t i = 0; i < bytes; i = i * 3 / 2 + 1)
        assert_int_equal(try_open(data, i), TN_E_FILE);
    for (size_t i = 1; i < 20;
         i++)   // through the keys and the table, which end within the first 64 KiB
        assert_int_equal(try_open(data, i * 3449), TN_E_FILE);
    free(data);
}

// Each tensor has one thing wrong, and the keys too: all of it is told, in the order of the file.
static void every_problem_of_a_file_is_listed(void **state)
{
    (void)state;
    static const char *const must_say[] = {
        "key 1: its name is empty",
        "key 2 'flag': a BOOL is 7",
        "key 'twice' comes twice",
        "tensor 1 'flat': dims[1] is 0",
        "tensor 2 'high': has 5 dims",
        "tensor 'good' comes twice",
        "tensor 3 'odd': has the type 99 (unknown)",
        "tensor 4 'part': dims[0] is 33, a multiple of 32",
        "tensor 5 'between': its offset is 4",
        "tensor 6 'beyond': ends outside the file",
        "tensor 8 'over': begins at byte",
    };
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_key_u32(&b, "twice", 1);
    gguf_builder_key_u32(&b, "", 2);
    gguf_builder_key(&b, "flag", TN_KEY_BOOL);
    gguf_builder_u8(&b, 7);
    gguf_builder_key_u32(&b, "twice", 3);
    gguf_builder_tensor(&b, "good", 1, (const uint64_t[]){ 8 }, 0, 0);
    gguf_builder_tensor(&b, "flat", 2, (const uint64_t[]){ 8, 0 }, 0, 32);
    gguf_builder_tensor(&b, "high", 5, (const uint64_t[]){ 1, 1, 1, 1, 1 }, 0, 32);
    gguf_builder_tensor(&b, "odd", 1, (const uint64_t[]){ 8 }, 99, 32);
    gguf_builder_tensor(&b, "part", 1, (const uint64_t[]){ 33 }, 8, 32);
    gguf_builder_tensor(&b, "between", 1, (const uint64_t[]){ 8 }, 0, 4);
    gguf_builder_tensor(&b, "beyond", 1, (const uint64_t[]){ 8 }, 0, 1 << 20);
    gguf_builder_tensor(&b, "good", 1, (const uint64_t[]){ 16 }, 0, 64);
    gguf_builder_tensor(&b, "over", 1, (const uint64_t[]){ 8 }, 0, 96);
    gguf_builder_align(&b, 32);
    gguf_builder_zeros(&b, 128);
    tn_model *model;
    tn_error err = { 0 };
    assert_int_equal(
        tni_model_open_bytes(b.data, b.bytes, "test.gguf", TN_MODEL_INSPECT, NULL, &model, &err),
        TN_OK);
    for (uint32_t i = 0; i < TN_COUNT_OF(must_say); i++)
        if (!tn_model_problem(model, i) || !strstr(tn_model_problem(model, i), must_say[i]))
            fail_msg("%u: want \"%s\", got \"%s\"", i, must_say[i], tn_model_problem(model, i));
    assert_null(tn_model_problem(model, TN_COUNT_OF(must_say)));
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    assert_int_equal(info.problem_count, TN_COUNT_OF(must_say));
    assert_int_equal(info.tensor_count, 9);
    check_walk(model);
    tn_model_close(model);
    gguf_builder_finish(&b);
}

static void what_comes_before_the_break_is_shown(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_sample(&b);
    tn_model *model;
    tn_error err = { 0 };
    assert_int_equal(
        tni_model_open_bytes(b.data, 300, "test.gguf", TN_MODEL_INSPECT, NULL, &model, &err),
        TN_OK);
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    assert_int_equal(info.problem_count, 1);
    assert_int_equal(info.tensor_count, 0);
    assert_true(info.key_count > 5 && info.key_count < 14);
    const char *text;
    assert_int_equal(tn_model_get_string(model, "general.architecture", &text, NULL, &err), TN_OK);
    assert_string_equal(text, "llama");
    tn_model_close(model);
    gguf_builder_finish(&b);
}

static void a_thousand_problems_are_cut_short(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    for (unsigned i = 0; i < 250; i++)
        gguf_builder_key_u32(&b, "", i);
    gguf_builder_align(&b, 32);
    tn_model *model;
    tn_error err = { 0 };
    assert_int_equal(
        tni_model_open_bytes(b.data, b.bytes, "test.gguf", TN_MODEL_INSPECT, NULL, &model, &err),
        TN_OK);
    assert_non_null(strstr(tn_model_problem(model, 99), "more problems than are listed"));
    assert_null(tn_model_problem(model, 100));
    tn_model_close(model);
    gguf_builder_finish(&b);
}

// ------------------------------------------------------------------------------------------ memory

static tn_status open_sample(const tn_allocator *allocator, void *context)
{
    const gguf_builder *sample = context;
    void *block;
    tn_model *model;
    tn_error err = { 0 };
    const tn_status status = check_open(sample->data, sample->bytes, allocator, &block, &model,
                                        &err);
    if (status != TN_OK)
        assert_int_equal(status, TN_E_HOST_MEMORY);
    tn_model_close(model);
    free(block);
    return status;
}

static void each_failing_allocation_is_told_and_leaves_nothing(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_sample(&b);
    for_each_failing_allocation(open_sample, &b);
    gguf_builder_finish(&b);
}

// What a file can make the reader take is a small multiple of the file.
typedef struct counted {
    size_t bytes;
} counted;

static void *counted_alloc(void *context, size_t bytes, size_t alignment_bytes)
{
    counted *count = context;
    (void)alignment_bytes;
    count->bytes += bytes;
    return malloc(bytes);
}

static void counted_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

static void memory_taken_is_bounded_by_the_bytes_of_the_file(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_zeros(&b, 1 << 20);
    gguf_builder_set_u64(&b, 8, (1 << 20) / 33);
    gguf_builder_set_u64(&b, 16, (1 << 20) / 14);
    counted count = { 0 };
    const tn_allocator allocator = { &count, counted_alloc, counted_free };
    void *block;
    tn_model *model;
    assert_int_equal(check_open(b.data, b.bytes, &allocator, &block, &model, NULL), TN_E_FILE);
    assert_true(count.bytes < 10 * b.bytes);
    free(block);
    gguf_builder_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_at_any_byte_is_refused),
        cmocka_unit_test(a_byte_changed_anywhere_is_no_crash),
        cmocka_unit_test(the_embedded_model_cut_anywhere_is_refused),
        cmocka_unit_test(every_problem_of_a_file_is_listed),
        cmocka_unit_test(what_comes_before_the_break_is_shown),
        cmocka_unit_test(a_thousand_problems_are_cut_short),
        cmocka_unit_test(each_failing_allocation_is_told_and_leaves_nothing),
        cmocka_unit_test(memory_taken_is_bounded_by_the_bytes_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
