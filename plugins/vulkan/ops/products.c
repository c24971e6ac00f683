// products.c: products with what takes them, as one: a sum, or the gate of two.
#include "matmul.h"

static bool has_same_dims(const tnh_value *a, const tnh_value *b)
{
    return memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

static bool is_one_matrix(const tnh_value *value)
{
    for (uint32_t d = 2; d < TNP_MAX_DIMS; d++)
        if (value->dims[d] != 1)
            return false;
    return true;
}

// What takes products: a result in F32 of their dims, of one matrix.
static const char *refuse_last(const vulkan_unit *unit)
{
    const tnh_node *product = &unit->nodes[0], *last = vulkan_unit_last(unit);
    if (last->out.dtype != TNP_DTYPE_F32 || !has_same_dims(&last->out, &product->out) ||
        !is_one_matrix(&product->in[1]) || !is_one_matrix(&product->out) ||
        !vulkan_has_whole_strides(&last->out))
        return "a product and a result that are not F32 of one matrix";
    return NULL;
}

// --------------------------------------------------------------------------------- product and sum

static const tnh_value *added_to(const vulkan_unit *unit)
{
    const tnh_node *sum = &unit->nodes[1];
    return &sum->in[sum->inputs[0] == unit->nodes[0].output];
}

static const char *refuse_sum(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_value *other = added_to(unit);
    const char *reason = vulkan_refuse_product(&unit->nodes[0], features);
    if (!reason)
        reason = refuse_last(unit);
    if (!reason && (other->dtype != TNP_DTYPE_F32 || !vulkan_has_whole_strides(other) ||
                    !has_same_dims(other, &unit->nodes[1].out)))
        reason = "a product that is added to what is not F32 of its dims";
    return reason;
}

static void emit_sum(const vulkan_unit *unit, vulkan_emitter *to)
{
    const vulkan_tail tail = { TNP_OP_ADD, &unit->nodes[1].out, added_to(unit) };
    vulkan_emit_product(&unit->nodes[0], &tail, to);
}

// ------------------------------------------------------------------------------------- gate and up

// The product that the gate takes first.
static uint32_t gate_of(const vulkan_unit *unit)
{
    return unit->nodes[2].inputs[0] == unit->nodes[1].output;
}

static const char *refuse_gate(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_value *a = &unit->nodes[0].in[1], *b = &unit->nodes[1].in[1];
    const char *reason = refuse_last(unit);
    for (uint32_t i = 0; i < 2 && !reason; i++)
        reason = vulkan_refuse_product(&unit->nodes[i], features);
    if (reason)
        return reason;
    if (a->dtype != b->dtype || !has_same_dims(a, b) || a->strides[0] != b->strides[0] ||
        a->strides[1] != b->strides[1] || a->offset % 4 != b->offset % 4)
        return "two products with weights that do not lie alike";
    if (!vulkan_is_bindable(a->span_bytes, features))
        return "a weight above what the device binds at once";
    return unit->nodes[0].in[0].dims[1] > (int64_t)VULKAN_FEW_TOKENS
               ? "more tokens than gate and up are done together for"
               : NULL;
}

static void emit_gate(const vulkan_unit *unit, vulkan_emitter *to)
{
    const uint32_t gate = gate_of(unit);
    const vulkan_tail tail = { unit->nodes[2].op, &unit->nodes[2].out,
                               &unit->nodes[1 - gate].in[1] };
    vulkan_emit_product(&unit->nodes[gate], &tail, to);
}

// --------------------------------------------------------------------------------------- which one

static const vulkan_op sum = { 0, refuse_sum, NULL, emit_sum };
static const vulkan_op gate = { 0, refuse_gate, NULL, emit_gate };

static bool is_product(const tnh_node *node)
{
    return node->op == TNP_OP_MATMUL;
}

static bool takes(const tnh_node *node, uint32_t value)
{
    return (node->inputs[0] == value) != (node->inputs[1] == value);
}

const vulkan_op *vulkan_fusion_find(const vulkan_unit *unit)
{
    const tnh_node *n = unit->nodes;
    if (unit->node_count == 2 && is_product(&n[0]) && n[1].op == TNP_OP_ADD &&
        takes(&n[1], n[0].output))
        return &sum;
    if (unit->node_count == 3 && is_product(&n[0]) && is_product(&n[1]) &&
        n[0].inputs[0] == n[1].inputs[0] && n[0].output != n[1].output &&
        takes(&n[2], n[0].output) && takes(&n[2], n[1].output) &&
        (n[2].op == TNP_OP_SWIGLU || n[2].op == TNP_OP_GEGLU || n[2].op == TNP_OP_REGLU))
        return &gate;
    return NULL;
}
