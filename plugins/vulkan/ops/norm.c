// norm.c: rms_norm, layer_norm and l2_norm: a workgroup a row.
#include "../lines.h"
#include "ops.h"

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[] = { &node->out, &node->in[0] };
    (void)features;
    if (!vulkan_is_float(&node->in[0]) || !vulkan_is_float(&node->out))
        return "a norm of what is neither F32 nor F16";
    for (uint32_t i = 1; i < node->input_count; i++)
        if (tnh_has(node, i) &&
            (node->in[i].dtype != TNP_DTYPE_F32 || node->in[i].dims[0] < node->out.dims[0] ||
             node->in[i].strides[0] % 4 != 0))
            return "a norm with a weight or a bias that is not F32 and as long as a row";
    return vulkan_lines_refuse(values, 2, 0);
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *out = &node->out, *x = &node->in[0], *values[] = { out, x };
    const tnp_norm_attr *attr = (const tnp_norm_attr *)&node->attr;
    vulkan_lines rows;
    vulkan_lines_make(values, 2, 0, &rows);
    const uint64_t count = vulkan_walk_elements(&rows.walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&rows.walk); part++) {
        vulkan_dispatch d;
        vulkan_begin(&d, VULKAN_KERNEL_NORM);
        vulkan_constant(&d, node->op);
        vulkan_constant(&d, out->dtype);
        vulkan_constant(&d, x->dtype);
        vulkan_constant(&d, (uint32_t)tnh_has(node, 1));
        vulkan_constant(&d, (uint32_t)tnh_has(node, 2));
        vulkan_walk_bind(&rows.walk, part, to, &d);
        vulkan_push(&d, vulkan_bind_optional(to, &d, node, 1));
        vulkan_push(&d, vulkan_bind_optional(to, &d, node, 2));
        vulkan_constant(&d, vulkan_lines_bind_count(&rows, out, to, &d));
        vulkan_push(&d, (uint32_t)out->dims[0]);
        vulkan_push(&d, (uint32_t)out->strides[0]);
        vulkan_push(&d, (uint32_t)x->strides[0]);
        vulkan_push(&d, (uint32_t)node->in[1].strides[0]);
        vulkan_push(&d, (uint32_t)node->in[2].strides[0]);
        vulkan_push_float(&d, attr->eps);
        d.groups[0] = (uint32_t)count;
        d.flops = 6 * (double)count * (double)out->dims[0];
        d.bytes = 12 * (double)count * (double)out->dims[0];
        vulkan_emit(to, &d);
    }
}

const vulkan_op vulkan_norm_ops[] = {
    { TNP_OP_RMS_NORM, refuse, NULL, emit },
    { TNP_OP_LAYER_NORM, refuse, NULL, emit },
    { TNP_OP_L2_NORM, refuse, NULL, emit },
    { 0 },
};
