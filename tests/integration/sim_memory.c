// Where work goes when memory is short and nobody says where: on simulated devices, with the
// results of the CPU alone.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "session_rig.h"
#include "sim_layers.h"

// Nothing was warned of.
static void end_silently(tn_runtime *runtime, tn_session *session)
{
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// A device whose memory holds a part of the weights gets a part of the work, whatever its size.
static void what_does_not_fit_goes_elsewhere(void **state)
{
    (void)state;
    tn_graph *graphs[] = { layers_graph(1, true), layers_graph(16, true) };
    const int64_t tokens[] = { 1, 16 };
    uint64_t before = 0;
    for (uint32_t kib = 4; kib <= 200; kib += 28) {
        char devices[120];
        snprintf(
            devices, sizeof devices,
            "[{\"name\":\"a\",\"memory_bytes\":%u,\"host_visible\":false,\"latency_us\":0.01}]",
            kib * 1024);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = layers_session(runtime, graphs, 2, a_and_cpu, NULL);
        tn_device_memory memory = layers_memory(session, 0);
        assert_true(memory.peak_bytes + memory.state_bytes + memory.weight_copied_bytes <=
                    kib * 1024);
        if (layers_weights_on(session, 0) < before)
            fail_msg("with %u KiB fewer weights are on a: %s", kib, rig_explain(session));
        before = layers_weights_on(session, 0);
        layers_compare(runtime, session, graphs, tokens, 2);
        end_silently(runtime, session);
    }
    assert_int_equal(before, LAYERS);
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
}

// However little a device has: the others do without it where nothing fits there.
static void any_little_memory_is_no_reason_to_refuse(void **state)
{
    (void)state;
    tn_graph *graph = layers_of_one_state();
    for (unsigned bytes = 500; bytes < 80000; bytes += 2500) {
        char devices[120];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%u},{\"name\":\"b\",\"memory_bytes\":%u}]",
                 bytes, bytes / 2);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = layers_session(runtime, &graph, 1, a_b_and_cpu, NULL);
        layers_compare(runtime, session, &graph, (int64_t[]){ 1 }, 1);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

// Two graphs share their weights: these are counted and kept once, also while memory is short.
static void graphs_agree_where_a_weight_is(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":100000,\"host_visible\":false},"
        "{\"name\":\"b\",\"memory_bytes\":60000,\"host_visible\":false}]",
        NULL);
    tn_graph *graphs[] = { layers_graph(1, false), layers_graph(16, false),
                           layers_graph(8, false) };
    const int64_t tokens[] = { 1, 16, 8 };
    tn_session *session = layers_session(runtime, graphs, 3, a_b_and_cpu, NULL);
    tn_memory_report memory = rig_memory(session);
    assert_true(layers_weights_on(session, 0) > 0 && layers_weights_on(session, 1) > 0);
    assert_int_equal(memory.weight_copied_bytes + memory.weight_mapped_bytes,
                     LAYERS * WEIGHT_BYTES);
    assert_non_null(strstr(rig_explain(session), "what is fastest does not fit"));
    layers_compare(runtime, session, graphs, tokens, 3);
    uint32_t added;   // also one that comes later
    assert_int_equal(tn_session_add(session, graphs[2], &added, NULL), TN_OK);
    assert_int_equal(rig_memory(session).weight_copied_bytes, memory.weight_copied_bytes);
    tn_session_destroy(session);
    for (int i = 0; i < 3; i++)
        tn_graph_destroy(graphs[i]);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

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
    tn_session *alone = layers_session(runtime, &added, 1, a_and_cpu, NULL);
    assert_true(layers_memory(alone, 0).peak_bytes > 0 && layers_memory(alone, 1).peak_bytes == 0);
    layers_run(alone, 0, added, MOST_TOKENS, want);
    tn_session *session = layers_session(runtime, &first, 1, a_and_cpu, &asked);
    uint32_t number;
    tn_error err = { 0 };
    if (tn_session_add(session, added, &number, &err) != TN_OK)
        fail_msg("%s", err.text);
    layers_run(session, number, added, MOST_TOKENS, got);
    assert_memory_equal(want, got, sizeof want);
    tn_session_destroy(alone);
    tn_session_destroy(session);
    tn_graph_destroy(first);
    tn_graph_destroy(added);
    tn_runtime_destroy(runtime);
}

// A device on which the session has reserved nothing would take it.
static void a_graph_that_is_added_tells_what_is_not_reserved(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"except\":[\"abs\"],\"latency_us\":0.001}]", NULL);
    tn_graph *first = rig_graph(), *added = rig_graph();
    rig_finish(first, rig_op(first, TNP_OP_TANH, rig_input(first, "x", 2, WIDTH, MOST_TOKENS, 0)));
    rig_finish(added, rig_op(added, TNP_OP_ABS, rig_input(added, "x", 2, WIDTH, MOST_TOKENS, 0)));
    tn_session *session = layers_session(runtime, &first, 1, a_and_cpu, NULL);
    assert_int_equal(layers_memory(session, 1).peak_bytes, 0);
    uint32_t number;
    tn_error err = { 0 };
    assert_int_equal(tn_session_add(session, added, &number, &err), TN_E_UNSUPPORTED);
    if (!strstr(err.text, "no device takes abs") ||
        !strstr(err.text, "cpu0: the session has reserved no memory there"))
        fail_msg("%s", err.text);
    tn_session_destroy(session);
    tn_graph_destroy(first);
    tn_graph_destroy(added);
    tn_runtime_destroy(runtime);
}

// What other sessions of the runtime have is not free; their weights are not those of this one.
static void other_sessions_are_seen(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":160000,\"host_visible\":false,\"latency_us\":0.01}]",
        NULL);
    tn_graph *graph = layers_graph(1, false), *other = layers_graph_of(layers_others, 1, false);
    const int64_t tokens = 1;
    tn_session *first = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
    assert_int_equal(layers_weights_on(first, 0), LAYERS);
    tn_session *second = layers_session(runtime, &other, 1, a_and_cpu, NULL);
    assert_in_range(layers_weights_on(second, 0), 0, 1);
    layers_compare(runtime, second, &other, &tokens, 1);
    tn_session_destroy(first);
    tn_session *third = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
    assert_in_range(layers_weights_on(third, 0), LAYERS - 1, LAYERS);
    tn_session_destroy(second);
    tn_session_destroy(third);
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
    tn_runtime_destroy(runtime);
}

// Without a CPU nothing is offered to one.
static void two_devices_without_a_cpu_share_or_are_told(void **state)
{
    (void)state;
    tn_graph *graph = layers_graph(1, false);
    const int64_t tokens = 1;
    for (int fits = 0; fits < 2; fits++) {
        tn_runtime *runtime = rig_simulated(fits ? "[{\"name\":\"a\",\"memory_bytes\":90000},{"
                                                   "\"name\":\"b\",\"memory_bytes\":90000}]"
                                                 : "[{\"name\":\"a\",\"memory_bytes\":40000},{"
                                                   "\"name\":\"b\",\"memory_bytes\":50000}]",
                                            NULL);
        tn_session *session = NULL;
        tn_error err = { 0 };
        tn_status status = layers_try(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, NULL,
                                      &session, &err);
        if (status != (fits ? TN_OK : TN_E_DEVICE_MEMORY) ||
            (!fits && !strstr(err.text, "bytes are needed")))
            fail_msg("%s", err.text);
        if (session)
            layers_compare(runtime, session, &graph, &tokens, 1);
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
    tn_graph *graph = layers_graph(1, false);
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

// Allocations tell how much was planned. What is not to be made need not be the cheapest, and where
// what is ordered to be on a device leaves no room for its arena, one plan with nothing else there
// is enough to know.
static void whether_it_fits_takes_few_plans(void **state)
{
    (void)state;
    enum { STATE_BYTES = LAYERS * WIDTH * 4 * 4, MOST_TIMES = 60 };
    tn_graph *graphs[] = { layers_graph(1, true), layers_graph(16, true) };
    uint64_t calls[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        char devices[200];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%d},{\"name\":\"b\",\"memory_bytes\":%d}]",
                 i == 0   ? 1 << 20
                 : i == 1 ? STATE_BYTES + 256
                          : 4 * STATE_BYTES,
                 i == 0 ? 1 << 20 : 3 * WEIGHT_BYTES);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        failing_alloc counting;
        failing_alloc_init(&counting, 0);
        tn_placement placement = { .size = sizeof placement,
                                   .kv_device = rig_device(runtime, "a") };
        tn_session_options options = { .size = sizeof options,
                                       .allocator = &counting.allocator,
                                       .placement = &placement };
        assert_int_equal(
            tn_session_fits(runtime, (const tn_graph *const *)graphs, 2, &options, NULL),
            i == 1 ? TN_E_DEVICE_MEMORY : TN_OK);
        calls[i] = counting.calls;
        tn_runtime_destroy(runtime);
    }
    for (int i = 1; i < 3; i++)
        if (calls[i] > MOST_TIMES * calls[0])
            fail_msg("%d: %" PRIu64 " allocations, %" PRIu64 " where there is room", i, calls[i],
                     calls[0]);
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
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
        tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, i % 2 ? &asked : NULL);
        assert_int_equal(layers_memory(session, 1).state_bytes, 40000);
        end_silently(runtime, session);
    }
    tn_graph_destroy(graph);
}

// ----------------------------------------------------------------------------------------- buffers

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
    tn_graph *graph = layers_graph(1, false);
    const int64_t tokens = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char devices[80];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"max_alloc_bytes\":%u}]",
                 cases[i].most);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
        assert_int_equal(layers_weights_on(session, 0), cases[i].is_on_a ? LAYERS : 0);
        layers_compare(runtime, session, &graph, &tokens, 1);
        tn_session_destroy(session);
        session = NULL;
        tn_error err = { 0 };
        tn_status status = layers_try(runtime, &graph, 1, (const char *[]){ "a", NULL }, NULL,
                                      &session, &err);
        assert_int_equal(status, cases[i].is_on_a ? TN_OK : TN_E_DEVICE_MEMORY);
        if (status != TN_OK &&
            !strstr(err.text, "a: weight 'w.0' needs 16384 bytes in one buffer, the largest "
                              "possible has 16320"))
            fail_msg("%s", err.text);
        end_silently(runtime, session);
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
                                                      (int64_t[]){ WIDTH, WIDTH },
                                                      layers_weights[i], WEIGHT_BYTES));
    rig_finish(graph, tn_graph_swiglu(graph, products[0], products[1]));
    for (int is_small = 0; is_small < 2; is_small++) {
        char devices[100];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"fuse\":true,\"max_alloc_bytes\":%d}]",
                 is_small ? WEIGHT_BYTES : 16 * WEIGHT_BYTES);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
        assert_int_equal(layers_weights_on(session, 0), 2);
        tn_graph_schedule schedule = { .size = sizeof schedule };
        assert_int_equal(tn_session_graph_schedule(session, 0, &schedule, NULL), TN_OK);
        assert_int_equal(schedule.step_count, is_small ? 3 : 1);
        layers_compare(runtime, session, &graph, &tokens, 1);
        end_silently(runtime, session);
    }
    tn_graph_destroy(graph);
}

// What tn_session_fits says is what tn_session_create finds: a device whose buffers cannot be as
// large as its alignment holds nothing.
static void a_device_that_can_make_no_buffer_gets_nothing(void **state)
{
    (void)state;
    tn_graph *graph = layers_graph(1, true);
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"alignment\":32768,\"max_alloc_bytes\":16384}]", NULL);
    tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
    assert_int_equal(layers_weights_on(session, 0), 0);
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

// ---------------------------------------------------------------------------------------- failures

static bool is_told_once(const char *words)
{
    const char *at = strstr(rig_log(), words);
    return at && !strstr(at + 1, words);
}

// A device that has less than it says.
static void out_of_memory_while_loading_less_is_placed_there(void **state)
{
    (void)state;
    tn_graph *graph = layers_graph(1, true);
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
            tn_session *session = layers_session(runtime, &graph, 1, a_and_cpu,
                                                 with_layers ? &asked : NULL);
            if (!is_told_once("out of memory while loading, less is placed there"))
                fail_msg("%s: %s%s", devices, rig_log(), rig_told());
            assert_true(layers_weights_on(session, 0) < LAYERS);
            if (with_layers && !is_told_once("layers fit the memory that is free"))
                fail_msg("%s", rig_log());
            layers_compare(runtime, session, &graph, &tokens, 1);
            tn_session_destroy(session);
            tn_runtime_destroy(runtime);
        }
    // Alone there is nothing to do: it is told.
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"fail\":{\"call\":\"buffer_alloc\",\"at\":4}}]", NULL);
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(
        layers_try(runtime, &graph, 1, (const char *[]){ "a", NULL }, NULL, &session, &err),
        TN_E_DEVICE_MEMORY);
    assert_non_null(strstr(err.text, "as it is told to"));
    tn_runtime_destroy(runtime);
    tn_graph_destroy(graph);
}

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
                                            (int64_t[]){ WIDTH, WIDTH }, layers_weights[i],
                                            WEIGHT_BYTES));
    }
    rig_finish(f.graph, y);
    tn_pin pin = { "x", rig_device(f.runtime, "cpu0") };
    f.placement = (tn_placement){ .size = sizeof f.placement, .pins = &pin, .pin_count = 1 };
    for_each_failing_allocation(make_with, &f);
    f.placement.layer_rule = TN_LAYERS_ALL;
    for_each_failing_allocation(make_with, &f);
    f.placement.layer_rule = TN_LAYERS_AUTO;
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
        cmocka_unit_test(what_does_not_fit_goes_elsewhere),
        cmocka_unit_test(any_little_memory_is_no_reason_to_refuse),
        cmocka_unit_test(graphs_agree_where_a_weight_is),
        cmocka_unit_test(a_graph_that_is_added_goes_where_there_is_room),
        cmocka_unit_test(a_graph_that_is_added_tells_what_is_not_reserved),
        cmocka_unit_test(other_sessions_are_seen),
        cmocka_unit_test(two_devices_without_a_cpu_share_or_are_told),
        cmocka_unit_test(what_fits_nowhere_is_told_before_it_is_tried),
        cmocka_unit_test(whether_it_fits_takes_few_plans),
        cmocka_unit_test(a_state_that_nothing_touches_is_where_there_is_room),
        cmocka_unit_test(what_is_larger_than_a_buffer_goes_elsewhere_or_is_named),
        cmocka_unit_test(a_claim_with_more_scratch_than_a_buffer_is_not_chosen),
        cmocka_unit_test(a_device_that_can_make_no_buffer_gets_nothing),
        cmocka_unit_test(out_of_memory_while_loading_less_is_placed_there),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, layers_fill, NULL);
}
