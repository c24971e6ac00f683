// Devices from which nothing comes: they are given up, with a line, and the session goes on; a
// close that does not come back is left behind. What is only slow is waited for.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <tenon/tune.h>

#include "places.h"
#include "session_rig.h"

enum { WIDTH = 32, TOKENS = 3, FLOATS = WIDTH * TOKENS };

static float weight[WIDTH * WIDTH], x[FLOATS], want[FLOATS];

// Four segments on two devices, one of which has tanh alone, with a copy between them.
static tn_graph *make_model(void)
{
    tn_graph *graph = rig_graph();
    const int64_t square[] = { WIDTH, WIDTH };
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, square, weight, sizeof weight);
    tn_value y = rig_input(graph, "x", 2, WIDTH, TOKENS, 0);
    for (int i = 0; i < 2; i++)
        y = rig_op(graph, TNP_OP_TANH, tn_graph_matmul(graph, y, w));
    rig_finish(graph, y);
    return graph;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static tn_status run_on(tn_runtime *runtime, tn_device *const *devices, uint32_t count, float *out,
                        tn_error *err)
{
    tn_session_options options = { .size = sizeof options,
                                   .device_count = count,
                                   .devices = devices };
    tn_graph *graph = make_model();
    tn_feed feed = { tn_graph_find(graph, "x"), x, sizeof x };
    tn_session *session = NULL;
    tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                         &session, err);
    for (int again = 0; again < 2 && status == TN_OK; again++)
        status = tn_session_run(session, 0, &feed, 1, err);
    if (status == TN_OK)
        status = tn_session_read(session, 0, tn_graph_find(graph, "out"), out, FLOATS * sizeof *out,
                                 err);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    return status;
}

static int compute_want(void **state)
{
    (void)state;
    rig_fill(weight, WIDTH * WIDTH, 1);
    rig_fill(x, FLOATS, 2);
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_device *cpu = rig_device(runtime, "cpu0");
    tn_error err = { 0 };
    if (run_on(runtime, &cpu, 1, want, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_runtime_destroy(runtime);
    return 0;
}

// -------------------------------------------------------------------------------------- semaphores

#define HANGS(at) "\"fail\":{\"call\":\"work\",\"at\":" #at ",\"hang\":true}"
#define SPARE     "{\"name\":\"c\",\"gflops\":0.001}"   // for which all of it takes long
static const char *const soon[] = { "plugins.hang_timeout_ms=300", NULL };
static const char given_up[] = "nothing came of it for 300 ms: it is given up, as lost";

static const struct {
    const char *says, *devices, *culprit;
} cases[] = {
    { "the first work",
      "[{\"name\":\"a\"," HANGS(1) "},{\"name\":\"b\",\"only\":[\"tanh\"]}," SPARE "]", "a" },
    { "what the host waits for on behalf of another",
      "[{\"name\":\"a\",\"except\":[\"tanh\"]," HANGS(
          2) "},{\"name\":\"b\",\"only\":[\"tanh\"]}," SPARE "]",
      "a" },
    { "who waited for another itself",
      "[{\"name\":\"a\",\"except\":[\"tanh\"]},{\"name\":\"b\",\"only\":[\"tanh\"]," HANGS(
          2) "}," SPARE "]",
      "b" },
    { "a peer that another waits for",
      "[{\"name\":\"a\",\"except\":[\"tanh\"],\"peer\":true," HANGS(
          3) "},"
             "{\"name\":\"b\",\"only\":[\"tanh\"],\"peer\":true}," SPARE "]",
      "a" },
    { "in the second run",
      "[{\"name\":\"a\",\"except\":[\"tanh\"],\"host_visible\":false," HANGS(
          8) "},"
             "{\"name\":\"b\",\"only\":[\"tanh\"],\"host_visible\":false}," SPARE "]",
      "a" },
};

static void a_device_from_which_nothing_comes_is_given_up_and_the_run_goes_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_runtime *runtime = rig_simulated(cases[i].devices, soon);
        tn_device *devices[] = { rig_device(runtime, "a"), rig_device(runtime, "b"),
                                 rig_device(runtime, "c") };
        float got[FLOATS];
        char line[200];
        tn_error err = { 0 };
        uint64_t begin_ms = now_ms();
        if (run_on(runtime, devices, 3, got, &err) != TN_OK)
            fail_msg("%s: %s", cases[i].says, err.text);
        assert_memory_equal(got, want, sizeof want);
        uint64_t took_ms = now_ms() - begin_ms;
        if (took_ms < 250 || took_ms > 20000)
            fail_msg("%s: %u ms: %s", cases[i].says, (unsigned)took_ms, rig_log());
        snprintf(line, sizeof line, "%s: run: %s; %s is left out", cases[i].culprit, given_up,
                 cases[i].culprit);
        if (!strstr(rig_log(), line))
            fail_msg("%s: %s", cases[i].says, rig_log());
        tn_runtime_destroy(runtime);
    }
}

// And stays lost: the next session does not wait for it again.
static void without_another_device_it_is_a_status(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"," HANGS(1) "}]", soon);
    tn_device *a = rig_device(runtime, "a");
    float got[FLOATS];
    tn_error err = { 0 };
    assert_int_equal(run_on(runtime, &a, 1, got, &err), TN_E_DEVICE_LOST);
    assert_non_null(strstr(err.text, given_up));
    uint64_t begin_ms = now_ms();
    assert_int_equal(run_on(runtime, &a, 1, got, &err), TN_E_DEVICE_LOST);
    assert_true(now_ms() - begin_ms < 300);
    tn_runtime_destroy(runtime);
}

// Sessions that share its weights: who comes second finds it lost.
static void each_session_goes_on_without_it(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"host_visible\":false," HANGS(9) "}," SPARE "]", soon);
    tn_device *devices[] = { rig_device(runtime, "a"), rig_device(runtime, "c") };
    tn_session_options options = { .size = sizeof options, .device_count = 2, .devices = devices };
    tn_graph *graph = make_model();
    tn_session *sessions[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                           &sessions[i], NULL),
                         TN_OK);
    assert_int_equal(rig_memory(sessions[0]).weight_shared_bytes, sizeof weight);
    for (int again = 0; again < 6; again++) {
        float got[FLOATS];
        rig_run(sessions[again % 2], 0, graph, "x", x, sizeof x, NULL);
        rig_read(sessions[again % 2], 0, graph, "out", got, sizeof got);
        assert_memory_equal(got, want, sizeof want);
    }
    for (int i = 0; i < 2; i++) {
        tn_device_memory memory = { .size = sizeof memory };
        assert_int_equal(tn_session_device_memory(sessions[i], 0, &memory, NULL), TN_OK);
        assert_true(memory.is_left_out);
        assert_int_equal(rig_memory(sessions[i]).weight_shared_bytes, sizeof weight);   // on c
    }
    assert_non_null(strstr(rig_log(), given_up));
    for (int i = 0; i < 2; i++)
        tn_session_destroy(sessions[i]);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_null(strstr(rig_log(), "not given back"));
}

static void measuring_gives_it_up_too(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"," HANGS(2) "}]", soon);
    tn_device *a = rig_device(runtime, "a");
    tn_tune_options options = { .size = sizeof options, .device_count = 1, .devices = &a };
    tn_error err = { 0 };
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_DEVICE_LOST);
    assert_non_null(strstr(err.text, given_up));
    tn_runtime_destroy(runtime);
}

// Longer than the time-out in all, and something comes again and again.
static void a_slow_device_is_waited_for(void **state)
{
    (void)state;
#define LATE(at) "{\"call\":\"work\",\"at\":" #at ",\"hang\":350}"
    static const char *const patient[] = { "plugins.hang_timeout_ms=1000", NULL };
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"except\":[\"tanh\"],\"fail\":[" LATE(1) "," LATE(2) "," LATE(
            3) "," LATE(4) "," LATE(5) "]},{\"name\":\"b\",\"only\":[\"tanh\"]}]",
        patient);
    tn_device *devices[] = { rig_device(runtime, "a"), rig_device(runtime, "b") };
    float got[FLOATS];
    tn_error err = { 0 };
    uint64_t begin_ms = now_ms();
    if (run_on(runtime, devices, 2, got, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(got, want, sizeof want);
    assert_true(now_ms() - begin_ms > 1500);
    assert_string_equal(rig_log(), "");
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------------- close

static char told[1000];

static void keep_line(void *context, int32_t level, const char *text)
{
    (void)context;
    if (level <= TN_LOG_WARNING)
        snprintf(told, sizeof told, "%s", text);
}

static void a_close_that_does_not_come_back_is_left_behind(void **state)
{
    (void)state;
    const char *path = TN_MISBEHAVING "/later/hang_in_close.so";
    const char *settings[] = { "plugins.hang_timeout_ms=200" };
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 2,
                                   .plugin_paths = &path,
                                   .plugin_path_count = 1,
                                   .settings = settings,
                                   .setting_count = 1,
                                   .log = keep_line };
    tn_runtime *runtime = NULL;
    tn_error err = { 0 };
    float got[FLOATS];
    test_places();
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_device *device = rig_device(runtime, "hang_in_close0");
    assert_int_not_equal(run_on(runtime, &device, 1, got, &err), TN_OK);   // it is opened
    uint64_t begin_ms = now_ms();
    tn_runtime_destroy(runtime);
    assert_in_range(now_ms() - begin_ms, 150, 10000);
    assert_string_equal(told, "hang_in_close0: close did not come back within 200 ms: its plugin "
                              "is left as it is, with all that it holds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_from_which_nothing_comes_is_given_up_and_the_run_goes_on),
        cmocka_unit_test(without_another_device_it_is_a_status),
        cmocka_unit_test(each_session_goes_on_without_it),
        cmocka_unit_test(measuring_gives_it_up_too),
        cmocka_unit_test(a_slow_device_is_waited_for),
        cmocka_unit_test(a_close_that_does_not_come_back_is_left_behind),
    };
    return cmocka_run_group_tests(tests, compute_want, NULL);
}
