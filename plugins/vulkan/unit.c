// unit.c: reads units, and says what they are called.
#include "unit.h"

static bool is_within(const vulkan_features *features, const tnh_value *value)
{
    return value->dtype == 0 || vulkan_is_bindable(value->span_bytes, features);
}

static const char *refuse_sizes(const vulkan_unit *unit, const vulkan_features *features)
{
    for (uint32_t n = 0; n < unit->node_count; n++) {
        const tnh_node *node = &unit->nodes[n];   // what passes between the nodes counts too
        bool is_cut = node->op == TNP_OP_MATMUL || node->op == TNP_OP_GET_ROWS;
        if (!is_within(features, &node->out))
            return "a result above what the device binds at once";
        for (uint32_t i = 0; i < node->input_count; i++)
            if (!is_within(features, &node->in[i]) && !(is_cut && i == (node->op == TNP_OP_MATMUL)))
                return "an operand above what the device binds at once";
    }
    return NULL;
}

const char *vulkan_unit_read(const tnp_device *device, const tnp_slice *slice,
                             const uint32_t *nodes, uint32_t node_count, vulkan_unit *out)
{
    const vulkan_features *features = &device->physical.features;
    if (node_count < 1 || node_count > VULKAN_MAX_UNIT_NODES)
        return "the nodes are none that this plugin takes together";
    out->node_count = node_count;
    for (uint32_t i = 0; i < node_count; i++) {
        out->indices[i] = nodes[i];
        const char *reason = tnh_node_read(slice, nodes[i], &out->nodes[i]);
        if (reason)
            return reason;
        for (uint32_t j = 0; j < out->nodes[i].input_count; j++)
            if (out->nodes[i].in[j].layout != 0)
                return "a constant is left only as a pack";
    }
    out->op = node_count == 1 ? vulkan_op_find(out->nodes[0].op) : vulkan_fusion_find(out);
    if (!out->op)
        return node_count == 1 ? "this plugin has no kernel for the op"
                               : "the nodes are none that this plugin takes together";
    const char *reason = out->op->refuse(out, features);
    return reason ? reason : refuse_sizes(out, features);
}

static bool is_made_inside(const vulkan_unit *unit, uint32_t value)
{
    for (uint32_t n = 0; n + 1 < unit->node_count; n++)
        if (unit->nodes[n].output == value)
            return true;
    return false;
}

uint32_t vulkan_unit_operands(const vulkan_unit *unit, vulkan_operand out[VULKAN_MAX_UNIT_OPERANDS])
{
    tnh_value values[VULKAN_MAX_UNIT_OPERANDS];
    uint32_t count = 0, in_place = 0;
    for (uint32_t n = 0; n < unit->node_count; n++) {
        const tnh_node *node = &unit->nodes[n];
        const bool is_last = n + 1 == unit->node_count;
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (!tnh_has(node, i) || is_made_inside(unit, node->inputs[i]))
                continue;
            if (is_last && (node->rule.in_place >> i & 1u))
                in_place |= 1u << count;
            values[count] = node->in[i];
            out[count++] = (vulkan_operand){ .index = node->inputs[i],
                                             .value = &node->in[i],
                                             .is_written = node->rule.writes == (int32_t)i };
        }
    }
    for (uint32_t i = 0; i < count; i++)
        out[i].may_reuse = tnh_may_reuse(in_place, values, count, i, &vulkan_unit_last(unit)->out);
    return count;
}

uint64_t vulkan_unit_scratch(const tnp_device *device, const vulkan_unit *unit)
{
    return unit->op->scratch_bytes ? unit->op->scratch_bytes(unit, &device->physical.features) : 0;
}

// "rms_norm+matmul"
const char *vulkan_unit_name(const vulkan_unit *unit, char *buffer, size_t bytes)
{
    size_t length = 0;
    buffer[0] = 0;
    for (uint32_t i = 0; i < unit->node_count && length < bytes; i++)
        length += (size_t)snprintf(buffer + length, bytes - length, "%s%s", i ? "+" : "",
                                   unit->nodes[i].rule.name);
    return buffer;
}
