// finish.c: from a builder to a graph that nothing changes any more.
#include <string.h>

#include "base/error.h"
#include "graph/graph_internal.h"

// FNV-1a, 64 bits. Source: Fowler, Noll, Vo; IETF draft-eastlake-fnv.
static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

// Everything that a plan or a program depends on; names and the bytes of weights are not part of
// it.
static uint64_t fingerprint(const tn_graph *graph)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const tni_value *value = &graph->values[i];
        hash = mix(hash, &value->source, sizeof value->source);
        hash = mix(hash, &value->dtype, sizeof value->dtype);
        hash = mix(hash, &value->rank, sizeof value->rank);
        hash = mix(hash, &value->storage, sizeof value->storage);
        hash = mix(hash, &value->offset, sizeof value->offset);
        hash = mix(hash, value->dims, sizeof value->dims);
        hash = mix(hash, value->strides, sizeof value->strides);
        hash = mix(hash, value->extent, sizeof value->extent);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tni_node *node = &graph->nodes[i];
        hash = mix(hash, &node->op, sizeof node->op);
        hash = mix(hash, &node->output, sizeof node->output);
        hash = mix(hash, node->inputs, node->input_count * sizeof *node->inputs);
        hash = mix(hash, node->attr, node->attr_bytes);
    }
    for (uint32_t i = 0; i < graph->output_count; i++)
        hash = mix(hash, &graph->outputs[i].value, sizeof graph->outputs[i].value);
    return hash;
}

static tn_status need_unique_leaves(const tn_graph *graph, tn_error *err)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        for (uint32_t j = 0; j < i && (graph->values[i].source == TNI_INPUT ||
                                       graph->values[i].source == TNI_STATE);
             j++)
            if (graph->values[j].source == graph->values[i].source &&
                strcmp(graph->values[j].name, graph->values[i].name) == 0)
                return tni_fail(err, TN_E_GRAPH, "two %s are named '%s'",
                                graph->values[i].source == TNI_INPUT ? "inputs" : "states",
                                graph->values[i].name);
    return TN_OK;
}

tn_status tn_graph_finish(tn_graph *graph, tn_error *err)
{
    tn_status status = TN_OK;
    if (graph->first_error.status != TN_OK)
        return tni_fail(err, graph->first_error.status, "%s", graph->first_error.text);
    if (graph->is_finished)
        return tni_fail(err, TN_E_GRAPH, "the graph is finished already");
    if (graph->output_count == 0)
        status = tni_fail(err, TN_E_GRAPH, "the graph has no output");
    if (status == TN_OK)
        status = need_unique_leaves(graph, err);
    if (status == TN_OK)
        status = tni_graph_order(graph, err);
    if (status == TN_OK)
        status = tni_graph_verify(graph, err);
    if (status != TN_OK) {   // sticks: the graph can only be destroyed
        tni_graph_fail(graph, status, "%s", err ? err->text : "the graph could not be finished");
        return status;
    }
    graph->fingerprint = fingerprint(graph);
    graph->is_finished = true;
    return TN_OK;
}
