// decompose.c: the table of composite ops, and the new graph: the nodes of the old one in their
// order, each as it is or as the steps of its decomposition.
#include "graph/decompose.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "graph/decompose_internal.h"

// level: a decomposition has steps of lower levels only, so steps of steps are at most three levels
// deep: geglu has gelu, which has sqr, which has mul.
static const struct {
    tnp_op op;
    uint32_t level;
    tni_decomposition *decompose;
    tni_decomposable *is_possible;
} composites[] = {
    { TNP_OP_NEG, 1, tni_decompose_neg, NULL },
    { TNP_OP_SQR, 1, tni_decompose_sqr, NULL },
    { TNP_OP_RELU, 1, tni_decompose_relu, NULL },
    { TNP_OP_RSQRT, 1, tni_decompose_rsqrt, NULL },
    { TNP_OP_SIGMOID, 1, tni_decompose_sigmoid, NULL },
    { TNP_OP_SILU, 1, tni_decompose_silu, NULL },
    { TNP_OP_GELU_QUICK, 1, tni_decompose_gelu_quick, NULL },
    { TNP_OP_SOFTCAP, 1, tni_decompose_softcap, NULL },
    { TNP_OP_MEAN, 1, tni_decompose_mean, tni_decompose_mean_is_whole },
    { TNP_OP_TOP_K, 1, tni_decompose_top_k, NULL },
    { TNP_OP_SOFTMAX, 1, tni_decompose_softmax, tni_decompose_softmax_has_slopes },
    { TNP_OP_ROPE, 1, tni_decompose_rope, tni_decompose_rope_has_constants },
    { TNP_OP_GELU, 2, tni_decompose_gelu, NULL },
    { TNP_OP_SWIGLU, 2, tni_decompose_gated, NULL },
    { TNP_OP_REGLU, 2, tni_decompose_gated, NULL },
    { TNP_OP_RMS_NORM, 2, tni_decompose_rms_norm, tni_decompose_norm_is_whole },
    { TNP_OP_L2_NORM, 2, tni_decompose_l2_norm, NULL },
    { TNP_OP_LAYER_NORM, 2, tni_decompose_layer_norm, tni_decompose_norm_is_whole },
    { TNP_OP_ATTENTION, 2, tni_decompose_attention, tni_decompose_attention_has_lengths },
    { TNP_OP_GEGLU, 3, tni_decompose_gated, NULL },
    { TNP_OP_GROUP_NORM, 3, tni_decompose_group_norm, tni_decompose_norm_is_whole },
};
_Static_assert(TN_COUNT_OF(composites) < 64, "a tni_composites has a bit for each");

static uint32_t find(tnp_op op)
{
    uint32_t i = 0;
    while (i < TN_COUNT_OF(composites) && composites[i].op != op)
        i++;
    return i;
}

tni_composites tni_composites_of(const tn_graph *graph, const tni_node *node)
{
    uint32_t i = find(node->op);
    bool is_possible = i < TN_COUNT_OF(composites) &&
                       (!composites[i].is_possible || composites[i].is_possible(graph, node));
    return is_possible ? (tni_composites)1 << i : 0;
}

// ------------------------------------------------------------------------------------------- steps

static tn_value expand(const tni_expansion *outer, uint32_t composite, const char *path,
                       uint32_t into, tn_dtype dtype, const tn_value *in, uint32_t input_count,
                       const void *attr)
{
    tni_expansion e = *outer;
    e.level = composites[composite].level;
    e.path = path;
    e.into = into;
    e.dtype = dtype;
    e.attr = attr;
    e.op = composites[composite].op;
    e.input_count = input_count;
    for (uint32_t i = 0; i < TNI_MAX_INPUTS; i++)
        e.in[i] = i < input_count ? in[i] : TN_NO_VALUE;
    return composites[composite].decompose(&e);
}

// Steps are on F32, so that is what they result in.
tn_value tni_decompose_step(const tni_expansion *e, tnp_op op, const char *role, tn_value a,
                            tn_value b, const void *attr)
{
    const char *name = tni_decompose_step_name(e, role);
    if (!name)
        return TN_NO_VALUE;
    tn_value in[] = { a, b };
    uint32_t count = tn_value_is_none(b) ? 1 : 2, i = find(op);
    bool is_left = i == TN_COUNT_OF(composites) || !(e->ops & (tni_composites)1 << i) ||
                   composites[i].level >= e->level;
    return is_left ? tn_graph_op(e->graph, op, name, in, count, attr)
                   : expand(e, i, name, TNP_NONE, TN_DTYPE_F32, in, count, attr);
}

// --------------------------------------------------------------------------------------- the graph

static bool copy_array(tn_graph *graph, void *array, uint32_t *capacity, const void *from,
                       uint32_t count, size_t bytes)
{
    void **at = array;
    if (!tni_grow(&graph->arena.allocator, array, capacity, count, bytes))
        return false;
    if (count)
        memcpy(*at, from, count * bytes);
    return true;
}

// All but the nodes: values wait for who makes them.
static bool copy_values(const tn_graph *from, tn_graph *to)
{
    to->generation = from->generation;
    if (!copy_array(to, &to->values, &to->value_capacity, from->values, from->value_count,
                    sizeof *from->values) ||
        !copy_array(to, &to->storages, &to->storage_capacity, from->storages, from->storage_count,
                    sizeof *from->storages) ||
        !copy_array(to, &to->outputs, &to->output_capacity, from->outputs, from->output_count,
                    sizeof *from->outputs))
        return false;
    to->value_count = from->value_count;
    to->storage_count = from->storage_count;
    to->output_count = from->output_count;
    for (uint32_t v = 0; v < to->value_count; v++)
        to->values[v].node = TNP_NONE;
    return true;
}

static bool keep_node(tn_graph *graph, const tni_node *node)
{
    if (!tni_grow(&graph->arena.allocator, &graph->nodes, &graph->node_capacity,
                  graph->node_count + 1, sizeof *node))
        return false;
    graph->values[node->output].node = graph->node_count;
    graph->nodes[graph->node_count++] = *node;
    return true;
}

static void expand_node(tn_graph *graph, tni_shared **shared, const tni_node *node,
                        tni_composites ops)
{
    tni_expansion e = { .graph = graph, .shared = shared, .ops = ops };
    tn_value in[TNI_MAX_INPUTS];
    for (uint32_t i = 0; i < node->input_count; i++)
        in[i] = node->inputs[i] == TNP_NONE ? TN_NO_VALUE
                                            : tni_graph_handle(graph, node->inputs[i]);
    expand(&e, find(node->op), node->name, node->output, graph->values[node->output].dtype, in,
           node->input_count, node->attr);
}

static bool make_nodes(const tn_graph *from, const tni_composites *into, tn_graph *to)
{
    tni_shared *shared = NULL;
    for (uint32_t n = 0; n < from->node_count; n++) {
        uint32_t first = to->node_count;
        if (into[n] & tni_composites_of(from, &from->nodes[n]))
            expand_node(to, &shared, &from->nodes[n], into[n]);
        else if (!keep_node(to, &from->nodes[n]))
            return false;
        if (to->first_error.status != TN_OK)
            return true;   // finish tells
        for (uint32_t i = first; i < to->node_count; i++) {
            to->nodes[i].origin = n;
            to->nodes[i].mark = from->nodes[n].mark;
        }
    }
    return true;
}

tn_status tni_graph_decompose(const tn_graph *graph, const tni_composites *into,
                              const tn_allocator *allocator, tn_graph **out_graph, tn_error *err)
{
    tn_graph *made;
    tn_error own;   // finish keeps what it says
    *out_graph = NULL;
    tn_status status = tn_graph_create(allocator, &made, err);
    if (status != TN_OK)
        return status;
    if (copy_values(graph, made) && make_nodes(graph, into, made))
        status = tn_graph_finish(made, &own);
    else
        status = tni_fail_memory(&own, "a decomposed graph",
                                 graph->value_count * sizeof *graph->values);
    if (status != TN_OK) {
        tn_graph_destroy(made);
        return tni_fail(err, status, "%s", own.text);
    }
    *out_graph = made;
    return TN_OK;
}
