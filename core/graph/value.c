// value.c: the layout of a value, and questions about it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/options.h"
#include "base/integer.h"
#include "graph/graph_internal.h"

int64_t tni_value_elements(const tni_value *value)
{
    int64_t n = 1;   // the product was checked when the value was made
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        n *= value->dims[i];
    return n;
}

bool tni_value_is_contiguous(const tni_value *value)
{
    const tni_dtype *type = tni_dtype_find(value->dtype);
    int64_t stride = (int64_t)type->block_bytes;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        int64_t count = i ? value->dims[i] : value->dims[i] / type->block_elements;
        if (count > 1 && value->strides[i] != stride)
            return false;
        stride *= count;
    }
    return true;
}

uint32_t tni_node_reads(const tn_graph *graph, const tni_node *node, uint32_t values[TNI_MAX_READS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i <= node->input_count; i++) {
        bool is_operand = i < node->input_count;
        uint32_t index = is_operand ? node->inputs[i] : node->output;
        if (index == TNP_NONE)
            continue;
        if (is_operand)
            values[count++] = index;
        for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
            if (graph->values[index].extent[d])
                values[count++] = graph->values[index].extent[d] - 1;
    }
    return count;
}

uint32_t tni_node_touches(const tn_graph *graph, const tni_node *node,
                          uint32_t values[TNI_MAX_READS + 1])
{
    uint32_t count = tni_node_reads(graph, node, values);
    values[count++] = node->output;
    return count;
}

tni_source tni_storage_source(const tn_graph *graph, uint32_t storage)
{
    return graph->values[graph->storages[storage].owner].source;
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

char *tni_value_text(const tni_value *value, char *text, size_t room)
{
    int used = snprintf(text, room, "%s {", tn_dtype_name(value->dtype));
    for (uint32_t i = 0; i < value->rank && used > 0 && (size_t)used < room; i++)
        used += snprintf(text + used, room - (size_t)used, "%s%" PRId64, i ? ", " : "",
                         value->dims[i]);
    if (used > 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, "}");
    return text;
}

tn_status tn_graph_value_info(const tn_graph *graph, tn_value handle, tn_value_info *out_info,
                              tn_error *err)
{
    tn_status status = tni_need(err, __func__, "graph", graph, "out_info", out_info, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_info, __func__, "out_info", err);
    if (status != TN_OK)
        return status;
    if (tn_value_is_none(handle))
        return tni_fail(err, TN_E_ARG,
                        "tn_graph_value_info: the value is TN_NO_VALUE: the graph has none of the "
                        "name that was looked up, or none was");
    if (handle.generation != graph->generation || handle.index >= graph->value_count)
        return tni_fail(err, TN_E_ARG, "tn_graph_value_info: not a value of this graph");
    const tni_value *value = &graph->values[handle.index];
    tn_value_info info = {
        .size = sizeof info,
        .dtype = value->dtype,
        .rank = value->rank,
        .is_view = value->source == TNI_VIEW || value->base != TNP_NONE,
        .name = value->name,
    };
    memcpy(info.dims, value->dims, sizeof info.dims);
    memcpy(info.strides, value->strides, sizeof info.strides);
    info.bytes = tn_dtype_bytes(value->dtype, value->dims[0]);
    for (uint32_t i = 1; i < TN_MAX_DIMS; i++)
        info.bytes *= (uint64_t)value->dims[i];
    tni_give_struct(out_info, &info, sizeof info);
    return TN_OK;
}

tn_value tn_graph_find(const tn_graph *graph, const char *name)
{
    if (!graph || !name)
        return TN_NO_VALUE;
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (strcmp(graph->outputs[i].name, name) == 0)
            return tni_graph_handle(graph, graph->outputs[i].value);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        tni_source source = graph->values[i].source;
        if ((source == TNI_INPUT || source == TNI_STATE) &&
            strcmp(graph->values[i].name, name) == 0)
            return tni_graph_handle(graph, i);
    }
    return TN_NO_VALUE;
}
