// build_attention.c: heads, their KV cache, and what they see of it; whole, or divided by key heads
// with their query heads.
#include "build.h"

#include <inttypes.h>
#include <stdio.h>

// x {D * heads, T} as {D, heads, T}, each head through its norm, where the model has one, and
// turned by position.
static tn_value build_heads(tlm_builder *b, tn_value x, int64_t heads, tlm_slot norm,
                            uint32_t layer)
{
    const tlm_hparams *p = b->variant->hparams;
    bool is_local = p->is_local[layer];
    int64_t dims[] = { p->head_dim, heads, b->variant->tokens };
    tnp_rope_attr attr = {
        .size = sizeof attr,
        .layout = p->rope_layout,
        .rot_dims = (uint32_t)p->rot_dims,
        .base = is_local ? p->local_rope_base : p->rope_base,
        .scale = is_local ? 1 : p->rope_scale,
        .yarn_extrapolation = p->yarn_extrapolation,
        .yarn_attention = p->yarn_attention,
        .yarn_beta_fast = p->yarn_beta_fast,
        .yarn_beta_slow = p->yarn_beta_slow,
        .yarn_context = p->yarn_context,
    };
    x = tn_graph_reshape(b->graph, x, 3, dims);
    if (tlm_build_has(b, norm, layer))
        x = tlm_build_rms_norm(b, x, norm, layer);
    return tn_graph_rope(b->graph, x, b->position, b->rope_factors, &attr);
}

// Writes the rows of this run to a state of the layer, and gives all rows up to kv_len: {D, heads,
// S}.
static tn_value write_cache(tlm_builder *b, const char *letter, uint32_t layer, tn_value rows,
                            int64_t heads)
{
    const tlm_variant *v = b->variant;
    char name[TLM_NODE_NAME_BYTES];
    tlm_build_name(b, name, "%s.%" PRIu32, letter, layer);
    int64_t width = v->hparams->head_dim * heads;
    int64_t row_dims[] = { width, v->tokens };                            // {D * heads, T}
    int64_t state_dims[] = { width, v->capacity };                        // {D * heads, S}
    int64_t view_dims[] = { v->hparams->head_dim, heads, v->capacity };   // {D, heads, S}
    tn_value state = tn_graph_state(b->graph, name, v->kv_type, 2, state_dims);
    tn_value written = tn_graph_set_rows(
        b->graph, state, tn_graph_reshape(b->graph, rows, 2, row_dims), b->position);
    return tn_graph_limit(b->graph, tn_graph_reshape(b->graph, written, 3, view_dims), 2,
                          b->kv_len);
}

// q, k and v {D * heads, T}, as the matrices give them, of key heads and their query heads: written
// to states, attended; {D * query heads, T}.
static tn_value attend(tlm_builder *b, uint32_t layer, tn_value q, tn_value k, tn_value v,
                       int64_t kv_heads)
{
    const tlm_hparams *p = b->variant->hparams;
    int64_t heads = p->heads / p->kv_heads * kv_heads;
    char name[TLM_NODE_NAME_BYTES];
    tlm_build_name(b, name, "blk.%" PRIu32 ".attn", layer);
    tnp_attention_attr attr = {
        .size = sizeof attr,
        .flags = TNP_ATTENTION_CAUSAL,
        .scale = p->attention_scale,
        .window = p->is_local[layer] ? (uint32_t)p->window : 0,
    };
    q = build_heads(b, q, heads, TLM_ATTN_Q_NORM, layer);
    k = build_heads(b, k, kv_heads, TLM_ATTN_K_NORM, layer);
    tn_value inputs[] = { q, write_cache(b, "k", layer, k, kv_heads), TN_NO_VALUE, b->position };
    inputs[2] = write_cache(b, "v", layer, v, kv_heads);
    tn_value out = tn_graph_op(b->graph, TNP_OP_ATTENTION, name, inputs, 4, &attr);
    int64_t dims[] = { p->head_dim * heads, b->variant->tokens };
    return tn_graph_reshape(b->graph, out, 2, dims);
}

// What some key heads and their query heads add to the result, {E, T}.
static tn_value build_part(tlm_builder *b, tn_value x, uint32_t layer, tlm_range kv_heads)
{
    const tlm_hparams *p = b->variant->hparams;
    int64_t each = p->head_dim, group = p->heads / p->kv_heads * each;
    tlm_range kv_rows = { kv_heads.begin * each, kv_heads.count * each },
              rows = { kv_heads.begin * group, kv_heads.count * group };
    tn_value q = tlm_build_linear_rows(b, x, TLM_ATTN_Q, TLM_ATTN_Q_BIAS, layer, rows);
    tn_value k = tlm_build_linear_rows(b, x, TLM_ATTN_K, TLM_ATTN_K_BIAS, layer, kv_rows);
    tn_value v = tlm_build_linear_rows(b, x, TLM_ATTN_V, TLM_ATTN_V_BIAS, layer, kv_rows);
    return tlm_build_matmul(b, attend(b, layer, q, k, v, kv_heads.count), TLM_ATTN_OUTPUT, layer, 0,
                            rows);
}

tn_value tlm_build_attention(tlm_builder *b, tn_value x, uint32_t layer)
{
    const tlm_variant *variant = b->variant;
    tlm_cut cut;
    if (!tlm_split_heads(variant->split, variant->hparams, variant->weights, layer, &cut, NULL)) {
        tn_value q = tlm_build_linear(b, x, TLM_ATTN_Q, TLM_ATTN_Q_BIAS, layer);   // {D * H, T}
        tn_value k = tlm_build_linear(b, x, TLM_ATTN_K, TLM_ATTN_K_BIAS, layer);   // {D * G, T}
        tn_value v = tlm_build_linear(b, x, TLM_ATTN_V, TLM_ATTN_V_BIAS, layer);   // {D * G, T}
        return tlm_build_linear(b, attend(b, layer, q, k, v, variant->hparams->kv_heads),
                                TLM_ATTN_OUTPUT, TLM_ATTN_OUTPUT_BIAS, layer);
    }
    tn_value made[TLM_MOST_PARTS];
    uint32_t count = 0;
    for (uint32_t p = 0; p < cut.parts; p++) {
        tlm_range kv_heads = tlm_cut_range(&cut, p);
        if (kv_heads.count == 0)
            continue;
        tlm_build_mark(b, layer, p);
        made[count++] = build_part(b, x, layer, kv_heads);
    }
    tlm_build_mark(b, layer, TN_NO_PART);
    x = tlm_build_join(b, TNP_OP_ADD, made, count);
    return tlm_build_bias(b, x, TLM_ATTN_OUTPUT_BIAS, layer,
                          (tlm_range){ 0, variant->hparams->embedding });
}
