// leaf.c: inputs, weights, states, and the names of outputs.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"
#include "graph/graph_internal.h"

static tn_value add_leaf(tn_graph *graph, tni_source source, const char *name, tn_dtype dtype,
                         uint32_t rank, const int64_t *dims, const void *data,
                         const uint64_t *data_bytes)
{
    static const char *const sources[] = { "input", "weight", "state" };
    if (!tni_graph_is_open(graph))
        return TN_NO_VALUE;
    if (!name || !*name)
        return tni_graph_fail(graph, TN_E_ARG, "%s without a name", sources[source]);
    if (rank && !dims)
        return tni_graph_fail(graph, TN_E_ARG, "%s '%s': dims is NULL", sources[source], name);
    if (rank > TN_MAX_DIMS)
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
        return tni_graph_fail_memory(graph);
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
        tni_graph_fail_memory(graph);
        return;
    }
    graph->outputs[graph->output_count++] = (tni_output){ copy, handle.index };
}
