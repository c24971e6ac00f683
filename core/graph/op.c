// op.c: adding one op: operands, attributes, shape rule, a place for the output, the node.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"
#include "graph/graph_internal.h"

static bool take_operands(tni_rule *rule, const tn_value *inputs, uint32_t count)
{
    if (count < rule->op->inputs_min || count > rule->op->inputs_max)
        return tni_rule_fail(rule, TN_E_ARG, "%u operands are given, it takes %u to %u", count,
                             rule->op->inputs_min, rule->op->inputs_max);
    if (count && !inputs)
        return tni_rule_fail(rule, TN_E_ARG, "%u operands are given and they are NULL", count);
    for (uint32_t i = 0; i < count; i++) {
        rule->in_index[i] = TNP_NONE;
        if (tn_value_is_none(inputs[i]) && i >= rule->op->inputs_min)
            continue;
        if (tn_value_is_none(inputs[i]))
            return tni_rule_fail(rule, TN_E_ARG, "operand %u is missing", i);
        char what[200];
        tni_format_text(what, sizeof what, "operand %u of %s '%s'", i, rule->op->name, rule->name);
        rule->in[i] = tni_graph_take(rule->graph, inputs[i], what);
        if (!rule->in[i])
            return false;
        rule->in_index[i] = inputs[i].index;
    }
    return true;
}

// Where the attributes of an op have a field that is 0; 0 = nowhere.
static size_t place_of_reserved(uint32_t op)
{
    switch (op) {
    case TNP_OP_SCALE:
        return offsetof(tnp_scale_attr, reserved);
    case TNP_OP_CLAMP:
        return offsetof(tnp_clamp_attr, reserved);
    case TNP_OP_GROUP_NORM:
        return offsetof(tnp_group_norm_attr, reserved);
    case TNP_OP_SOFTMAX:
        return offsetof(tnp_softmax_attr, reserved);
    case TNP_OP_ATTENTION:
        return offsetof(tnp_attention_attr, reserved);
    case TNP_OP_PAD:
        return offsetof(tnp_pad_attr, reserved);
    default:
        return 0;
    }
}

static bool check_reserved(const tni_rule *rule, const unsigned char *attr)
{
    uint32_t value = 0;
    size_t at = place_of_reserved(rule->op->number);
    if (at)
        memcpy(&value, attr + at, sizeof value);
    return value == 0 ||
           tni_rule_fail(rule, TN_E_ARG, "reserved of its attributes is %" PRIu32 ", 0 is expected",
                         value);
}

// The caller's attribute struct, in the form that this release knows.
static bool take_attr(tni_rule *rule, const void *attr)
{
    uint32_t known = rule->op->attr_bytes, given = 0;
    if (known == 0)
        return !attr || tni_rule_fail(rule, TN_E_ARG, "it has no attributes");
    if (attr)
        memcpy(&given, attr, sizeof given);
    if (given < 2 * sizeof given || given > 4096)
        return tni_rule_fail(rule, TN_E_ARG,
                             "its attribute struct is missing, or its size is not set");
    void *copy = tni_arena_take(&rule->graph->arena, known);
    if (!copy) {
        tni_graph_fail_memory(rule->graph);
        return false;
    }
    if (!tnp_take(copy, known, attr, given))
        return tni_rule_fail(rule, TN_E_UNSUPPORTED,
                             "its attribute struct has fields set that this release does not know");
    rule->attr = copy;
    return check_reserved(rule, copy);
}

// The output's place: the operand's own bytes when the op writes through it, else a storage of its
// own.
static bool place_output(const tni_rule *rule)
{
    tni_value *out = rule->out;
    if (rule->op->writes >= 0) {
        const tni_value *target = rule->in[rule->op->writes];
        tni_source owner = tni_storage_source(rule->graph, target->storage);
        if (owner == TNI_WEIGHT || owner == TNI_INPUT)
            return tni_rule_fail(rule, TN_E_ARG, "it would write through '%s', %s", target->name,
                                 owner == TNI_WEIGHT ? "a weight" : "an input");
        for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
            if (target->strides[i] == 0)
                return tni_rule_fail(rule, TN_E_ARG, "it would write through '%s', a broadcast",
                                     target->name);
        out->storage = target->storage;
        out->offset = target->offset;
        out->base = rule->in_index[rule->op->writes];
        memcpy(out->strides, target->strides, sizeof out->strides);
        return true;
    }
    uint64_t bytes;
    char what[200];
    tni_format_text(what, sizeof what, "%s '%s'", rule->op->name, rule->name);
    if (!tni_value_lay_out(rule->graph, out, what, &bytes))
        return false;
    out->storage = tni_graph_add_storage(rule->graph, rule->graph->value_count, bytes);
    return out->storage != UINT32_MAX;
}

static bool add_node(const tni_rule *rule, uint32_t count, uint32_t output)
{
    tn_graph *graph = rule->graph;
    if (!tni_grow(&graph->arena.allocator, &graph->nodes, &graph->node_capacity,
                  graph->node_count + 1, sizeof *graph->nodes)) {
        tni_graph_fail_memory(graph);
        return false;
    }
    tni_node *node = &graph->nodes[graph->node_count];
    *node = (tni_node){ .op = rule->op->number,
                        .output = output,
                        .input_count = count,
                        .attr = rule->attr,
                        .attr_bytes = rule->op->attr_bytes,
                        .name = rule->out->name,
                        .mark = graph->mark };
    memcpy(node->inputs, rule->in_index, count * sizeof *node->inputs);
    rule->out->node = graph->node_count++;
    return true;
}

// The output is a value that is there already and has no maker: what a decomposition ends with.
static tn_value make_again(const tni_rule *rule, uint32_t count, uint32_t into)
{
    tn_graph *graph = rule->graph;
    tni_value *out = rule->out, *there = &graph->values[into];
    uint64_t bytes;
    if (!tni_value_lay_out(graph, out, rule->name, &bytes))
        return TN_NO_VALUE;
    if (out->dtype != there->dtype || memcmp(out->dims, there->dims, sizeof out->dims) != 0 ||
        memcmp(out->strides, there->strides, sizeof out->strides) != 0 ||
        memcmp(out->extent, there->extent, sizeof out->extent) != 0) {
        tni_rule_fail(rule, TN_E_INTERNAL, "its decomposition makes a value of another shape");
        return TN_NO_VALUE;
    }
    if (!add_node(rule, count, into))
        return TN_NO_VALUE;
    there->node = out->node;
    return tni_graph_handle(graph, into);
}

tn_value tn_graph_op(tn_graph *graph, tnp_op number, const char *name, const tn_value *inputs,
                     uint32_t input_count, const void *attr)
{
    return tni_graph_op_into(graph, number, name, inputs, input_count, attr, TNP_NONE);
}

tn_value tni_graph_op_into(tn_graph *graph, tnp_op number, const char *name, const tn_value *inputs,
                           uint32_t input_count, const void *attr, uint32_t into)
{
    if (!tni_graph_is_open(graph))
        return TN_NO_VALUE;
    const tni_op *op = tni_op_find(number);
    if (!op)
        return tni_graph_fail(graph, TN_E_ARG, "%u is no op", number);
    bool is_view = tni_op_is_view(number);
    char generated[64];
    if (!name || !*name) {
        snprintf(generated, sizeof generated, "%s.%u", op->name, graph->value_count);
        name = generated;
    }
    tni_value out = { .source = is_view ? TNI_VIEW : TNI_MADE,
                      .base = TNP_NONE,
                      .node = TNP_NONE,
                      .view_op = is_view ? number : 0 };
    tni_rule rule = { .graph = graph, .op = op, .name = name, .out = &out };
    if (!take_operands(&rule, inputs, input_count) || !take_attr(&rule, attr))
        return TN_NO_VALUE;
    out.name = tni_arena_take_text(&graph->arena, name);
    if (!out.name)
        return tni_graph_fail_memory(graph);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        out.dims[i] = 1;
    if (is_view) {
        out.base = rule.in_index[0];
        out.storage = rule.in[0]->storage;
        if (!tni_view(&rule))
            return TN_NO_VALUE;
    } else if (!tni_infer(&rule)) {
        return TN_NO_VALUE;
    } else if (into != TNP_NONE) {
        return make_again(&rule, input_count, into);
    } else if (!place_output(&rule) || !add_node(&rule, input_count, graph->value_count)) {
        return TN_NO_VALUE;
    }
    uint32_t index = tni_graph_add_value(graph, &out);
    return index == UINT32_MAX ? TN_NO_VALUE : tni_graph_handle(graph, index);
}
