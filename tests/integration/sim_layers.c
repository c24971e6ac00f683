#include "sim_layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

float layers_weights[LAYERS][WIDTH * WIDTH], layers_others[LAYERS][WIDTH * WIDTH];
static float layers_input[WIDTH * MOST_TOKENS];

int layers_fill(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LAYERS; i++) {
        rig_fill(layers_weights[i], WIDTH * WIDTH, i + 1);
        rig_fill(layers_others[i], WIDTH * WIDTH, i + 1 + LAYERS);
    }
    rig_fill(layers_input, WIDTH * MOST_TOKENS, 99);
    return 0;
}

tn_graph *layers_graph(int64_t tokens, bool with_states)
{
    return layers_graph_of(layers_weights, tokens, with_states);
}

// Layers of a product and a tanh, marked 0 to LAYERS - 1; with a state that each adds to if asked.
tn_graph *layers_graph_of(float (*weights)[WIDTH * WIDTH], int64_t tokens, bool with_states)
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

// Two layers that touch one state: their wishes may contradict each other, and are then none.
tn_graph *layers_of_one_state(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, WIDTH, 1, 1);
    tn_value kept = tn_graph_state(graph, "kept", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH });
    tn_value row = tn_graph_input(graph, "row", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    for (uint32_t layer = 0; layer < 2; layer++) {
        tn_value weight = tn_graph_weight(graph, layer ? "w1" : "w0", TN_DTYPE_F32, 2,
                                          (int64_t[]){ WIDTH, WIDTH }, layers_weights[layer],
                                          WEIGHT_BYTES);
        tn_graph_mark(graph, layer, TN_NO_PART);
        x = tn_graph_matmul(graph, x, weight);
        kept = layer ? kept : tn_graph_set_rows(graph, kept, x, row);
        x = tn_graph_add(graph, x, tn_graph_get_rows(graph, kept, row));
    }
    rig_finish(graph, x);
    return graph;
}

tn_status layers_try(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
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

tn_session *layers_session(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
                           const char *const *names, const tn_placement *placement)
{
    tn_session *session = NULL;
    tn_error err = { 0 };
    if (layers_try(runtime, graphs, count, names, placement, &session, &err) != TN_OK)
        fail_msg("%s", err.text);
    return session;
}

void layers_run(tn_session *session, uint32_t number, const tn_graph *graph, int64_t tokens,
                float *out)
{
    uint64_t bytes = (uint64_t)tokens * WIDTH * sizeof *out;
    rig_run(session, number, graph, "x", layers_input, bytes, NULL);
    rig_read(session, number, graph, "out", out, bytes);
}

// All graphs give what they give on the CPU alone.
void layers_compare(tn_runtime *runtime, tn_session *session, tn_graph *const *graphs,
                    const int64_t *tokens, uint32_t count)
{
    static float want[WIDTH * MOST_TOKENS], got[WIDTH * MOST_TOKENS];
    tn_session *alone = rig_session(runtime, (const tn_graph *const *)graphs, count,
                                    (const char *[]){ "cpu0", NULL });
    for (uint32_t g = 0; g < count; g++) {
        layers_run(alone, g, graphs[g], tokens[g], want);
        layers_run(session, g, graphs[g], tokens[g], got);
        if (memcmp(want, got, (size_t)tokens[g] * WIDTH * sizeof *got) != 0)
            fail_msg("graph %u has other bytes: %s", g, rig_explain(session));
    }
    tn_session_destroy(alone);
}

tn_device_memory layers_memory(const tn_session *session, uint32_t device)
{
    tn_device_memory memory = { .size = sizeof memory };
    assert_int_equal(tn_session_device_memory(session, device, &memory, NULL), TN_OK);
    return memory;
}

uint64_t layers_weights_on(const tn_session *session, uint32_t device)
{
    return layers_memory(session, device).weight_copied_bytes / WEIGHT_BYTES;
}
