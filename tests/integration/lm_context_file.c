// A context's KV cache in a file: what goes on from it, and what is refused.
//   lm_context_file MODEL OTHER_MODEL
// Plugins are found by TENON_PLUGIN_PATH or beside libtenon.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tenon/lm.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "folder.h"

enum { IDS = 60, FIRST = 33 };

static const char *model_path, *other_path, *path;
static test_folder folder;
static tn_runtime *runtime;
static tn_model *model;
static uint32_t vocabulary;
static int32_t ids[IDS];

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static tn_model *open_model(const char *from)
{
    tn_model *opened;
    tn_error err = { 0 };
    need(tn_model_open(from, NULL, &opened, &err), &err);
    return opened;
}

static tlm_context *create(const tn_model *from, const tlm_context_options *options)
{
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, from, options, &context, &err), &err);
    return context;
}

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    static char text[TEST_PATH_BYTES];
    test_folder_make(&folder);
    snprintf(text, sizeof text, "%s", test_folder_path(&folder, "cache"));
    path = text;
    tn_runtime_options options = { .size = sizeof options, .threads = 2 };
    need(tn_runtime_create(&options, &runtime, &err), &err);
    model = open_model(model_path);
    tlm_context *context = create(model, NULL);
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    vocabulary = info.vocabulary;
    for (uint32_t i = 0; i < IDS; i++)
        ids[i] = (int32_t)(i * 7919 % vocabulary);
    tlm_context_destroy(context);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
    return 0;
}

static const float *eval(tlm_context *context, const int32_t *these, uint32_t count)
{
    const float *logits;
    tn_error err = { 0 };
    need(tlm_eval(context, these, count, &logits, &err), &err);
    return logits;
}

static void save(tlm_context *context)
{
    tn_error err = { 0 };
    need(tlm_context_save(context, path, &err), &err);
}

static void load(tlm_context *context)
{
    tn_error err = { 0 };
    need(tlm_context_load(context, path, &err), &err);
}

// A context with the first ids, saved.
static tlm_context *make_saved(const tlm_context_options *options)
{
    tlm_context *context = create(model, options);
    eval(context, ids, FIRST);
    save(context);
    return context;
}

static void a_loaded_context_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    static const tn_dtype types[] = { TN_DTYPE_F32, TN_DTYPE_F16, TN_DTYPE_Q8_0 };
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        tlm_context_options options = { .size = sizeof options, .kv_type = types[k] };
        tlm_context *a = make_saved(&options), *b = create(model, &options);
        eval(b, ids + 5, 50);   // is forgotten
        load(b);
        assert_int_equal(tlm_context_position(b), FIRST);
        assert_memory_equal(tlm_context_ids(b), ids, FIRST * sizeof *ids);
        const float *want = eval(a, ids + FIRST, IDS - FIRST);
        assert_memory_equal(eval(b, ids + FIRST, IDS - FIRST), want, vocabulary * sizeof *want);
        assert_memory_equal(tlm_context_ids(b), ids, IDS * sizeof *ids);
        tlm_context_destroy(a);
        tlm_context_destroy(b);
    }
}

// As the prompt cache does: a text that shares its beginning with what is there.
static void a_common_beginning_is_used_again(void **state)
{
    (void)state;
    enum { COMMON = 20 };
    int32_t other[IDS];
    memcpy(other, ids, sizeof other);
    for (int i = COMMON; i < IDS; i++)
        other[i] = ids[IDS - i];
    tlm_context_destroy(make_saved(NULL));
    tlm_context *a = create(model, NULL), *b = create(model, NULL);
    tn_error err = { 0 };
    load(b);
    need(tlm_context_rewind(b, COMMON, &err), &err);
    const float *whole = eval(a, other, IDS), *rest = eval(b, other + COMMON, IDS - COMMON);
    for (uint32_t i = 0; i < vocabulary; i++)   // other batches: as lm_batches bounds them
        assert_true(fabsf(whole[i] - rest[i]) < 0.05f);
    tlm_context_destroy(a);
    tlm_context_destroy(b);
}

static void the_file_is_as_large_as_what_is_in_it(void **state)
{
    (void)state;
    size_t full, part;
    tlm_context *context = make_saved(NULL);
    tn_memory_report memory = { .size = sizeof memory };
    tlm_context_info info = { .size = sizeof info };
    tlm_context_memory(context, &memory);
    tlm_context_describe(context, &info);
    free(test_read_file(path, &full));
    tn_error err = { 0 };
    need(tlm_context_rewind(context, 1, &err), &err);
    save(context);
    free(test_read_file(path, &part));
    uint64_t row = memory.state_bytes / info.context_tokens;
    assert_in_range(full - part, (FIRST - 1) * row, (FIRST - 1) * (row + 4) + 8);
    assert_true(part < 2 * row + 8192);
    tlm_context_destroy(context);
}

static void refuse(tlm_context *context, tn_status want, const char *must_say)
{
    tn_error err = { 0 };
    tn_status status = tlm_context_load(context, path, &err);
    if (status != want || !strstr(err.text, must_say))
        fail_msg("%s: \"%s\", not \"%s\"", tn_status_name(status), err.text, must_say);
}

static void what_is_of_another_context_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const tlm_context_options others[] = {
        { .size = sizeof others[0], .kv_type = TN_DTYPE_F32 },
        { .size = sizeof others[0], .kv_type = TN_DTYPE_Q8_0 },
        { .size = sizeof others[0], .context_tokens = 100 },
    };
    tlm_context *context = create(model, NULL), *reference = create(model, NULL);
    eval(context, ids, 10);
    eval(reference, ids, 10);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        tlm_context_destroy(make_saved(&others[i]));
        refuse(context, TN_E_GRAPH, "of another model, or of another size or type");
    }
    tn_model *other = open_model(other_path);
    tlm_context *of_other = create(other, NULL);
    eval(of_other, (int32_t[]){ 1, 2 }, 2);
    save(of_other);
    refuse(context, TN_E_GRAPH, "of another model");
    tlm_context_destroy(of_other);
    tn_model_close(other);
    assert_int_equal(tlm_context_position(context), 10);
    assert_memory_equal(tlm_context_ids(context), ids, 10 * sizeof *ids);
    const float *want = eval(reference, ids + 10, 5);
    assert_memory_equal(eval(context, ids + 10, 5), want, vocabulary * sizeof *want);
    tlm_context_destroy(context);
    tlm_context_destroy(reference);
}

// The same architecture and shapes, trained further: one tensor has other bytes.
static void other_weights_are_another_model(void **state)
{
    (void)state;
    size_t count;
    unsigned char *bytes = test_read_file(model_path, &count);
    tn_model_tensor tensor = { .size = sizeof tensor };
    tn_error err = { 0 };
    need(tn_model_tensor_at(model, 3, &tensor, &err), &err);
    for (uint64_t i = 0; i < tensor.bytes; i++)
        bytes[tensor.offset + i] ^= 1;
    test_folder_write(&folder, "other.gguf", bytes, count);
    free(bytes);
    tn_model *other = open_model(test_folder_path(&folder, "other.gguf"));
    tlm_context *context = create(other, NULL);
    tlm_context_destroy(make_saved(NULL));
    refuse(context, TN_E_GRAPH, "of another model");
    tlm_context_destroy(context);
    tn_model_close(other);
}

static void a_file_cut_or_changed_anywhere_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    size_t count;
    char place[64];
    int file = memfd_create("cache", MFD_CLOEXEC);   // thousands of writes, to no disk
    assert_true(file >= 0);
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    tlm_context_options options = { .size = sizeof options,
                                    .kv_type = TN_DTYPE_Q8_0,
                                    .context_tokens = 64 };
    tlm_context *context = create(model, &options), *reference = create(model, &options);
    tn_error err = { 0 };
    eval(context, ids, 1);
    save(context);
    unsigned char *bytes = test_read_file(path, &count);
    need(tlm_context_reset(context, &err), &err);
    eval(context, ids + 7, 9);
    for (size_t i = 0; i < 2 * count; i++) {
        size_t at = i / 2;
        bytes[at] ^= i % 2 ? 0x40 : 0;
        assert_int_equal(ftruncate(file, (off_t)(i % 2 ? count : at)), 0);
        assert_int_equal(pwrite(file, bytes, i % 2 ? count : at, 0), i % 2 ? count : at);
        bytes[at] ^= i % 2 ? 0x40 : 0;
        if (tlm_context_load(context, place, &err) == TN_OK)
            fail_msg("%s at byte %zu of %zu was taken", i % 2 ? "a change" : "a cut", at, count);
        assert_int_equal(tlm_context_position(context), 9);
    }
    close(file);
    free(bytes);
    eval(reference, ids + 7, 9);
    const float *want = eval(reference, ids, 4);
    assert_memory_equal(eval(context, ids, 4), want, vocabulary * sizeof *want);
    tlm_context_destroy(context);
    tlm_context_destroy(reference);
}

// A file that is whole, but made to harm: one id more than the states hold. It takes the place of
// padding, so nothing moves.
static void ids_that_the_states_do_not_hold_are_refused(void **state)
{
    (void)state;
    enum { NOTE_BYTES_AT = 40 };   // exec/snapshot.h
    const uint64_t is = FIRST * sizeof *ids, made = is + sizeof *ids;
    tlm_context *context = make_saved(NULL);
    size_t count;
    unsigned char *bytes = test_read_file(path, &count);
    assert_memory_equal(bytes + NOTE_BYTES_AT, &is, sizeof is);
    memcpy(bytes + NOTE_BYTES_AT, &made, sizeof made);
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, bytes, count - SHA256_DIGEST_LENGTH);
    SHA256Final(bytes + count - SHA256_DIGEST_LENGTH, &hash);
    test_folder_write(&folder, "cache", bytes, count);
    free(bytes);
    refuse(context, TN_E_DATA, "holds 34 ids beside a KV cache that is not of so many");
    assert_int_equal(tlm_context_position(context), FIRST);
    tlm_context_destroy(context);
}

static tn_status load_with(const tn_allocator *allocator, void *unused)
{
    (void)unused;
    tlm_context_options options = { .size = sizeof options,
                                    .context_tokens = 64,
                                    .allocator = allocator };
    tlm_context *context;
    tn_error err = { 0 };
    tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
    if (status == TN_OK)
        status = tlm_context_load(context, path, &err);
    tlm_context_destroy(context);
    return status;
}

static void loading_survives_every_failing_allocation(void **state)
{
    (void)state;
    tlm_context_options options = { .size = sizeof options, .context_tokens = 64 };
    tlm_context_destroy(make_saved(&options));
    for_each_failing_allocation(load_with, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("use: lm_context_file MODEL OTHER_MODEL\n", stderr);
        return 2;
    }
    model_path = argv[1];
    other_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_context_goes_on_with_the_same_bits),
        cmocka_unit_test(a_common_beginning_is_used_again),
        cmocka_unit_test(the_file_is_as_large_as_what_is_in_it),
        cmocka_unit_test(what_is_of_another_context_is_refused_and_changes_nothing),
        cmocka_unit_test(other_weights_are_another_model),
        cmocka_unit_test(a_file_cut_or_changed_anywhere_is_refused_and_changes_nothing),
        cmocka_unit_test(ids_that_the_states_do_not_hold_are_refused),
        cmocka_unit_test(loading_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
