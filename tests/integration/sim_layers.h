// sim_layers.h: graphs of a few layers, and sessions that run them on simulated devices.
#ifndef TEST_SIM_LAYERS_H
#define TEST_SIM_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include <tenon/tenon.h>

enum { WIDTH = 64, LAYERS = 8, WEIGHT_BYTES = WIDTH * WIDTH * 4, MOST_TOKENS = 64 };

extern float layers_weights[LAYERS][WIDTH * WIDTH], layers_others[LAYERS][WIDTH * WIDTH];
int layers_fill(void **state);   // weights and what runs read: before all tests

// Layers of a product and a tanh, marked 0 to LAYERS - 1; with a state that each adds to if asked.
tn_graph *layers_graph(int64_t tokens, bool with_states);
tn_graph *layers_graph_of(float (*weights)[WIDTH * WIDTH], int64_t tokens, bool with_states);
// Two layers that touch one state: their wishes may contradict each other, and are then none.
tn_graph *layers_of_one_state(void);

// names: of the devices, up to NULL.
tn_status layers_try(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
                     const char *const *names, const tn_placement *placement, tn_session **out,
                     tn_error *err);
tn_session *layers_session(tn_runtime *runtime, tn_graph *const *graphs, uint32_t count,
                           const char *const *names, const tn_placement *placement);
static const char *const a_and_cpu[] = { "a", "cpu0", NULL };
static const char *const a_b_and_cpu[] = { "a", "b", "cpu0", NULL };

// Runs a graph of the session; out: WIDTH * tokens.
void layers_run(tn_session *session, uint32_t number, const tn_graph *graph, int64_t tokens,
                float *out);
// All graphs give what they give on the CPU alone.
void layers_compare(tn_runtime *runtime, tn_session *session, tn_graph *const *graphs,
                    const int64_t *tokens, uint32_t count);

tn_device_memory layers_memory(const tn_session *session, uint32_t device);
uint64_t layers_weights_on(const tn_session *session, uint32_t device);   // how many are copied

#endif
