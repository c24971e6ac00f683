// claim.c: what a device takes: what the CPU plugin takes, less what the settings leave out. A
// claim costs what the device that is pretended would need:
//
//   launch + the greater of  operations / gflops  and  bytes moved / gbps,  at the likely lengths
#include <stdio.h>

#include "sim.h"

static const double launch_ns = 100;

const char *sim_op_name(tnp_op op)
{
    switch (op) {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        return #name;
#include <tenon/ops.def>
    default:
        return NULL;
    }
}

const char *sim_dtype_name(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        return #NAME;
#include <tenon/dtypes.def>
    default:
        return NULL;
    }
}

// 0 for a type that is not known.
static double bytes_of_element(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        return (double)block_bytes / block_elements;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

// ------------------------------------------------------------------------------------------- masks

static const char *refuses_value(const sim_spec *spec, const tnp_value *value, char room[128])
{
    uint64_t elements = 1;
    if (value->dtype >= SIM_DTYPES || spec->refuses_dtype[value->dtype]) {
        const char *name = sim_dtype_name(value->dtype);
        snprintf(room, 128, "this device has no %s", name ? name : "such type");
        return room;
    }
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        elements *= (uint64_t)value->dims[d];
    if (elements <= spec->max_elements)
        return NULL;
    snprintf(room, 128, "a value of %llu elements, this device takes at most %llu",
             (unsigned long long)elements, (unsigned long long)spec->max_elements);
    return room;
}

static const char *refuses_values(const sim_spec *spec, const tnp_slice *slice,
                                  const uint32_t *values, uint32_t count, char room[128])
{
    const char *reason = NULL;
    for (uint32_t i = 0; i < count && !reason; i++)
        if (values[i] < slice->value_count)
            reason = refuses_value(spec, slice->values[values[i]], room);
    return reason;
}

const char *sim_refuses(const sim_spec *spec, const tnp_slice *slice, uint32_t index,
                        char room[128])
{
    const tnp_node *node = slice->nodes[index];
    if (node->op < SIM_OPS && spec->refuses_op[node->op]) {
        const char *name = sim_op_name(node->op);
        snprintf(room, 128, "this device has no %s", name ? name : "such op");
        return room;
    }
    const char *reason = refuses_values(spec, slice, node->inputs, node->input_count, room);
    return reason ? reason : refuses_values(spec, slice, node->outputs, node->output_count, room);
}

// ------------------------------------------------------------------------------------------- costs

static double likely_dim(const tnp_slice *slice, const tnp_value *value, uint32_t d)
{
    int64_t dim = value->dims[d];
    if (value->extent[d] && value->extent[d] <= slice->value_count) {
        int64_t likely = slice->values[value->extent[d] - 1]->likely;
        dim = likely > 0 && likely < dim ? likely : dim;
    }
    return (double)dim;
}

// A dim that is repeated by stride 0 is read once.
static double value_bytes(const tnp_slice *slice, const tnp_value *value)
{
    double bytes = bytes_of_element(value->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        bytes *= value->strides[d] == 0 ? 1 : likely_dim(slice, value, d);
    return bytes;
}

static const tnp_value *operand(const tnp_slice *slice, const tnp_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] < slice->value_count
               ? slice->values[node->inputs[index]]
               : NULL;
}

static double node_flops(const tnp_slice *slice, const tnp_node *node)
{
    const tnp_value *out = slice->values[node->outputs[0]], *a = operand(slice, node, 0),
                    *b = operand(slice, node, 1);
    double n = 1;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        n *= likely_dim(slice, out, d);
    const double k = a ? likely_dim(slice, a, 0) : 1, s = b ? likely_dim(slice, b, 2) : 1;
    switch (node->op) {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        return (double)(flops);
#include <tenon/ops.def>
    default:
        return k + s;
    }
}

// Of a table only the rows that are looked up or written are moved.
static double node_bytes(const tnp_slice *slice, const tnp_node *node)
{
    double bytes = value_bytes(slice, slice->values[node->outputs[0]]);
    if (node->op == TNP_OP_GET_ROWS)
        return 2 * bytes;
    if (node->op == TNP_OP_SET_ROWS && operand(slice, node, 1))
        return 2 * value_bytes(slice, operand(slice, node, 1));
    for (uint32_t i = 0; i < node->input_count; i++)
        if (operand(slice, node, i))
            bytes += value_bytes(slice, operand(slice, node, i));
    return bytes;
}

static bool is_made_by(const tnp_slice *slice, const uint32_t *nodes, uint32_t count,
                       uint32_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (slice->nodes[nodes[i]]->outputs[0] == value)
            return true;
    return false;
}

// GFLOPS and GB/s are operations and bytes a nanosecond.
double sim_unit_ns(const sim_spec *spec, const tnp_slice *slice, const uint32_t *nodes,
                   uint32_t count)
{
    double flops = 0, bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tnp_node *node = slice->nodes[nodes[i]];
        flops += node_flops(slice, node);
        bytes += node_bytes(slice, node);
        for (uint32_t k = 0; k < node->input_count && count > 1; k++)
            if (operand(slice, node, k) && is_made_by(slice, nodes, count, node->inputs[k]))
                bytes -= value_bytes(slice, operand(slice, node, k));
    }
    double compute = flops / spec->gflops, move = bytes / spec->gbps;
    return launch_ns + (compute > move ? compute : move);
}

// ------------------------------------------------------------------------------------------ asking

typedef struct passing {
    const sim_spec *spec;
    const tnp_slice *slice;
    const tnp_claim_sink *sink;
} passing;

static void take(void *context, const tnp_claim *claim)
{
    const passing *p = context;
    char room[128];
    tnp_claim own;
    if (!TNP_TAKE(&own, claim) || own.node_count != 1)   // of several it makes its own (fuse.c)
        return;
    for (uint32_t i = 0; i < own.node_count; i++)
        if (sim_refuses(p->spec, p->slice, own.nodes[i], room))
            return;
    own.cost_ns = sim_unit_ns(p->spec, p->slice, own.nodes, own.node_count);
    p->sink->take(p->sink->context, &own);
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    const passing *p = context;
    char room[128];
    if (!sim_refuses(p->spec, p->slice, node, room))
        p->sink->refuse(p->sink->context, node, reason);
}

tnp_status sim_claim(tnp_device *device, const tnp_slice *from, const tnp_claim_sink *sink,
                     tnp_error *err)
{
    tnp_slice slice;
    char room[128];
    const sim_spec *spec = &device->chip->spec;
    passing p = { spec, &slice, sink };
    tnp_claim_sink own = { .size = sizeof own, .context = &p, .take = take, .refuse = refuse };
    tnp_status status = sim_enter(device->instance, device->chip, device, SIM_CALL_claim, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&slice, from))
        return sim_fail_unknown(err, "claim");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        const char *reason = sim_refuses(spec, &slice, i, room);
        if (reason)
            sink->refuse(sink->context, i, reason);
    }
    status = device->instance->cpu->claim(device->cpu, &slice, &own, err);
    return status == TNP_OK && spec->is_fusing ? sim_claim_fusions(device, &slice, sink, err)
                                               : status;
}
