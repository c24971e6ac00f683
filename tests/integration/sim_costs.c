// What is chosen is what costs least by the cost model, and no order by hand costs less: on
// simulated devices.
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"
#include "sim_layers.h"

static double cost_of(tn_runtime *runtime, tn_graph *graph, const tn_placement *placement)
{
    tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, placement);
    const char *at = strstr(rig_explain(session), " ms by the cost model");
    assert_non_null(at);
    while (at[-1] != ' ')
        at--;
    double ms = strtod(at, NULL);
    tn_session_destroy(session);
    return ms;
}

// 51 of tests/cases.md: a fast device behind a slow link, batches of 1 to 64: by what the model
// says of both, and where it changes depends on the link.
static void a_slow_link_decides_by_its_cost(void **state)
{
    (void)state;
    static const char *const latencies[] = { "0.01", "6", "100000" };
    uint32_t counts[3] = { 0 };
    const tn_placement none = { .size = sizeof none, .layer_rule = TN_LAYERS_COUNT };
    const tn_placement all = { .size = sizeof all, .split_mode = TN_SPLIT_NONE };
    for (int i = 0; i < 3; i++) {
        char devices[120];
        snprintf(
            devices, sizeof devices,
            "[{\"name\":\"a\",\"host_visible\":false,\"except\":[\"scale\"],\"latency_us\":%s}]",
            latencies[i]);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        for (int64_t tokens = 1; tokens <= MOST_TOKENS; tokens *= 2) {
            tn_graph *graph = layers_graph(tokens, false);
            double chosen = cost_of(runtime, graph, NULL);
            double on_cpu = cost_of(runtime, graph, &none), on_a = cost_of(runtime, graph, &all);
            if (chosen > on_cpu * 1.001 + 0.001 || chosen > on_a * 1.001 + 0.001)
                fail_msg("%s us, %d tokens: %g, not %g or %g", latencies[i], (int)tokens, chosen,
                         on_cpu, on_a);
            counts[i] += on_a < on_cpu;
            tn_graph_destroy(graph);
        }
        tn_runtime_destroy(runtime);
    }
    if (counts[0] <= counts[1] || counts[1] <= counts[2])
        fail_msg("%u, %u, %u batches", counts[0], counts[1], counts[2]);
}

// [a, what only the CPU has, cheap, what only the CPU has, a] (52 of tests/cases.md).
static void cheap_ops_between_stay_where_they_need_no_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *link;
        const char *words;
    } cases[] = {
        { "\"latency_us\":10", "3 segments, 2 copies" },
        { "\"latency_us\":0.0001,\"link_gbps\":100000", "5 segments, 4 copies" },
    };
    for (size_t c = 0; c < 2; c++)
        for (int cheap = 1; cheap <= 4; cheap++) {
            char devices[160];
            snprintf(devices, sizeof devices,
                     "[{\"name\":\"a\",\"host_visible\":false,\"except\":[\"abs\"],%s}]",
                     cases[c].link);
            tn_runtime *runtime = rig_simulated(devices, NULL);
            tn_graph *graph = rig_graph();
            tn_value w[2];
            for (int i = 0; i < 2; i++)
                w[i] = tn_graph_weight(graph, i ? "v" : "w", TN_DTYPE_F32, 2,
                                       (int64_t[]){ WIDTH, WIDTH }, layers_weights[i],
                                       WEIGHT_BYTES);
            tn_value y = rig_input(graph, "x", 2, WIDTH, MOST_TOKENS, 0);
            for (int i = 0; i < 4; i++)
                y = tn_graph_scale(graph, tn_graph_matmul(graph, y, w[0]), 0.1f);
            y = rig_op(graph, TNP_OP_ABS, y);
            for (int i = 0; i < (c ? 10 * cheap : cheap); i++)
                y = rig_op(graph, TNP_OP_TANH, y);
            y = rig_op(graph, TNP_OP_ABS, y);
            for (int i = 0; i < 4; i++)
                y = tn_graph_scale(graph, tn_graph_matmul(graph, y, w[1]), 0.1f);
            rig_finish(graph, y);
            tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
            if (!strstr(rig_explain(session), cases[c].words))
                fail_msg("%s, %d cheap ops: %s", cases[c].link, cheap, rig_explain(session));
            tn_session_destroy(session);
            tn_graph_destroy(graph);
            tn_runtime_destroy(runtime);
        }
}

// States are where the graphs want them that run most: a has the bandwidth for one row, b the speed
// for many.
static void states_are_where_the_likely_runs_want_them(void **state)
{
    (void)state;
    static const double runs[][2] = { { 1000, 1 }, { 1, 1000 } };
    tn_graph *graphs[] = { layers_graph(1, true), layers_graph(MOST_TOKENS, true) };
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"gflops\":50,\"gbps\":2000},"
                                        "{\"name\":\"b\",\"gflops\":2000,\"gbps\":100}]",
                                        NULL);
    tn_device *devices[] = { rig_device(runtime, "a"), rig_device(runtime, "b") };
    for (uint32_t i = 0; i < 2; i++) {
        tn_session_options options = {
            .size = sizeof options, .devices = devices, .device_count = 2, .graph_runs = runs[i]
        };
        tn_session *session = NULL;
        assert_int_equal(tn_session_create(runtime, (const tn_graph *const *)graphs, 2, &options,
                                           &session, NULL),
                         TN_OK);
        assert_int_equal(layers_memory(session, i).state_bytes, LAYERS * WIDTH * 4 * sizeof(float));
        tn_session_destroy(session);
    }
    tn_runtime_destroy(runtime);
    for (int g = 0; g < 2; g++)
        tn_graph_destroy(graphs[g]);
}

// A number of runs is finite and not negative.
static void runs_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const double runs[] = { -1, NAN, INFINITY };
    tn_graph *graph = layers_graph(1, false);
    tn_runtime *runtime = rig_simulated("[]", NULL);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        tn_session_options options = { .size = sizeof options, .graph_runs = &runs[i] };
        tn_session *session = NULL;
        tn_error err;
        assert_int_equal(
            tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, &err),
            TN_E_ARG);
        assert_non_null(strstr(err.text, "graph_runs: graph 0 is to run "));
    }
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

static double graph_cost_ns(const tn_session *session)
{
    tn_graph_schedule schedule = { .size = sizeof schedule };
    assert_int_equal(tn_session_graph_schedule(session, 0, &schedule, NULL), TN_OK);
    return schedule.cost_ns;
}

// Where nobody says how, and memory is short, whole layers cut between the devices are one of the
// ways that are tried.
static void the_default_is_never_dearer_than_layers(void **state)
{
    (void)state;
    const tn_placement layer = { .size = sizeof layer, .split_mode = TN_SPLIT_LAYER };
    uint32_t short_count = 0;
    tn_graph *graph = layers_graph(16, true);
    for (unsigned kib = 30; kib <= 130; kib += 10) {
        char devices[160];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%u,\"host_visible\":false},"
                 "{\"name\":\"b\",\"memory_bytes\":%u,\"host_visible\":false}]",
                 kib * 1024, kib * 900);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *cut = layers_session(runtime, &graph, 1, a_b_and_cpu, &layer);
        double cut_ns = graph_cost_ns(cut);
        tn_session_destroy(cut);
        tn_session *session = layers_session(runtime, &graph, 1, a_b_and_cpu, NULL);
        double ns = graph_cost_ns(session);
        if (ns > cut_ns * 1.000001)
            fail_msg("%u KiB: %g, layers cut: %g: %s", kib, ns, cut_ns, rig_explain(session));
        const char *words = rig_explain(session);
        bool is_short = strstr(words, "what is fastest does not fit") != NULL;
        short_count += is_short;
        if (is_short && (!strstr(words, "placement: chosen by cost: ") ||
                         !strstr(words, "layers cut by free memory")))
            fail_msg("%s", words);
        layers_compare(runtime, session, &graph, (int64_t[]){ 16 }, 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    assert_true(short_count > 2);
    tn_graph_destroy(graph);
}

// -------------------------------------------------------------------------- against orders by hand

enum { ENTRIES = 4 * WIDTH, MOST_DEVICES = 3 };

// Like a language model: a table that the first product reads and, as one layer more, the last.
static tn_graph *make_model(int64_t tokens)
{
    static float table[WIDTH * ENTRIES];
    tn_graph *graph = rig_graph();
    rig_fill(table, WIDTH * ENTRIES, 50);
    tn_value x = rig_input(graph, "x", 2, WIDTH, tokens, 0);
    tn_value e = tn_graph_weight(graph, "e", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, ENTRIES }, table,
                                 sizeof table);
    tn_value y = tn_graph_slice(graph, tn_graph_matmul(graph, x, e), 0, 0, WIDTH);
    for (uint32_t i = 0; i < LAYERS; i++) {
        char name[16];
        tn_graph_mark(graph, i, TN_NO_PART);
        snprintf(name, sizeof name, "w.%u", i);
        y = tn_graph_matmul(graph, tn_graph_scale(graph, y, 0.2f),
                            tn_graph_weight(graph, name, TN_DTYPE_F32, 2,
                                            (int64_t[]){ WIDTH, WIDTH }, layers_weights[i],
                                            WEIGHT_BYTES));
        y = rig_op(graph, TNP_OP_TANH, y);
    }
    tn_graph_mark(graph, LAYERS, TN_NO_PART);
    rig_finish(graph, tn_graph_matmul(graph, y, e));
    return graph;
}

static const double model_runs[] = { 128, 2 };   // of one token, and of many

// What all runs take; below 0 = it cannot be so.
static double runs_cost_ns(tn_runtime *runtime, tn_graph *const *graphs, const char *const *names,
                           const tn_placement *placement)
{
    tn_device *devices[MOST_DEVICES + 1];
    tn_session_options options = {
        .size = sizeof options, .devices = devices, .placement = placement, .graph_runs = model_runs
    };
    tn_session *session = NULL;
    double sum = 0;
    for (; names[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, names[options.device_count]);
    tn_status status = tn_session_create(runtime, (const tn_graph *const *)graphs, 2, &options,
                                         &session, NULL);
    for (uint32_t g = 0; g < 2 && status == TN_OK; g++) {
        tn_graph_schedule schedule = { .size = sizeof schedule };
        assert_int_equal(tn_session_graph_schedule(session, g, &schedule, NULL), TN_OK);
        sum += model_runs[g] * schedule.cost_ns;
    }
    tn_session_destroy(session);
    return status == TN_OK ? sum : -1;
}

typedef struct by_hand {
    tn_runtime *runtime;
    tn_graph *graphs[2];
    double chosen_ns;
    const char *devices;   // their setting
} by_hand;

static void is_no_faster(const by_hand *b, const char *const *names, const tn_placement *order,
                         const char *what)
{
    double ns = runs_cost_ns(b->runtime, b->graphs, names, order);
    if (ns >= 0 && ns < b->chosen_ns * 0.999)
        fail_msg("%s: %g ns are chosen, %s: %g ns", b->devices, b->chosen_ns, what, ns);
}

static void try_orders(const by_hand *b)
{
    static const double shares[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 3, 1 }, { 1, 3 } };
    const tn_placement all = { .size = sizeof all, .layer_rule = TN_LAYERS_ALL };
    const tn_pin pin = { "e", rig_device(b->runtime, "cpu0") };
    const tn_placement pinned = { .size = sizeof pinned, .pins = &pin, .pin_count = 1 };
    is_no_faster(b, a_b_and_cpu, &all, "all layers");
    is_no_faster(b, a_b_and_cpu, &pinned, "the table on the CPU");
    is_no_faster(b, a_and_cpu, NULL, "without b");
    is_no_faster(b, (const char *[]){ "b", "cpu0", NULL }, NULL, "without a");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const tn_placement divided = { .size = sizeof divided,
                                       .split_mode = TN_SPLIT_LAYER,
                                       .shares = shares[i],
                                       .share_count = 2 };
        is_no_faster(b, a_b_and_cpu, &divided, "layers by shares");
    }
    for (int i = 0; i < 2; i++) {
        const tn_placement one = { .size = sizeof one,
                                   .split_mode = TN_SPLIT_NONE,
                                   .main_device = rig_device(b->runtime, i ? "b" : "a") };
        is_no_faster(b, a_b_and_cpu, &one, "all layers on one device");
    }
}

// Nobody has to order by hand what is faster than the default: by what all likely runs take.
static void no_order_by_hand_is_faster_than_the_default(void **state)
{
    (void)state;
    enum { SETTINGS = 8 };
    static const unsigned speeds[] = { 50, 100, 200, 500, 2000 };
    uint32_t seed = 1, short_count = 0;
    for (int i = 0; i < SETTINGS; i++) {
        char devices[300];
        size_t used = 0;
        for (int d = 0; d < 2; d++) {
            uint32_t drawn[4];
            for (int k = 0; k < 4; k++)
                drawn[k] = (seed = seed * 1664525 + 1013904223) >> 8;
            used += (size_t)snprintf(devices + used, sizeof devices - used,
                                     "%c{\"name\":\"%c\",\"memory_bytes\":%u,\"gflops\":%u,"
                                     "\"gbps\":%u,\"host_visible\":%s}%s",
                                     d ? ',' : '[', 'a' + d, 60000 + drawn[0] % 240000,
                                     speeds[drawn[1] % 5], speeds[drawn[2] % 5],
                                     drawn[3] % 3 ? "true" : "false", d ? "]" : "");
        }
        by_hand b = { .runtime = rig_simulated(devices, NULL),
                      .graphs = { make_model(1), make_model(MOST_TOKENS) },
                      .devices = devices };
        b.chosen_ns = runs_cost_ns(b.runtime, b.graphs, a_b_and_cpu, NULL);
        if (b.chosen_ns < 0)
            fail_msg("%s: nothing fits", devices);
        try_orders(&b);
        tn_session *session = layers_session(b.runtime, b.graphs, 2, a_b_and_cpu, NULL);
        short_count += strstr(rig_explain(session), "what is fastest does not fit") != NULL;
        tn_session_destroy(session);
        for (int g = 0; g < 2; g++)
            tn_graph_destroy(b.graphs[g]);
        tn_runtime_destroy(b.runtime);
    }
    if (short_count < SETTINGS / 2)
        fail_msg("memory is short in %u of %d", short_count, SETTINGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_link_decides_by_its_cost),
        cmocka_unit_test(cheap_ops_between_stay_where_they_need_no_round_trip),
        cmocka_unit_test(states_are_where_the_likely_runs_want_them),
        cmocka_unit_test(runs_that_cannot_be_are_refused),
        cmocka_unit_test(the_default_is_never_dearer_than_layers),
        cmocka_unit_test(no_order_by_hand_is_faster_than_the_default),
    };
    return cmocka_run_group_tests(tests, layers_fill, NULL);
}
