// Orders of a placement, by hand: layers, states and pins go where they are told, or it is said why
// not. On simulated devices, with the results of the CPU alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"
#include "sim_layers.h"

// ----------------------------------------------------------------------------------- where they go

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
    tn_graph *graphs[] = { layers_graph(1, true), layers_graph(7, true) };
    const int64_t tokens[] = { 1, 7 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_placement asked = cases[i].asked;
        asked.size = sizeof asked;
        tn_session *session = layers_session(runtime, graphs, 2, a_b_and_cpu, &asked);
        tn_device_memory on_a = layers_memory(session, 0), on_b = layers_memory(session, 1);
        uint64_t state_bytes = WIDTH * 4 * sizeof(float);
        if (layers_weights_on(session, 0) != cases[i].on_a ||
            layers_weights_on(session, 1) != cases[i].on_b ||
            on_a.state_bytes != cases[i].states_a * state_bytes ||
            on_b.state_bytes != cases[i].states_b * state_bytes)
            fail_msg("case %zu: %s", i, rig_explain(session));
        layers_compare(runtime, session, graphs, tokens, 2);
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
    tn_graph *graph = layers_graph(1, false);
    tn_pin pin = { "w.99", rig_device(runtime, "a") };
    tn_placement asked = { .size = sizeof asked, .pins = &pin, .pin_count = 1 };
    tn_session_destroy(layers_session(runtime, &graph, 1, a_and_cpu, &asked));
    assert_non_null(strstr(rig_log(), "'w.99' is pinned to a, but no graph has a value of this"));
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// A graph that is added later is placed like those before.
static void a_graph_that_is_added_follows_the_placement(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"host_visible\":false}]", NULL);
    tn_graph *graphs[] = { layers_graph(7, true), layers_graph(3, true) };
    tn_placement asked = { .size = sizeof asked, .layer_rule = TN_LAYERS_COUNT, .gpu_layers = 3 };
    tn_session *session = layers_session(runtime, graphs, 1, a_and_cpu, &asked);
    uint32_t added;
    float got[WIDTH * 3], want[WIDTH * 3];
    assert_int_equal(tn_session_add(session, graphs[1], &added, NULL), TN_OK);
    assert_int_equal(layers_weights_on(session, 0), 3);
    layers_run(session, added, graphs[1], 3, got);
    tn_session *alone = rig_session(runtime, (const tn_graph *[]){ graphs[1] }, 1,
                                    (const char *[]){ "cpu0", NULL });
    layers_run(alone, 0, graphs[1], 3, want);
    assert_memory_equal(got, want, sizeof got);
    tn_session_destroy(alone);
    tn_session_destroy(session);
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static void layers_of_one_state_stay_together(void **state)
{
    (void)state;
    tn_graph *graph = layers_of_one_state();
    for (uint32_t mode = TN_SPLIT_NONE; mode <= TN_SPLIT_LAYER; mode++)
        for (uint32_t layers = 0; layers <= 3; layers++) {
            tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"},{\"name\":\"b\"}]", NULL);
            tn_placement asked = { .size = sizeof asked,
                                   .split_mode = mode,
                                   .layer_rule = TN_LAYERS_COUNT,
                                   .gpu_layers = layers };
            tn_session *session = layers_session(runtime, &graph, 1, a_b_and_cpu, &asked);
            layers_compare(runtime, session, &graph, (int64_t[]){ 1 }, 1);
            tn_session_destroy(session);
            tn_runtime_destroy(runtime);
        }
    tn_graph_destroy(graph);
}

static void more_layers_than_fit_become_fewer_and_that_is_told(void **state)
{
    (void)state;
    tn_graph *graphs[] = { layers_graph(1, true), layers_graph(16, true) };
    const int64_t tokens[] = { 1, 16 };
    for (uint32_t rule = TN_LAYERS_AUTO; rule <= TN_LAYERS_ALL; rule++) {
        tn_runtime *runtime = rig_simulated(
            "[{\"name\":\"a\",\"memory_bytes\":100000,\"host_visible\":false}]", NULL);
        tn_placement asked = { .size = sizeof asked,
                               .split_mode = TN_SPLIT_NONE,
                               .layer_rule = rule,
                               .gpu_layers = rule == TN_LAYERS_COUNT ? 7 : 0 };
        tn_session *session = layers_session(runtime, graphs, 2, a_and_cpu, &asked);
        uint64_t count = layers_weights_on(session, 0);
        char words[80];
        assert_in_range(count, 3, 6);
        snprintf(words, sizeof words, "placement: %u of the %u layers fit the memory that is free",
                 (unsigned)count, rule == TN_LAYERS_COUNT ? 7 : 8);
        if (!strstr(rig_explain(session), words) || !strstr(rig_log(), words))
            fail_msg("no \"%s\": %s%s%s", words, rig_explain(session), rig_log(), rig_told());
        layers_compare(runtime, session, graphs, tokens, 2);
        tn_session_destroy(session);
        asked.gpu_layers = (uint32_t)count + 1;   // one more does not fit
        asked.layer_rule = TN_LAYERS_COUNT;
        session = layers_session(runtime, graphs, 2, a_and_cpu, &asked);
        assert_int_equal(layers_weights_on(session, 0), count);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graphs[0]);
    tn_graph_destroy(graphs[1]);
}

// ---------------------------------------------------------------------------------- what cannot be

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
    tn_graph *graph = layers_graph(16, true);
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
        tn_status status = layers_try(runtime, &graph, 1, a_and_cpu, &asked, &session, &err);
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
    tn_graph *graph = layers_graph(1, false);
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(
        layers_try(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, NULL, &session, &err),
        TN_E_DEVICE_MEMORY);
    if (!strstr(err.text, "a and b are the only devices that may be used"))
        fail_msg("%s", err.text);
    const tn_placement all = { .size = sizeof all,
                               .split_mode = TN_SPLIT_NONE,
                               .main_device = rig_device(runtime, "b") };
    assert_int_equal(
        layers_try(runtime, &graph, 1, (const char *[]){ "a", "b", NULL }, &all, &session, &err),
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
    tn_graph *graph = layers_graph(1, true);
    const tn_pin pin = { "s.3", rig_device(runtime, "a") };
    const tn_placement asked = {
        .size = sizeof asked, .pins = &pin, .pin_count = 1, .kv_device = rig_device(runtime, "b")
    };
    tn_session *session = NULL;
    tn_error err = { 0 };
    assert_int_equal(layers_try(runtime, &graph, 1, a_b_and_cpu, &asked, &session, &err), TN_E_ARG);
    if (!strstr(err.text, "is pinned to a by 's.3', but it touches the state 's.3', and states are "
                          "ordered to be on b"))
        fail_msg("%s", err.text);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_states_and_pins_go_where_they_are_told),
        cmocka_unit_test(a_pin_that_no_graph_has_is_told),
        cmocka_unit_test(a_graph_that_is_added_follows_the_placement),
        cmocka_unit_test(layers_of_one_state_stay_together),
        cmocka_unit_test(more_layers_than_fit_become_fewer_and_that_is_told),
        cmocka_unit_test(an_order_that_does_not_fit_is_named),
        cmocka_unit_test(the_only_devices_that_were_named_are_told),
        cmocka_unit_test(contradicting_orders_are_refused_with_both_names),
    };
    return cmocka_run_group_tests(tests, layers_fill, NULL);
}
