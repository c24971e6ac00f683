// node.c: nodes of a slice.
#include "node.h"

#include "pack.h"

#include <stdio.h>

// The operands and the result, as the ops want them.
static const char *take_values(const tnh_node *node, cpu_node *out)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!tnh_has(node, i))
            continue;
        out->inputs[i] = node->inputs[i];
        out->in[i] = node->in[i];
        cpu_tensor_fill(&out->in[i], NULL, &out->job.in[i]);
    }
    out->job.input_count = node->input_count;
    out->output_count = 1;
    out->outputs[0] = node->output;
    out->outs[0] = node->out;
    cpu_tensor_fill(&out->outs[0], NULL, &out->job.out);
    return out->op->refuse(&out->job);
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
    tnh_node node;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < CPU_MAX_INPUTS; i++)
        out->inputs[i] = TNP_NONE;
    const char *reason = tnh_node_read(slice, index, &node);
    out->name = node.name;
    out->op = cpu_op_find(node.op);
    if (!out->op && node.op != 0) {
        snprintf(out->reason, sizeof out->reason, "this plugin has no op %u", node.op);
        return out->reason;
    }
    if (reason)
        return reason;
    out->rule = node.rule;
    out->job.op = node.op;
    out->job.kernels = device->instance->kernels;
    out->job.options = &device->instance->options;
    if (out->op->attr_bytes > 0) {
        memcpy(out->attr, &node.attr, sizeof out->attr);
        out->job.attr = out->attr;
    }
    reason = take_values(&node, out);
    return reason ? reason : read_packed(out);
}

bool cpu_node_may_reuse(const cpu_node *node, uint32_t input)
{
    return tnh_may_reuse(node->rule.in_place, node->in, node->job.input_count, input,
                         &node->outs[0]);
}
