#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"

tn_status check_open(const void *data, size_t bytes, const tn_allocator *allocator,
                     void **out_block, tn_model **out_model, tn_error *err)
{
    *out_block = malloc(bytes ? bytes : 1);
    assert_non_null(*out_block);
    if (bytes)
        memcpy(*out_block, data, bytes);
    return tni_model_open_bytes(*out_block, bytes, "test.gguf", 0, allocator, out_model, err);
}

static tn_model *inspect(const void *block, size_t bytes, const char *text)
{
    tn_model *model;
    tn_error err = { 0 };
    tn_status status = tni_model_open_bytes(block, bytes, "test.gguf", TN_MODEL_INSPECT, NULL,
                                            &model, &err);
    if (status != TN_OK && (status != TN_E_FILE || strcmp(err.text, text) != 0))
        fail_msg("inspected: \"%s\", opened: \"%s\"", err.text, text);
    return model;
}

uint32_t check_inspect(const void *block, size_t bytes, const char *text)
{
    tn_model *model = inspect(block, bytes, text);
    if (!model)
        return 1;
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    const char *first = tn_model_problem(model, 0);
    if (strcmp(first ? first : "", text) != 0)
        fail_msg("inspected: \"%s\", opened: \"%s\"", first ? first : "", text);
    for (uint32_t i = 0; i < info.problem_count; i++)
        if (!tn_model_problem(model, i)[0] || strchr(tn_model_problem(model, i), '\n'))
            fail_msg("problem %u is no line: \"%s\"", i, tn_model_problem(model, i));
    assert_null(tn_model_problem(model, info.problem_count));
    check_walk(model);
    tn_model_close(model);
    return info.problem_count;
}

static void check_line(const char *says, const tn_error *err)
{
    if (strchr(err->text, '\n') || strncmp(err->text, "test.gguf: ", 11) != 0)
        fail_msg("%s: not one line that begins with the path: \"%s\"", says, err->text);
}

void check_refused(const check_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gguf_builder b;
        cases[i].build(&b);
        void *block;
        tn_model *model = (tn_model *)&b;
        tn_error err = { 0 };
        tn_status status = check_open(b.data, b.bytes, NULL, &block, &model, &err);
        if (status != TN_E_FILE || err.status != status || model)
            fail_msg("%s: want TN_E_FILE, got %s, \"%s\"", cases[i].says, tn_status_name(status),
                     err.text);
        if (!strstr(err.text, cases[i].must_say))
            fail_msg("%s: want \"%s\" in the text, got \"%s\"", cases[i].says, cases[i].must_say,
                     err.text);
        check_line(cases[i].says, &err);
        assert_true(check_inspect(block, b.bytes, err.text) > 0);
        free(block);
        gguf_builder_finish(&b);
    }
}

static void walk_element(const tn_model *model, const char *name, uint64_t i)
{
    int64_t integer;
    double number;
    const char *text;
    size_t bytes;
    tn_error err;
    if (tn_model_get_string_at(model, name, i, &text, &bytes, &err) == TN_OK)
        assert_int_equal(text[bytes], 0);
    const tn_status as_integer = tn_model_get_i64_at(model, name, i, &integer, &err);
    if (tn_model_get_f64_at(model, name, i, &number, &err) != TN_OK)
        assert_int_not_equal(as_integer, TN_OK);
}

void check_walk(const tn_model *model)
{
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    tn_error err;
    for (uint32_t i = 0; i < info.key_count; i++) {
        tn_model_key key = { .size = sizeof key }, found = { .size = sizeof found };
        assert_int_equal(tn_model_key_at(model, i, &key, &err), TN_OK);
        assert_int_equal(tn_model_find_key(model, key.name, &found, &err), TN_OK);
        if (!info.problem_count)   // else names may come twice
            assert_memory_equal(&key, &found, sizeof key);
        for (uint64_t j = 0; j < key.count; j++)
            walk_element(model, key.name, j);
    }
    unsigned sum = 0;
    for (uint32_t i = 0; i < info.tensor_count; i++) {
        tn_model_tensor tensor = { .size = sizeof tensor }, found = { .size = sizeof found };
        assert_int_equal(tn_model_tensor_at(model, i, &tensor, &err), TN_OK);
        assert_int_equal(tn_model_find_tensor(model, tensor.name, &found, &err), TN_OK);
        if (!info.problem_count)
            assert_memory_equal(&tensor, &found, sizeof tensor);
        for (uint64_t j = 0; j < tensor.bytes; j++)
            sum += ((const unsigned char *)tensor.data)[j];
    }
    (void)sum;
}

unsigned char *check_read_file(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        skip();
    fseek(file, 0, SEEK_END);
    *out_bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*out_bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *out_bytes, file), *out_bytes);
    fclose(file);
    return data;
}
