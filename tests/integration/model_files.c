// A language model on files that do not stay as they are: in parts, read instead of mapped, packed
// while they are loaded, and cut while they are in use.
//   model_files MODEL FIRST_PART_OF_THE_SAME
// Plugins are found by TENON_PLUGIN_PATH.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>
#include <unistd.h>

#include "folder.h"

static const char *model_path, *parts_path;
static tn_runtime *runtime;
static test_folder folder;
static const int32_t ids[] = { 0, 1029, 364, 259 };
enum { IDS = sizeof ids / sizeof *ids };

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    const tn_runtime_options options = { .size = sizeof options, .threads = 2 };
    test_folder_make(&folder);
    need(tn_runtime_create(&options, &runtime, &err), &err);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
    return 0;
}

static tn_model *open_model(const char *path, uint32_t flags)
{
    const tn_model_options options = { .size = sizeof options, .flags = flags };
    tn_model *model;
    tn_error err = { 0 };
    need(tn_model_open(path, &options, &model, &err), &err);
    return model;
}

static tlm_context *create(const tn_model *model)
{
    const tlm_context_options options = { .size = sizeof options, .context_tokens = 16 };
    tlm_context *context;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, model, &options, &context, &err), &err);
    return context;
}

// The logits after ids, to be freed.
static float *eval(tlm_context *context, uint32_t vocabulary)
{
    const float *logits;
    tn_error err = { 0 };
    need(tlm_context_reset(context, &err), &err);
    need(tlm_eval(context, ids, IDS, &logits, &err), &err);
    float *copy = malloc(vocabulary * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, logits, vocabulary * sizeof *copy);
    return copy;
}

static uint32_t vocabulary_of(const tlm_context *context)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    return info.vocabulary;
}

static void every_way_to_open_a_model_gives_the_same_bits(void **state)
{
    (void)state;
    const struct {
        const char *path;
        uint32_t flags;
    } ways[] = { { model_path, 0 },
                 { model_path, TN_MODEL_IN_MEMORY },
                 { parts_path, 0 },
                 { parts_path, TN_MODEL_IN_MEMORY } };
    float *first = NULL;
    uint64_t copied = 0, in_place = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tn_model *model = open_model(ways[i].path, ways[i].flags);
        tlm_context *context = create(model);
        const uint32_t vocabulary = vocabulary_of(context);
        float *logits = eval(context, vocabulary);
        tn_memory_report memory = { .size = sizeof memory };
        tlm_context_memory(context, &memory);
        if (i == 0) {
            first = logits;
            copied = memory.weight_copied_bytes;
            in_place = memory.weight_mapped_bytes;
        } else {
            assert_memory_equal(logits, first, vocabulary * sizeof *logits);
            free(logits);
        }
        // Weights are read in place from memory as from a mapping, and from several files.
        assert_int_equal(memory.weight_copied_bytes, copied);
        assert_int_equal(memory.weight_mapped_bytes, in_place);
        tlm_context_destroy(context);
        tn_model_close(model);
    }
    free(first);
}

static void a_model_read_into_memory_runs_on_without_its_file(void **state)
{
    (void)state;
    test_folder_copy(&folder, "read.gguf", model_path);
    const char *path = test_folder_path(&folder, "read.gguf");
    tn_model *model = open_model(path, TN_MODEL_IN_MEMORY);
    tlm_context *context = create(model);
    const uint32_t vocabulary = vocabulary_of(context);
    float *before = eval(context, vocabulary);
    assert_int_equal(truncate(path, 0), 0);
    float *after = eval(context, vocabulary);
    assert_memory_equal(before, after, vocabulary * sizeof *before);
    assert_int_equal(tn_model_check(model, NULL), TN_OK);
    free(before);
    free(after);
    tlm_context_destroy(context);
    tn_model_close(model);
}

// KB of a file's mappings that have memory in this process.
static unsigned long resident_of(const char *path)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[8192];
    unsigned long sum = 0, kb;
    bool is_of_it = false;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') : path;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))   // begin-end …
            is_of_it = strstr(line, name) != NULL;
        else if (is_of_it && sscanf(line, "Rss: %lu kB", &kb) == 1)
            sum += kb;
    }
    fclose(file);
    return sum;
}

// A pack stands for the weight that it was made of; without packs nothing does.
static void a_packed_weight_is_in_memory_once(void **state)
{
    (void)state;
    const char *const settings[] = { "plugin.cpu.repack=off" };
    tn_runtime *const usual = runtime;
    unsigned long resident[2];
    uint64_t copied[2];
    for (uint32_t is_raw = 0; is_raw < 2; is_raw++) {
        tn_error err = { 0 };
        const tn_runtime_options options = {
            .size = sizeof options, .threads = 2, .settings = settings, .setting_count = is_raw
        };
        need(tn_runtime_create(&options, &runtime, &err), &err);
        tn_model *model = open_model(model_path, 0);
        tlm_context *context = create(model);
        free(eval(context, vocabulary_of(context)));
        tn_memory_report memory = { .size = sizeof memory };
        tlm_context_memory(context, &memory);
        resident[is_raw] = resident_of(model_path);
        copied[is_raw] = memory.weight_copied_bytes;
        tlm_context_destroy(context);
        tn_model_close(model);
        tn_runtime_destroy(runtime);
    }
    runtime = usual;
    assert_int_equal(copied[1], 0);
    if (resident[0] > resident[1] / 2 || copied[0] / 1024 < resident[1] / 2)
        fail_msg("%lu KB of the file beside %llu of packs, %lu without packs", resident[0],
                 (unsigned long long)copied[0] / 1024, resident[1]);
}

// Last, as the guard stays.
static void a_mapped_model_that_is_cut_ends_in_a_status(void **state)
{
    (void)state;
    tn_error err = { 0 };
    test_folder_copy(&folder, "cut.gguf", model_path);
    const char *path = test_folder_path(&folder, "cut.gguf");
    need(tn_model_guard_files(&err), &err);
    need(tn_plugin_watch_crashes(&err), &err);   // which sees what is mended as no crash
    tn_model *model = open_model(path, 0);
    tlm_context *context = create(model);
    free(eval(context, vocabulary_of(context)));
    need(tn_model_check(model, &err), &err);
    assert_int_equal(truncate(path, 4096), 0);
    const float *logits;
    need(tlm_context_reset(context, &err), &err);
    (void)!tlm_eval(context, ids, IDS, &logits, &err);   // of zeros: anything but the end
    assert_int_equal(tn_model_check(model, &err), TN_E_FILE);
    if (!strstr(err.text, "cut.gguf: ") || !strstr(err.text, "while it was in use"))
        fail_msg("%s", err.text);
    tlm_context_destroy(context);
    tn_model_close(model);

    // What is whole goes on as ever.
    model = open_model(model_path, 0);
    context = create(model);
    free(eval(context, vocabulary_of(context)));
    need(tn_model_check(model, &err), &err);
    tlm_context_destroy(context);
    tn_model_close(model);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_open_a_model_gives_the_same_bits),
        cmocka_unit_test(a_model_read_into_memory_runs_on_without_its_file),
        cmocka_unit_test(a_packed_weight_is_in_memory_once),
        cmocka_unit_test(a_mapped_model_that_is_cut_ends_in_a_status),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: model_files MODEL FIRST_PART\n");
        return 1;
    }
    model_path = argv[1];
    parts_path = argv[2];
    return cmocka_run_group_tests(tests, open_all, close_all);
}
