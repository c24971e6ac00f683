// States over runs, graphs that share them, and lengths that change from run to run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(true, NULL);
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

// A table of 6 rows of 2, written at `index`, read as a whole.
static tn_graph *make_cache(int64_t rows_at_once)
{
    tn_graph *graph = rig_graph();
    tn_value table = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ 2, 6 });
    tn_value rows = rig_input(graph, "rows", 2, 2, rows_at_once, 0);
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, &rows_at_once);
    tn_value written = tn_graph_set_rows(graph, table, rows, index);
    tn_graph_output(graph, "cache", written);
    rig_finish(graph, rig_op(graph, TNP_OP_NEG, written));
    return graph;
}

static void need_cache(tn_session *session, uint32_t number, const tn_graph *graph,
                       const float *want)
{
    float got[12];
    rig_read(session, number, graph, "cache", got, sizeof got);
    for (int i = 0; i < 12; i++)
        if (got[i] != want[i])
            fail_msg("element %d of the state is %g, not %g", i, (double)got[i], (double)want[i]);
}

static void a_state_keeps_its_bytes_between_runs_until_it_is_reset(void **state)
{
    (void)state;
    tn_graph *graph = make_cache(1);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    float want[12] = { 0 };
    need_cache(session, 0, graph, want);   // zero at first
    for (int32_t i = 0; i < 6; i++) {
        float row[2] = { (float)i, (float)-i };
        int32_t at = 5 - i;
        rig_run(session, 0, graph, "rows", row, sizeof row, "index", &at, sizeof at, NULL);
        memcpy(want + 2 * at, row, sizeof row);
        need_cache(session, 0, graph, want);
        float out[12];
        rig_read(session, 0, graph, "out", out, sizeof out);
        for (int k = 0; k < 12; k++)
            assert_true(out[k] == -want[k]);
    }
    assert_int_equal(tn_session_reset(session, NULL), TN_OK);
    memset(want, 0, sizeof want);
    need_cache(session, 0, graph, want);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static void graphs_of_one_session_share_states_and_the_arena(void **state)
{
    (void)state;
    tn_graph *one = make_cache(1), *three = make_cache(3);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ one, three }, 2,
                                      (const char *[]){ "cpu0", NULL });
    const float rows[6] = { 1, 2, 3, 4, 5, 6 };
    const int32_t at[3] = { 4, 0, 2 };
    rig_run(session, 1, three, "rows", rows, sizeof rows, "index", at, sizeof at, NULL);
    rig_run(session, 0, one, "rows", (float[]){ 7, 8 }, (size_t)8, "index", (int32_t[]){ 0 },
            (size_t)4, NULL);
    const float want[12] = { 7, 8, 0, 0, 5, 6, 0, 0, 1, 2, 0, 0 };
    need_cache(session, 0, one, want);
    need_cache(session, 1, three, want);
    tn_memory_report both = rig_memory(session);
    assert_int_equal(both.state_bytes, 48);
    tn_session_destroy(session);
    session = rig_session(runtime, (const tn_graph *[]){ three }, 1,
                          (const char *[]){ "cpu0", NULL });
    assert_int_equal(rig_memory(session).arena_bytes, both.arena_bytes);   // that of the largest
    tn_session_destroy(session);
    tn_graph_destroy(one);
    tn_graph_destroy(three);
}

static void sessions_have_states_of_their_own(void **state)
{
    (void)state;
    tn_graph *graph = make_cache(1);
    const tn_graph *graphs[] = { graph };
    tn_session *a = rig_session(runtime, graphs, 1, NULL),
               *b = rig_session(runtime, graphs, 1, NULL);
    rig_run(a, 0, graph, "rows", (float[]){ 7, 8 }, (size_t)8, "index", (int32_t[]){ 1 }, (size_t)4,
            NULL);
    const float want_a[12] = { 0, 0, 7, 8 }, want_b[12] = { 0 };
    need_cache(a, 0, graph, want_a);
    need_cache(b, 0, graph, want_b);
    tn_session_destroy(a);
    tn_session_destroy(b);
    tn_graph_destroy(graph);
}

static void states_of_one_name_that_differ_are_refused(void **state)
{
    (void)state;
    tn_graph *graphs[3];
    for (int i = 0; i < 3; i++) {
        graphs[i] = rig_graph();
        tn_value s = tn_graph_state(graphs[i], "cache", i == 1 ? TN_DTYPE_I32 : TN_DTYPE_F32, 1,
                                    (int64_t[]){ i == 2 ? 5 : 4 });
        rig_finish(graphs[i], tn_graph_slice(graphs[i], s, 0, 0, 2));
    }
    for (int i = 1; i < 3; i++) {
        tn_session *session = NULL;
        tn_error err = { 0 };
        assert_int_equal(tn_session_create(runtime, (const tn_graph *[]){ graphs[0], graphs[i] }, 2,
                                           NULL, &session, &err),
                         TN_E_GRAPH);
        assert_null(session);
        assert_string_equal(
            err.text, "state 'cache' differs in type or dims between the graphs of the session");
    }
    for (int i = 0; i < 3; i++)
        tn_graph_destroy(graphs[i]);
}

// ----------------------------------------------------------------------------------------- lengths

static void a_length_says_how_much_counts_in_a_run(void **state)
{
    (void)state;
    enum { MOST = 7 };
    tn_graph *graph = rig_graph();
    tn_value n = tn_graph_input(graph, "n", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value x = tn_graph_limit(graph, rig_input(graph, "x", 2, 3, MOST, 0), 1, n);
    tn_value y = tn_graph_scale(graph, x, 2);
    rig_finish(graph, tn_graph_op(graph, TNP_OP_SUM, NULL, &y, 1,
                                  &(tnp_axis_attr){ sizeof(tnp_axis_attr), 1 }));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    float rows[3 * MOST];
    for (int i = 0; i < 3 * MOST; i++)
        rows[i] = (float)(i + 1);
    for (int round = 0; round < 2; round++)
        for (int32_t length = MOST; length >= 0; length--) {   // only the rows that count are fed
            float got[3], want[3] = { 0 };
            rig_run(session, 0, graph, "x", rows, (size_t)length * 12, "n", &length, sizeof length,
                    NULL);
            rig_read(session, 0, graph, "out", got, sizeof got);
            for (int t = 0; t < length; t++)
                for (int k = 0; k < 3; k++)
                    want[k] += 2 * rows[3 * t + k];
            for (int k = 0; k < 3; k++)
                if (got[k] != want[k])
                    fail_msg("length %d: sum %d is %g, not %g", length, k, (double)got[k],
                             (double)want[k]);
        }
    static const int32_t wrong[] = { MOST + 1, -1, INT32_MAX, INT32_MIN };
    for (int i = 0; i < 4; i++) {
        tn_error err = { 0 };
        const tn_feed feed = { tn_graph_find(graph, "n"), &wrong[i], 4 };
        assert_int_equal(tn_session_run(session, 0, &feed, 1, &err), TN_E_DATA);
        assert_true(*err.text);
    }
    int32_t length = 2;   // and it goes on
    float got[3];
    rig_run(session, 0, graph, "n", &length, sizeof length, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_true(got[0] == 2 * (rows[0] + rows[3]));
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static void a_length_that_a_node_makes_counts_too(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    tn_value lengths = tn_graph_input(graph, "lengths", TN_DTYPE_I32, 2, (int64_t[]){ 1, 3 });
    tn_value which = tn_graph_input(graph, "which", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value n = tn_graph_get_rows(graph, lengths, which);
    tn_value x = tn_graph_limit(graph, rig_input(graph, "x", 1, 5, 0, 0), 0, n);
    tn_value y = rig_op(graph, TNP_OP_NEG, x);
    rig_finish(graph, tn_graph_op(graph, TNP_OP_SUM, NULL, &y, 1,
                                  &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 }));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    const float ones[5] = { 1, 1, 1, 1, 1 };
    const int32_t all[3] = { 4, 0, 5 };
    for (int32_t i = 0; i < 3; i++) {
        float got;
        rig_run(session, 0, graph, "x", ones, sizeof ones, "lengths", all, sizeof all, "which", &i,
                sizeof i, NULL);
        rig_read(session, 0, graph, "out", &got, sizeof got);
        assert_true(got == -(float)all[i]);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// A state that is itself a length, on a session of two devices of which one cannot do the op.
static void a_length_in_a_state_lies_where_it_is_used(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    tn_value n = tn_graph_state(graph, "n", TN_DTYPE_I32, 2, (int64_t[]){ 1, 1 });
    tn_value x = tn_graph_limit(graph, rig_input(graph, "x", 1, 5, 0, 0), 0, n);
    rig_finish(graph, rig_op(graph, TNP_OP_SIGMOID, x));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "partial0", "cpu0", NULL });
    rig_run(session, 0, graph, NULL);   // zero of them count
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_keeps_its_bytes_between_runs_until_it_is_reset),
        cmocka_unit_test(graphs_of_one_session_share_states_and_the_arena),
        cmocka_unit_test(sessions_have_states_of_their_own),
        cmocka_unit_test(states_of_one_name_that_differ_are_refused),
        cmocka_unit_test(a_length_says_how_much_counts_in_a_run),
        cmocka_unit_test(a_length_that_a_node_makes_counts_too),
        cmocka_unit_test(a_length_in_a_state_lies_where_it_is_used),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
