// verify.c: what every finished graph holds, checked without the rules that made it: no element
// outside its storage, no operand from the future, no strange number. What fails here is a fault of
// this library.
#include <inttypes.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/macros.h"
#include "graph/graph_internal.h"

// Bytes from the start of the storage to the end of the last element.
static bool end_of(const tni_value *value, uint64_t *end)
{
    const tni_dtype *type = tni_dtype_find(value->dtype);
    uint64_t last = value->offset;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        int64_t count = i ? value->dims[i] : value->dims[i] / type->block_elements;
        uint64_t reach;
        if (count == 0) {
            *end = value->offset;
            return true;
        }
        if (count < 0 || value->strides[i] < 0 ||
            !tni_mul_u64((uint64_t)(count - 1), (uint64_t)value->strides[i], &reach) ||
            !tni_add_u64(last, reach, &last))
            return false;
    }
    return tni_add_u64(last, type->block_bytes, end);
}

// The node that makes what the value looks at; TNP_NONE = it is a leaf, or was dropped.
static uint32_t maker_of(const tn_graph *graph, uint32_t index)
{
    const tni_value *value = &graph->values[index];
    while (value->source == TNI_VIEW)   // a base comes before its views: this ends
        value = &graph->values[value->base];
    return value->node;
}

tn_status tni_graph_verify(const tn_graph *graph, tn_error *err)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const tni_value *value = &graph->values[i];
        uint64_t end;
        if (TN_NEVER(!tni_dtype_find(value->dtype) || value->storage >= graph->storage_count))
            return tni_fail(err, TN_E_INTERNAL, "graph: value '%s' has no type or no storage",
                            value->name);
        if (TN_NEVER(!end_of(value, &end) || end > graph->storages[value->storage].bytes))
            return tni_fail(err, TN_E_INTERNAL,
                            "graph: value '%s' ends outside its storage of %" PRIu64 " bytes",
                            value->name, graph->storages[value->storage].bytes);
        for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
            if (TN_NEVER(value->extent[d] > i))
                return tni_fail(err, TN_E_INTERNAL, "graph: the extent of '%s' comes after it",
                                value->name);
        if (TN_NEVER(value->source == TNI_VIEW && value->base >= i))
            return tni_fail(err, TN_E_INTERNAL, "graph: view '%s' comes before what it looks at",
                            value->name);
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t maker = node->inputs[i] == TNP_NONE ? TNP_NONE
                                                         : maker_of(graph, node->inputs[i]);
            if (TN_NEVER(maker != TNP_NONE && maker >= n))
                return tni_fail(err, TN_E_INTERNAL, "graph: operand %u of '%s' comes after it", i,
                                node->name);
        }
        for (uint32_t e = graph->order.first[n]; e < graph->order.first[n + 1]; e++)
            if (TN_NEVER(graph->order.before[e] >= n))
                return tni_fail(err, TN_E_INTERNAL, "graph: '%s' must come after a later node",
                                node->name);
    }
    return TN_OK;
}
