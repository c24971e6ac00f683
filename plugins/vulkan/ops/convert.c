// convert.c: elements as another type: plain ones one by one, blocks as rows.
#include "../walk.h"
#include "rows.h"

#define GROUP 128u   // local_size_x of the kernel

static vulkan_rows rows_of(const tnh_node *node)
{
    return (vulkan_rows){ .kernel = vulkan_is_block(&node->in[0]) ? VULKAN_KERNEL_GET_ROWS
                                                                  : VULKAN_KERNEL_SET_ROWS,
                          .to = &node->out,
                          .from = &node->in[0] };
}

static bool has_blocks(const tnh_node *node)
{
    return vulkan_is_block(&node->in[0]) || vulkan_is_block(&node->out);
}

static const char *refuse_blocks(const tnh_node *node, const vulkan_features *features)
{
    const tnh_value *x = &node->in[0], *out = &node->out;
    const vulkan_rows rows = rows_of(node);
    if (vulkan_is_block(x) ? !vulkan_is_decodable(x) || out->dtype != TNP_DTYPE_F32
                           : !vulkan_is_encodable(out) || x->dtype != TNP_DTYPE_F32)
        return "convert between types that are not decoded to F32 or encoded from it here";
    return vulkan_rows_refuse(&rows, features);
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *const values[] = { &node->out, &node->in[0] };
    const tnp_convert_attr *attr = (const tnp_convert_attr *)&node->attr;
    if (attr->dtype != node->out.dtype ||
        memcmp(node->in[0].dims, node->out.dims, sizeof node->out.dims) != 0)
        return "convert to another type, or of other dims, than the result has";
    return has_blocks(node) ? refuse_blocks(node, features) : vulkan_walk_refuse(values, 2);
}

static void emit_plain(const tnh_node *node, vulkan_emitter *to)
{
    const tnh_value *const values[] = { &node->out, &node->in[0] };
    vulkan_walk walk;
    vulkan_walk_make(values, 2, &walk);
    const uint64_t elements = vulkan_walk_elements(&walk), parts = vulkan_walk_parts(&walk);
    for (uint64_t part = 0; part < parts; part++) {
        vulkan_dispatch d;
        vulkan_begin(&d, VULKAN_KERNEL_CONVERT);
        vulkan_constant(&d, node->out.dtype);
        vulkan_constant(&d, node->in[0].dtype);
        vulkan_walk_bind(&walk, part, to, &d);
        d.groups[0] = vulkan_groups(elements, GROUP);
        d.flops = 8 * (double)elements;
        d.bytes = 8 * (double)elements;
        vulkan_emit(to, &d);
    }
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const vulkan_rows rows = rows_of(node);
    if (has_blocks(node))
        vulkan_rows_emit(&rows, to);
    else
        emit_plain(node, to);
}

const vulkan_op vulkan_convert_ops[] = {
    { TNP_OP_CONVERT, refuse, NULL, emit },
    { 0 },
};
