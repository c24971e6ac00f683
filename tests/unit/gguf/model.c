// The calls of model.h on files. Rows 10 and 11 of the cases that broke other programs.
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"

enum { NOBODY = 65534 };

static char folder[] = "/tmp/tenon-gguf-XXXXXX";
static char path[128];   // the sample as a file

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/ein Modell äöü 模型.gguf", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_sample(void)
{
    gguf_builder b;
    gguf_builder_sample(&b);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b.data, 1, b.bytes, file), b.bytes);
    assert_int_equal(fclose(file), 0);
    gguf_builder_finish(&b);
}

static void a_file_is_described_mapped_and_read(void **state)
{
    (void)state;
    write_sample();
    for (uint32_t flags = 0; flags <= TN_MODEL_IN_MEMORY; flags++) {
        const tn_model_options options = { .size = sizeof options, .flags = flags };
        tn_model *model;
        tn_error err = { 0 };
        if (tn_model_open(path, &options, &model, &err) != TN_OK)
            fail_msg("%s", err.text);
        tn_model_info info = { .size = sizeof info };
        tn_model_describe(model, &info);
        assert_int_equal(info.version, 3);
        assert_int_equal(info.key_count, 14);
        assert_int_equal(info.tensor_count, 3);
        assert_int_equal(info.alignment_bytes, 32);
        assert_int_equal(info.is_mapped, flags == 0);
        assert_string_equal(info.path, path);
        check_walk(model);

        tn_model_tensor up = { .size = sizeof up };
        assert_int_equal(tn_model_find_tensor(model, "up", &up, &err), TN_OK);
        assert_int_equal(up.dtype, TN_DTYPE_Q8_0);
        assert_int_equal(up.rank, 2);
        static const int64_t dims[TN_MAX_DIMS] = { 64, 3, 1, 1, 1, 1, 1, 1 };
        assert_memory_equal(up.dims, dims, sizeof dims);
        assert_int_equal(up.bytes, 204);
        assert_int_equal(((const unsigned char *)up.data)[0], 32);
        assert_int_equal(up.offset, info.file_bytes - 268 + 32);
        tn_model_close(model);
    }
}

static void what_is_not_there_is_told_and_leaves_zeros(void **state)
{
    (void)state;
    write_sample();
    tn_model *model;
    tn_error err;
    assert_int_equal(tn_model_open(path, NULL, &model, &err), TN_OK);
    tn_model_key key = { .size = sizeof key, .type = 1, .name = "x" };
    assert_int_equal(tn_model_key_at(model, 14, &key, &err), TN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, ": has no key 14, there are 14"));
    assert_null(key.name);
    assert_int_equal(key.size, sizeof key);
    assert_int_equal(tn_model_find_key(model, "missing", &key, &err), TN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, ": has no key 'missing'"));
    tn_model_tensor tensor = { .size = sizeof tensor, .data = &tensor };
    assert_int_equal(tn_model_find_tensor(model, "blk.0.attn_q.weight", &tensor, &err),
                     TN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, ": has no tensor 'blk.0.attn_q.weight'"));
    assert_null(tensor.data);
    assert_int_equal(tn_model_tensor_at(model, 3, &tensor, NULL), TN_E_NOT_FOUND);
    tn_model_close(model);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    write_sample();
    tn_model *model = NULL;
    tn_error err;
    int64_t integer;
    assert_int_equal(tn_model_open(NULL, NULL, &model, &err), TN_E_ARG);
    assert_int_equal(tn_model_open(path, NULL, NULL, &err), TN_E_ARG);
    const tn_model_options unset = { .size = 0 }, flags = { .size = sizeof flags, .flags = 4 };
    assert_int_equal(tn_model_open(path, &unset, &model, &err), TN_E_ARG);
    assert_int_equal(tn_model_open(path, &flags, &model, &err), TN_E_ARG);
    assert_int_equal(tn_model_get_i64(NULL, "i8", &integer, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_model_get_i64: model is NULL");
    assert_int_equal(tn_model_open(path, NULL, &model, &err), TN_OK);
    assert_int_equal(tn_model_get_i64(model, NULL, &integer, &err), TN_E_ARG);
    assert_int_equal(tn_model_get_i64(model, "i8", NULL, &err), TN_E_ARG);
    assert_int_equal(tn_model_key_at(model, 0, NULL, &err), TN_E_ARG);
    tn_model_close(model);
    tn_model_close(NULL);
}

// A program may be older or newer than the library: it gets what it knows, and zeros for what only
// it knows.
static void structs_of_other_sizes_are_filled_as_far_as_known(void **state)
{
    (void)state;
    write_sample();
    struct {
        tn_model_options known;
        uint64_t newer;
    } options = { .known = { .size = sizeof options }, .newer = 1 };
    tn_model *model;
    tn_error err;
    assert_int_equal(tn_model_open(path, &options.known, &model, &err), TN_E_UNSUPPORTED);
    options.newer = 0;
    assert_int_equal(tn_model_open(path, &options.known, &model, &err), TN_OK);
    struct {
        tn_model_info known;
        uint64_t newer;
    } info = { .known = { .size = sizeof info }, .newer = 1 };
    tn_model_describe(model, &info.known);
    assert_int_equal(info.newer, 0);
    assert_int_equal(info.known.size, sizeof info);
    assert_string_equal(info.known.path, path);
    info.known = (tn_model_info){ .size = 8, .alignment_bytes = 7 };
    tn_model_describe(model, &info.known);
    assert_int_equal(info.known.version, 3);
    assert_int_equal(info.known.alignment_bytes, 7);
    tn_model_close(model);
}

static void refused(const char *what, const char *must_say)
{
    for (uint32_t flags = 0; flags <= TN_MODEL_IN_MEMORY; flags++) {
        const tn_model_options options = { .size = sizeof options, .flags = flags };
        tn_model *model = (tn_model *)folder;
        tn_error err = { 0 };
        assert_int_equal(tn_model_open(what, &options, &model, &err), TN_E_FILE);
        assert_null(model);
        if (!strstr(err.text, must_say) || !strstr(err.text, what) || strchr(err.text, '\n'))
            fail_msg("%s: want \"%s\", got \"%s\"", what, must_say, err.text);
    }
}

static void what_is_not_a_readable_file_is_refused_in_one_line(void **state)
{
    (void)state;
    refused(folder, "folder");
    refused("/dev/zero", "not a regular file");
    char other[160];
    snprintf(other, sizeof other, "%s/none.gguf", folder);
    refused(other, strerror(ENOENT));

    snprintf(other, sizeof other, "%s/empty.gguf", folder);
    int file = open(other, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    close(file);
    refused(other, "is empty");
    assert_int_equal(chmod(other, 0), 0);
    const bool is_root = geteuid() == 0;   // who reads everything
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    refused(other, strerror(EACCES));
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    unlink(other);

    snprintf(other, sizeof other, "%s/fifo", folder);
    assert_int_equal(mkfifo(other, 0600), 0);
    refused(other, "not a regular file");   // and does not wait for a writer
    unlink(other);
}

static void a_model_read_into_memory_outlives_its_file(void **state)
{
    (void)state;
    write_sample();
    const tn_model_options options = { .size = sizeof options, .flags = TN_MODEL_IN_MEMORY };
    tn_model *model;
    tn_error err;
    assert_int_equal(tn_model_open(path, &options, &model, &err), TN_OK);
    assert_int_equal(truncate(path, 0), 0);
    check_walk(model);
    tn_model_close(model);
}

static void opening_and_closing_a_thousand_times_leaves_nothing(void **state)
{
    (void)state;
    write_sample();
    const int before = open("/dev/null", O_RDONLY);
    close(before);
    for (int i = 0; i < 1000; i++) {
        tn_model *model;
        assert_int_equal(tn_model_open(path, NULL, &model, NULL), TN_OK);
        tn_model_close(model);
    }
    const int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(after, before);   // the lowest free descriptor is the same
}

static void the_embedded_model_opens(void **state)
{
    (void)state;
    if (access(TEST_MODEL, R_OK) != 0)
        skip();
    tn_model *model;
    tn_error err = { 0 };
    if (tn_model_open(TEST_MODEL, NULL, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    assert_int_equal(info.tensor_count, 38);
    assert_int_equal(info.key_count, 24);
    tn_model_key key = { .size = sizeof key };
    assert_int_equal(tn_model_find_key(model, "tokenizer.ggml.tokens", &key, &err), TN_OK);
    assert_int_equal(key.count, 2048);
    assert_int_equal(key.element_type, TN_KEY_STRING);
    const char *text;
    assert_int_equal(tn_model_get_string_at(model, "tokenizer.ggml.tokens", 0, &text, NULL, &err),
                     TN_OK);
    assert_string_equal(text, "<|endoftext|>");
    double base;
    assert_int_equal(tn_model_get_f64(model, "llama.rope.freq_base", &base, &err), TN_OK);
    assert_true(base > 9999 && base < 10001);
    check_walk(model);
    tn_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_described_mapped_and_read),
        cmocka_unit_test(what_is_not_there_is_told_and_leaves_zeros),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(structs_of_other_sizes_are_filled_as_far_as_known),
        cmocka_unit_test(what_is_not_a_readable_file_is_refused_in_one_line),
        cmocka_unit_test(a_model_read_into_memory_outlives_its_file),
        cmocka_unit_test(opening_and_closing_a_thousand_times_leaves_nothing),
        cmocka_unit_test(the_embedded_model_opens),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
