// Graphs at the edge of what there can be: as many nodes and leaves as no table was made for,
// values without elements, no node at all; and outputs that another device reads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

// ------------------------------------------------------------------------------------------ counts

// A row of `count` nodes: -x, and back.
static tn_graph *make_row(uint32_t count)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0);
    for (uint32_t i = 0; i < count; i++)
        x = rig_op(graph, TNP_OP_NEG, x);
    rig_finish(graph, x);
    return graph;
}

// Everything stays alive up to the end: as many outputs as nodes.
static tn_graph *make_fan(uint32_t count)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0), last = x;
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        last = rig_op(graph, TNP_OP_NEG, x);
        tn_graph_output(graph, name, last);
    }
    rig_finish(graph, last);
    return graph;
}

// The sum of `count` leaves: inputs that are not fed, weights of one, and states, in turn.
static tn_graph *make_leaves(uint32_t count)
{
    static const float ones[4] = { 1, 1, 1, 1 };
    tn_graph *graph = rig_graph();
    tn_value sum = rig_input(graph, "x", 1, 4, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        tn_value leaf = i % 3 == 0 ? rig_input(graph, name, 1, 4, 0, 0)
                        : i % 3 == 1
                            ? tn_graph_weight(graph, name, TN_DTYPE_F32, 1, (int64_t[]){ 4 }, ones,
                                              sizeof ones)
                            : tn_graph_state(graph, name, TN_DTYPE_F32, 1, (int64_t[]){ 4 });
        sum = tn_graph_add(graph, sum, leaf);
    }
    rig_finish(graph, sum);
    return graph;
}

static void need_out(tn_session *session, uint32_t number, const tn_graph *graph, float first,
                     const char *says, uint32_t count)
{
    float got[4];
    rig_run(session, number, graph, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
    rig_read(session, number, graph, "out", got, sizeof got);
    if (got[0] != first)
        fail_msg("%u %s: %g, not %g", count, says, (double)got[0], (double)first);
}

static uint32_t most = 513;   // the command's argument: another

// More make looking for names and the CPU plugin's order of steps take minutes.
enum { MOST_LEAVES = 10000 };

static void run_counts(tn_runtime *runtime, uint32_t count, const char *const *devices)
{
    int kinds = count <= MOST_LEAVES ? 3 : 1;
    tn_graph *graphs[3] = { make_row(count) };
    if (kinds == 3) {
        graphs[1] = make_fan(count);
        graphs[2] = make_leaves(count);
    }
    const float want[] = { count % 2 ? -1 : 1, -1, 1 + (float)((count + 1) / 3) };
    static const char *const says[] = { "nodes in a row", "outputs", "leaves" };
    for (int i = 0; i < kinds; i++) {
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graphs[i] }, 1, devices);
        uint32_t number;
        tn_error err = { 0 };
        need_out(session, 0, graphs[i], want[i], says[i], count);
        if (tn_session_add(session, graphs[i], &number, &err) != TN_OK)
            fail_msg("%u %s: %s", count, says[i], err.text);
        need_out(session, number, graphs[i], want[i], says[i], count);
        tn_session_destroy(session);
        tn_graph_destroy(graphs[i]);
    }
}

// At, one under and one over each power of two; on one device and on two.
static void any_number_of_nodes_and_leaves_runs(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ "plugin.partial.refuse=16", NULL });
    static const char *const one[] = { "cpu0", NULL }, *const two[] = { "partial0", "cpu0", NULL };
    uint32_t done = 0;
    for (uint32_t k = 2; done < most; k *= 2)
        for (uint32_t count = k - 1; count <= k + 1; count++) {
            if (count <= done)
                continue;
            done = count < most ? count : most;
            run_counts(runtime, done, one);
            run_counts(runtime, done, two);
        }
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// ------------------------------------------------------------------------------ nothing to be done

typedef struct edge {
    const char *says;
    tn_value (*make)(tn_graph *graph, tn_value x);   // x: F32 {4}
    float want[4];
    size_t count;
} edge;

static tn_value nothing(tn_graph *graph, tn_value x)
{
    return rig_op(graph, TNP_OP_NEG, tn_graph_slice(graph, x, 0, 0, 0));
}

static tn_value empty_input(tn_graph *graph, tn_value x)
{
    tn_value empty = rig_input(graph, "empty", 2, 4, 0, 0);
    (void)x;
    return tn_graph_add(graph, empty, empty);
}

static tn_value with_nothing(tn_graph *graph, tn_value x)
{
    tn_value empty = rig_op(graph, TNP_OP_NEG, tn_graph_slice(graph, x, 0, 1, 0));
    return rig_op(graph, TNP_OP_NEG,
                  tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ empty, x }, 2,
                              &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 }));
}

static tn_value no_rows(tn_graph *graph, tn_value x)
{
    tn_value table = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value rows = tn_graph_slice(graph, tn_graph_reshape(graph, x, 2, (int64_t[]){ 4, 1 }), 1, 0,
                                   0);
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 0 });
    tn_value written = tn_graph_set_rows(graph, table, rows, index);
    return tn_graph_slice(graph, written, 1, 2, 1);
}

static tn_value one_node(tn_graph *graph, tn_value x)
{
    return rig_op(graph, TNP_OP_NEG, x);
}

static tn_value views_only(tn_graph *graph, tn_value x)
{
    return tn_graph_slice(graph,
                          tn_graph_permute(graph,
                                           tn_graph_reshape(graph, x, 2, (int64_t[]){ 2, 2 }), 2,
                                           (uint32_t[]){ 1, 0 }),
                          1, 1, 1);
}

static tn_value the_input(tn_graph *graph, tn_value x)
{
    (void)graph;
    return x;
}

static tn_value the_input_and_more(tn_graph *graph, tn_value x)
{
    tn_graph_output(graph, "more", rig_op(graph, TNP_OP_NEG, x));
    tn_graph_output(graph, "x again", x);
    return tn_graph_scale(graph, x, 2);
}

static void check_edge(tn_session *session, uint32_t number, const tn_graph *graph, const edge *e)
{
    float got[4];
    for (int again = 0; again < 2; again++) {
        rig_run(session, number, graph, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
        rig_read(session, number, graph, "out", got, e->count * sizeof *got);
        if (memcmp(got, e->want, e->count * sizeof *got) != 0)
            fail_msg("%s: %g …", e->says, (double)got[0]);
    }
}

static void what_has_little_or_nothing_to_do_works(void **state)
{
    (void)state;
    static const edge cases[] = {
        { "a node without elements", nothing, { 0 }, 0 },
        { "an input without elements", empty_input, { 0 }, 0 },
        { "beside nothing", with_nothing, { -1, -2, -3, -4 }, 4 },
        { "a write of no rows", no_rows, { 0, 0, 0, 0 }, 4 },
        { "one node", one_node, { -1, -2, -3, -4 }, 4 },
        { "views", views_only, { 2, 4 }, 2 },
        { "the input is the output", the_input, { 1, 2, 3, 4 }, 4 },
        { "the input is an output", the_input_and_more, { 2, 4, 6, 8 }, 4 },
    };
    static const char *const devices[][3] = { { "cpu0" }, { "partial0", "cpu0" } };
    for (int hidden = 0; hidden < 2; hidden++) {
        tn_runtime *runtime = rig_runtime(
            true, (const char *[]){ "plugin.partial.refuse=16,18", "plugin.partial.cost=0.0001",
                                    hidden ? "plugin.partial.hidden=1" : NULL, NULL });
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            for (int d = 0; d < 2; d++) {
                tn_graph *graph = rig_graph();
                rig_finish(graph, cases[i].make(graph, rig_input(graph, "x", 1, 4, 0, 0)));
                tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                                  devices[d]);
                check_edge(session, 0, graph, &cases[i]);
                uint32_t number;
                tn_error err = { 0 };
                if (tn_session_add(session, graph, &number, &err) != TN_OK)
                    fail_msg("%s: %s", cases[i].says, err.text);
                check_edge(session, number, graph, &cases[i]);
                assert_int_equal(tn_session_reset(session, &err), TN_OK);
                tn_session_destroy(session);
                tn_graph_destroy(graph);
            }
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

// ----------------------------------------------------------------------------- outputs that travel

// y is an output, goes to the other device, and much is made after it, on either.
static void an_output_that_another_device_reads_keeps_its_bytes(void **state)
{
    (void)state;
    static const char *const refused[] = { "plugin.partial.refuse=36",   // tanh: y is made on cpu0
                                           "plugin.partial.refuse=37" };   // sigmoid: read there
    enum { FLOATS = 1 << 16, STEPS = 4, OPS = 4 };                         // worth a copy
    static float x[FLOATS], want_y[FLOATS], want[FLOATS], y[FLOATS], out[FLOATS];
    rig_fill(x, FLOATS, 5);
    for (int i = -1; i < 4; i++) {   // -1: one device alone
        tn_runtime *runtime = rig_runtime(
            i >= 0, (const char *[]){ i < 0 ? "threads=1" : refused[i / 2],
                                      i < 0 ? NULL : "plugin.partial.cost=0.0001",
                                      i % 2 ? "plugin.partial.hidden=1" : NULL, NULL });
        tn_graph *graph = rig_graph();
        tn_value in = rig_input(graph, "x", 1, FLOATS, 0, 0);
        tn_value made = rig_op(graph, TNP_OP_TANH, in), after = made;
        tn_graph_output(graph, "y", made);
        for (int step = 0; step < STEPS; step++) {
            for (int k = 0; k < OPS; k++)
                after = rig_op(graph, TNP_OP_SIGMOID, after);
            after = tn_graph_scale(graph, after, 3);
            for (int k = 0; k < OPS; k++)
                after = rig_op(graph, TNP_OP_TANH, after);
        }
        rig_finish(graph, after);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
        if (i >= 0)
            assert_non_null(strstr(rig_explain(session), "after a copy of '"));
        for (int again = 0; again < 2; again++) {
            rig_run(session, 0, graph, "x", x, sizeof x, NULL);
            rig_read(session, 0, graph, "y", i < 0 ? want_y : y, sizeof y);
            rig_read(session, 0, graph, "out", i < 0 ? want : out, sizeof out);
        }
        if (i >= 0) {
            assert_memory_equal(y, want_y, sizeof y);
            assert_memory_equal(out, want, sizeof out);
        }
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        if (i >= 0)
            assert_string_equal(rig_log(), "");
    }
}

int main(int argc, char **argv)
{
    most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : most;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_nodes_and_leaves_runs),
        cmocka_unit_test(what_has_little_or_nothing_to_do_works),
        cmocka_unit_test(an_output_that_another_device_reads_keeps_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
