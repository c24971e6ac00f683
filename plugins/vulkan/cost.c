// cost.c: what a unit is expected to take, roughly, on a device of its kind.
#include "cost.h"

#define USUAL        0.25   // of the most that a device computes
#define LEAST        0.2
#define BYTES_A_FLOP 0.05
#define DISPATCH_NS  4000.0   // beside its work, until the next begins
#define DISPATCH_S   2e-6     // at least

// Puts the likely lengths in the place of the full dims.
static void use_likely_dims(const tnp_slice *slice, tnh_value *value)
{
    for (uint32_t d = 0; d < TNP_MAX_DIMS && value->dtype != 0; d++) {
        if (value->extent[d] == 0)
            continue;
        const tnp_value *length = slice->values[value->extent[d] - 1];
        if (TNP_HAS(tnp_value, length, likely) && length->likely > 0 &&
            length->likely < value->dims[d])
            value->dims[d] = length->likely;
    }
}

static double elements_of(const tnh_value *value)
{
    double n = 1;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        n *= (double)value->dims[d];
    return n;
}

static double flops_of(const tnh_node *node)
{
    const double n = elements_of(&node->out);
    const double k = (double)node->in[0].dims[0], s = (double)node->in[1].dims[2];
    switch (node->op) {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        return (double)(flops);
#include <tenon/ops.def>
    default:
        return 0;
    }
}

// A dim that is repeated by stride 0 is read once.
static double bytes_of(const tnh_value *value)
{
    if (value->dtype == 0)
        return 0;
    double bytes = (double)tnh_block_bytes(value->dtype) / (double)tnh_block_elements(value->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value->strides[d] != 0)
            bytes *= (double)value->dims[d];
    return bytes;
}

static double bytes_moved(const tnh_node *node)
{
    double bytes = bytes_of(&node->out);
    if (node->op == TNP_OP_GET_ROWS)   // of the table, only the rows
        return 2 * bytes;
    if (node->op == TNP_OP_SET_ROWS)
        return 2 * bytes_of(&node->in[1]);
    for (uint32_t i = 0; i < node->input_count; i++)
        bytes += bytes_of(&node->in[i]);
    return bytes;
}

double vulkan_unit_cost_ns(const tnp_device *device, const tnp_slice *slice,
                           const vulkan_unit *unit)
{
    // Rough: kernels reach a quarter of the peak, and read a byte in the time of 20 operations.
    const double flops_per_s = device->physical.flops_per_s * USUAL;
    const double bytes_per_s = flops_per_s * BYTES_A_FLOP;
    double ns = DISPATCH_NS;
    for (uint32_t i = 0; i < unit->node_count; i++) {
        tnh_node likely = unit->nodes[i];
        use_likely_dims(slice, &likely.out);
        for (uint32_t j = 0; j < likely.input_count; j++)
            use_likely_dims(slice, &likely.in[j]);
        double compute = flops_of(&likely) / flops_per_s, move = bytes_moved(&likely) / bytes_per_s;
        ns += 1e9 * (compute > move ? compute : move);
    }
    return ns;
}

double vulkan_longest_s(const tnp_device *device, const vulkan_dispatch *d)
{
    const double flops_per_s = device->physical.flops_per_s * LEAST;
    const double compute = d->flops / flops_per_s, move = d->bytes / (flops_per_s * BYTES_A_FLOP);
    return DISPATCH_S + (compute > move ? compute : move);
}
