// softmax.c: softmax over rows: a workgroup a row.
#include "../lines.h"
#include "ops.h"

// The result, x, and the mask or x again.
static void list(const tnh_node *node, const tnh_value *values[3])
{
    values[0] = &node->out;
    values[1] = &node->in[0];
    values[2] = &node->in[tnh_has(node, 1)];
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[3];
    (void)features;
    if (!vulkan_is_float(&node->in[0]) || !vulkan_is_float(&node->out))
        return "softmax of what is neither F32 nor F16";
    if (tnh_has(node, 1) && !vulkan_is_float(&node->in[1]))
        return "softmax with a mask that is neither F32 nor F16";
    list(node, values);
    return vulkan_lines_refuse(values, 3, 0);
}

// The value that says how much of a dim counts: the result, x or the mask.
static const tnh_value *with_extent(const tnh_node *node, uint32_t dim)
{
    if (node->in[0].extent[dim] == 0 && tnh_has(node, 1) && node->in[1].dims[dim] > 1)
        return &node->in[1];
    return &node->in[0];
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnp_softmax_attr *attr = (const tnp_softmax_attr *)&node->attr;
    const bool has_mask = tnh_has(node, 1);
    const tnh_value *values[3];
    vulkan_lines rows;
    list(node, values);
    vulkan_lines_make(values, 3, 0, &rows);
    const uint64_t count = vulkan_walk_elements(&rows.walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&rows.walk); part++) {
        vulkan_dispatch d;
        uint32_t length_offset, heads_offset;
        vulkan_begin(&d, VULKAN_KERNEL_SOFTMAX);
        vulkan_walk_bind(&rows.walk, part, to, &d);
        const bool has_length = vulkan_bind_extent(to, &d, with_extent(node, 0), 0, &length_offset);
        const bool has_heads = vulkan_bind_extent(to, &d, with_extent(node, 2), 2, &heads_offset);
        vulkan_constant(&d, node->out.dtype);
        vulkan_constant(&d, node->in[0].dtype);
        vulkan_constant(&d, has_mask ? node->in[1].dtype : 0);
        vulkan_constant(&d, has_mask && attr->alibi_max_bias > 0.0f);
        vulkan_constant(&d, has_length);
        vulkan_constant(&d, has_heads);
        vulkan_push(&d, (uint32_t)node->out.dims[0]);
        vulkan_push(&d, (uint32_t)(part * count));
        vulkan_push(&d, (uint32_t)node->out.dims[1]);
        vulkan_push(&d, (uint32_t)node->out.dims[2]);
        for (uint32_t i = 0; i < 3; i++)
            vulkan_push(&d, values[i]->dims[0] == 1 ? 0 : (uint32_t)values[i]->strides[0]);
        vulkan_push(&d, length_offset);
        vulkan_push(&d, heads_offset);
        vulkan_push_float(&d, attr->scale);
        vulkan_push_float(&d, attr->alibi_max_bias);
        d.groups[0] = (uint32_t)count;
        d.flops = 40 * (double)count * (double)node->out.dims[0];
        d.bytes = 16 * (double)count * (double)node->out.dims[0];
        vulkan_emit(to, &d);
    }
}

const vulkan_op vulkan_softmax_ops[] = {
    { TNP_OP_SOFTMAX, refuse, NULL, emit },
    { 0 },
};
