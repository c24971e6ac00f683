// build.c: making a graph, its leaves, and one op.
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"
#include "graph/graph_internal.h"

static atomic_uint next_generation = 1;

// ------------------------------------------------------------------------------------------- graph

tn_status tn_graph_create(const tn_allocator *allocator, tn_graph **out_graph, tn_error *err)
{
    *out_graph = NULL;
    tn_allocator a = tni_allocator(allocator);
    tn_graph *graph = tni_alloc_zeroed(&a, 1, sizeof *graph);
    if (!graph)
        return tni_fail_memory(err, "a graph", sizeof *graph);
    tni_arena_init(&graph->arena, &a);
    graph->generation = atomic_fetch_add(&next_generation, 1);
    *out_graph = graph;
    return TN_OK;
}

void tn_graph_destroy(tn_graph *graph)
{
    if (!graph)
        return;
    tn_allocator a = graph->arena.allocator;
    tni_free(&a, graph->values);
    tni_free(&a, graph->nodes);
    tni_free(&a, graph->storages);
    tni_free(&a, graph->outputs);
    tni_arena_finish(&graph->arena);
    tni_free(&a, graph);
}

tn_value tni_graph_fail(tn_graph *graph, tn_status status, const char *format, ...)
{
    if (graph->first_error.status == TN_OK) {
        va_list arguments;
        va_start(arguments, format);
        tni_fail_v(&graph->first_error, status, format, arguments);
        va_end(arguments);
    }
    return TN_NO_VALUE;
}

static tn_value fail_memory(tn_graph *graph)
{
    return tni_graph_fail(graph, TN_E_HOST_MEMORY, "not enough memory for a graph of %u values",
                          graph->value_count + 1);
}

bool tni_graph_is_open(tn_graph *graph)
{
    if (graph->is_finished)
        tni_graph_fail(graph, TN_E_GRAPH, "the graph is finished: nothing can be added");
    return graph->first_error.status == TN_OK;
}

tn_value tni_graph_handle(const tn_graph *graph, uint32_t index)
{
    return (tn_value){ index, graph->generation };
}

const tni_value *tni_graph_take(tn_graph *graph, tn_value handle, const char *what)
{
    if (handle.generation == graph->generation && handle.index < graph->value_count)
        return &graph->values[handle.index];
    tni_graph_fail(graph, TN_E_ARG, "%s is not a value of this graph", what);
    return NULL;
}

// ------------------------------------------------------------------------------------------ values

uint32_t tni_graph_add_value(tn_graph *graph, const tni_value *value)
{
    if (graph->value_count >= TNI_MAX_VALUES ||
        !tni_grow(&graph->arena.allocator, &graph->values, &graph->value_capacity,
                  graph->value_count + 1, sizeof *value)) {
        fail_memory(graph);
        return UINT32_MAX;
    }
    graph->values[graph->value_count] = *value;
    return graph->value_count++;
}

uint32_t tni_graph_add_storage(tn_graph *graph, uint32_t owner, uint64_t bytes)
{
    if (!tni_grow(&graph->arena.allocator, &graph->storages, &graph->storage_capacity,
                  graph->storage_count + 1, sizeof *graph->storages)) {
        fail_memory(graph);
        return UINT32_MAX;
    }
    graph->storages[graph->storage_count] = (tni_storage){ owner, bytes };
    return graph->storage_count++;
}

bool tni_value_lay_out(tn_graph *graph, tni_value *value, const char *what, uint64_t *bytes)
{
    const tni_dtype *type = tni_dtype_find(value->dtype);
    char text[128];
    if (!type) {
        tni_graph_fail(graph, TN_E_DTYPE, "%s: %u is no element type", what, value->dtype);
        return false;
    }
    for (uint32_t i = value->rank; i < TN_MAX_DIMS; i++)
        value->dims[i] = 1;
    if (value->dims[0] % type->block_elements) {
        tni_graph_fail(graph, TN_E_SHAPE, "%s: %s has rows that are not whole blocks of %" PRId64,
                       what, tni_value_text(value, text, sizeof text), type->block_elements);
        return false;
    }
    uint64_t stride = type->block_bytes;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        value->strides[i] = (int64_t)stride;
        int64_t count = i ? value->dims[i] : value->dims[i] / type->block_elements;
        // A dim of 0 leaves the strides of the dims above as if it were 1: nothing is ever read
        // through them.
        if (value->dims[i] < 0 || !tni_mul_u64(stride, (uint64_t)(count ? count : 1), &stride) ||
            stride > INT64_MAX) {
            tni_graph_fail(graph, TN_E_SHAPE, "%s: %s is negative or too large", what,
                           tni_value_text(value, text, sizeof text));
            return false;
        }
    }
    *bytes = tni_value_elements(value) ? stride : 0;
    return true;
}

static tn_value add_leaf(tn_graph *graph, tni_source source, const char *name, tn_dtype dtype,
                         uint32_t rank, const int64_t *dims, const void *data,
                         const uint64_t *data_bytes)
{
    static const char *const sources[] = { "input", "weight", "state" };
    if (!tni_graph_is_open(graph))
        return TN_NO_VALUE;
    if (!name || !*name)
        return tni_graph_fail(graph, TN_E_ARG, "%s without a name", sources[source]);
    if (rank > TN_MAX_DIMS || (rank && !dims))
        return tni_graph_fail(graph, TN_E_SHAPE, "%s '%s': %u dims, at most %d are possible",
                              sources[source], name, rank, TN_MAX_DIMS);

    char what[256];
    tni_format_text(what, sizeof what, "%s '%s'", sources[source], name);
    tni_value value = { .source = source,
                        .dtype = dtype,
                        .rank = rank,
                        .base = TNP_NONE,
                        .node = TNP_NONE,
                        .data = data };
    if (rank)
        memcpy(value.dims, dims, rank * sizeof *dims);
    uint64_t bytes;
    if (!tni_value_lay_out(graph, &value, what, &bytes))
        return TN_NO_VALUE;
    if (data_bytes && *data_bytes != bytes)
        return tni_graph_fail(graph, TN_E_ARG,
                              "%s: %" PRIu64 " bytes are given, its shape needs %" PRIu64, what,
                              *data_bytes, bytes);
    if (data_bytes && !data && bytes)
        return tni_graph_fail(graph, TN_E_ARG, "%s: no bytes are given", what);
    value.name = tni_arena_take_text(&graph->arena, name);
    if (!value.name)
        return fail_memory(graph);
    value.storage = tni_graph_add_storage(graph, graph->value_count, bytes);
    uint32_t index = value.storage == UINT32_MAX ? UINT32_MAX : tni_graph_add_value(graph, &value);
    return index == UINT32_MAX ? TN_NO_VALUE : tni_graph_handle(graph, index);
}

tn_value tn_graph_input(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                        const int64_t *dims)
{
    return add_leaf(graph, TNI_INPUT, name, dtype, rank, dims, NULL, NULL);
}

tn_value tn_graph_weight(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                         const int64_t *dims, const void *data, uint64_t bytes)
{
    return add_leaf(graph, TNI_WEIGHT, name, dtype, rank, dims, data, &bytes);
}

tn_value tn_graph_state(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                        const int64_t *dims)
{
    return add_leaf(graph, TNI_STATE, name, dtype, rank, dims, NULL, NULL);
}

void tn_graph_expect(tn_graph *graph, tn_value input, int64_t likely, int64_t at_most)
{
    const tni_value *value = tni_graph_is_open(graph)
                                 ? tni_graph_take(graph, input, "the operand of tn_graph_expect")
                                 : NULL;
    if (!value)
        return;
    if (value->source != TNI_INPUT || value->dtype != TN_DTYPE_I32 || likely < 0 ||
        (at_most && at_most < likely)) {
        tni_graph_fail(
            graph, TN_E_ARG,
            "input '%s': a length is an I32 input with 0 <= likely <= at_most, not %" PRId64
            " and %" PRId64,
            value->name, likely, at_most);
        return;
    }
    graph->values[input.index].likely = likely;
    graph->values[input.index].at_most = at_most;
}

void tn_graph_output(tn_graph *graph, const char *name, tn_value handle)
{
    if (!tni_graph_is_open(graph) || !tni_graph_take(graph, handle, "an output"))
        return;
    if (!name || !*name) {
        tni_graph_fail(graph, TN_E_ARG, "output without a name");
        return;
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (strcmp(graph->outputs[i].name, name) == 0) {
            tni_graph_fail(graph, TN_E_ARG, "two outputs are named '%s'", name);
            return;
        }
    const char *copy = tni_arena_take_text(&graph->arena, name);
    if (!copy || !tni_grow(&graph->arena.allocator, &graph->outputs, &graph->output_capacity,
                           graph->output_count + 1, sizeof *graph->outputs)) {
        fail_memory(graph);
        return;
    }
    graph->outputs[graph->output_count++] = (tni_output){ copy, handle.index };
}

// --------------------------------------------------------------------------------------------- ops

bool tni_rule_fail(const tni_rule *rule, tn_status status, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    tni_format_text_v(text, sizeof text, format, arguments);
    va_end(arguments);
    tni_graph_fail(rule->graph, status, "%s '%s': %s", rule->op->name, rule->name, text);
    return false;
}

static bool take_operands(tni_rule *rule, const tn_value *inputs, uint32_t count)
{
    if (count < rule->op->inputs_min || count > rule->op->inputs_max)
        return tni_rule_fail(rule, TN_E_ARG, "%u operands are given, it takes %u to %u", count,
                             rule->op->inputs_min, rule->op->inputs_max);
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
        fail_memory(rule->graph);
        return false;
    }
    if (!tnp_take(copy, known, attr, given))
        return tni_rule_fail(rule, TN_E_UNSUPPORTED,
                             "its attribute struct has fields set that this release does not know");
    rule->attr = copy;
    return true;
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

static bool add_node(const tni_rule *rule, uint32_t count)
{
    tn_graph *graph = rule->graph;
    if (!tni_grow(&graph->arena.allocator, &graph->nodes, &graph->node_capacity,
                  graph->node_count + 1, sizeof *graph->nodes)) {
        fail_memory(graph);
        return false;
    }
    tni_node *node = &graph->nodes[graph->node_count];
    *node = (tni_node){ .op = rule->op->number,
                        .output = graph->value_count,
                        .input_count = count,
                        .attr = rule->attr,
                        .attr_bytes = rule->op->attr_bytes,
                        .name = rule->out->name };
    memcpy(node->inputs, rule->in_index, count * sizeof *node->inputs);
    rule->out->node = graph->node_count++;
    return true;
}

tn_value tn_graph_op(tn_graph *graph, tnp_op number, const char *name, const tn_value *inputs,
                     uint32_t input_count, const void *attr)
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
        return fail_memory(graph);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        out.dims[i] = 1;
    if (is_view) {
        out.base = rule.in_index[0];
        out.storage = rule.in[0]->storage;
        if (!tni_view(&rule))
            return TN_NO_VALUE;
    } else if (!tni_infer(&rule) || !place_output(&rule) || !add_node(&rule, input_count)) {
        return TN_NO_VALUE;
    }
    uint32_t index = tni_graph_add_value(graph, &out);
    return index == UINT32_MAX ? TN_NO_VALUE : tni_graph_handle(graph, index);
}
