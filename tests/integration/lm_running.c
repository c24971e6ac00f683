// Models over time in one process: full contexts, two models, many openings, idle threads.
//   lm_running MODEL WINDOW_MODEL TIMES
// WINDOW_MODEL: one of which layers see a window of the last tokens only. TIMES: how often it is
// opened.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };   // keeps what was freed for a while
#else
enum { IS_SANITIZED = 0 };
#endif

static const char *paths[2];
static int times;

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static tn_runtime *make_runtime(uint32_t threads)
{
    tn_runtime *runtime;
    tn_error err = { 0 };
    tn_runtime_options options = { .size = sizeof options, .threads = threads };
    need(tn_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

static tn_model *open_model(const char *path)
{
    tn_model *model;
    tn_error err = { 0 };
    need(tn_model_open(path, NULL, &model, &err), &err);
    return model;
}

static tlm_context *create(tn_runtime *runtime, const tn_model *model, uint32_t context_tokens)
{
    tlm_context *context;
    tn_error err = { 0 };
    tlm_context_options options = { .size = sizeof options, .context_tokens = context_tokens };
    need(tlm_context_create(runtime, model, &options, &context, &err), &err);
    return context;
}

static uint32_t vocabulary_of(const tlm_context *context)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    return info.vocabulary;
}

static const float *eval(tlm_context *context, int32_t id)
{
    const float *logits;
    tn_error err = { 0 };
    need(tlm_eval(context, &id, 1, &logits, &err), &err);
    return logits;
}

// Nothing is shifted out of a full context, whatever the type of the KV cache and with windows too:
// the next id is refused with the numbers, and what is there still counts.
static void a_full_context_refuses_more_and_goes_on_after_a_rewind(void **state)
{
    (void)state;
    enum { CAPACITY = 24, BACK = 10 };
    static const tn_dtype types[] = { TN_DTYPE_F32, TN_DTYPE_F16, TN_DTYPE_Q8_0 };
    tn_runtime *runtime = make_runtime(2);
    for (int m = 0; m < 2; m++) {
        tn_model *model = open_model(paths[m]);
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
            tlm_context_options options = { .size = sizeof options,
                                            .context_tokens = CAPACITY,
                                            .kv_type = types[k] };
            tlm_context *context;
            tn_error err = { 0 };
            const float *logits;
            tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
            if (status == TN_E_ARG && strstr(err.text, "heads of whole blocks"))
                continue;   // refused before the run
            need(status, &err);
            for (int32_t i = 0; i < CAPACITY; i++)
                logits = eval(context, i + 3);
            size_t bytes = vocabulary_of(context) * sizeof *logits;
            float *last = malloc(bytes);
            assert_non_null(last);
            memcpy(last, logits, bytes);
            int32_t more = 1;
            assert_int_equal(tlm_eval(context, &more, 1, &logits, &err), TN_E_DATA);
            assert_non_null(strstr(err.text, "1 token does not fit after the 24 there are"));
            assert_int_equal(tlm_context_position(context), CAPACITY);
            need(tlm_context_rewind(context, BACK, &err), &err);
            for (int32_t i = BACK; i < CAPACITY; i++)
                logits = eval(context, i + 3);
            assert_memory_equal(logits, last, bytes);
            free(last);
            tlm_context_destroy(context);
        }
        tn_model_close(model);
    }
    tn_runtime_destroy(runtime);
}

static void two_models_in_one_process_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    float *alone[2];
    tn_runtime *runtime = make_runtime(3);
    tn_model *models[2] = { open_model(paths[0]), open_model(paths[1]) };
    for (int m = 0; m < 2; m++) {
        tlm_context *context = create(runtime, models[m], 0);
        size_t bytes = vocabulary_of(context) * sizeof(float);
        alone[m] = malloc(bytes);
        assert_non_null(alone[m]);
        for (int32_t i = 0; i < STEPS; i++)
            memcpy(alone[m], eval(context, i + 3), bytes);
        tlm_context_destroy(context);
    }
    tlm_context *contexts[2] = { create(runtime, models[0], 0), create(runtime, models[1], 0) };
    const float *logits[2] = { 0 };
    for (int32_t i = 0; i < 2 * STEPS; i++)
        logits[i % 2] = eval(contexts[i % 2], i / 2 + 3);
    for (int m = 0; m < 2; m++) {
        assert_memory_equal(logits[m], alone[m], vocabulary_of(contexts[m]) * sizeof(float));
        free(alone[m]);
        tlm_context_destroy(contexts[m]);
        tn_model_close(models[m]);
    }
    tn_runtime_destroy(runtime);
}

typedef struct usage {
    long resident_kib, files, threads, maps;
} usage;

static long count_entries(const char *folder)
{
    long count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static usage usage_now(void)
{
    usage u = { .files = count_entries("/proc/self/fd"),
                .threads = count_entries("/proc/self/task") };
    char line[4096];
    FILE *status = fopen("/proc/self/status", "re"), *maps = fopen("/proc/self/maps", "re");
    assert_true(status && maps);
    while (fgets(line, sizeof line, status))
        (void)sscanf(line, "RssAnon: %ld kB", &u.resident_kib);
    while (fgets(line, sizeof line, maps))
        u.maps++;
    fclose(status);
    fclose(maps);
    return u;
}

static void open_run_close(tn_runtime *runtime, const char *path)
{
    tn_model *model = open_model(path);
    tlm_context *context = create(runtime, model, 32);
    eval(context, 3);
    tlm_context_destroy(context);
    tn_model_close(model);
}

static void a_model_opened_again_and_again_leaves_nothing(void **state)
{
    (void)state;
    enum { FIRST = 40, RUNTIME_EVERY = 20 };
    usage before = { 0 }, after;
    tn_runtime *runtime = make_runtime(4);
    for (int i = 0; i < times; i++) {
        if (i == FIRST)
            before = usage_now();
        if (i % RUNTIME_EVERY == RUNTIME_EVERY - 1) {   // the plugin too is loaded again
            tn_runtime_destroy(runtime);
            runtime = make_runtime(4);
        }
        open_run_close(runtime, paths[1]);
    }
    after = usage_now();
    tn_runtime_destroy(runtime);
    print_message("after %d and %d times: RssAnon %ld and %ld KiB, %ld and %ld maps\n", FIRST,
                  times, before.resident_kib, after.resident_kib, before.maps, after.maps);
    assert_int_equal(after.files, before.files);
    assert_int_equal(after.threads, before.threads);
    if (IS_SANITIZED)
        return;
    assert_true(after.resident_kib < before.resident_kib + 1024);
    assert_true(after.maps < before.maps + 16);
}

static void no_thread_spins_between_two_prompts(void **state)
{
    (void)state;
    tn_runtime *runtime = make_runtime(8);
    tn_model *model = open_model(paths[0]);
    tlm_context *context = create(runtime, model, 0);
    for (int round = 0; round < 2; round++) {
        struct timespec begin, end, pause = { .tv_sec = 1 };
        for (int32_t i = 0; i < 30; i++)
            eval(context, i + 3);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                    (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
        print_message("CPU time in an idle second: %.2f ms\n", ms);
        assert_true(ms < 20);
    }
    tlm_context_destroy(context);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("use: lm_running MODEL WINDOW_MODEL TIMES\n", stderr);
        return 2;
    }
    paths[0] = argv[1];
    paths[1] = argv[2];
    times = atoi(argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_context_refuses_more_and_goes_on_after_a_rewind),
        cmocka_unit_test(two_models_in_one_process_do_not_disturb_each_other),
        cmocka_unit_test(a_model_opened_again_and_again_leaves_nothing),
        cmocka_unit_test(no_thread_spins_between_two_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
