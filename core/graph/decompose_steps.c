// decompose_steps.c: the words that the decompositions are written in.
#include <string.h>

#include "base/error.h"
#include "graph/decompose_internal.h"

bool tni_decompose_has_extent(const tn_graph *graph, const tni_node *node, uint32_t i,
                              uint32_t from)
{
    uint32_t used = 0;
    bool is_there = i < node->input_count && node->inputs[i] != TNP_NONE;
    for (uint32_t d = from; d < TN_MAX_DIMS && is_there; d++)
        used |= graph->values[node->inputs[i]].extent[d];
    return used != 0;
}

tni_value tni_decompose_value(const tni_expansion *e, tn_value value)
{
    return value.index < e->graph->value_count ? e->graph->values[value.index] : (tni_value){ 0 };
}

const char *tni_decompose_step_name(const tni_expansion *e, const char *role)
{
    char name[256];
    tni_format_text(name, sizeof name, "%s/%s", e->path, role);
    const char *kept = tni_arena_take_text(&e->graph->arena, name);
    if (!kept)
        tni_graph_fail_memory(e->graph);
    return kept;
}

tn_value tni_decompose_operand(const tni_expansion *e, uint32_t i)
{
    static const char *const roles[] = { "operand 0", "operand 1", "operand 2",
                                         "operand 3", "operand 4", "operand 5" };
    bool is_half = tni_decompose_value(e, e->in[i]).dtype == TN_DTYPE_F16;
    return is_half ? tni_decompose_convert_step(e, roles[i], e->in[i], TN_DTYPE_F32) : e->in[i];
}

tn_value tni_decompose_last(const tni_expansion *e, tnp_op op, tn_value a, tn_value b,
                            const void *attr)
{
    const tnp_convert_attr conversion = { sizeof conversion, e->dtype };
    if (op != TNP_OP_CONVERT && tni_decompose_value(e, a).dtype != e->dtype) {
        a = tni_decompose_step(e, op, "result", a, b, attr);
        b = TN_NO_VALUE;
        op = TNP_OP_CONVERT;
        attr = &conversion;
    }
    tn_value in[] = { a, b };
    return tni_graph_op_into(e->graph, op, e->path, in, tn_value_is_none(b) ? 1 : 2, attr, e->into);
}

tn_value tni_decompose_scale_step(const tni_expansion *e, const char *role, tn_value x,
                                  float factor, float bias)
{
    return tni_decompose_step(
        e, TNP_OP_SCALE, role, x, TN_NO_VALUE,
        &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr), .scale = factor, .bias = bias });
}

tn_value tni_decompose_row_step(const tni_expansion *e, tnp_op op, const char *role, tn_value x)
{
    return tni_decompose_step(e, op, role, x, TN_NO_VALUE,
                              &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
}

tn_value tni_decompose_convert_step(const tni_expansion *e, const char *role, tn_value x,
                                    tn_dtype dtype)
{
    return tni_decompose_step(e, TNP_OP_CONVERT, role, x, TN_NO_VALUE,
                              &(tnp_convert_attr){ sizeof(tnp_convert_attr), dtype });
}

tn_value tni_decompose_clamp_step(const tni_expansion *e, const char *role, tn_value x, float min,
                                  float max)
{
    return tni_decompose_step(
        e, TNP_OP_CLAMP, role, x, TN_NO_VALUE,
        &(tnp_clamp_attr){ .size = sizeof(tnp_clamp_attr), .min = min, .max = max });
}

tn_value tni_decompose_constant(const tni_expansion *e, const char *role, const float *values,
                                uint32_t count)
{
    const char *name = tni_decompose_step_name(e, role);
    const float *kept = tni_arena_copy(&e->graph->arena, values, count, sizeof *values);
    if (!name)
        return TN_NO_VALUE;
    if (!kept)
        return tni_graph_fail_memory(e->graph);
    return tn_graph_weight(e->graph, name, TN_DTYPE_F32, 1, (int64_t[]){ count }, kept,
                           (uint64_t)count * sizeof *kept);
}

// ------------------------------------------------------------------------------------------- views

static tn_value view(const tni_expansion *e, tnp_op op, const char *role, tn_value x,
                     const void *attr)
{
    const char *name = tni_decompose_step_name(e, role);
    return name ? tn_graph_op(e->graph, op, name, &x, 1, attr) : TN_NO_VALUE;
}

tn_value tni_decompose_permute(const tni_expansion *e, const char *role, tn_value x, uint32_t rank,
                               const uint32_t *axes)
{
    tnp_permute_attr attr = { .size = sizeof attr, .rank = rank };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        attr.axes[i] = i < rank ? axes[i] : i;
    return view(e, TNP_OP_PERMUTE, role, x, &attr);
}

static tn_value with_dims(const tni_expansion *e, tnp_op op, const char *role, tn_value x,
                          uint32_t rank, const int64_t *dims)
{
    tnp_dims_attr attr = { .size = sizeof attr, .rank = rank };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        attr.dims[i] = i < rank ? dims[i] : 1;
    return view(e, op, role, x, &attr);
}

tn_value tni_decompose_reshape(const tni_expansion *e, const char *role, tn_value x, uint32_t rank,
                               const int64_t *dims)
{
    return with_dims(e, TNP_OP_RESHAPE, role, x, rank, dims);
}

tn_value tni_decompose_broadcast(const tni_expansion *e, const char *role, tn_value x,
                                 uint32_t rank, const int64_t *dims)
{
    return with_dims(e, TNP_OP_BROADCAST, role, x, rank, dims);
}

tn_value tni_decompose_permute_row(const tni_expansion *e, const char *role, tn_value x,
                                   uint32_t to)
{
    uint32_t rank = tni_decompose_value(e, x).rank, axes[TNP_MAX_DIMS];
    rank = rank > to + 1 ? rank : to + 1;
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        axes[i] = i < to ? i + 1 : i == to ? 0 : i;
    return tni_decompose_permute(e, role, x, rank, axes);
}

tn_value tni_decompose_limit(const tni_expansion *e, const char *role, tn_value x, uint32_t axis,
                             uint32_t length)
{
    const char *name = tni_decompose_step_name(e, role);
    tn_value in[] = { x, tni_graph_handle(e->graph, length) };
    return name ? tn_graph_op(e->graph, TNP_OP_LIMIT, name, in, 2,
                              &(tnp_axis_attr){ sizeof(tnp_axis_attr), axis })
                : TN_NO_VALUE;
}

tn_value tni_decompose_slice(const tni_expansion *e, const char *role, tn_value x, int64_t begin,
                             int64_t count, int64_t step)
{
    tni_value value = tni_decompose_value(e, x);
    tnp_slice_attr attr = { .size = sizeof attr, .rank = TNP_MAX_DIMS };
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++) {
        attr.begin[i] = i ? 0 : begin;
        attr.count[i] = i ? value.dims[i] : count;
        attr.step[i] = i ? 1 : step;
    }
    return view(e, TNP_OP_SLICE, role, x, &attr);
}

// ------------------------------------------------------------------------------------------ shared

struct tni_shared {
    tni_shared *next;
    const void *key;
    size_t bytes;
    tn_value values[2];
};

const tn_value *tni_decompose_find_shared(const tni_expansion *e, const void *key, size_t bytes)
{
    for (const tni_shared *s = *e->shared; s; s = s->next)
        if (s->bytes == bytes && memcmp(s->key, key, bytes) == 0)
            return s->values;
    return NULL;
}

void tni_decompose_keep_shared(const tni_expansion *e, const void *key, size_t bytes,
                               tn_value first, tn_value second)
{
    tni_shared *s = tni_arena_take(&e->graph->arena, sizeof *s);
    const void *copy = tni_arena_copy(&e->graph->arena, key, bytes, 1);
    if (!s || !copy) {
        tni_graph_fail_memory(e->graph);
        return;
    }
    *s = (tni_shared){ *e->shared, copy, bytes, { first, second } };
    *e->shared = s;
}

static bool is_leaf_of_a_run(const tn_graph *graph, uint32_t index)
{
    tni_source source = tni_storage_source(graph, graph->values[index].storage);
    return source == TNI_INPUT || source == TNI_WEIGHT;
}

bool tni_decompose_is_steady(const tni_expansion *e, tn_value value)
{
    tni_value v = tni_decompose_value(e, value);
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
        if (v.extent[d] && !is_leaf_of_a_run(e->graph, v.extent[d] - 1))
            return false;
    return is_leaf_of_a_run(e->graph, value.index);
}
