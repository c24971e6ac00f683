// node.c: nodes of a slice.
#include "node.h"

#include "pack.h"

#include <stdio.h>

bool cpu_op_rule_find(tnp_op number, cpu_op_rule *out)
{
    switch (number) {
#define IN(i) (1u << (i))
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        *out = (cpu_op_rule){ #name, inputs_min, inputs_max, in_place, writes };                   \
        return true;
#include <tenon/ops.def>
#undef IN
    default:
        return false;
    }
}

// Attributes that the op here does not know must say nothing.
static const char *read_attributes(const tnp_node *node, cpu_node *out)
{
    uint32_t known = out->op->attr_bytes, size = 0;
    if (node->attributes)
        memcpy(&size, node->attributes, sizeof size);
    if (known > sizeof out->attr || (known > 0 && size < sizeof size))
        return "the op's attributes are missing";
    if (node->attributes &&
        !tnp_take(out->attr, known > 0 ? known : (uint32_t)sizeof size, node->attributes, size))
        return "an attribute is not known to this plugin";
    out->job.attr = known > 0 ? out->attr : NULL;
    return NULL;
}

static const char *read_inputs(const tnp_slice *slice, const tnp_node *node, cpu_node *out)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool is_left_out = node->inputs[i] == TNP_NONE;
        if (i >= out->rule.inputs_max || i >= CPU_MAX_INPUTS) {
            if (!is_left_out)
                return "the op has more inputs than this plugin knows";
            continue;
        }
        out->inputs[i] = node->inputs[i];
        if (is_left_out)
            continue;
        const char *reason = cpu_value_read(slice, node->inputs[i], &out->in[i]);
        if (reason)
            return reason;
        cpu_tensor_fill(&out->in[i], NULL, &out->job.in[i]);
        out->job.input_count = i + 1;
    }
    for (uint32_t i = 0; i < out->rule.inputs_min; i++)
        if (out->inputs[i] == TNP_NONE)
            return "an input is missing";
    return NULL;
}

static const char *read_output(const tnp_slice *slice, const tnp_node *node, cpu_node *out)
{
    if (node->output_count == 0 || node->outputs[0] == TNP_NONE)
        return "the output is missing";
    for (uint32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] != TNP_NONE)
            return "the op has more outputs than this plugin knows";
    cpu_value *result = &out->outs[0];
    out->output_count = 1;
    out->outputs[0] = node->outputs[0];
    const char *reason = cpu_value_read(slice, out->outputs[0], result);
    if (reason)
        return reason;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (result->dims[d] > 1 && result->strides[d] == 0)
            return "the output repeats its elements";
    if (result->storage_flags & TNP_STORAGE_CONSTANT)
        return "the output is a constant";
    cpu_tensor_fill(result, NULL, &out->job.out);

    if (out->rule.writes >= 0) {
        const cpu_value *table = &out->in[out->rule.writes];
        if (!cpu_value_matches(table, result) || table->storage != result->storage ||
            table->offset != result->offset)
            return "the output is not the operand that the op writes through";
    }
    return NULL;
}

// What is left only as a pack can be read as that pack alone.
static const char *read_packed(cpu_node *out)
{
    int32_t packed = out->job.options->repack ? cpu_op_packed_input(&out->job) : -1;
    if (packed >= 0 && (out->in[packed].storage_flags & TNP_STORAGE_CONSTANT))
        out->packed = 1u << packed;
    for (uint32_t i = 0; i < out->job.input_count; i++)
        if (out->in[i].layout != 0 &&
            (!(out->packed >> i & 1u) || out->in[i].layout != CPU_PACK_LAYOUT))
            return "a constant is left only as a pack, and the op does not read that";
    return NULL;
}

const char *cpu_node_read(const cpu_device *device, const tnp_slice *slice, uint32_t index,
                          cpu_node *out)
{
    tnp_node node;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < CPU_MAX_INPUTS; i++)
        out->inputs[i] = TNP_NONE;
    if (!TNP_TAKE(&node, slice->nodes[index]))
        return "the node has a property that this plugin does not know";
    out->name = node.name;
    out->op = cpu_op_find(node.op);
    if (!out->op || !cpu_op_rule_find(node.op, &out->rule)) {
        snprintf(out->reason, sizeof out->reason, "this plugin has no op %u", node.op);
        return out->reason;
    }
    out->job.op = node.op;
    out->job.kernels = device->instance->kernels;
    out->job.options = &device->instance->options;

    const char *reason = read_attributes(&node, out);
    if (!reason)
        reason = read_inputs(slice, &node, out);
    if (!reason)
        reason = read_output(slice, &node, out);
    if (!reason)
        reason = out->op->refuse(&out->job);
    return reason ? reason : read_packed(out);
}

// Element j of the operand is read before element j of the output is written, but other elements
// may be read later through another operand that looks at the same storage.
bool cpu_node_may_reuse(const cpu_node *node, uint32_t input)
{
    const cpu_value *in = &node->in[input];
    if (!(node->rule.in_place >> input & 1u) || in->dtype == 0 ||
        !cpu_value_matches(in, &node->outs[0]) || (in->storage_flags & TNP_STORAGE_CONSTANT))
        return false;
    for (uint32_t i = 0; i < node->job.input_count; i++) {
        const cpu_value *other = &node->in[i];
        if (i == input || other->dtype == 0 || other->storage != in->storage)
            continue;
        bool is_same = (node->rule.in_place >> i & 1u) && other->offset == in->offset &&
                       cpu_value_matches(other, in);
        if (!is_same && !cpu_value_is_apart(in, in->offset, other, other->offset))
            return false;
    }
    return true;
}
