// Which device runs what, in numbers and by name (tenon/schedule.h), on simulated devices.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/schedule.h>

#include "session_rig.h"

enum { MOST = 128, WIDTH = 256, TOKENS = 64, LAYERS = 32 };

static float numbers[WIDTH * WIDTH];

// 32 layers of an op between products that are too much to compute for the CPU.
static tn_graph *make_layers(tnp_op between)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_input(graph, "x", 2, WIDTH, TOKENS, 0);
    for (int i = 0; i <= LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w.%d", i);
        tn_value w = tn_graph_weight(graph, name, TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH },
                                     numbers, sizeof numbers);
        snprintf(name, sizeof name, "between.%d", i);
        y = i ? tn_graph_op(graph, between, name, &y, 1, NULL) : y;
        y = tn_graph_matmul(graph, y, w);
    }
    rig_finish(graph, y);
    return graph;
}

typedef struct told {
    tn_segment segments[MOST];
    char reasons[MOST][512];
    uint32_t segment_count;
    tn_segment_copy copies[MOST];
    uint32_t copy_count;
} told;

static void take_segment(void *context, const tn_segment *segment)
{
    told *t = context;
    assert_int_equal(segment->size, sizeof *segment);
    assert_true(t->segment_count < MOST);
    snprintf(t->reasons[t->segment_count], sizeof t->reasons[0], "%s", segment->reason);
    t->segments[t->segment_count++] = *segment;
}

static void take_copy(void *context, const tn_segment_copy *copy)
{
    told *t = context;
    assert_int_equal(copy->size, sizeof *copy);
    assert_true(t->copy_count < MOST);
    t->copies[t->copy_count++] = *copy;
}

// Fails unless segments and copies add up to the schedule.
static void tell(const tn_session *session, uint32_t graph, tn_graph_schedule *s, told *t)
{
    tn_error err = { 0 };
    double cost_ns = 0, copies_ns = 0;
    uint64_t bytes = 0;
    uint32_t steps = 0, nodes = 0;
    memset(t, 0, sizeof *t);
    *s = (tn_graph_schedule){ .size = sizeof *s };
    if (tn_session_graph_schedule(session, graph, s, &err) != TN_OK ||
        tn_session_segments(session, graph, &(tn_segment_sink){ t, take_segment }, &err) != TN_OK ||
        tn_session_copies(session, graph, &(tn_segment_copy_sink){ t, take_copy }, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_int_equal(t->segment_count, s->segment_count);
    assert_int_equal(t->copy_count, s->copy_count);
    for (uint32_t i = 0; i < t->segment_count; i++) {
        assert_int_equal(t->segments[i].first_step, steps);
        steps += t->segments[i].step_count;
        nodes += t->segments[i].node_count;
        cost_ns += t->segments[i].cost_ns;
        assert_int_equal(t->segments[i].why == TN_BEGINS_OVERLAP,
                         i && t->segments[i].device == t->segments[i - 1].device);
        assert_int_equal(t->segments[i].why == TN_BEGINS_FIRST, i == 0);
    }
    for (uint32_t i = 0; i < t->copy_count; i++) {
        assert_int_equal(t->copies[i].to, t->segments[t->copies[i].segment].device);
        assert_true(t->copies[i].from != t->copies[i].to && t->copies[i].cost_ns > 0);
        bytes += t->copies[i].bytes;
        copies_ns += t->copies[i].cost_ns;
    }
    assert_int_equal(steps, s->step_count);
    assert_int_equal(nodes, s->node_count);
    assert_int_equal(bytes, s->copy_bytes);
    assert_true(fabs(copies_ns - s->copies_ns) < 1e-3);
    assert_true(fabs(cost_ns + copies_ns - s->cost_ns) < 1);
    assert_true(s->bound_ns <= s->cost_ns + 1e-3 &&
                (!s->greedy_ns || s->greedy_ns >= s->cost_ns - 1e-3));
    assert_true(!s->is_proved_optimal || s->cost_ns - s->bound_ns < 1);
}

static char explained[32768];

static void append(void *context, const char *text, size_t bytes)
{
    size_t *used = context, room = sizeof explained - 1 - *used;
    memcpy(explained + *used, text, bytes < room ? bytes : room);
    *used += bytes < room ? bytes : room;
    explained[*used] = 0;
}

static tn_status explain(const tn_session *session, const char *name, tn_error *err)
{
    size_t used = 0;
    explained[0] = 0;
    return tn_session_explain_name(session, 0, name, &(tn_sink){ &used, append }, err);
}

static void need(const tn_session *session, const char *name, const char *const *words)
{
    tn_error err = { 0 };
    if (explain(session, name, &err) != TN_OK)
        fail_msg("%s: %s", name, err.text);
    for (; *words; words++)
        if (!strstr(explained, *words))
            fail_msg("'%s' is not in: %s", *words, explained);
}

// ------------------------------------------------------------------------------------------- tests

static void an_op_that_is_refused_in_each_layer_explains_64_copies(void **state)
{
    (void)state;
    static told t;
    tn_graph_schedule s;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"except\":[\"abs\",\"silu\"]}]", NULL);
    tn_graph *graph = make_layers(TNP_OP_ABS), *composite = make_layers(TNP_OP_SILU);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph, composite }, 2,
                                      (const char *[]){ "a", "cpu0", NULL });
    tell(session, 0, &s, &t);
    assert_int_equal(s.copy_count, 64);
    assert_int_equal(s.copy_bytes, 64 * WIDTH * TOKENS * 4);
    assert_true(s.is_proved_optimal);
    assert_string_equal(t.reasons[1],
                        "unsupported: a refused abs 'between.1': this device has no abs");
    for (uint32_t i = 1; i < t.segment_count; i++) {
        bool is_refused = t.segments[i].why == TN_BEGINS_UNSUPPORTED;
        assert_int_equal(t.segments[i].device, i % 2);
        assert_int_equal(is_refused, i % 2);
        assert_string_equal(t.segments[i].op, is_refused ? "abs" : "matmul");
        assert_string_equal(t.segments[i].refusal, is_refused ? "this device has no abs" : "");
        assert_int_equal(t.segments[i].why == TN_BEGINS_COST, !is_refused);
        assert_int_equal(t.segments[i].more_ns > 0, !is_refused);
    }
    need(session, "abs",
         (const char *[]){ "op abs: 32 nodes, 32 on cpu0",
                           "a refused 32, 'between.1' the first: this device has no abs",
                           "32 segments begin because it is refused, 32 end with it", NULL });
    // What can be said in other ops needs no copy.
    tell(session, 1, &s, &t);
    assert_int_equal(s.copy_count, 0);
    assert_int_equal(s.segment_count, 1);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_graph_destroy(composite);
    tn_runtime_destroy(runtime);
}

static void a_name_is_that_of_a_node_value_op_or_device(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"except\":[\"abs\"]},"
                                        "{\"name\":\"b\",\"gflops\":100,\"gbps\":10}]",
                                        NULL);
    tn_graph *graph = make_layers(TNP_OP_ABS);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "a", "b", "cpu0", NULL });
    tn_error err = { 0 };
    need(session, "between.7",
         (const char *[]){ "node 'between.7': abs, step 13 of 65, on ",
                           "a refused it: this device has no abs", ", chosen",
                           "    b: ", "    cpu0: ", "the whole would cost ", " more",
                           "begins here: unsupported: a refused abs 'between.7'",
                           "F32 {256, 64}, made on a at step 12 by '", "copied from there",
                           "value 'between.7': F32 {256, 64}, 65536 bytes, made on ",
                           "copied from ", " to a before segment ", NULL });
    need(session, "w.3",
         (const char *[]){ "value 'w.3': F32 {256, 256}, 262144 bytes, a weight", "read by '",
                           NULL });
    need(session, "x",
         (const char *[]){ "value 'x': ", "an input, sent to where it is read", NULL });
    need(session, "a",
         (const char *[]){ "device a: a, 33 claims, gets 33 of 65 nodes in 33 segments",
                           "copies in: 32, 2097152 bytes", "copies out: 32, 2097152 bytes",
                           "a refused 32, 'between.1' the first: this device has no abs", NULL });
    assert_int_equal(explain(session, "betwen.7", &err), TN_E_NOT_FOUND);
    assert_string_equal(err.text,
                        "no node, value, output, op or device has the name 'betwen.7'; near "
                        "it are 'between.7', 'between.1', 'between.2'");
    assert_string_equal(explained, "");
    assert_int_equal(explain(session, "no such thing at all", &err), TN_E_NOT_FOUND);
    assert_string_equal(err.text,
                        "no node, value, output, op or device has the name 'no such thing at all'");
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static void what_was_decomposed_and_where_a_state_lives_is_said(void **state)
{
    (void)state;
    static const int32_t rows[1] = { 2 };
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"except\":[\"silu\",\"set_rows\"],"
                                        "\"latency_us\":0.001,\"link_gbps\":1000}]",
                                        NULL);
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 64, 1, 0);
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ 64, 4 });
    tn_value index = tn_graph_weight(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 }, rows,
                                     sizeof rows);
    x = tn_graph_op(graph, TNP_OP_SILU, "gate", &x, 1, NULL);
    tn_value written = tn_graph_set_rows(graph, cache, x, index);
    rig_finish(graph, tn_graph_get_rows(graph, written, index));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "a", "cpu0", NULL });
    need(session, "gate",
         (const char *[]){ "node 'gate': silu, decomposed into '",
                           "a refused it: this device has no silu", NULL });
    need(session, "silu", (const char *[]){ "op silu: 1 node, 1 of them decomposed\n", NULL });
    need(session, "cache", (const char *[]){ "a state, lives on cpu0", NULL });
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_graph *graph = make_layers(TNP_OP_ABS);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "a", NULL });
    tn_error err = { 0 };
    tn_graph_schedule s = { .size = sizeof s, .cost_ns = 9 };
    assert_int_equal(tn_session_graph_schedule(session, 7, &s, &err), TN_E_ARG);
    assert_true(s.cost_ns == 0);
    assert_int_equal(tn_session_segments(session, 0, &(tn_segment_sink){ 0 }, &err), TN_E_ARG);
    assert_int_equal(
        tn_session_segments(session, 7, &(tn_segment_sink){ .take = take_segment }, &err),
        TN_E_ARG);
    assert_int_equal(tn_session_copies(session, 0, &(tn_segment_copy_sink){ 0 }, &err), TN_E_ARG);
    assert_int_equal(
        tn_session_copies(session, 7, &(tn_segment_copy_sink){ .take = take_copy }, &err),
        TN_E_ARG);
    assert_int_equal(tn_session_explain_name(session, 7, "x", &(tn_sink){ 0 }, &err), TN_E_ARG);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_is_refused_in_each_layer_explains_64_copies),
        cmocka_unit_test(a_name_is_that_of_a_node_value_op_or_device),
        cmocka_unit_test(what_was_decomposed_and_where_a_state_lives_is_said),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    rig_fill(numbers, WIDTH * WIDTH, 7);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
