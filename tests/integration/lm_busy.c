// How fast tokens come where there are fewer free CPUs than threads.
//   lm_busy MODEL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <tenon/lm.h>
#include <time.h>

#include "busy.h"

enum { TURNS = 10, TOKENS = 100 };

static const char *model_path;
static tn_model *model;

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static int open_on_two_cpus(void **state)
{
    (void)state;
    tn_error err = { 0 };
    busy_stay_on(2);
    need(tn_model_open(model_path, NULL, &model, &err), &err);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    tn_model_close(model);
    return 0;
}

typedef struct runner {
    tn_runtime *runtime;
    tlm_context *context;
} runner;

static runner make_runner(uint32_t threads)
{
    runner r;
    tn_error err = { 0 };
    tn_runtime_options options = { .size = sizeof options, .threads = threads };
    need(tn_runtime_create(&options, &r.runtime, &err), &err);
    need(tlm_context_create(r.runtime, model, NULL, &r.context, &err), &err);
    return r;
}

static void drop_runner(runner r)
{
    tlm_context_destroy(r.context);
    tn_runtime_destroy(r.runtime);
}

static double seconds_of(runner r)
{
    struct timespec begin, end;
    const float *logits;
    tn_error err = { 0 };
    need(tlm_context_rewind(r.context, 0, &err), &err);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int32_t id = 1; id <= TOKENS; id++)
        need(tlm_eval(r.context, &id, 1, &logits, &err), &err);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

// In turns, so that whatever else runs here disturbs both alike.
static void compare(uint32_t few, uint32_t many, double most, const char *where)
{
    double seconds[2] = { 0 };
    runner a = make_runner(few), b = make_runner(many);
    for (int i = 0; i < TURNS; i++) {
        seconds[0] += seconds_of(a);
        seconds[1] += seconds_of(b);
    }
    print_message("%s: %.0f tokens/s with %u threads, %.0f with %u\n", where,
                  TURNS * TOKENS / seconds[0], few, TURNS * TOKENS / seconds[1], many);
    assert_true(seconds[1] < most * seconds[0]);
    drop_runner(a);
    drop_runner(b);
}

static void eight_threads_on_two_cpus_take_at_most_three_times_as_long_as_two(void **state)
{
    (void)state;
    compare(2, 8, 3, "two CPUs");
}

static void beside_a_busy_process_two_threads_take_at_most_twice_as_long_as_one(void **state)
{
    (void)state;
    pid_t busy = busy_begin();
    compare(1, 2, 2, "two CPUs, one busy");
    busy_end(busy);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("use: lm_busy MODEL\n", stderr);
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_on_two_cpus_take_at_most_three_times_as_long_as_two),
        cmocka_unit_test(beside_a_busy_process_two_threads_take_at_most_twice_as_long_as_one),
    };
    model_path = argv[1];
    return cmocka_run_group_tests(tests, open_on_two_cpus, close_model);
}
