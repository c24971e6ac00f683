// slice.c: a part of a graph in the words of the plugin contract. What a plugin sees is made here,
// and only here.
#include <string.h>

#include "base/error.h"
#include "sched/sched.h"

bool tni_comes_at_submit(const tn_graph *graph, uint32_t storage, uint64_t at_submit_bytes)
{
    return graph->input_sums[storage] <= at_submit_bytes &&
           graph->input_sums[storage] != UINT64_MAX;
}

typedef struct builder {
    const tn_graph *graph;
    tni_slice *made;
    uint64_t at_submit_bytes;
    tnp_value *values;
    tnp_storage *storages;
    // By storage of the slice:
    uint32_t *touches;   // how often its nodes read and write it
    bool *is_written, *is_output;
} builder;

static void take_storage(builder *b, uint32_t storage)
{
    tni_slice *made = b->made;
    if (made->slice_storage[storage] != TNP_NONE)
        return;
    uint32_t index = made->slice.storage_count++;
    made->slice_storage[storage] = index;
    made->graph_storage[index] = storage;
    const tni_storage *from = &b->graph->storages[storage];
    const tni_value *owner = &b->graph->values[from->owner];
    tnp_storage *to = &b->storages[index];
    *to = (tnp_storage){ .size = sizeof *to,
                         .bytes = from->bytes,
                         .data = owner->run_bytes ? NULL : owner->data };
    if (owner->source == TNI_WEIGHT)
        to->flags = TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS;
    else if (owner->source == TNI_STATE)
        to->flags = TNP_STORAGE_STATE | TNP_STORAGE_ENTERS;
    else if (owner->source == TNI_INPUT || owner->node == TNP_NONE ||
             made->slice_node[owner->node] == TNP_NONE)
        to->flags = TNP_STORAGE_ENTERS;
}

// A value and those that tell its extents. An extent is a one-element leaf or output, which has
// none itself.
static void take_value(builder *b, uint32_t value)
{
    tni_slice *made = b->made;
    if (value == TNP_NONE || made->slice_value[value] != TNP_NONE)
        return;
    const tni_value *from = &b->graph->values[value];
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (from->extent[d])
            take_value(b, from->extent[d] - 1);
    take_storage(b, from->storage);
    uint32_t index = made->slice.value_count++;
    made->slice_value[value] = index;
    made->graph_value[index] = value;
    tnp_value *to = &b->values[index];
    *to = (tnp_value){
        .size = sizeof *to,
        .flags = tni_comes_at_submit(b->graph, from->storage, b->at_submit_bytes)
                     ? TNP_VALUE_AT_SUBMIT
                     : 0,
        .dtype = from->dtype,
        .rank = from->rank,
        .storage = made->slice_storage[from->storage],
        .offset = from->offset,
        .likely = from->likely,
        .at_most = from->at_most,
        .name = from->name,
    };
    memcpy(to->dims, from->dims, sizeof to->dims);
    memcpy(to->strides, from->strides, sizeof to->strides);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        to->extent[d] = from->extent[d] ? 1 + made->slice_value[from->extent[d] - 1] : 0;
}

static void take_node_values(builder *b, uint32_t node)
{
    for (uint32_t i = 0; i < b->graph->nodes[node].input_count; i++)
        take_value(b, b->graph->nodes[node].inputs[i]);
    take_value(b, b->graph->nodes[node].output);
}

static bool make_node(const builder *b, uint32_t node, tni_arena *arena, tnp_node *to)
{
    const tni_node *from = &b->graph->nodes[node];
    uint32_t *indices = tni_arena_take_array(arena, (size_t)from->input_count + 1, sizeof *indices);
    if (!indices)
        return false;
    for (uint32_t i = 0; i < from->input_count; i++)
        indices[i] = from->inputs[i] == TNP_NONE ? TNP_NONE : b->made->slice_value[from->inputs[i]];
    indices[from->input_count] = b->made->slice_value[from->output];
    *to = (tnp_node){
        .size = sizeof *to,
        .op = from->op,
        .input_count = from->input_count,
        .output_count = 1,
        .inputs = indices,
        .outputs = indices + from->input_count,
        .attributes = from->attr,
        .name = from->name,
    };
    return true;
}

// What the slice writes and somebody else needs: outputs of the graph, states, what other nodes
// look at. What is only read does not leave: its bytes are as before.
static void find_leaving(builder *b)
{
    const tn_graph *graph = b->graph;
    const tni_slice *made = b->made;
    for (uint32_t n = 0; n < made->slice.node_count; n++) {
        const tni_node *node = &graph->nodes[made->graph_node[n]];
        uint32_t touched[TNI_MAX_READS + 1], count = tni_node_touches(graph, node, touched);
        for (uint32_t i = 0; i < count; i++)
            b->touches[made->slice_storage[graph->values[touched[i]].storage]]++;
        b->is_written[made->slice_storage[graph->values[node->output].storage]] = true;
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        uint32_t index = made->slice_storage[graph->values[graph->outputs[i].value].storage];
        if (index != TNP_NONE)
            b->is_output[index] = true;
    }
    for (uint32_t i = 0; i < made->slice.storage_count; i++) {
        uint32_t storage = made->graph_storage[i];
        if (b->is_written[i] && (b->is_output[i] || b->touches[i] < graph->touches[storage] ||
                                 tni_storage_source(graph, storage) == TNI_STATE))
            b->storages[i].flags |= TNP_STORAGE_LEAVES;
    }
}

// The most values that these nodes and the extents of what they touch can be.
static size_t most_values(const tn_graph *graph, const uint32_t *nodes, uint32_t node_count)
{
    size_t count = 0;
    for (uint32_t n = 0; n < node_count && count < graph->value_count; n++) {
        uint32_t touched[TNI_MAX_READS + 1];
        count += tni_node_touches(graph, &graph->nodes[nodes[n]], touched);
    }
    return count < graph->value_count ? count : graph->value_count;
}

tn_status tni_slice_make(const tn_graph *graph, const uint32_t *nodes, uint32_t node_count,
                         uint64_t at_submit_bytes, tni_arena *arena, tni_slice *out, tn_error *err)
{
    size_t most = most_values(graph, nodes, node_count);   // and storages
    *out = (tni_slice){
        .graph_value = tni_arena_take_indices(arena, most),
        .graph_storage = tni_arena_take_indices(arena, most),
        .graph_node = tni_arena_copy(arena, nodes, node_count, sizeof *nodes),
        .slice_value = tni_arena_take_indices(arena, graph->value_count),
        .slice_storage = tni_arena_take_indices(arena, graph->storage_count),
        .slice_node = tni_arena_take_indices(arena, graph->node_count),
    };
    builder b = {
        .graph = graph,
        .made = out,
        .at_submit_bytes = at_submit_bytes,
        .values = tni_arena_take_array(arena, most, sizeof *b.values),
        .storages = tni_arena_take_array(arena, most, sizeof *b.storages),
        .touches = tni_arena_take_array(arena, most, sizeof *b.touches),
        .is_written = tni_arena_take_array(arena, most, sizeof *b.is_written),
        .is_output = tni_arena_take_array(arena, most, sizeof *b.is_output),
    };
    tnp_node *slice_nodes = tni_arena_take_array(arena, node_count, sizeof *slice_nodes);
    const tnp_value **values = tni_arena_take_array(arena, most, sizeof *values);
    const tnp_storage **storages = tni_arena_take_array(arena, most, sizeof *storages);
    const tnp_node **node_pointers = tni_arena_take_array(arena, node_count, sizeof *node_pointers);
    bool is_made = out->graph_value && out->graph_storage && out->graph_node && out->slice_value &&
                   out->slice_storage && out->slice_node && b.values && b.storages && b.touches &&
                   b.is_written && b.is_output && slice_nodes && values && storages &&
                   node_pointers;
    if (is_made) {
        out->slice.node_count = node_count;
        for (uint32_t i = 0; i < node_count; i++)
            out->slice_node[nodes[i]] = i;
        for (uint32_t i = 0; i < node_count; i++)
            take_node_values(&b, nodes[i]);
        for (uint32_t i = 0; i < node_count && is_made; i++)
            is_made = make_node(&b, nodes[i], arena, &slice_nodes[i]);
    }
    if (!is_made)
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory for a slice of %u nodes",
                        node_count);
    find_leaving(&b);
    for (uint32_t i = 0; i < out->slice.value_count; i++)
        values[i] = &b.values[i];
    for (uint32_t i = 0; i < out->slice.storage_count; i++)
        storages[i] = &b.storages[i];
    for (uint32_t i = 0; i < node_count; i++)
        node_pointers[i] = &slice_nodes[i];
    out->slice.size = sizeof out->slice;
    out->slice.values = values;
    out->slice.storages = storages;
    out->slice.nodes = node_pointers;
    return TN_OK;
}
