// sched_test.h: a graph, fake devices, and what a schedule of them must hold.
#ifndef SCHED_TEST_H
#define SCHED_TEST_H

#include <stddef.h>

#include "fake_plugin.h"
#include "sched/sched_internal.h"

enum { RIG_DEVICES = 4, RIG_LOG_BYTES = 4096 };

typedef struct rig {
    tn_runtime *runtime;
    tn_graph *graph;
    fake_device fakes[RIG_DEVICES];
    tn_device devices[RIG_DEVICES];   // "fake0", "fake1", …
    tn_device *list[RIG_DEVICES];
    uint32_t device_count;
    tni_arena arena;
    tni_schedule schedule;
    tn_error err;
    char log[RIG_LOG_BYTES];   // all lines, with line ends
} rig;

// An empty graph and devices that claim every node for 1,000 ns.
void rig_begin(rig *r, uint32_t device_count);
void rig_end(rig *r);

tn_value rig_input(rig *r, const char *name);   // F32 {4, 3}
tn_value rig_op(rig *r, tnp_op op, tn_value x);

// The graph y[2] = y[1] V, y[1] = y[0] W, y[0] = x W, finished; W and V of 64 bytes.
typedef struct rig_products {
    const void *weights[2];   // the bytes of w, of v
    tn_value w, v, y[3];
} rig_products;
rig_products rig_make_products(rig *r);

// x, then layers of a product with a weight each, "w0" to "w4", all of 48 bytes; finished.
enum { RIG_LAYERS = 5 };
extern const float rig_layer_weights[RIG_LAYERS][12];
void rig_make_layers(rig *r, tn_value out[RIG_LAYERS]);

void rig_finish(rig *r, tn_value out);   // as the output "out"; fails the test (CMocka)

// Makes the schedule and holds it against the graph; fails the test when that is not possible.
void rig_schedule(rig *r, const uint64_t *storage_places);
tn_status rig_try(rig *r, const uint64_t *storage_places);   // r->err says why not

// Fails unless each node is in one unit, units come after what they wait for, segments and steps
// agree with them, and every operand is where it is read.
void rig_check(const rig *r);

uint32_t rig_node(const rig *r, tn_value value);
uint32_t rig_place(const rig *r, tn_value value);   // of the node that makes it
uint32_t rig_storage(const rig *r, tn_value value);

// The places of the segments in their order, "010".
const char *rig_segments(const rig *r);
// What a copy costs over a link that nobody knows.
double rig_copy_ns(rig *r, uint64_t bytes);
// Transfers of a storage to a place.
uint32_t rig_transfers(const rig *r, tn_value value, uint32_t to);

#endif
