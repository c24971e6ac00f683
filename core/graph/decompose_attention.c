// decompose_attention.c: scores = k q, softmax over the slots, products with v.
//
//   q {D, H, T} ─► {D, T, H} ─┐
//   k {D, G, S} ─► {D, S, G} ─┴ matmul ─► {S, T, H} ─ softcap, mask, softmax ─┐
//   v {E, G, S} ─► {S, E, G} ─────────────────────────────────────────────────┴ matmul
//                                                             ─► {E, T, H} ─► {E, H, T}
//
// H / G neighbouring heads share a matrix of k and v, as matmul does it. What a query does not see
// has the mask log(0), -inf: whether slot s is seen is 0 or 1, by numbers that F32 has exactly
// below position 2^24. One mask serves all nodes that have it in common.
#include "base/alloc.h"
#include "base/dtype.h"
#include "graph/decompose_internal.h"

static const uint32_t heads_last[] = { 0, 2, 1 }, slots_first[] = { 2, 0, 1 };

typedef struct mask_key {
    int64_t slots;
    tnp_op op;
    uint32_t position, extent, window, flags, reserved;
} mask_key;

// {S}: the numbers of the slots less 1, of which as many count as are filled.
static tn_value make_slots(const tni_expansion *e, int64_t count, uint32_t extent)
{
    const tn_allocator *a = &e->graph->arena.allocator;
    float *numbers = tni_alloc_zeroed(a, (size_t)count, sizeof *numbers);
    if (!numbers)
        return tni_graph_fail_memory(e->graph);
    for (int64_t s = 0; s < count; s++)
        numbers[s] = (float)(s - 1);
    tn_value slots = tni_decompose_constant(e, "slots", numbers, (uint32_t)count);
    tni_free(a, numbers);
    return extent ? tni_decompose_limit(e, "filled slots", slots, 0, extent - 1) : slots;
}

// 0 where query t sees slot s, else -inf: {S, T}.
static tn_value make_sight(const tni_expansion *e, const mask_key *key)
{
    tn_value position = tni_decompose_convert_step(e, "position", e->in[3], TN_DTYPE_F32);
    position = tni_decompose_permute_row(e, "position of queries", position, 1);
    tni_value p = tni_decompose_value(e, position);
    p.dims[0] = key->slots;
    position = tni_decompose_broadcast(e, "position by slot", position, p.rank, p.dims);
    // 1 for a query's own slot, 2 for the one before
    tn_value age = tni_decompose_step(e, TNP_OP_SUB, "age", position,
                                      make_slots(e, key->slots, key->extent), NULL);
    tn_value seen = TN_NO_VALUE;
    if (key->flags & TNP_ATTENTION_CAUSAL)
        seen = tni_decompose_clamp_step(e, "not later", age, 0, 1);
    if (key->window) {
        tn_value left = tni_decompose_scale_step(e, "window left", age, -1,
                                                 (float)((double)key->window + 1));
        left = tni_decompose_clamp_step(e, "in the window", left, 0, 1);
        seen = key->flags ? tni_decompose_step(e, TNP_OP_MUL, "seen", seen, left, NULL) : left;
    }
    return tni_decompose_step(e, TNP_OP_LOG, "sight", seen, TN_NO_VALUE, NULL);
}

// TN_NO_VALUE when all is seen and no mask is given.
static tn_value make_mask(const tni_expansion *e)
{
    const tnp_attention_attr *attr = e->attr;
    tni_value k = tni_decompose_value(e, e->in[1]);
    mask_key key = { .op = e->op,
                     .slots = k.dims[2],
                     .position = e->in[3].index,
                     .extent = k.extent[2],
                     .window = attr->window,
                     .flags = attr->flags & TNP_ATTENTION_CAUSAL };
    bool has_mask = !tn_value_is_none(e->in[4]);
    tn_value mask = has_mask ? tni_decompose_operand(e, 4) : TN_NO_VALUE;
    if (!key.flags && !key.window)
        return mask;
    const tn_value *made = tni_decompose_find_shared(e, &key, sizeof key);
    tn_value sight = made ? *made : make_sight(e, &key);
    bool is_steady = tni_decompose_is_steady(e, e->in[3]) &&
                     (!key.extent ||
                      tni_decompose_is_steady(e, tni_graph_handle(e->graph, key.extent - 1)));
    if (!made && is_steady && !tn_value_is_none(sight))
        tni_decompose_keep_shared(e, &key, sizeof key, sight, TN_NO_VALUE);
    return has_mask ? tni_decompose_step(e, TNP_OP_ADD, "mask", sight, mask, NULL) : sight;
}

// softmax with one more score a head, a sink, that takes a share and gives no value.
static tn_value softmax_with_sinks(const tni_expansion *e, tn_value scores, tn_value mask)
{
    if (!tn_value_is_none(mask))
        scores = tni_decompose_step(e, TNP_OP_ADD, "masked", scores, mask, NULL);
    tn_value sum, sinks = tni_decompose_permute_row(e, "sink of heads", e->in[5], 2);
    tn_value exp = tni_decompose_exps(e, scores, sinks, &sum);
    return tni_decompose_step(e, TNP_OP_DIV, "shares", exp, sum, NULL);
}

static tn_value make_shares(const tni_expansion *e, tn_value scores)
{
    const tnp_attention_attr *attr = e->attr;
    bool has_sinks = !tn_value_is_none(e->in[5]);
    float scale = attr->scale;
    if ((attr->softcap > 0 || has_sinks) && scale != 1) {
        scores = tni_decompose_scale_step(e, "scaled", scores, scale, 0);
        scale = 1;
    }
    if (attr->softcap > 0)
        scores = tni_decompose_step(e, TNP_OP_SOFTCAP, "capped", scores, TN_NO_VALUE,
                                    &(tnp_softcap_attr){ sizeof(tnp_softcap_attr), attr->softcap });
    tn_value mask = make_mask(e);
    return has_sinks ? softmax_with_sinks(e, scores, mask)
                     : tni_decompose_step(
                           e, TNP_OP_SOFTMAX, "softmax", scores, mask,
                           &(tnp_softmax_attr){ .size = sizeof(tnp_softmax_attr), .scale = scale });
}

// {S, E, G}, contiguous: matmul sums along dims[0], and blocks lie along a head.
static tn_value make_values(const tni_expansion *e)
{
    tn_value v = e->in[2];
    tn_dtype dtype = tni_decompose_value(e, v).dtype;
    if (tni_dtype_find(dtype)->block_elements > 1) {
        v = tni_decompose_convert_step(e, "decoded values", v, TN_DTYPE_F32);
        dtype = TN_DTYPE_F32;
    }
    return tni_decompose_convert_step(
        e, "values", tni_decompose_permute(e, "values by slot", v, 3, slots_first), dtype);
}

// Lengths of the mask, sinks or positions that are others than those of slots and tokens say
// nothing of the result, while the steps would take them over.
bool tni_decompose_attention_has_lengths(const tn_graph *graph, const tni_node *node)
{
    if (tni_decompose_has_extent(graph, node, 5, 0) ||
        tni_decompose_has_extent(graph, node, 3, 1) || tni_decompose_has_extent(graph, node, 4, 2))
        return false;
    if (!tni_decompose_has_extent(graph, node, 4, 0))
        return true;
    const tni_value *mask = &graph->values[node->inputs[4]];
    uint32_t slots = graph->values[node->inputs[1]].extent[2],
             tokens = graph->values[node->output].extent[2];
    return (!mask->extent[0] || mask->extent[0] == slots) &&
           (!mask->extent[1] || mask->extent[1] == tokens);
}

// {D, T, H}; as many tokens count as there are positions.
static tn_value make_queries(const tni_expansion *e)
{
    tn_value q = tni_decompose_permute(e, "queries", tni_decompose_operand(e, 0), 3, heads_last);
    uint32_t extent = tni_decompose_value(e, e->in[3]).extent[0];
    return extent && !tni_decompose_value(e, q).extent[1]
               ? tni_decompose_limit(e, "queries that count", q, 1, extent - 1)
               : q;
}

tn_value tni_decompose_attention(const tni_expansion *e)
{
    tn_value q = make_queries(e);
    tn_value k = tni_decompose_permute(e, "keys", e->in[1], 3, heads_last);
    tn_value scores = tni_decompose_step(e, TNP_OP_MATMUL, "scores", q, k, NULL);
    if (e->graph->first_error.status != TN_OK)
        return TN_NO_VALUE;
    tn_value shares = make_shares(e, scores);
    tn_value weighted = tni_decompose_step(e, TNP_OP_MATMUL, "weighted", shares, make_values(e),
                                           NULL);
    return tni_decompose_last(
        e, TNP_OP_CONVERT, tni_decompose_permute(e, "by token", weighted, 3, heads_last),
        TN_NO_VALUE, &(tnp_convert_attr){ sizeof(tnp_convert_attr), TN_DTYPE_F32 });
}
