// finish.c: from a builder to a graph that nothing changes any more.
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
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

typedef struct leaf {
    const char *name;
    tni_source source;
    uint32_t storage;
    uint64_t bytes;
} leaf;

static int by_name(const void *a, const void *b)
{
    const leaf *x = a, *y = b;
    return x->source != y->source ? (x->source < y->source ? -1 : 1) : strcmp(x->name, y->name);
}

static int by_bytes(const void *a, const void *b)
{
    const leaf *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->storage < y->storage ? -1 : x->storage > y->storage;
}

// Inputs and states have names of their own; the sums tell which inputs fit into a submit.
static tn_status index_leaves(tn_graph *graph, tn_error *err)
{
    const tn_allocator *a = &graph->arena.allocator;
    leaf *leaves = tni_alloc_zeroed(a, graph->storage_count, sizeof *leaves);
    graph->input_sums = tni_arena_take_array(&graph->arena, graph->storage_count,
                                             sizeof *graph->input_sums);
    if (!leaves || !graph->input_sums) {
        tni_free(a, leaves);
        return tni_fail_memory(err, "a table of inputs", graph->storage_count * sizeof *leaves);
    }
    uint32_t count = 0;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_value *owner = &graph->values[graph->storages[s].owner];
        graph->input_sums[s] = UINT64_MAX;
        if (owner->source == TNI_INPUT || owner->source == TNI_STATE)
            leaves[count++] = (leaf){ owner->name, owner->source, s, graph->storages[s].bytes };
    }
    tn_status status = TN_OK;
    qsort(leaves, count, sizeof *leaves, by_name);
    for (uint32_t i = 1; i < count && status == TN_OK; i++)
        if (by_name(&leaves[i - 1], &leaves[i]) == 0)
            status = tni_fail(err, TN_E_GRAPH, "two %s are named '%s'",
                              leaves[i].source == TNI_INPUT ? "inputs" : "states", leaves[i].name);
    qsort(leaves, count, sizeof *leaves, by_bytes);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        if (leaves[i].source == TNI_INPUT) {
            if (!tni_add_u64(sum, leaves[i].bytes, &sum))
                sum = UINT64_MAX - 1;
            graph->input_sums[leaves[i].storage] = sum;
        }
    tni_free(a, leaves);
    return status;
}

tn_status tn_graph_finish(tn_graph *graph, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "graph", graph, NULL);
    if (status != TN_OK)
        return status;
    if (graph->first_error.status != TN_OK)
        return tni_fail(err, graph->first_error.status, "%s", graph->first_error.text);
    if (graph->is_finished)
        return tni_fail(err, TN_E_GRAPH, "the graph is finished already");
    if (graph->output_count == 0)
        status = tni_fail(err, TN_E_GRAPH, "the graph has no output");
    if (status == TN_OK)
        status = index_leaves(graph, err);
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
