// session_rig.h: runtimes on the CPU plugin, the partial one and simulated devices, graphs of F32
// values, and runs of them. What fails fails the test (CMocka).
#ifndef SESSION_RIG_H
#define SESSION_RIG_H

#include <tenon/schedule.h>

// Settings end with NULL; without any: one thread, plain activations. The device "partial0" is
// there when `with_partial` is.
tn_runtime *rig_runtime(bool with_partial, const char *const *settings);
// The same with an allocator, of everything in the runtime; NULL = the default.
tn_runtime *rig_runtime_on(const tn_allocator *allocator, bool with_partial,
                           const char *const *settings);
// On the CPU plugin and simulated devices; devices: their setting (tests/plugins/sim/README.md).
tn_runtime *rig_simulated(const char *devices, const char *const *settings);
// All warnings and errors that were logged since the runtime before was made, "" = none; and what
// else was, cut when it is long.
const char *rig_log(void);
const char *rig_told(void);

tn_device *rig_device(tn_runtime *runtime, const char *name);

// A session of graphs on the devices named, up to NULL; none = the default.
tn_session *rig_session(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t count,
                        const char *const *devices);

tn_graph *rig_graph(void);
tn_value rig_input(tn_graph *graph, const char *name, uint32_t rank, int64_t d0, int64_t d1,
                   int64_t d2);
tn_value rig_op(tn_graph *graph, tnp_op op, tn_value x);
// Products of x with Q8_0 weights {row, out} "w.from" to "w.to - 1", each halved as the next is
// added; weight i is i times its bytes behind `weights`.
tn_value rig_products(tn_graph *graph, tn_value x, const unsigned char *weights, int64_t row,
                      int64_t out, uint32_t from, uint32_t to);
void rig_finish(tn_graph *graph, tn_value out);   // as the output "out"

// Feeds are names and floats, up to NULL: rig_run(session, 0, graph, "x", x, sizeof x, NULL).
void rig_run(tn_session *session, uint32_t number, const tn_graph *graph, ...);
void rig_read(tn_session *session, uint32_t number, const tn_graph *graph, const char *name,
              void *to, uint64_t bytes);

// The same floats every time, between -1 and 1.
void rig_fill(float *to, size_t count, uint32_t seed);
// The same blocks of Q8_0 every time, of a usual size.
void rig_fill_q8_0(unsigned char *to, size_t bytes, uint32_t seed);

// The text of tn_session_explain, until the next call.
const char *rig_explain(const tn_session *session);
tn_memory_report rig_memory(const tn_session *session);
// Of all that has bytes in the arenas while this graph runs: device, name, steps, offset and bytes,
// a line each, until the next call.
const char *rig_plan(const tn_session *session, uint32_t number);

#endif
