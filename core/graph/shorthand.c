// shorthand.c: calls that say tn_graph_op in one line.
#include <string.h>

#include "graph/graph_internal.h"

static tn_value one(tn_graph *graph, tnp_op op, tn_value x, const void *attr)
{
    return tn_graph_op(graph, op, NULL, &x, 1, attr);
}

static tn_value two(tn_graph *graph, tnp_op op, tn_value a, tn_value b, const void *attr)
{
    return tn_graph_op(graph, op, NULL, (tn_value[]){ a, b }, 2, attr);
}

tn_value tn_graph_add(tn_graph *graph, tn_value a, tn_value b)
{
    return two(graph, TNP_OP_ADD, a, b, NULL);
}

tn_value tn_graph_mul(tn_graph *graph, tn_value a, tn_value b)
{
    return two(graph, TNP_OP_MUL, a, b, NULL);
}

tn_value tn_graph_swiglu(tn_graph *graph, tn_value gate, tn_value up)
{
    return two(graph, TNP_OP_SWIGLU, gate, up, NULL);
}

tn_value tn_graph_scale(tn_graph *graph, tn_value x, float scale)
{
    return one(graph, TNP_OP_SCALE, x,
               &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr), .scale = scale });
}

tn_value tn_graph_rms_norm(tn_graph *graph, tn_value x, tn_value weight, float eps)
{
    return two(graph, TNP_OP_RMS_NORM, x, weight,
               &(tnp_norm_attr){ .size = sizeof(tnp_norm_attr), .eps = eps });
}

tn_value tn_graph_matmul(tn_graph *graph, tn_value x, tn_value weight)
{
    return two(graph, TNP_OP_MATMUL, x, weight, NULL);
}

tn_value tn_graph_rope(tn_graph *graph, tn_value x, tn_value position, tn_value factors,
                       const tnp_rope_attr *attr)
{
    return tn_graph_op(graph, TNP_OP_ROPE, NULL, (tn_value[]){ x, position, factors }, 3, attr);
}

tn_value tn_graph_attention(tn_graph *graph, tn_value q, tn_value k, tn_value v, tn_value position,
                            tn_value mask, const tnp_attention_attr *attr)
{
    return tn_graph_op(graph, TNP_OP_ATTENTION, NULL, (tn_value[]){ q, k, v, position, mask }, 5,
                       attr);
}

tn_value tn_graph_get_rows(tn_graph *graph, tn_value table, tn_value index)
{
    return two(graph, TNP_OP_GET_ROWS, table, index, NULL);
}

tn_value tn_graph_set_rows(tn_graph *graph, tn_value table, tn_value rows, tn_value index)
{
    return tn_graph_op(graph, TNP_OP_SET_ROWS, NULL, (tn_value[]){ table, rows, index }, 3, NULL);
}

tn_value tn_graph_convert(tn_graph *graph, tn_value x, tn_dtype dtype)
{
    return one(graph, TNP_OP_CONVERT, x, &(tnp_convert_attr){ sizeof(tnp_convert_attr), dtype });
}

static tn_value without(tn_graph *graph, const char *what)
{
    return tni_graph_is_open(graph) ? tni_graph_fail(graph, TN_E_ARG, "a view: %s is NULL", what)
                                    : TN_NO_VALUE;
}

static tn_value dims_view(tn_graph *graph, tnp_op op, tn_value x, uint32_t rank,
                          const int64_t *dims)
{
    if (rank && !dims)
        return without(graph, "dims");
    tnp_dims_attr attr = { .size = sizeof attr, .rank = rank };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        attr.dims[i] = i < rank ? dims[i] : 1;
    return one(graph, op, x, &attr);
}

tn_value tn_graph_reshape(tn_graph *graph, tn_value x, uint32_t rank, const int64_t *dims)
{
    return dims_view(graph, TNP_OP_RESHAPE, x, rank, dims);
}

tn_value tn_graph_broadcast(tn_graph *graph, tn_value x, uint32_t rank, const int64_t *dims)
{
    return dims_view(graph, TNP_OP_BROADCAST, x, rank, dims);
}

tn_value tn_graph_permute(tn_graph *graph, tn_value x, uint32_t rank, const uint32_t *axes)
{
    if (rank && !axes)
        return without(graph, "axes");
    tnp_permute_attr attr = { .size = sizeof attr, .rank = rank };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        attr.axes[i] = i < rank ? axes[i] : i;
    return one(graph, TNP_OP_PERMUTE, x, &attr);
}

tn_value tn_graph_slice(tn_graph *graph, tn_value x, uint32_t axis, int64_t begin, int64_t count)
{
    if (!tni_graph_is_open(graph))
        return TN_NO_VALUE;
    const tni_value *value = tni_graph_take(graph, x, "the operand of tn_graph_slice");
    if (!value)
        return TN_NO_VALUE;
    if (axis >= TNP_MAX_DIMS)
        return tni_graph_fail(graph, TN_E_ARG, "slice of '%s': axis %u of at most %d", value->name,
                              axis, TNP_MAX_DIMS);
    tnp_slice_attr attr = { .size = sizeof attr, .rank = value->rank };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++) {
        attr.begin[i] = i == axis ? begin : 0;
        attr.count[i] = i == axis ? count : value->dims[i];
        attr.step[i] = 1;
    }
    return one(graph, TNP_OP_SLICE, x, &attr);
}

tn_value tn_graph_limit(tn_graph *graph, tn_value x, uint32_t axis, tn_value length)
{
    return two(graph, TNP_OP_LIMIT, x, length, &(tnp_axis_attr){ sizeof(tnp_axis_attr), axis });
}
