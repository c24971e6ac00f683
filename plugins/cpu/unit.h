// unit.h: nodes that this plugin does better together than one after another, as one unit:
//
//   rms_norm?   matmul   matmul?   matmul?               of one activation: q, k and v
//   rms_norm?   matmul   matmul   swiglu | geglu | reglu   gate and up
//   rms_norm?   matmul   add                             what goes back to the residual stream
//
// with weights that are multiplied in integers. What passes between the nodes gets no memory, and
// the activation is normed and rounded once (ops/products.c).
#ifndef CPU_UNIT_H
#define CPU_UNIT_H

#include "node.h"
#include "program.h"

#define CPU_MAX_UNIT_NODES 4u

typedef struct cpu_unit {
    uint32_t node_count, nodes[CPU_MAX_UNIT_NODES];   // ascending
} cpu_unit;

// The units of several nodes whose first product is this node, one in the other: at most 2.
//   users   of all storages, counted
uint32_t cpu_unit_find(const tnp_slice *slice, const tnh_users *users, uint32_t node,
                       cpu_unit out[2]);

// Reads the nodes of a unit as one. Returns why this plugin cannot take them (lives as long as
// out), or NULL. That what passes between them is seen by nobody else, the caller knows.
const char *cpu_unit_read(const cpu_device *device, const tnp_slice *slice, const uint32_t *nodes,
                          uint32_t node_count, cpu_node *out);

#endif
