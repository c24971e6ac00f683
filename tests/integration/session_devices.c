// Sessions over several devices: the CPU twice, and the CPU beside a plugin that passes a part of
// the ops on to it, hides its memory, or fails at one call.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

enum { WIDTH = 32, TOKENS = 3, ROWS = 8 };

static float weight[WIDTH * WIDTH], scale[WIDTH], x[WIDTH * TOKENS];

static int fill(void **state)
{
    (void)state;
    rig_fill(weight, WIDTH * WIDTH, 1);
    rig_fill(scale, WIDTH, 2);
    rig_fill(x, WIDTH * TOKENS, 3);
    return 0;
}

// A few layers with a cache: norms, products, exponentials, a state that is written and read.
static tn_graph *make_model(void)
{
    tn_graph *graph = rig_graph();
    const int64_t square[] = { WIDTH, WIDTH };
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, square, weight, sizeof weight);
    tn_value s = tn_graph_weight(graph, "scale", TN_DTYPE_F32, 1, square, scale, sizeof scale);
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, ROWS });
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS });
    tn_value y = rig_input(graph, "x", 2, WIDTH, TOKENS, 0);
    for (int layer = 0; layer < 3; layer++) {
        tn_value h = tn_graph_matmul(graph, tn_graph_rms_norm(graph, y, s, 1e-5f), w);
        h = rig_op(graph, TNP_OP_SIGMOID, h);
        tn_value part = tn_graph_slice(graph, h, 0, layer, WIDTH / 2);
        h = tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ part, part }, 2,
                        &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
        y = tn_graph_add(graph, y, tn_graph_mul(graph, h, h));
    }
    tn_value written = tn_graph_set_rows(graph, cache, y, index);
    tn_graph_output(graph, "cache", written);
    tn_graph_output(graph, "middle", y);   // also read by the nodes after it
    rig_finish(graph, rig_op(graph, TNP_OP_TANH, tn_graph_get_rows(graph, written, index)));
    return graph;
}

typedef struct results {
    float out[WIDTH * TOKENS], middle[WIDTH * TOKENS], cache[WIDTH * ROWS];
} results;

static void run_model(tn_session *session, const tn_graph *graph, results *r)
{
    const int32_t index[TOKENS] = { 5, 0, 3 };
    rig_run(session, 0, graph, "x", x, sizeof x, "index", index, sizeof index, NULL);
    rig_read(session, 0, graph, "out", r->out, sizeof r->out);
    rig_read(session, 0, graph, "middle", r->middle, sizeof r->middle);
    rig_read(session, 0, graph, "cache", r->cache, sizeof r->cache);
}

static void run_on_the_cpu_alone(results *r)
{
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_model();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    run_model(session, graph, r);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ----------------------------------------------------------------------------------------- placing

static void a_session_on_the_second_device_touches_only_that(void **state)
{
    (void)state;
    results alone, second;
    run_on_the_cpu_alone(&alone);
    tn_runtime *runtime = rig_runtime(false, (const char *[]){ "plugin.cpu.devices=2", NULL });
    assert_int_equal(tn_runtime_device_count(runtime), 2);
    tn_graph *graph = make_model();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu1", NULL });
    run_model(session, graph, &second);
    assert_memory_equal(&alone, &second, sizeof alone);
    assert_non_null(strstr(rig_explain(session), "cpu1"));
    assert_null(strstr(rig_explain(session), "cpu0"));
    tn_session_destroy(session);
    session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);   // both
    run_model(session, graph, &second);
    assert_memory_equal(&alone, &second, sizeof alone);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static void segments_on_two_devices_give_the_bits_of_one(void **state)
{
    (void)state;
    static const char near[] = "plugin.partial.link_ns=1", far[] = "plugin.partial.link_ns=100000";
    static const struct {
        const char *refuse;   // by the partial device, which is the cheaper one
        const char *link;
        bool is_split;
    } cases[] = {
        { "plugin.partial.refuse=", near, false },
        { "plugin.partial.refuse=37", near, true },      // sigmoid
        { "plugin.partial.refuse=72,97", near, true },   // matmul, concat
        { "plugin.partial.refuse=89", near, true },   // set_rows: the state moves, and its readers
        { "plugin.partial.refuse=16,37,56", near, true },
        { "plugin.partial.refuse=37", far, false },   // the rest is not worth a copy
        { "plugin.partial.refuse=16,18,36,37,56,72,88,89,97", near, false },
    };
    results alone, split;
    run_on_the_cpu_alone(&alone);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int hidden = 0; hidden < 2; hidden++) {
            tn_runtime *runtime = rig_runtime(
                true,
                (const char *[]){ cases[i].refuse, cases[i].link, "plugin.partial.cost=0.0001",
                                  hidden ? "plugin.partial.hidden=1" : NULL, NULL });
            tn_graph *graph = make_model();
            tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                              (const char *[]){ "partial0", "cpu0", NULL });
            const char *text = rig_explain(session);
            bool is_split = strstr(text, " on partial0: steps") && strstr(text, " on cpu0: steps");
            if (is_split != cases[i].is_split)
                fail_msg("%s: %s", cases[i].refuse, text);
            if (is_split) {
                assert_non_null(strstr(text, "      unsupported: partial0 refused "));
                assert_non_null(strstr(text, "after a copy of '"));
            }
            for (int again = 0; again < 3; again++) {
                memset(&split, 0xff, sizeof split);
                run_model(session, graph, &split);
                if (memcmp(&alone, &split, sizeof alone) != 0)
                    fail_msg("%s: other bits than on one device", cases[i].refuse);
            }
            assert_int_equal(tn_session_reset(session, NULL), TN_OK);
            rig_read(session, 0, graph, "cache", split.cache, sizeof split.cache);
            for (int k = 0; k < WIDTH * ROWS; k++)
                assert_true(split.cache[k] == 0);
            tn_session_destroy(session);
            tn_graph_destroy(graph);
            tn_runtime_destroy(runtime);
            assert_string_equal(rig_log(), "");
        }
}

// 1, 31, 61 and 200 values of another device, read by one segment.
static void any_number_of_values_goes_from_one_device_to_another(void **state)
{
    (void)state;
    static const int counts[] = { 1, 2, 31, 61, 200 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        tn_runtime *runtime = rig_runtime(
            true, (const char *[]){ "plugin.partial.refuse=16", "plugin.partial.cost=0.0001",
                                    "plugin.partial.link_ns=1", NULL });
        tn_graph *graph = rig_graph();
        tn_value in = rig_input(graph, "x", 1, 4, 0, 0), made[200];
        for (int i = 0; i < counts[c]; i++)
            made[i] = tn_graph_scale(graph, in, (float)(i + 1));
        tn_value sum = in;
        for (int i = 0; i < counts[c]; i++)
            sum = tn_graph_add(graph, sum, made[i]);
        rig_finish(graph, sum);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "partial0", "cpu0", NULL });
        char words[64];
        snprintf(words, sizeof words, "2 segments, %d %s", counts[c],
                 counts[c] == 1 ? "copy" : "copies");
        if (!strstr(rig_explain(session), words))
            fail_msg("%d values: %s", counts[c], rig_explain(session));
        float got[4], want = 1 + (float)counts[c] * (float)(counts[c] + 1) / 2;
        rig_run(session, 0, graph, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
        rig_read(session, 0, graph, "out", got, sizeof got);
        for (int k = 0; k < 4; k++)
            assert_true(got[k] == want * (float)(k + 1));
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
    }
}

static void what_no_device_takes_is_refused_by_each_in_words(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ "plugin.partial.refuse=36", NULL });
    tn_graph *graph = make_model();
    tn_session *session = NULL;
    tn_error err = { 0 };
    tn_device *devices[] = { rig_device(runtime, "partial0") };
    tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = devices };
    assert_int_equal(
        tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, &err),
        TN_E_UNSUPPORTED);
    assert_null(session);
    assert_non_null(strstr(err.text, "no device takes tanh 'tanh."));
    assert_non_null(strstr(err.text, "(partial0: it is told to refuse this op)"));
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static void weights_are_imported_also_where_no_alignment_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *setting;
        bool is_mapped;
    } cases[] = {
        { "plugin.partial.import_alignment=0", true },
        { "plugin.partial.import_alignment=1", true },
        { "plugin.partial.import_alignment=1073741824", false },
        { "plugin.partial.hidden=1", false },
    };
    results alone, other;
    run_on_the_cpu_alone(&alone);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_runtime *runtime = rig_runtime(true, (const char *[]){ cases[i].setting, NULL });
        tn_graph *graph = make_model();
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "partial0", NULL });
        tn_memory_report report = rig_memory(session);
        if (!cases[i].is_mapped)
            assert_int_equal(report.weight_copied_bytes, sizeof weight + sizeof scale);
        assert_int_equal(report.weight_mapped_bytes + report.weight_copied_bytes,
                         sizeof weight + sizeof scale);
        run_model(session, graph, &other);
        assert_memory_equal(&alone, &other, sizeof alone);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
    }
}

static void inputs_beyond_the_room_of_a_submit_are_copied(void **state)
{
    (void)state;
    results alone, other;
    run_on_the_cpu_alone(&alone);
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ "plugin.partial.update_bytes=256",
                                                              "plugin.partial.hidden=1", NULL });
    tn_graph *graph = make_model();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "partial0", NULL });
    run_model(session, graph, &other);   // x has 384 bytes, the index 12
    assert_memory_equal(&alone, &other, sizeof alone);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ----------------------------------------------------------------------------------------- failing

// The k-th call into the device fails. Answers whether it had its turn.
static bool fail_at(int k, const char *refuse, bool is_hidden, const results *want)
{
    char setting[64];
    snprintf(setting, sizeof setting, "plugin.partial.fail_at=%d", k);
    tn_runtime *runtime = rig_runtime(
        true,
        (const char *[]){ setting, refuse, "plugin.partial.cost=0.0001", "plugin.partial.link_ns=1",
                          is_hidden ? "plugin.partial.hidden=1" : NULL, NULL });
    tn_graph *graph = make_model();
    tn_device *devices[] = { rig_device(runtime, "partial0"), rig_device(runtime, "cpu0") };
    tn_session_options options = { .size = sizeof options, .device_count = 2, .devices = devices };
    const int32_t index[TOKENS] = { 5, 0, 3 };
    tn_feed feeds[] = { { tn_graph_find(graph, "x"), x, sizeof x },
                        { tn_graph_find(graph, "index"), index, sizeof index } };
    results got;
    uint32_t added;
    tn_session *session = NULL;
    tn_error err = { 0 };
    tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                         &session, &err);
    assert_int_equal(session != NULL, status == TN_OK);
    if (status == TN_OK)
        status = tn_session_run(session, 0, feeds, 2, &err);
    if (status == TN_OK)
        status = tn_session_read(session, 0, tn_graph_find(graph, "out"), got.out, sizeof got.out,
                                 &err);
    if (status == TN_OK)
        status = tn_session_reset(session, &err);
    if (status == TN_OK)   // its own graph once more
        status = tn_session_add(session, graph, &added, &err);
    if (status == TN_OK)
        status = tn_session_run(session, added, feeds, 2, &err);
    // No room for a graph that is added is no reason to leave the device.
    if (status != TN_OK && (status != TN_E_DEVICE_MEMORY || !strstr(err.text, "told to fail")))
        fail_msg("call %d: %s %s", k, tn_status_name(status), err.text);
    assert_memory_equal(want->out, got.out, sizeof got.out);
    bool had_its_turn = strstr(rig_log(), "fails now") != NULL;
    if (had_its_turn) {   // the session goes on
        assert_int_equal(tn_session_reset(session, &err), TN_OK);
        run_model(session, graph, &got);
        if (memcmp(want, &got, sizeof got) != 0)
            fail_msg("after call %d failed the results are others", k);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    if (strstr(rig_log(), "not given back"))
        fail_msg("call %d: %s", k, rig_log());
    return had_its_turn;
}

static void any_call_into_a_device_may_fail(void **state)
{
    (void)state;
    static const char *const refused[] = { "plugin.partial.refuse=", "plugin.partial.refuse=37" };
    results alone;
    run_on_the_cpu_alone(&alone);
    for (int i = 0; i < 4; i++) {
        int k = 1;
        while (fail_at(k, refused[i / 2], i % 2, &alone))
            k++;
        if (k <= 8)   // open, memory, claim, queue, semaphore, compile, bind, submit
            fail_msg("only %d calls failed", k - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_on_the_second_device_touches_only_that),
        cmocka_unit_test(segments_on_two_devices_give_the_bits_of_one),
        cmocka_unit_test(any_number_of_values_goes_from_one_device_to_another),
        cmocka_unit_test(what_no_device_takes_is_refused_by_each_in_words),
        cmocka_unit_test(weights_are_imported_also_where_no_alignment_is_told),
        cmocka_unit_test(inputs_beyond_the_room_of_a_submit_are_copied),
        cmocka_unit_test(any_call_into_a_device_may_fail),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
