#include <string.h>

#include "plan/plan.h"

static bool is_same_view(const tni_value *a, const tni_value *b)
{
    return a->offset == b->offset && a->dtype == b->dtype &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

static bool is_same_form(const tni_value *a, const tni_value *b)
{
    uint64_t a_bytes = tn_dtype_bytes(a->dtype, 1),
             b_bytes = tn_dtype_bytes(b->dtype, 1);   // 0 for block types
    return a_bytes && a_bytes == b_bytes && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

// Whether the bytes of the storage tell how much of a dim of this value counts.
static bool is_extent_of(const tn_graph *graph, uint32_t storage, uint32_t value)
{
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++) {
        uint32_t extent = graph->values[value].extent[d];
        if (extent && graph->values[extent - 1].storage == storage)
            return true;
    }
    return false;
}

bool tni_plan_may_overwrite(const tn_graph *graph, const uint32_t *nodes, uint32_t node_count,
                            uint32_t output, uint32_t input)
{
    const tni_value *out = &graph->values[output], *in = &graph->values[input];
    bool is_read = false;
    if (out->base != TNP_NONE || !is_same_form(out, in) ||
        tni_storage_source(graph, in->storage) != TNI_MADE)
        return false;
    for (uint32_t n = 0; n < node_count; n++) {
        const tni_node *node = &graph->nodes[nodes[n]];
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == TNP_NONE)
                continue;
            if (is_extent_of(graph, in->storage, node->inputs[i]))
                return false;
            if (graph->values[node->inputs[i]].storage != in->storage)
                continue;
            if (!is_same_view(&graph->values[node->inputs[i]], in))
                return false;
            if (node->output == output && !(tni_op_find(node->op)->in_place & 1u << i))
                return false;
            is_read = true;
        }
        if (is_extent_of(graph, in->storage, node->output))
            return false;
        if (node->output != output && graph->values[node->output].storage == in->storage)
            return false;   // made or written in the same unit
    }
    return is_read;
}
