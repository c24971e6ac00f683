// node.h: nodes of a slice, checked and copied, as the ops want to see them.
#ifndef CPU_NODE_H
#define CPU_NODE_H

#include "value.h"

#define CPU_MAX_ATTR_BYTES 256u

// One node; or several that are one unit, as one (unit.h).
typedef struct cpu_node {
    const cpu_op *op;
    tnh_op_rule rule;
    const char *name;                  // lent by the slice
    uint32_t inputs[CPU_MAX_INPUTS];   // indices of values, TNP_NONE = left out
    uint32_t output_count, outputs[CPU_MAX_OUTPUTS];
    tnh_value in[CPU_MAX_INPUTS];   // all 0 when left out
    tnh_value outs[CPU_MAX_OUTPUTS];
    uint32_t packed;   // a bit for each input that the unit would have packed
    cpu_job job;       // full dims, no data; a left out operand has dtype 0
    _Alignas(8) char attr[CPU_MAX_ATTR_BYTES];
    char title[64];   // rule.name of several nodes
    char reason[128];
} cpu_node;

// Reads one node of the slice. Returns why this plugin cannot take it (lives as long as out), or
// NULL.
const char *cpu_node_read(const cpu_device *device, const tnp_slice *slice, uint32_t index,
                          cpu_node *out);

// Whether the output may take the bytes of this operand.
bool cpu_node_may_reuse(const cpu_node *node, uint32_t input);

// What a job computes and moves, by its dims as they are.
double cpu_job_flops(const cpu_job *job);
double cpu_job_bytes(const cpu_job *job);
double cpu_job_ns(const cpu_job *job);   // roughly, on one core

#endif
