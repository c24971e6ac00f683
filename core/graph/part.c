// part.c: a part of a weight as a constant of its own, and its bytes.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "graph/graph_internal.h"

// The weight that a part is taken of; NULL and an error when it cannot be.
static const tni_value *take_weight(tn_graph *graph, tn_value handle, uint32_t axis, int64_t begin,
                                    int64_t count)
{
    const tni_value *w = tni_graph_take(graph, handle, "the operand of tn_graph_weight_part");
    if (!w)
        return NULL;
    int64_t block = axis == 0 ? tni_dtype_find(w->dtype)->block_elements : 1;
    if (w->source != TNI_WEIGHT)
        tni_graph_fail(graph, TN_E_ARG, "part of '%s': it is no weight", w->name);
    else if (w->run_bytes)
        tni_graph_fail(graph, TN_E_ARG, "part of '%s': it does not lie in one piece", w->name);
    else if (axis >= TN_MAX_DIMS || begin < 0 || count < 0 || begin > w->dims[axis] ||
             count > w->dims[axis] - begin)
        tni_graph_fail(graph, TN_E_SHAPE,
                       "part of '%s': %" PRId64 " elements from %" PRId64
                       " leave dim %u of %" PRId64,
                       w->name, count, begin, axis, axis < TN_MAX_DIMS ? w->dims[axis] : 0);
    else if (begin % block || count % block)
        tni_graph_fail(graph, TN_E_SHAPE,
                       "part of '%s': dim 0 of %s is cut at multiples of %" PRId64, w->name,
                       tn_dtype_name(w->dtype), block);
    else
        return w;
    return NULL;
}

tn_value tn_graph_weight_part(tn_graph *graph, tn_value weight, uint32_t axis, int64_t begin,
                              int64_t count)
{
    const tni_value *whole = tni_graph_is_open(graph)
                                 ? take_weight(graph, weight, axis, begin, count)
                                 : NULL;
    if (!whole)
        return TN_NO_VALUE;
    int64_t block = axis == 0 ? tni_dtype_find(whole->dtype)->block_elements : 1;
    uint64_t step = (uint64_t)whole->strides[axis], bytes;
    tni_value part = *whole;
    part.dims[axis] = count;
    part.rank = whole->rank > axis + 1 ? whole->rank : axis + 1;
    if (!tni_value_lay_out(graph, &part, whole->name, &bytes))
        return TN_NO_VALUE;
    if (bytes) {
        part.data = (const unsigned char *)whole->data + (uint64_t)(begin / block) * step;
        part.run_bytes = (uint64_t)(count / block) * step;
        part.run_stride = (uint64_t)(whole->dims[axis] / block) * step;
        if (part.run_bytes == bytes || part.run_bytes == part.run_stride)
            part.run_bytes = part.run_stride = 0;
    }
    part.storage = tni_graph_add_storage(graph, graph->value_count, bytes);
    uint32_t index = part.storage == UINT32_MAX ? UINT32_MAX : tni_graph_add_value(graph, &part);
    return index == UINT32_MAX ? TN_NO_VALUE : tni_graph_handle(graph, index);
}

void tni_weight_gather(const tni_value *weight, uint64_t from, uint64_t bytes, void *to)
{
    const unsigned char *data = weight->data;
    unsigned char *at = to;
    if (!weight->run_bytes) {
        memcpy(to, data + from, bytes);
        return;
    }
    for (uint64_t piece; bytes; from += piece, at += piece, bytes -= piece) {
        uint64_t within = from % weight->run_bytes, left = weight->run_bytes - within;
        piece = left < bytes ? left : bytes;
        memcpy(at, data + from / weight->run_bytes * weight->run_stride + within, piece);
    }
}
