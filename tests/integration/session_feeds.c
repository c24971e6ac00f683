// What goes into a run and comes out: feeds in part, wrong feeds, large inputs, a bad index,
// outputs that nothing computes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(true, (const char *[]){ "plugin.partial.hidden=1", NULL });
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

static void inputs_keep_what_they_were_fed_last(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0), y = rig_input(graph, "y", 1, 4, 0, 0);
    rig_finish(graph, tn_graph_add(graph, x, y));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    float got[4];
    rig_run(session, 0, graph, NULL);   // never fed: zeros
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ 0, 0, 0, 0 }), sizeof got);
    rig_run(session, 0, graph, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
    rig_run(session, 0, graph, "y", (float[]){ 10, 20, 0, 0 }, (size_t)16, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ 11, 22, 3, 4 }), sizeof got);
    rig_run(session, 0, graph, "x", (float[]){ 0, 0, 0, 0 }, (size_t)16, NULL);
    rig_read(session, 0, graph, "out", got, 2 * sizeof *got);   // a part is read
    assert_memory_equal(got, ((float[]){ 10, 20, 3, 4 }), sizeof got);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static void what_does_not_fit_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph(), *other = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0), y = rig_op(graph, TNP_OP_NEG, x);
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 1, (int64_t[]){ 4 });
    tn_value z = tn_graph_add(graph, y, s);
    rig_finish(graph, z);
    tn_value foreign = rig_input(other, "x", 1, 4, 0, 0);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    const float ones[5] = { 1, 1, 1, 1, 1 };
    rig_run(session, 0, graph, "x", ones, (size_t)16, NULL);
    const struct {
        const char *says;
        uint32_t graph;
        tn_feed feed;
        const char *words;
    } feeds[] = {
        { "a graph that is not there",
          1,
          { x, ones, 16 },
          "there is no graph 1, the session was given 1" },
        { "more bytes than there are",
          0,
          { x, ones, 20 },
          "20 bytes are given for 'x', it has 16" },
        { "fewer bytes, all of which count",
          0,
          { x, ones, 8 },
          "8 bytes are given for 'x', it has 16" },
        { "no bytes", 0, { x, ones, 0 }, "0 bytes are given for 'x', it has 16" },
        { "bytes from nowhere", 0, { x, NULL, 16 }, "the bytes for 'x' are NULL" },
        { "a value that a node makes", 0, { y, ones, 16 }, "is no input" },
        { "a state", 0, { s, ones, 16 }, "'s' is no input" },
        { "a value of another graph", 0, { foreign, ones, 16 }, "not a value of graph 0" },
        { "no value",
          0,
          { TN_NO_VALUE, ones, 16 },
          "the value is TN_NO_VALUE: graph 0 has none of" },
    };
    for (size_t i = 0; i < sizeof feeds / sizeof feeds[0]; i++) {
        // The feed before it is fine, and is not taken either.
        const tn_feed both[] = { { x, (float[]){ 7, 7, 7, 7 }, 16 }, feeds[i].feed };
        tn_error err = { 0 };
        if (tn_session_run(session, feeds[i].graph, both, 2, &err) != TN_E_ARG ||
            !strstr(err.text, feeds[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", feeds[i].says, err.text, feeds[i].words);
    }
    float got[5];
    const struct {
        const char *says;
        uint32_t graph;
        tn_value output;
        void *to;
        uint64_t bytes;
        const char *words;
    } reads[] = {
        { "a graph that is not there", 7, z, got, 16, "there is no graph 7" },
        { "more bytes than there are", 0, z, got, 20, "20 bytes are asked of 'add." },
        { "to nowhere", 0, z, NULL, 16, "to is NULL" },
        { "a value that is no output", 0, y, got, 16, "is no output of graph 0" },
        { "an input that is no output", 0, x, got, 16, "'x' is no output of graph 0" },
        { "a value of another graph", 0, foreign, got, 16, "not a value of graph 0" },
        { "no value", 0, TN_NO_VALUE, got, 16, "the value is TN_NO_VALUE: graph 0 has none of" },
    };
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        tn_error err = { 0 };
        if (tn_session_read(session, reads[i].graph, reads[i].output, reads[i].to, reads[i].bytes,
                            &err) != TN_E_ARG ||
            !strstr(err.text, reads[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", reads[i].says, err.text, reads[i].words);
    }
    rig_run(session, 0, graph, NULL);
    rig_read(session, 0, graph, "out", got, 16);
    assert_memory_equal(got, ((float[]){ -1, -1, -1, -1 }), 16);
    assert_int_equal(tn_session_read(session, 0, z, NULL, 0, NULL), TN_OK);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
}

static void a_bad_index_is_a_status_and_the_session_goes_on(void **state)
{
    (void)state;
    static const char *const names[] = { "cpu0", "partial0" };
    static const int32_t bad[] = { 3, -1, INT32_MAX, INT32_MIN };
    for (int d = 0; d < 2; d++) {
        tn_graph *graph = rig_graph();
        tn_value table = rig_input(graph, "table", 2, 2, 3, 0);
        tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 2 });
        rig_finish(graph, rig_op(graph, TNP_OP_NEG, tn_graph_get_rows(graph, table, index)));
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ names[d], NULL });
        const float rows[6] = { 1, 2, 3, 4, 5, 6 };
        rig_run(session, 0, graph, "table", rows, sizeof rows, NULL);
        for (int i = 0; i < 4; i++) {
            int32_t at[2] = { 1, bad[i] };
            const tn_feed feed = { tn_graph_find(graph, "index"), at, sizeof at };
            tn_error err = { 0 };
            assert_int_equal(tn_session_run(session, 0, &feed, 1, &err), TN_E_DATA);
            if (!strstr(err.text, names[d]))
                fail_msg("\"%s\" does not name the device", err.text);
            float got[4];
            at[1] = 2;   // right afterwards
            rig_run(session, 0, graph, "index", at, sizeof at, NULL);
            rig_read(session, 0, graph, "out", got, sizeof got);
            assert_memory_equal(got, ((float[]){ -3, -4, -5, -6 }), sizeof got);
        }
        tn_session_destroy(session);
        tn_graph_destroy(graph);
    }
}

// Larger than any update: copied into the arena before the run.
static void large_inputs_come_whole(void **state)
{
    (void)state;
    enum { MANY = 400000 };   // 1.6 MB
    static const char *const names[] = { "cpu0", "partial0" };
    float *x = malloc(MANY * sizeof *x), *got = malloc(MANY * sizeof *got);
    assert_non_null(x);
    assert_non_null(got);
    for (int d = 0; d < 2; d++) {
        tn_graph *graph = rig_graph();
        tn_value in = rig_input(graph, "x", 1, MANY, 0, 0),
                 small = rig_input(graph, "small", 1, 1, 0, 0);
        tn_value sum = tn_graph_add(graph, in, small);
        rig_finish(graph, tn_graph_add(graph, rig_op(graph, TNP_OP_NEG, sum),
                                       in));   // read again at the end
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ names[d], NULL });
        for (uint32_t run = 0; run < 3; run++) {
            float one = (float)run;
            rig_fill(x, MANY, run);
            for (int i = 0; i < MANY; i++)
                x[i] = (float)(int)(x[i] * 1000);
            rig_run(session, 0, graph, "x", x, MANY * sizeof *x, "small", &one, sizeof one, NULL);
            rig_read(session, 0, graph, "out", got, MANY * sizeof *got);
            for (int i = 0; i < MANY; i++)
                if (got[i] != -one)
                    fail_msg("%s, run %u: element %d is %g", names[d], run, i, (double)got[i]);
        }
        rig_run(session, 0, graph, NULL);   // not fed again
        rig_read(session, 0, graph, "out", got, MANY * sizeof *got);
        assert_true(got[MANY - 1] == -2);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
    }
    free(x);
    free(got);
}

static void outputs_may_be_leaves_and_views_of_them(void **state)
{
    (void)state;
    static const char *const names[] = { "cpu0", "partial0" };
    static const float weight[6] = { 1, 2, 3, 4, 5, 6 };
    for (int d = 0; d < 2; d++) {
        tn_graph *graph = rig_graph();
        tn_value x = rig_input(graph, "x", 2, 3, 2, 0);
        tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 3, 2 }, weight,
                                     sizeof weight);
        tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 3, 2 });
        tn_value y = rig_op(graph, TNP_OP_NEG, x);
        const uint32_t turn[] = { 1, 0 };
        tn_graph_output(graph, "input", x);
        tn_graph_output(graph, "weight", w);
        tn_graph_output(graph, "state", s);
        tn_graph_output(graph, "turned input", tn_graph_permute(graph, x, 2, turn));
        tn_graph_output(graph, "turned weight", tn_graph_permute(graph, w, 2, turn));
        tn_graph_output(graph, "turned value", tn_graph_permute(graph, y, 2, turn));
        tn_graph_output(graph, "columns", tn_graph_slice(graph, y, 0, 1, 2));
        tn_graph_output(
            graph, "wide",
            tn_graph_broadcast(graph, tn_graph_slice(graph, y, 0, 2, 1), 2, (int64_t[]){ 2, 2 }));
        rig_finish(graph, y);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ names[d], NULL });
        const float in[6] = { 10, 20, 30, 40, 50, 60 };
        rig_run(session, 0, graph, "x", in, sizeof in, NULL);
        const struct {
            const char *name;
            float want[6];
            uint32_t count;
        } cases[] = {
            { "input", { 10, 20, 30, 40, 50, 60 }, 6 },
            { "weight", { 1, 2, 3, 4, 5, 6 }, 6 },
            { "state", { 0 }, 6 },
            { "turned input", { 10, 40, 20, 50, 30, 60 }, 6 },
            { "turned weight", { 1, 4, 2, 5, 3, 6 }, 6 },
            { "turned value", { -10, -40, -20, -50, -30, -60 }, 6 },
            { "columns", { -20, -30, -50, -60 }, 4 },
            { "columns", { -20, -30, -50 }, 3 },   // the first ones
            { "wide", { -30, -30, -60, -60 }, 4 },
            { "out", { -10, -20, -30, -40, -50, -60 }, 6 },
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            float got[6];
            rig_read(session, 0, graph, cases[i].name, got, cases[i].count * sizeof *got);
            for (uint32_t k = 0; k < cases[i].count; k++)
                if (got[k] != cases[i].want[k])
                    fail_msg("%s on %s: element %u is %g", cases[i].name, names[d], k,
                             (double)got[k]);
        }
        tn_session_destroy(session);
        tn_graph_destroy(graph);
    }
}

static void a_graph_without_nodes_runs(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    rig_finish(graph, tn_graph_slice(graph, rig_input(graph, "x", 1, 4, 0, 0), 0, 2, 2));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    float got[2];
    rig_run(session, 0, graph, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ 3, 4 }), sizeof got);
    tn_memory_report report = rig_memory(session);
    assert_int_equal(report.arena_bytes, 0);
    assert_int_equal(report.segment_count, 0);
    assert_int_equal(tn_session_reset(session, NULL), TN_OK);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static void what_is_no_session_is_refused(void **state)
{
    (void)state;
    tn_graph *open = rig_graph(), *graph = rig_graph();
    tn_graph_output(open, "out", rig_input(open, "x", 1, 4, 0, 0));
    rig_finish(graph, rig_op(graph, TNP_OP_NEG, rig_input(graph, "x", 1, 4, 0, 0)));
    tn_device *twice[] = { rig_device(runtime, "cpu0"), rig_device(runtime, "cpu0") };
    tn_session_options same = { .size = sizeof same, .device_count = 2, .devices = twice };
    struct {
        tn_session_options known;
        uint64_t later;
    } later = { { .size = sizeof later }, 1 };
    tn_session *session = (tn_session *)&later;
    tn_error err = { 0 };
    const tn_graph *graphs[] = { graph, open };
    assert_int_equal(tn_session_create(runtime, graphs, 0, NULL, &session, &err), TN_E_ARG);
    assert_null(session);
    assert_int_equal(tn_session_create(runtime, graphs, 2, NULL, &session, &err), TN_E_GRAPH);
    assert_string_equal(err.text, "tn_session_create: graph 1 is not finished");
    assert_int_equal(tn_session_create(runtime, graphs, 1, &same, &session, &err), TN_E_ARG);
    assert_string_equal(err.text, "device cpu0 is given twice");
    assert_int_equal(tn_session_create(runtime, graphs, 1, &later.known, &session, &err),
                     TN_E_UNSUPPORTED);
    assert_null(session);
    later.later = 0;
    assert_int_equal(tn_session_create(runtime, graphs, 1, &later.known, &session, &err), TN_OK);
    tn_session_destroy(session);
    tn_session_destroy(NULL);
    tn_graph_destroy(open);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_keep_what_they_were_fed_last),
        cmocka_unit_test(what_does_not_fit_is_refused_and_changes_nothing),
        cmocka_unit_test(a_bad_index_is_a_status_and_the_session_goes_on),
        cmocka_unit_test(large_inputs_come_whole),
        cmocka_unit_test(outputs_may_be_leaves_and_views_of_them),
        cmocka_unit_test(a_graph_without_nodes_runs),
        cmocka_unit_test(what_is_no_session_is_refused),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
