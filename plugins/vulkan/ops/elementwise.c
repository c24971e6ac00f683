// elementwise.c: ops of one or two operands, element by element.
#include "../walk.h"
#include "ops.h"

#define GROUP 128u   // local_size_x of the kernels

static uint32_t operand_count(const tnh_node *node)
{
    return node->rule.inputs_min + 1;
}

static void list(const tnh_node *node, const tnh_value *values[3])
{
    values[0] = &node->out;
    values[1] = &node->in[0];
    values[2] = &node->in[1];
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[3];
    (void)features;
    list(node, values);
    for (uint32_t i = 0; i < operand_count(node); i++)
        if (!vulkan_is_float(values[i]))
            return "elements that are neither F32 nor F16";
    return vulkan_walk_refuse(values, operand_count(node));
}

static void push_attributes(const tnh_node *node, vulkan_dispatch *d)
{
    if (node->op == TNP_OP_SCALE) {
        const tnp_scale_attr *attr = (const tnp_scale_attr *)&node->attr;
        vulkan_push_float(d, attr->scale);
        vulkan_push_float(d, attr->bias);
    } else if (node->op == TNP_OP_CLAMP) {
        const tnp_clamp_attr *attr = (const tnp_clamp_attr *)&node->attr;
        vulkan_push_float(d, attr->min);
        vulkan_push_float(d, attr->max);
    } else if (node->op == TNP_OP_SOFTCAP) {
        const tnp_softcap_attr *attr = (const tnp_softcap_attr *)&node->attr;
        vulkan_push_float(d, attr->cap);
    }
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const uint32_t count = operand_count(node);
    const tnh_value *values[3];
    vulkan_walk walk;
    list(node, values);
    vulkan_walk_make(values, count, &walk);
    const uint64_t elements = vulkan_walk_elements(&walk), parts = vulkan_walk_parts(&walk);
    for (uint64_t part = 0; part < parts; part++) {
        vulkan_dispatch d;
        vulkan_begin(&d, count == 2 ? VULKAN_KERNEL_UNARY : VULKAN_KERNEL_BINARY);
        vulkan_constant(&d, node->op);
        for (uint32_t i = 0; i < count; i++)
            vulkan_constant(&d, values[i]->dtype);
        vulkan_walk_bind(&walk, part, to, &d);
        push_attributes(node, &d);
        d.groups[0] = vulkan_groups(elements, GROUP);
        d.flops = 16 * (double)elements;
        d.bytes = 4 * (double)elements * count;
        vulkan_emit(to, &d);
    }
}

const vulkan_op vulkan_elementwise_ops[] = {
    { TNP_OP_ADD, refuse, NULL, emit },
    { TNP_OP_SUB, refuse, NULL, emit },
    { TNP_OP_MUL, refuse, NULL, emit },
    { TNP_OP_DIV, refuse, NULL, emit },
    { TNP_OP_SCALE, refuse, NULL, emit },
    { TNP_OP_NEG, refuse, NULL, emit },
    { TNP_OP_SQRT, refuse, NULL, emit },
    { TNP_OP_EXP, refuse, NULL, emit },
    { TNP_OP_TANH, refuse, NULL, emit },
    { TNP_OP_SIGMOID, refuse, NULL, emit },
    { TNP_OP_RELU, refuse, NULL, emit },
    { TNP_OP_SILU, refuse, NULL, emit },
    { TNP_OP_GELU, refuse, NULL, emit },
    { TNP_OP_ABS, refuse, NULL, emit },
    { TNP_OP_SQR, refuse, NULL, emit },
    { TNP_OP_RSQRT, refuse, NULL, emit },
    { TNP_OP_LOG, refuse, NULL, emit },
    { TNP_OP_SIN, refuse, NULL, emit },
    { TNP_OP_COS, refuse, NULL, emit },
    { TNP_OP_CLAMP, refuse, NULL, emit },
    { TNP_OP_GELU_ERF, refuse, NULL, emit },
    { TNP_OP_GELU_QUICK, refuse, NULL, emit },
    { TNP_OP_SOFTCAP, refuse, NULL, emit },
    { TNP_OP_SWIGLU, refuse, NULL, emit },
    { TNP_OP_GEGLU, refuse, NULL, emit },
    { TNP_OP_REGLU, refuse, NULL, emit },
    { 0 },
};
