// Where work goes when it is told where to go, and when memory is short: on simulated devices, with
// the results of the CPU alone.
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "session_rig.h"

enum { WIDTH = 64, LAYERS = 8, WEIGHT_BYTES = WIDTH * WIDTH * 4, MOST_TOKENS = 64 };

static float weights[LAYERS][WIDTH * WIDTH], input[WIDTH * MOST_TOKENS];

static int fill(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LAYERS; i++)
        rig_fill(weights[i], WIDTH * WIDTH, i + 1);
    rig_fill(input, WIDTH * MOST_TOKENS, 99);
    return 0;
}

// Layers of a product and a tanh, marked 0 to LAYERS - 1; with a state that each adds to if asked.
static tn_graph *make_layers(int64_t tokens, bool with_states)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_input(graph, "x", 2, WIDTH, tokens, 0);
    static const int32_t row[MOST_TOKENS] = { 0 };
    for (uint32_t i = 0; i < LAYERS; i++) {
        char name[16];
        tn_graph_mark(graph, i, TN_NO_PART);
        snprintf(name, sizeof name, "w.%u", i);
        y = tn_graph_matmul(graph, tn_graph_scale(graph, y, 0.2f),
                            tn_graph_weight(graph, name, TN_DTYPE_F32, 2,
                                            (int64_t[]){ WIDTH, WIDTH }, weights[i], WEIGHT_BYTES));
        if (with_states) {
            snprintf(name, sizeof name, "s.%u", i);
            tn_value s = tn_graph_state(graph, name, TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, 4 });
            snprintf(name, sizeof name, "i.%u", i);
            tn_value index = tn_graph_weight(graph, name, TN_DTYPE_I32, 1, (int64_t[]){ 1 }, row,
                                             sizeof row[0]);
            s = tn_graph_set_rows(graph, s, tn_graph_slice(graph, y, 1, 0, 1), index);
            y = tn_graph_add(graph, y, tn_graph_get_rows(graph, s, index));
        }
        y = rig_op(graph, TNP_OP_TANH, y);
    }
    rig_finish(graph, y);
    return graph;
}

static tn_status make(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
                      const char *const *names, const tn_placement *placement, tn_session **out,
                      tn_error *err)
{
    tn_device *devices[4];
    tn_session_options options = { .size = sizeof options,
                                   .devices = devices,
                                   .placement = placement };
    for (; names[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, names[options.device_count]);
    const tn_graph *const *all = (const tn_graph *const *)graphs;
    tn_status status = tn_session_create(runtime, all, count, &options, out, err);
    assert_int_equal(*out != NULL, status == TN_OK);
    return status;
}

static tn_session *need(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
                        const char *const *names, const tn_placement *placement)
{
    tn_session *session = NULL;
    tn_error err = { 0 };
    if (make(runtime, graphs, count, names, placement, &session, &err) != TN_OK)
        fail_msg("%s", err.text);
    return session;
}

static void run(tn_session *session, uint32_t number, const tn_graph *graph, int64_t tokens,
                float *out)
{
    uint64_t bytes = (uint64_t)tokens * WIDTH * sizeof *out;
    rig_run(session, number, graph, "x", input, bytes, NULL);
    rig_read(session, number, graph, "out", out, bytes);
}

// All graphs give what they give on the CPU alone.
static void compare(tn_runtime *runtime, tn_session *session, tn_graph *const *graphs,
                    const int64_t *tokens, uint32_t count)
{
    static float want[WIDTH * MOST_TOKENS], got[WIDTH * MOST_TOKENS];
    tn_session *alone = rig_session(runtime, (const tn_graph *const *)graphs, count,
                                    (const char *[]){ "cpu0", NULL });
    for (uint32_t g = 0; g < count; g++) {
        run(alone, g, graphs[g], tokens[g], want);
        run(session, g, graphs[g], tokens[g], got);
        if (memcmp(want, got, (size_t)tokens[g] * WIDTH * sizeof *got) != 0)
            fail_msg("graph %u has other bytes: %s", g, rig_explain(session));
    }
    tn_session_destroy(alone);
}

static tn_device_memory memory_of(const tn_session *session, uint32_t device)
{
    tn_device_memory memory = { .size = sizeof memory };
    assert_int_equal(tn_session_device_memory(session, device, &memory, NULL), TN_OK);
    return memory;
}

static uint64_t weights_on(const tn_session *session, uint32_t device)
{
    return memory_of(session, device).weight_copied_bytes / WEIGHT_BYTES;
}

static const char *const a_and_cpu[] = { "a", "cpu0", NULL };
static const char *const a_b_and_cpu[] = { "a", "b", "cpu0", NULL };

// --------------------------------------------------------------------------------------- placement

static void layers_states_and_pins_go_where_they_are_told(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"host_visible\":false},{\"name\":\"b\",\"host_visible\":false}]", NULL);
    tn_device *a = rig_device(runtime, "a"), *b = rig_device(runtime, "b"),
              *cpu = rig_device(runtime, "cpu0");
    static const double shares[] = { 1, 3 };
    const tn_pin pins[] = { { "w.1", b }, { "w.6", cpu } };
    const struct {
        tn_placement asked;
        uint32_t on_a, on_b;           // weights
        uint32_t states_a, states_b;   // of each layer one
    } cases[] = {
        { { .split_mode = TN_SPLIT_NONE }, 8, 0, 8, 0 },
        { { .split_mode = TN_SPLIT_NONE, .main_device = b }, 0, 8, 0, 8 },
        { { .split_mode = TN_SPLIT_LAYER }, 4, 4, 4, 4 },
        { { .split_mode = TN_SPLIT_LAYER, .shares = shares, .share_count = 2 }, 2, 6, 2, 6 },
        { { .split_mode = TN_SPLIT_LAYER,
            .shares = shares,
            .share_count = 2,
            .layer_rule = TN_LAYERS_COUNT,
            .gpu_layers = 4 },
          1,
          3,
          1,
          3 },
        { { .layer_rule = TN_LAYERS_COUNT, .gpu_layers = 0 }, 0, 0, 0, 0 },
        { { .split_mode = TN_SPLIT_NONE, .kv_device = b }, 8, 0, 0, 8 },
        { { .split_mode = TN_SPLIT_NONE, .kv_device = cpu }, 8, 0, 0, 0 },
        { { .split_mode = TN_SPLIT_NONE, .pins = pins, .pin_count = 2 }, 6, 1, 8, 0 },
    };
    tn_graph *graphs[] = { make_layers(1, true), make_layers(7, true) };
    const int64_t tokens[] = { 1, 7 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_placement asked = cases[i].asked;
        asked.size = sizeof asked;
        tn_session *session = need(runtime, graphs, 2, a_b_and_cpu, &asked);
        tn_device_memory on_a = memory_of(session, 0), on_b = memory_of(session, 1);
        uint64_t state_bytes = WIDTH * 4 * sizeof(float);
        if (weights_on(session, 0) != cases[i].on_a || weights_on(session, 1) != cases[i].on_b ||
            on_a.state_bytes != cases[i].states_a * state_bytes ||
            on_b.state_bytes != cases[i].states_b * state_bytes)
            fail_msg("case %zu: %s", i, rig_explain(session));
        compare(runtime, session, graphs, tokens, 2);
        tn_session_destroy(session);
    }
    (void)a;
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static void a_pin_that_no_graph_has_is_told(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_graph *graph = make_layers(1, false);
    tn_pin pin = { "w.99", rig_device(runtime, "a") };
    tn_placement asked = { .size = sizeof asked, .pins = &pin, .pin_count = 1 };
    tn_session_destroy(need(runtime, &graph, 1, a_and_cpu, &asked));
    assert_non_null(strstr(rig_log(), "'w.99' is pinned to a, but no graph has a value of this"));
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// A graph that is added later is placed like those before.
static void a_graph_that_is_added_follows_the_placement(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"host_visible\":false}]", NULL);
    tn_graph *graphs[] = { make_layers(7, true), make_layers(3, true) };
    tn_placement asked = { .size = sizeof asked, .layer_rule = TN_LAYERS_COUNT, .gpu_layers = 3 };
    tn_session *session = need(runtime, graphs, 1, a_and_cpu, &asked);
    uint32_t added;
    float got[WIDTH * 3], want[WIDTH * 3];
    assert_int_equal(tn_session_add(session, graphs[1], &added, NULL), TN_OK);
    assert_int_equal(weights_on(session, 0), 3);
    run(session, added, graphs[1], 3, got);
    tn_session *alone = rig_session(runtime, (const tn_graph *[]){ graphs[1] }, 1,
                                    (const char *[]){ "cpu0", NULL });
    run(alone, 0, graphs[1], 3, want);
    assert_memory_equal(got, want, sizeof got);
    tn_session_destroy(alone);
    tn_session_destroy(session);
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// --------------------------------------------------------------------------------------------- fit

// A device whose memory holds a part of the weights gets a part of the work, whatever its size.
// What is cheapest on a device that has too little reserved runs where there is enough.
static void a_graph_that_is_added_goes_where_there_is_room(void **state)
{
    (void)state;
    static float want[WIDTH * MOST_TOKENS], got[WIDTH * MOST_TOKENS];
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"latency_us\":0.001}]", NULL);
    const tn_pin pins[] = { { "large", rig_device(runtime, "cpu0") },
                            { "small", rig_device(runtime, "a") } };
    const tn_placement asked = { .size = sizeof asked, .pins = pins, .pin_count = 2 };
    tn_graph *first = rig_graph(), *added = rig_graph();
    tn_value large = rig_op(first, TNP_OP_TANH, rig_input(first, "x", 2, WIDTH, MOST_TOKENS, 0));
    tn_graph_output(first, "large", large);
    tn_graph_output(first, "small", rig_op(first, TNP_OP_NEG, rig_input(first, "y", 1, 4, 0, 0)));
    assert_int_equal(tn_graph_finish(first, NULL), TN_OK);
    rig_finish(added, rig_op(added, TNP_OP_TANH, rig_input(added, "x", 2, WIDTH, MOST_TOKENS, 0)));
    tn_session *alone = need(runtime, &added, 1, a_and_cpu, NULL);
    assert_true(memory_of(alone, 0).peak_bytes > 0 && memory_of(alone, 1).peak_bytes == 0);
    run(alone, 0, added, MOST_TOKENS, want);
    tn_session *session = need(runtime, &first, 1, a_and_cpu, &asked);
    uint32_t number;
    tn_error err = { 0 };
    if (tn_session_add(session, added, &number, &err) != TN_OK)
        fail_msg("%s", err.text);
    run(session, number, added, MOST_TOKENS, got);
    assert_memory_equal(want, got, sizeof want);
    tn_session_destroy(alone);
    tn_session_destroy(session);
    tn_graph_destroy(first);
    tn_graph_destroy(added);
    tn_runtime_destroy(runtime);
}

static void what_does_not_fit_goes_elsewhere(void **state)
{
    (void)state;
    tn_graph *graphs[] = { make_layers(1, true), make_layers(16, true) };
    const int64_t tokens[] = { 1, 16 };
    uint64_t before = 0;
    for (uint32_t kib = 4; kib <= 200; kib += 28) {
        char devices[120];
        snprintf(
            devices, sizeof devices,
            "[{\"name\":\"a\",\"memory_bytes\":%u,\"host_visible\":false,\"latency_us\":0.01}]",
            kib * 1024);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = need(runtime, graphs, 2, a_and_cpu, NULL);
        tn_device_memory memory = memory_of(session, 0);
        assert_true(memory.peak_bytes + memory.state_bytes + memory.weight_copied_bytes <=
                    kib * 1024);
        if (weights_on(session, 0) < before)
            fail_msg("with %u KiB fewer weights are on a: %s", kib, rig_explain(session));
        before = weights_on(session, 0);
        compare(runtime, session, graphs, tokens, 2);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    assert_int_equal(before, LAYERS);
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
}

// Two graphs share their weights: these are counted and kept once, also while memory is short.
static void graphs_agree_where_a_weight_is(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":100000,\"host_visible\":false},"
        "{\"name\":\"b\",\"memory_bytes\":60000,\"host_visible\":false}]",
        NULL);
    tn_graph *graphs[] = { make_layers(1, false), make_layers(16, false), make_layers(8, false) };
    const int64_t tokens[] = { 1, 16, 8 };
    tn_session *session = need(runtime, graphs, 3, a_b_and_cpu, NULL);
    tn_memory_report memory = rig_memory(session);
    assert_true(weights_on(session, 0) > 0 && weights_on(session, 1) > 0);
    assert_int_equal(memory.weight_copied_bytes + memory.weight_mapped_bytes,
                     LAYERS * WEIGHT_BYTES);
    assert_non_null(strstr(rig_explain(session), "what is fastest does not fit"));
    compare(runtime, session, graphs, tokens, 3);
    uint32_t added;   // also one that comes later
    assert_int_equal(tn_session_add(session, graphs[2], &added, NULL), TN_OK);
    assert_int_equal(rig_memory(session).weight_copied_bytes, memory.weight_copied_bytes);
    tn_session_destroy(session);
    for (int i = 0; i < 3; i++)
        tn_graph_destroy(graphs[i]);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// What other sessions of the runtime have is not free.
static void other_sessions_are_seen(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":160000,\"host_visible\":false,\"latency_us\":0.01}]",
        NULL);
    tn_graph *graph = make_layers(1, false);
    const int64_t tokens = 1;
    tn_session *first = need(runtime, &graph, 1, a_and_cpu, NULL);
    assert_int_equal(weights_on(first, 0), LAYERS);
    tn_session *second = need(runtime, &graph, 1, a_and_cpu, NULL);
    assert_in_range(weights_on(second, 0), 0, 1);
    compare(runtime, second, &graph, &tokens, 1);
    tn_session_destroy(first);
    tn_session *third = need(runtime, &graph, 1, a_and_cpu, NULL);
    assert_in_range(weights_on(third, 0), LAYERS - 1, LAYERS);
    tn_session_destroy(second);
    tn_session_destroy(third);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// Without a CPU nothing is offered to one.
static void two_devices_without_a_cpu_share_or_are_told(void **state)
{
    (void)state;
    tn_graph *graph = make_layers(1, false);
    const int64_t tokens = 1;
    for (int fits = 0; fits < 2; fits++) {
        tn_runtime *runtime = rig_simulated(fits ? "[{\"name\":\"a\",\"memory_bytes\":90000},{"
                                                   "\"name\":\"b\",\"memory_bytes\":90000}]"
                                                 : "[{\"name\":\"a\",\"memory_bytes\":40000},{"
                                                   "\"name\":\"b\",\"memory_bytes\":50000}]",
                                            NULL);
        tn_session *session = NULL;
        tn_error err = { 0 };
        tn_status status = make(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, NULL,
                                &session, &err);
        if (status != (fits ? TN_OK : TN_E_DEVICE_MEMORY) ||
            (!fits && !strstr(err.text, "bytes are needed")))
            fail_msg("%s", err.text);
        if (session)
            compare(runtime, session, &graph, &tokens, 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

// 44 of tests/cases.md: each value is smaller than the largest buffer, the total is more than there
// is, and
// there is nowhere else to go: needed and free bytes. It is known before anything is allocated.
static void what_fits_nowhere_is_told_before_it_is_tried(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"memory_bytes\":100000,\"fail\":{"
                                        "\"call\":\"buffer_alloc\"}}]",
                                        NULL);
    tn_graph *graph = make_layers(1, false);
    tn_device *a = rig_device(runtime, "a");
    tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = &a };
    const tn_graph *graphs[] = { graph };
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(tn_session_create(runtime, graphs, 1, &options, &session, &err),
                     TN_E_DEVICE_MEMORY);
    unsigned long long needed = 0, weight_bytes = 0, available = 0;
    int found = sscanf(err.text,
                       "a: %llu bytes are needed for weights, states and the arena (%llu, 0 and "
                       "%*u), %llu are free",
                       &needed, &weight_bytes, &available);
    assert_int_equal(found, 3);
    assert_true(weight_bytes == LAYERS * WEIGHT_BYTES && available == 100000);
    assert_true(needed > weight_bytes);
    assert_int_equal(tn_session_fits(runtime, graphs, 1, &options, &err), TN_E_DEVICE_MEMORY);
    options.device_count = 0;
    options.devices = NULL;
    assert_int_equal(tn_session_fits(runtime, graphs, 1, &options, &err), TN_OK);
    assert_null(strstr(rig_told(), "fails now"));   // nothing was allocated
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// A weight just under, at and over the largest buffer of the device (32 of tests/cases.md).
static void what_is_larger_than_a_buffer_goes_elsewhere_or_is_named(void **state)
{
    (void)state;
    static const struct {
        uint32_t most;
        bool is_on_a;
    } cases[] = { { WEIGHT_BYTES + 1024, true },
                  { WEIGHT_BYTES, true },
                  { WEIGHT_BYTES - 64, false } };
    tn_graph *graph = make_layers(1, false);
    const int64_t tokens = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char devices[80];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"max_alloc_bytes\":%u}]",
                 cases[i].most);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = need(runtime, &graph, 1, a_and_cpu, NULL);
        assert_int_equal(weights_on(session, 0), cases[i].is_on_a ? LAYERS : 0);
        compare(runtime, session, &graph, &tokens, 1);
        tn_session_destroy(session);
        session = NULL;
        tn_error err = { 0 };
        tn_status status = make(runtime, &graph, 1, (const char *[]){ "a", NULL }, NULL, &session,
                                &err);
        assert_int_equal(status, cases[i].is_on_a ? TN_OK : TN_E_DEVICE_MEMORY);
        if (status != TN_OK &&
            !strstr(err.text, "a: weight 'w.0' needs 16384 bytes in one buffer, the largest "
                              "possible has 16320"))
            fail_msg("%s", err.text);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    tn_graph_destroy(graph);
}

// A unit of both products of a gate has scratch for them.
static void a_claim_with_more_scratch_than_a_buffer_is_not_chosen(void **state)
{
    (void)state;
    const int64_t tokens = MOST_TOKENS;
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, WIDTH, tokens, 0), products[2];
    for (int i = 0; i < 2; i++)
        products[i] = tn_graph_matmul(graph, x,
                                      tn_graph_weight(graph, i ? "up" : "gate", TN_DTYPE_F32, 2,
                                                      (int64_t[]){ WIDTH, WIDTH }, weights[i],
                                                      WEIGHT_BYTES));
    rig_finish(graph, tn_graph_swiglu(graph, products[0], products[1]));
    for (int is_small = 0; is_small < 2; is_small++) {
        char devices[100];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"fuse\":true,\"max_alloc_bytes\":%d}]",
                 is_small ? WEIGHT_BYTES : 16 * WEIGHT_BYTES);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = need(runtime, &graph, 1, a_and_cpu, NULL);
        assert_int_equal(weights_on(session, 0), 2);
        tn_graph_schedule schedule = { .size = sizeof schedule };
        assert_int_equal(tn_session_graph_schedule(session, 0, &schedule, NULL), TN_OK);
        assert_int_equal(schedule.step_count, is_small ? 3 : 1);
        compare(runtime, session, &graph, &tokens, 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    tn_graph_destroy(graph);
}

// ------------------------------------------------------------------------------------------ orders

static const struct {
    const char *says;
    int pins;
    bool has_kv;
    unsigned memory_bytes, max_bytes;   // of a
    const char *words[2];
} orders[] = {
    { "one pin",
      1,
      false,
      10000,
      0,
      { "a: what is ordered to be there does not fit: 'w.0' needs "
        "16384 bytes, 10000 are free",
        "" } },
    { "five pins",
      5,
      false,
      70000,
      0,
      { "'w.0', 'w.1', 'w.2' and 2 more pinned values need 81920 bytes, 70000 are free", "" } },
    { "the states",
      0,
      true,
      8000,
      0,
      { "the states need 8196 bytes, 8000 are free", "a: what is ordered" } },
    { "both", 1, true, 20000, 0, { "'w.0', and the states need 24580 bytes, 20000 are free", "" } },
    { "the arena beside a pin",
      1,
      false,
      16500,
      0,
      { "16500 are free", "16384 bytes of it are ordered to be there: 'w.0'" } },
    { "a buffer",
      1,
      false,
      0,
      16000,
      { "is ordered to be on a, but 'w.0' has 16384 bytes, and a buffer there has at most "
        "16000",
        "" } },
};

// What was ordered of a device that cannot hold it is named, with what it needs there and what is
// free; not what all graphs would need on that device.
static void an_order_that_does_not_fit_is_named(void **state)
{
    (void)state;
    tn_graph *graph = make_layers(16, true);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        char devices[120];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%u,\"max_alloc_bytes\":%u}]",
                 orders[i].memory_bytes ? orders[i].memory_bytes : 10000000,
                 orders[i].max_bytes ? orders[i].max_bytes : 10000000);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_device *a = rig_device(runtime, "a");
        const tn_pin pins[] = {
            { "w.0", a }, { "w.1", a }, { "w.2", a }, { "w.3", a }, { "w.4", a }
        };
        const tn_placement asked = { .size = sizeof asked,
                                     .pins = pins,
                                     .pin_count = (uint32_t)orders[i].pins,
                                     .kv_device = orders[i].has_kv ? a : NULL };
        tn_session *session = NULL;
        tn_error err = { 0 };
        tn_status status = make(runtime, &graph, 1, a_and_cpu, &asked, &session, &err);
        if (status != TN_E_DEVICE_MEMORY || !strstr(err.text, orders[i].words[0]) ||
            !strstr(err.text, orders[i].words[1]))
            fail_msg("%s: status %d: %s", orders[i].says, (int)status, err.text);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

// The list of devices is an order, too.
static void the_only_devices_that_were_named_are_told(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"memory_bytes\":40000},"
                                        "{\"name\":\"b\",\"memory_bytes\":50000}]",
                                        NULL);
    tn_graph *graph = make_layers(1, false);
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(
        make(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, NULL, &session, &err),
        TN_E_DEVICE_MEMORY);
    if (!strstr(err.text, "a and b are the only devices that were named"))
        fail_msg("%s", err.text);
    const tn_placement all = { .size = sizeof all,
                               .split_mode = TN_SPLIT_NONE,
                               .main_device = rig_device(runtime, "b") };
    assert_int_equal(
        make(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, &all, &session, &err),
        TN_E_DEVICE_MEMORY);
    if (!strstr(err.text, "b: ") || !strstr(err.text, "50000 are free") ||
        !strstr(err.text, "all layers are to be there, on the main device"))
        fail_msg("%s", err.text);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// A state cannot be on two devices.
static void contradicting_orders_are_refused_with_both_names(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"},{\"name\":\"b\"}]", NULL);
    tn_graph *graph = make_layers(1, true);
    const tn_pin pin = { "s.3", rig_device(runtime, "a") };
    const tn_placement asked = {
        .size = sizeof asked, .pins = &pin, .pin_count = 1, .kv_device = rig_device(runtime, "b")
    };
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(make(runtime, &graph, 1, a_b_and_cpu, &asked, &session, &err), TN_E_ARG);
    if (!strstr(err.text, "is pinned to a by 's.3', but it touches the state 's.3', and states are "
                          "ordered to be on b"))
        fail_msg("%s", err.text);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------ fewer layers

static void more_layers_than_fit_become_fewer_and_that_is_told(void **state)
{
    (void)state;
    tn_graph *graphs[] = { make_layers(1, true), make_layers(16, true) };
    const int64_t tokens[] = { 1, 16 };
    for (uint32_t rule = TN_LAYERS_AUTO; rule <= TN_LAYERS_ALL; rule++) {
        tn_runtime *runtime = rig_simulated(
            "[{\"name\":\"a\",\"memory_bytes\":100000,\"host_visible\":false}]", NULL);
        tn_placement asked = { .size = sizeof asked,
                               .split_mode = TN_SPLIT_NONE,
                               .layer_rule = rule,
                               .gpu_layers = rule == TN_LAYERS_COUNT ? 7 : 0 };
        tn_session *session = need(runtime, graphs, 2, a_and_cpu, &asked);
        uint64_t count = weights_on(session, 0);
        char words[80];
        assert_in_range(count, 3, 6);
        snprintf(words, sizeof words, "placement: %u of the %u layers fit the memory that is free",
                 (unsigned)count, rule == TN_LAYERS_COUNT ? 7 : 8);
        if (!strstr(rig_explain(session), words) || !strstr(rig_log(), words))
            fail_msg("no \"%s\": %s%s%s", words, rig_explain(session), rig_log(), rig_told());
        compare(runtime, session, graphs, tokens, 2);
        tn_session_destroy(session);
        asked.gpu_layers = (uint32_t)count + 1;   // one more does not fit
        asked.layer_rule = TN_LAYERS_COUNT;
        session = need(runtime, graphs, 2, a_and_cpu, &asked);
        assert_int_equal(weights_on(session, 0), count);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
}

static bool is_told_once(const char *words)
{
    const char *at = strstr(rig_log(), words);
    return at && !strstr(at + 1, words);
}

// A device that has less than it says.
static void out_of_memory_while_loading_less_is_placed_there(void **state)
{
    (void)state;
    tn_graph *graph = make_layers(1, true);
    const int64_t tokens = 1;
    for (int at = 1; at < 17; at += 3)
        for (int with_layers = 0; with_layers < 2; with_layers++) {
            char devices[120];
            snprintf(devices, sizeof devices,
                     "[{\"name\":\"a\",\"fail\":[{\"call\":\"buffer_alloc\",\"at\":%d},"
                     "{\"call\":\"buffer_alloc\",\"at\":%d}]}]",
                     at, at + 1);
            tn_runtime *runtime = rig_simulated(devices, NULL);
            tn_placement asked = { .size = sizeof asked,
                                   .split_mode = TN_SPLIT_NONE,
                                   .layer_rule = TN_LAYERS_ALL };
            tn_session *session = need(runtime, &graph, 1, a_and_cpu, with_layers ? &asked : NULL);
            if (!is_told_once("out of memory while loading, less is placed there"))
                fail_msg("%s: %s%s", devices, rig_log(), rig_told());
            assert_true(weights_on(session, 0) < LAYERS);
            if (with_layers && !is_told_once("layers fit the memory that is free"))
                fail_msg("%s", rig_log());
            compare(runtime, session, &graph, &tokens, 1);
            tn_session_destroy(session);
            tn_runtime_destroy(runtime);
        }
    // Alone there is nothing to do: it is told.
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"fail\":{\"call\":\"buffer_alloc\",\"at\":4}}]", NULL);
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(make(runtime, &graph, 1, (const char *[]){ "a", NULL }, NULL, &session, &err),
                     TN_E_DEVICE_MEMORY);
    assert_non_null(strstr(err.text, "as it is told to"));
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

// -------------------------------------------------------------------------------------------- cost

// Two layers that touch one state: their wishes may contradict each other, and are then none.
static tn_graph *make_layers_of_one_state(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, WIDTH, 1, 1);
    tn_value kept = tn_graph_state(graph, "kept", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH });
    tn_value row = tn_graph_input(graph, "row", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    for (uint32_t layer = 0; layer < 2; layer++) {
        tn_value weight = tn_graph_weight(graph, layer ? "w1" : "w0", TN_DTYPE_F32, 2,
                                          (int64_t[]){ WIDTH, WIDTH }, weights[layer],
                                          WEIGHT_BYTES);
        tn_graph_mark(graph, layer, TN_NO_PART);
        x = tn_graph_matmul(graph, x, weight);
        kept = layer ? kept : tn_graph_set_rows(graph, kept, x, row);
        x = tn_graph_add(graph, x, tn_graph_get_rows(graph, kept, row));
    }
    rig_finish(graph, x);
    return graph;
}

static void layers_of_one_state_stay_together(void **state)
{
    (void)state;
    tn_graph *graph = make_layers_of_one_state();
    for (uint32_t mode = TN_SPLIT_NONE; mode <= TN_SPLIT_LAYER; mode++)
        for (uint32_t layers = 0; layers <= 3; layers++) {
            tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"},{\"name\":\"b\"}]", NULL);
            tn_placement asked = { .size = sizeof asked,
                                   .split_mode = mode,
                                   .layer_rule = TN_LAYERS_COUNT,
                                   .gpu_layers = layers };
            tn_session *session = need(runtime, &graph, 1, a_b_and_cpu, &asked);
            compare(runtime, session, &graph, (int64_t[]){ 1 }, 1);
            tn_session_destroy(session);
            tn_runtime_destroy(runtime);
        }
    tn_graph_destroy(graph);
}

// However little a device has: the others do without it where nothing fits there.
static void any_little_memory_is_no_reason_to_refuse(void **state)
{
    (void)state;
    tn_graph *graph = make_layers_of_one_state();
    for (unsigned bytes = 500; bytes < 80000; bytes += 2500) {
        char devices[120];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%u},{\"name\":\"b\",\"memory_bytes\":%u}]",
                 bytes, bytes / 2);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = need(runtime, &graph, 1, a_b_and_cpu, NULL);
        compare(runtime, session, &graph, (int64_t[]){ 1 }, 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

// Also beside an order that keeps the device in use, and where its buffers are too small.
static void a_state_that_nothing_touches_is_where_there_is_room(void **state)
{
    (void)state;
    static const char *const limits[] = { "\"memory_bytes\":4000",
                                          "\"kind\":\"cpu\",\"memory_bytes\":4000",
                                          "\"kind\":\"cpu\",\"max_alloc_bytes\":4000" };
    tn_graph *graph = rig_graph();
    tn_graph_state(graph, "unused", TN_DTYPE_F32, 1, (int64_t[]){ 10000 });
    rig_finish(graph, rig_op(graph, TNP_OP_TANH, rig_input(graph, "x", 2, WIDTH, 1, 1)));
    for (size_t i = 0; i < 2 * sizeof limits / sizeof limits[0]; i++) {
        char devices[100];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",%s}]", limits[i / 2]);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        const tn_pin pin = { "out", rig_device(runtime, "a") };
        const tn_placement asked = { .size = sizeof asked, .pins = &pin, .pin_count = 1 };
        tn_session *session = need(runtime, &graph, 1, a_and_cpu, i % 2 ? &asked : NULL);
        assert_int_equal(memory_of(session, 1).state_bytes, 40000);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    tn_graph_destroy(graph);
}

// What tn_session_fits says is what tn_session_create finds: a device whose buffers cannot be as
// large as its alignment holds nothing.
static void a_device_that_can_make_no_buffer_gets_nothing(void **state)
{
    (void)state;
    tn_graph *graph = make_layers(1, true);
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"alignment\":32768,\"max_alloc_bytes\":16384}]", NULL);
    tn_session *session = need(runtime, &graph, 1, a_and_cpu, NULL);
    assert_int_equal(weights_on(session, 0), 0);
    tn_session_destroy(session);
    assert_string_equal(rig_log(), "");
    tn_device *a = rig_device(runtime, "a");
    tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = &a };
    tn_error err = { 0 };
    assert_int_equal(tn_session_fits(runtime, (const tn_graph *const *)&graph, 1, &options, &err),
                     TN_E_DEVICE_MEMORY);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static double cost_of(tn_runtime *runtime, tn_graph *graph, const tn_placement *placement)
{
    tn_session *session = need(runtime, &graph, 1, a_and_cpu, placement);
    const char *at = strstr(rig_explain(session), " ms by the cost model");
    assert_non_null(at);
    while (at[-1] != ' ')
        at--;
    double ms = strtod(at, NULL);
    tn_session_destroy(session);
    return ms;
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
    tn_graph *graph = make_layers(16, true);
    for (unsigned kib = 30; kib <= 130; kib += 10) {
        char devices[160];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%u,\"host_visible\":false},"
                 "{\"name\":\"b\",\"memory_bytes\":%u,\"host_visible\":false}]",
                 kib * 1024, kib * 900);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *cut = need(runtime, &graph, 1, a_b_and_cpu, &layer);
        double cut_ns = graph_cost_ns(cut);
        tn_session_destroy(cut);
        tn_session *session = need(runtime, &graph, 1, a_b_and_cpu, NULL);
        double ns = graph_cost_ns(session);
        if (ns > cut_ns * 1.000001)
            fail_msg("%u KiB: %g, layers cut: %g: %s", kib, ns, cut_ns, rig_explain(session));
        const char *words = rig_explain(session);
        bool is_short = strstr(words, "what is fastest does not fit") != NULL;
        short_count += is_short;
        if (is_short && (!strstr(words, "placement: chosen by cost: ") ||
                         !strstr(words, "layers cut by free memory")))
            fail_msg("%s", words);
        compare(runtime, session, &graph, (int64_t[]){ 16 }, 1);
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
                                            (int64_t[]){ WIDTH, WIDTH }, weights[i], WEIGHT_BYTES));
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

// States are where the graphs want them that run most: a has the bandwidth for one row, b the speed
// for many.
static void states_are_where_the_likely_runs_want_them(void **state)
{
    (void)state;
    static const double runs[][2] = { { 1000, 1 }, { 1, 1000 } };
    tn_graph *graphs[] = { make_layers(1, true), make_layers(MOST_TOKENS, true) };
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
        assert_int_equal(memory_of(session, i).state_bytes, LAYERS * WIDTH * 4 * sizeof(float));
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
    tn_graph *graph = make_layers(1, false);
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
        tn_session *session = need(b.runtime, b.graphs, 2, a_b_and_cpu, NULL);
        short_count += strstr(rig_explain(session), "what is fastest does not fit") != NULL;
        tn_session_destroy(session);
        for (int g = 0; g < 2; g++)
            tn_graph_destroy(b.graphs[g]);
        tn_runtime_destroy(b.runtime);
    }
    if (short_count < SETTINGS / 2)
        fail_msg("memory is short in %u of %d", short_count, SETTINGS);
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
            tn_graph *graph = make_layers(tokens, false);
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
                                       (int64_t[]){ WIDTH, WIDTH }, weights[i], WEIGHT_BYTES);
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
            tn_session *session = need(runtime, &graph, 1, a_and_cpu, NULL);
            if (!strstr(rig_explain(session), cases[c].words))
                fail_msg("%s, %d cheap ops: %s", cases[c].link, cheap, rig_explain(session));
            tn_session_destroy(session);
            tn_graph_destroy(graph);
            tn_runtime_destroy(runtime);
        }
}

// ---------------------------------------------------------------------------------------- failures

typedef struct fixture {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_placement placement;
} fixture;

static tn_status make_with(const tn_allocator *allocator, void *context)
{
    const fixture *f = context;
    tn_device *devices[] = { rig_device(f->runtime, "a"), rig_device(f->runtime, "cpu0") };
    tn_session_options options = { .size = sizeof options,
                                   .device_count = 2,
                                   .devices = devices,
                                   .allocator = allocator,
                                   .placement = &f->placement };
    const tn_graph *graphs[] = { f->graph, f->graph };
    tn_error err = { 0 };
    tn_status status = tn_session_fits(f->runtime, graphs, 2, &options, &err);
    if (status != TN_OK && !strstr(err.text, "memory"))
        fail_msg("%s", err.text);
    return status;
}

// Nothing fits, which is what is to be told.
static tn_status make_in_vain(const tn_allocator *allocator, void *context)
{
    const fixture *f = context;
    tn_device *devices[] = { rig_device(f->runtime, "a"), rig_device(f->runtime, "cpu0") };
    tn_session_options options = { .size = sizeof options,
                                   .device_count = 2,
                                   .devices = devices,
                                   .allocator = allocator,
                                   .placement = &f->placement };
    tn_error err = { 0 };
    tn_status status = tn_session_fits(f->runtime, (const tn_graph *[]){ f->graph }, 1, &options,
                                       &err);
    bool is_told = status == TN_E_DEVICE_MEMORY && strstr(err.text, "20000 are free");
    return is_told ? TN_OK : status;
}

// Rounds within limits, then fewer layers; then an order that does not fit.
static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    fixture f = { .runtime = rig_simulated("[{\"name\":\"a\",\"memory_bytes\":20000}]", NULL),
                  .graph = rig_graph() };
    tn_value y = rig_input(f.graph, "x", 2, WIDTH, 1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        tn_graph_mark(f.graph, i, TN_NO_PART);
        y = tn_graph_matmul(f.graph, y,
                            tn_graph_weight(f.graph, i ? "w.1" : "w.0", TN_DTYPE_F32, 2,
                                            (int64_t[]){ WIDTH, WIDTH }, weights[i], WEIGHT_BYTES));
    }
    rig_finish(f.graph, y);
    tn_pin pin = { "x", rig_device(f.runtime, "cpu0") };
    f.placement = (tn_placement){ .size = sizeof f.placement, .pins = &pin, .pin_count = 1 };
    for_each_failing_allocation(make_with, &f);
    f.placement.split_mode = TN_SPLIT_LAYER;
    for_each_failing_allocation(make_with, &f);
    const tn_pin pins[] = { { "w.0", rig_device(f.runtime, "a") },
                            { "w.1", rig_device(f.runtime, "a") } };
    f.placement.pins = pins;
    f.placement.pin_count = 2;
    for_each_failing_allocation(make_in_vain, &f);
    tn_graph_destroy(f.graph);
    tn_runtime_destroy(f.runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_states_and_pins_go_where_they_are_told),
        cmocka_unit_test(a_pin_that_no_graph_has_is_told),
        cmocka_unit_test(a_graph_that_is_added_follows_the_placement),
        cmocka_unit_test(a_graph_that_is_added_goes_where_there_is_room),
        cmocka_unit_test(what_does_not_fit_goes_elsewhere),
        cmocka_unit_test(graphs_agree_where_a_weight_is),
        cmocka_unit_test(other_sessions_are_seen),
        cmocka_unit_test(two_devices_without_a_cpu_share_or_are_told),
        cmocka_unit_test(what_fits_nowhere_is_told_before_it_is_tried),
        cmocka_unit_test(what_is_larger_than_a_buffer_goes_elsewhere_or_is_named),
        cmocka_unit_test(a_claim_with_more_scratch_than_a_buffer_is_not_chosen),
        cmocka_unit_test(an_order_that_does_not_fit_is_named),
        cmocka_unit_test(the_only_devices_that_were_named_are_told),
        cmocka_unit_test(contradicting_orders_are_refused_with_both_names),
        cmocka_unit_test(more_layers_than_fit_become_fewer_and_that_is_told),
        cmocka_unit_test(out_of_memory_while_loading_less_is_placed_there),
        cmocka_unit_test(the_default_is_never_dearer_than_layers),
        cmocka_unit_test(states_are_where_the_likely_runs_want_them),
        cmocka_unit_test(runs_that_cannot_be_are_refused),
        cmocka_unit_test(no_order_by_hand_is_faster_than_the_default),
        cmocka_unit_test(a_slow_link_decides_by_its_cost),
        cmocka_unit_test(cheap_ops_between_stay_where_they_need_no_round_trip),
        cmocka_unit_test(layers_of_one_state_stay_together),
        cmocka_unit_test(any_little_memory_is_no_reason_to_refuse),
        cmocka_unit_test(a_state_that_nothing_touches_is_where_there_is_room),
        cmocka_unit_test(a_device_that_can_make_no_buffer_gets_nothing),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
