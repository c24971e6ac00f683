// Where work goes on several simulated devices, and what is copied between them: situations that
// broke other schedulers.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

enum { MOST_FLOATS = 1 << 16 };

static float numbers[MOST_FLOATS];

static int fill(void **state)
{
    (void)state;
    rig_fill(numbers, MOST_FLOATS, 7);
    return 0;
}

static uint32_t count_words(const char *text, const char *words)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

// Runs the graph twice: its outputs have the bytes of the CPU plugin alone. `inputs`: names, up to
// NULL; all are F32.
static void compare_with_cpu(tn_runtime *runtime, tn_session *session, const tn_graph *graph,
                             const char *const *inputs, const char *const *outputs)
{
    static float want[MOST_FLOATS], got[MOST_FLOATS];
    tn_session *alone = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                    (const char *[]){ "cpu0", NULL });
    for (int again = 0; again < 2; again++)
        for (int side = 0; side < 2; side++) {
            tn_session *s = side ? session : alone;
            tn_feed feeds[8];
            uint32_t count = 0;
            tn_error err = { 0 };
            for (; inputs[count]; count++) {
                tn_value_info info = { .size = sizeof info };
                feeds[count].input = tn_graph_find(graph, inputs[count]);
                feeds[count].data = numbers + 13 * count;
                assert_int_equal(tn_graph_value_info(graph, feeds[count].input, &info, &err),
                                 TN_OK);
                feeds[count].bytes = info.bytes;
            }
            if (tn_session_run(s, 0, feeds, count, &err) != TN_OK)
                fail_msg("%s", err.text);
        }
    for (; *outputs; outputs++) {
        tn_value_info info = { .size = sizeof info };
        tn_error err = { 0 };
        assert_int_equal(tn_graph_value_info(graph, tn_graph_find(graph, *outputs), &info, &err),
                         TN_OK);
        assert_in_range(info.bytes, 1, sizeof want);
        rig_read(alone, 0, graph, *outputs, want, info.bytes);
        rig_read(session, 0, graph, *outputs, got, info.bytes);
        if (memcmp(want, got, info.bytes) != 0)
            fail_msg("'%s' has other bytes: %s", *outputs, rig_explain(session));
    }
    tn_session_destroy(alone);
}

// ------------------------------------------------------------------------------------------ states

// The state can only be where its op is.
static void a_state_goes_to_where_all_that_touches_it_can_run(void **state)
{
    (void)state;
    enum { WIDTH = 32, ROWS = 8, TOKENS = 3 };
    static const struct {
        const char *devices, *holder;
    } cases[] = {
        { "[{\"name\":\"a\"},{\"name\":\"b\"}]", "a" },
        { "[{\"name\":\"a\",\"except\":[\"set_rows\"]},{\"name\":\"b\"}]", "b" },
        { "[{\"name\":\"a\",\"except\":[\"set_rows\"],\"host_visible\":false,\"latency_us\":0.001,"
          "\"link_gbps\":1000},{\"name\":\"b\",\"only\":[\"set_rows\",\"get_rows\"],"
          "\"host_visible\":false,\"order\":\"late\",\"latency_us\":0.001,\"link_gbps\":1000}]",
          "b" },
        { "[{\"name\":\"a\",\"except\":[\"set_rows\"]},{\"name\":\"b\",\"only\":[\"set_rows\"]}]",
          "cpu0" },   // b cannot read what it has written
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_runtime *runtime = rig_simulated(cases[i].devices, NULL);
        tn_graph *graph = rig_graph();
        static const int32_t rows[TOKENS] = { 2, 0, 3 };
        tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2,
                                        (int64_t[]){ WIDTH, ROWS });
        tn_value index = tn_graph_weight(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS },
                                         rows, sizeof rows);
        tn_value y = rig_op(graph, TNP_OP_TANH, rig_input(graph, "x", 2, WIDTH, TOKENS, 0));
        tn_value part = tn_graph_slice(graph, cache, 1, 3, 5);   // a view of the state
        y = tn_graph_get_rows(graph, tn_graph_set_rows(graph, part, y, index), index);
        rig_finish(graph, rig_op(graph, TNP_OP_SIGMOID, y));
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "a", "b", "cpu0", NULL });
        char words[40];
        snprintf(words, sizeof words, " on %s: steps", cases[i].holder);
        if (!strstr(rig_explain(session), words))
            fail_msg("%s: %s", cases[i].devices, rig_explain(session));
        compare_with_cpu(runtime, session, graph, (const char *[]){ "x", NULL },
                         (const char *[]){ "out", NULL });
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

// Without such a place it is told when the session is made, not when it runs.
static void a_state_without_a_place_is_refused_with_the_reasons(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"except\":[\"set_rows\"]},{\"name\":\"b\",\"only\":[\"set_rows\"]}]",
        NULL);
    static const int32_t rows[1] = { 2 };
    tn_graph *graph = rig_graph();
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ 4, 4 });
    tn_value index = tn_graph_weight(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 }, rows,
                                     sizeof rows);
    tn_value y = tn_graph_set_rows(graph, cache, rig_input(graph, "x", 2, 4, 1, 0), index);
    rig_finish(graph, tn_graph_get_rows(graph, y, index));
    tn_device *devices[] = { rig_device(runtime, "a"), rig_device(runtime, "b") };
    tn_session_options options = { .size = sizeof options, .device_count = 2, .devices = devices };
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(
        tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, &err),
        TN_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no device takes set_rows"));
    assert_non_null(strstr(err.text, "a: this device has no set_rows"));
    assert_non_null(strstr(err.text, "b: it would have to move 'cache' there"));
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ----------------------------------------------------------------------------------------- devices

static tn_graph *make_row(int64_t floats, int nodes)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_input(graph, "x", 1, floats, 0, 0);
    for (int i = 0; i < nodes; i++)
        y = rig_op(graph, TNP_OP_TANH, y);
    rig_finish(graph, y);
    return graph;
}

// Any call into the first device would be told: the first of its kind fails.
static void a_session_on_the_second_device_never_touches_the_first(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"fail\":[{\"call\":\"open\",\"at\":2},{\"call\":\"memory_info\",\"at\":"
        "2},{\"call\":\"claim\",\"at\":2},{\"call\":\"buffer_alloc\",\"at\":2},{\"call\":"
        "\"queue_create\",\"at\":2},{\"call\":\"queue_submit\",\"at\":3},{\"call\":\"queue_copy\"},"
        "{\"call\":\"compile\",\"at\":2}]},{\"name\":\"b\"}]",
        NULL);
    tn_graph *graph = make_row(100, 3);
    tn_session *first = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                    (const char *[]){ "a", NULL });   // so that both are open
    compare_with_cpu(runtime, first, graph, (const char *[]){ "x", NULL },
                     (const char *[]){ "out", NULL });
    tn_session *second = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                     (const char *[]){ "b", NULL });
    compare_with_cpu(runtime, second, graph, (const char *[]){ "x", NULL },
                     (const char *[]){ "out", NULL });
    assert_null(strstr(rig_explain(second), "a: "));
    assert_null(strstr(rig_told(), "fails now"));
    tn_session_destroy(second);
    tn_session_destroy(first);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

typedef struct running {
    tn_session *session;
    tn_graph *graph;
    float want[2], got[2];   // the first and the last number
    bool failed;
} running;

static void *run_often(void *argument)
{
    enum { TIMES = 40, FLOATS = 3000 };
    running *r = argument;
    float out[FLOATS];
    tn_feed feed = { tn_graph_find(r->graph, "x"), numbers, sizeof out };
    for (int i = 0; i < TIMES && !r->failed; i++) {
        r->failed = tn_session_run(r->session, 0, &feed, 1, NULL) != TN_OK ||
                    tn_session_read(r->session, 0, tn_graph_find(r->graph, "out"), out, sizeof out,
                                    NULL) != TN_OK;
        r->got[0] = out[0];
        r->got[1] = out[FLOATS - 1];
        if (i == 0)
            memcpy(r->want, r->got, sizeof r->want);
        r->failed |= memcmp(r->want, r->got, sizeof r->want) != 0;
    }
    return NULL;
}

static void sessions_share_a_device_from_several_threads(void **state)
{
    (void)state;
    enum { SESSIONS = 3 };
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"host_visible\":false},{\"name\":\"b\",\"order\":\"late\"}]", NULL);
    running all[SESSIONS];
    pthread_t threads[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        tn_graph *graph = make_row(3000, i + 1);
        all[i] = (running){ .session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                                   (const char *[]){ i < 2 ? "a" : "b", NULL }),
                            .graph = graph };
        compare_with_cpu(runtime, all[i].session, graph, (const char *[]){ "x", NULL },
                         (const char *[]){ "out", NULL });
    }
    for (int i = 0; i < SESSIONS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &all[i]), 0);
    for (int i = 0; i < SESSIONS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < SESSIONS; i++) {
        assert_false(all[i].failed);
        tn_session_destroy(all[i].session);
        tn_graph_destroy(all[i].graph);
    }
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// What the others are is shown by integration/plugins.c.
static void a_plugin_without_devices_leaves_the_cpu(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[]", NULL);
    assert_int_equal(tn_runtime_device_count(runtime), 1);
    bool is_told = false;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        is_told |= strstr(info.reason, "no devices are described: set plugin.sim.devices") != NULL;
    }
    assert_true(is_told);
    // It was named by its file: that is worth a line.
    const char *line = strstr(rig_log(),
                              ": 0 devices; no devices are described: set plugin.sim.devices\n");
    assert_true(line && strchr(rig_log(), '\n') == strrchr(rig_log(), '\n'));
    tn_graph *graph = make_row(100, 3);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    compare_with_cpu(runtime, session, graph, (const char *[]){ "x", NULL },
                     (const char *[]){ "out", NULL });
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    assert_ptr_equal(strchr(line, '\n') + 1, rig_log() + strlen(rig_log()));
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------------ memory

// Each value is smaller than the largest buffer; together they are
// more than there is.
static void what_a_device_does_not_hold_is_told_and_what_ran_still_runs(void **state)
{
    (void)state;
    enum { FLOATS = 2000, KEPT = 6 };
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":40000,\"max_alloc_bytes\":9024}]", NULL);
    static const char *const on_a[] = { "a", NULL };
    tn_device *device = rig_device(runtime, "a");
    tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = &device };
    tn_graph *small = make_row(FLOATS, 3), *large = rig_graph(), *wide = make_row(3000, 1);
    tn_value x = rig_input(large, "x", 1, FLOATS, 0, 0), sum = x;
    for (int i = 0; i < KEPT; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        tn_value kept = rig_op(large, TNP_OP_TANH, sum);
        tn_graph_output(large, name, kept);
        sum = tn_graph_add(large, sum, kept);
    }
    rig_finish(large, sum);
    tn_session *first = rig_session(runtime, (const tn_graph *[]){ small }, 1, on_a);
    for (int again = 0; again < 100; again++) {
        tn_session *session = NULL;
        tn_error err = { 0 };
        assert_int_equal(
            tn_session_create(runtime, (const tn_graph *[]){ large }, 1, &options, &session, &err),
            TN_E_DEVICE_MEMORY);
        if (!strstr(err.text, "a: ") || !strstr(err.text, " bytes are needed") ||
            !strstr(err.text, "are free"))
            fail_msg("%s", err.text);
        assert_int_equal(
            tn_session_create(runtime, (const tn_graph *[]){ wide }, 1, &options, &session, &err),
            TN_E_DEVICE_MEMORY);
        assert_non_null(strstr(err.text, "'x' needs 12000 bytes in one buffer, the largest "
                                         "possible has 9024"));
        assert_null(session);
    }
    compare_with_cpu(runtime, first, small, (const char *[]){ "x", NULL },
                     (const char *[]){ "out", NULL });
    tn_session_destroy(first);
    tn_graph_destroy(small);
    tn_graph_destroy(large);
    tn_graph_destroy(wide);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// ------------------------------------------------------------------------------------------ copies

static void one_segment_reads_any_number_of_values_of_another_device(void **state)
{
    (void)state;
    static const int counts[] = { 1, 31, 61, 200, 513 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        tn_runtime *runtime = rig_simulated(
            "[{\"name\":\"a\",\"except\":[\"add\"],\"host_visible\":false},"
            "{\"name\":\"b\",\"only\":[\"add\"],\"host_visible\":false,\"order\":\"late\"}]",
            NULL);
        tn_graph *graph = rig_graph();
        tn_value in = rig_input(graph, "x", 1, 5, 0, 0), made[513], sum = in;
        for (int i = 0; i < counts[c]; i++)
            made[i] = tn_graph_scale(graph, in, (float)(i + 1));
        for (int i = 0; i < counts[c]; i++)
            sum = tn_graph_add(graph, sum, made[i]);
        rig_finish(graph, sum);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "a", "b", NULL });
        char words[64];
        snprintf(words, sizeof words, "%s segments, %d %s", counts[c] < 513 ? "2" : "4", counts[c],
                 counts[c] == 1 ? "copy" : "copies");   // of many, the first ones can go ahead
        if (!strstr(rig_explain(session), words))
            fail_msg("%d values: %s", counts[c], rig_explain(session));
        compare_with_cpu(runtime, session, graph, (const char *[]){ "x", NULL },
                         (const char *[]){ "out", NULL });
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
    }
}

// 32 layers of an op between products that are too much to compute for the CPU.
static tn_graph *make_layers(tnp_op between)
{
    enum { WIDTH = 256, TOKENS = 64, LAYERS = 32 };
    static float small[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++)
        small[i] = numbers[i] / 8;
    tn_graph *graph = rig_graph();
    tn_value y = rig_input(graph, "x", 2, WIDTH, TOKENS, 0);
    for (int i = 0; i <= LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w.%d", i);
        y = i ? rig_op(graph, between, y) : y;
        y = tn_graph_matmul(graph, y,
                            tn_graph_weight(graph, name, TN_DTYPE_F32, 2,
                                            (int64_t[]){ WIDTH, WIDTH }, small, sizeof small));
    }
    rig_finish(graph, y);
    return graph;
}

static void an_op_that_a_device_lacks_in_each_layer_is_explained(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"except\":[\"abs\",\"silu\"],\"host_visible\":false}]", NULL);
    static const char *const devices[] = { "a", "cpu0", NULL };
    static const char *const in[] = { "x", NULL }, *const out[] = { "out", NULL };
    tn_graph *simple = make_layers(TNP_OP_ABS), *composite = make_layers(TNP_OP_SILU);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ simple }, 1, devices);
    const char *text = rig_explain(session);
    if (!strstr(text, "65 segments, 64 copies"))
        fail_msg("%.700s", text);
    assert_int_equal(count_words(text, "unsupported: a refused abs "), 32);
    assert_int_equal(count_words(text, "after a copy of '"), 64);
    compare_with_cpu(runtime, session, simple, in, out);
    tn_session_destroy(session);
    // What can be said in other ops stays where it is.
    session = rig_session(runtime, (const tn_graph *[]){ composite }, 1, devices);
    text = rig_explain(session);
    assert_non_null(strstr(text, "1 segment, 0 copies"));
    assert_non_null(strstr(text, "decomposed 32 silu"));
    assert_non_null(strstr(text, "a refused it: this device has no silu"));
    tn_session_destroy(session);
    tn_graph_destroy(simple);
    tn_graph_destroy(composite);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// A copy for each value and device, made once however often it is read.
static void an_op_reads_from_three_devices_and_each_value_comes_once(void **state)
{
    (void)state;
    enum { WIDTH = 48, ROWS = 5 };
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"only\":[\"tanh\"],\"trace\":true},"
        "{\"name\":\"b\",\"only\":[\"sigmoid\"],\"trace\":true,\"host_visible\":false},"
        "{\"name\":\"c\",\"only\":[\"exp\"],\"trace\":true,\"order\":\"late\"},"
        "{\"name\":\"d\",\"only\":[\"layer_norm\",\"mul\"],\"trace\":true}]",
        NULL);
    static const tnp_norm_attr norm = { .size = sizeof norm, .eps = 1e-5f };
    tn_graph *graph = rig_graph();
    tn_value x = rig_op(graph, TNP_OP_TANH, rig_input(graph, "x", 2, WIDTH, ROWS, 0));
    tn_value weight = rig_op(graph, TNP_OP_SIGMOID, rig_input(graph, "w", 1, WIDTH, 0, 0));
    tn_value bias = rig_op(graph, TNP_OP_EXP, rig_input(graph, "b", 1, WIDTH, 0, 0));
    for (int i = 0; i < 3; i++)
        x = tn_graph_op(graph, TNP_OP_LAYER_NORM, NULL, (tn_value[]){ x, weight, bias }, 3, &norm);
    rig_finish(graph, tn_graph_mul(graph, tn_graph_mul(graph, x, weight), bias));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "a", "b", "c", "d", NULL });
    const char *text = rig_explain(session);
    if (!strstr(text, "4 segments, 3 copies") || count_words(text, "after a copy of '") != 3)
        fail_msg("%s", text);
    compare_with_cpu(runtime, session, graph, (const char *[]){ "x", "w", "b", NULL },
                     (const char *[]){ "out", NULL });
    for (int run = 1; run <= 2; run++) {   // out of one device and into the other
        char words[40];
        snprintf(words, sizeof words, "device d: run %d: copy of", run);
        assert_int_equal(count_words(rig_told(), words), 3);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static void an_output_that_another_device_reads_too_keeps_its_bytes(void **state)
{
    (void)state;
    enum { FLOATS = 3000, STEPS = 6 };
    static const char *const settings[] = {
        "[{\"name\":\"a\",\"except\":[\"tanh\"]},{\"name\":\"b\",\"only\":[\"tanh\"]}]",
        "[{\"name\":\"a\",\"except\":[\"tanh\"],\"host_visible\":false,\"order\":\"late\"},"
        "{\"name\":\"b\",\"only\":[\"tanh\"],\"host_visible\":false,\"order\":\"late\"}]",
        "[{\"name\":\"a\",\"except\":[\"tanh\"],\"max_alloc_bytes\":12032},"
        "{\"name\":\"b\",\"only\":[\"tanh\"],\"host_visible\":false,\"update_bytes\":256}]",
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        tn_runtime *runtime = rig_simulated(settings[i], NULL);
        tn_graph *graph = rig_graph();
        tn_value made = rig_op(graph, TNP_OP_SIGMOID, rig_input(graph, "x", 1, FLOATS, 0, 0));
        tn_value after = made;
        tn_graph_output(graph, "y", made);
        for (int step = 0; step < STEPS; step++) {
            after = rig_op(graph, TNP_OP_TANH, after);
            after = rig_op(graph, TNP_OP_EXP, tn_graph_scale(graph, after, 0.5f));
        }
        rig_finish(graph, after);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "a", "b", NULL });
        assert_non_null(strstr(rig_explain(session), "after a copy of '"));
        compare_with_cpu(runtime, session, graph, (const char *[]){ "x", NULL },
                         (const char *[]){ "y", "out", NULL });
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_goes_to_where_all_that_touches_it_can_run),
        cmocka_unit_test(a_state_without_a_place_is_refused_with_the_reasons),
        cmocka_unit_test(a_session_on_the_second_device_never_touches_the_first),
        cmocka_unit_test(sessions_share_a_device_from_several_threads),
        cmocka_unit_test(a_plugin_without_devices_leaves_the_cpu),
        cmocka_unit_test(what_a_device_does_not_hold_is_told_and_what_ran_still_runs),
        cmocka_unit_test(one_segment_reads_any_number_of_values_of_another_device),
        cmocka_unit_test(an_op_that_a_device_lacks_in_each_layer_is_explained),
        cmocka_unit_test(an_op_reads_from_three_devices_and_each_value_comes_once),
        cmocka_unit_test(an_output_that_another_device_reads_too_keeps_its_bytes),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
