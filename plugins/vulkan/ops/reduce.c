// reduce.c: sum, mean, max and argmax: along dims[0] a workgroup a line, along others an invocation
// a line.
#include "../lines.h"
#include "ops.h"

#define GROUP 128u   // local_size_x of the kernel

static uint32_t axis_of(const tnh_node *node)
{
    return node->op == TNP_OP_ARGMAX ? 0 : ((const tnp_axis_attr *)&node->attr)->axis;
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[] = { &node->out, &node->in[0] };
    (void)features;
    if (!vulkan_is_float(&node->in[0]) ||
        node->out.dtype != (node->op == TNP_OP_ARGMAX ? TNP_DTYPE_I32 : TNP_DTYPE_F32))
        return "sum, mean, max or argmax of what is neither F32 nor F16, or to another type than "
               "theirs";
    if (axis_of(node) >= TNP_MAX_DIMS)
        return "sum, mean or max along an axis that is not there";
    return vulkan_lines_refuse(values, 2, axis_of(node));
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *x = &node->in[0], *values[] = { &node->out, x };
    const uint32_t axis = axis_of(node);
    vulkan_lines lines;
    vulkan_lines_make(values, 2, axis, &lines);
    const uint64_t count = vulkan_walk_elements(&lines.walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&lines.walk); part++) {
        vulkan_dispatch d;
        uint32_t length_offset;
        vulkan_begin(&d, VULKAN_KERNEL_REDUCE);
        vulkan_walk_bind(&lines.walk, part, to, &d);
        const bool has_length = vulkan_bind_extent(to, &d, x, axis, &length_offset);
        vulkan_constant(&d, node->op);
        vulkan_constant(&d, x->dtype);
        vulkan_constant(&d, axis == 0);
        vulkan_constant(&d, has_length);
        vulkan_push(&d, (uint32_t)x->dims[axis]);
        vulkan_push(&d, (uint32_t)x->strides[axis]);
        vulkan_push(&d, length_offset);
        d.groups[0] = axis == 0 ? (uint32_t)count : vulkan_groups(count, GROUP);
        d.flops = 4 * (double)count * (double)x->dims[axis];
        d.bytes = 4 * (double)count * (double)x->dims[axis];
        vulkan_emit(to, &d);
    }
}

const vulkan_op vulkan_reduce_ops[] = {
    { TNP_OP_SUM, refuse, NULL, emit },
    { TNP_OP_MEAN, refuse, NULL, emit },
    { TNP_OP_MAX, refuse, NULL, emit },
    { TNP_OP_ARGMAX, refuse, NULL, emit },
    { 0 },
};
