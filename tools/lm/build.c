// build.c: the pieces of graphs. Letters as in hparams.h; T tokens of the variant, S tokens of
// capacity.
#include "build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

void tlm_build_mark(tlm_builder *b, uint32_t layer, uint32_t part)
{
    tn_graph_mark(b->graph, layer, part);
}

// The name of a node that uses a weight: that of the weight without its ".weight".
static void name_node(const tlm_builder *b, tlm_slot slot, uint32_t layer, char to[NAME_BYTES])
{
    const char *name = tlm_weights_at(b->variant->weights, slot, layer)->name;
    const char *end = name ? strstr(name, ".weight") : NULL;
    snprintf(to, NAME_BYTES, "%.*s", end ? (int)(end - name) : 0, name ? name : "");
}

tn_value tlm_build_weight(tlm_builder *b, tlm_slot slot, uint32_t layer)
{
    const tn_model_tensor *t = tlm_weights_at(b->variant->weights, slot, layer);
    if (!t->data)
        return TN_NO_VALUE;
    return tn_graph_weight(b->graph, t->name, t->dtype, t->rank, t->dims, t->data, t->bytes);
}

tn_value tlm_build_embedding(tlm_builder *b)
{
    tn_value inputs[] = { b->token_embd, b->tokens };
    float scale = b->variant->hparams->embedding_scale;
    tn_value x = tn_graph_op(b->graph, TNP_OP_GET_ROWS, "token_embd", inputs, 2, NULL);
    return scale < 1 || scale > 1 ? tn_graph_scale(b->graph, x, scale) : x;
}

tn_value tlm_build_matmul(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer)
{
    char name[NAME_BYTES];
    name_node(b, slot, layer, name);
    tn_value inputs[] = { x, tlm_build_weight(b, slot, layer) };
    return tn_graph_op(b->graph, TNP_OP_MATMUL, name, inputs, 2, NULL);
}

tn_value tlm_build_rms_norm(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer)
{
    char name[NAME_BYTES];
    name_node(b, slot, layer, name);
    tnp_norm_attr attr = { .size = sizeof attr, .eps = b->variant->hparams->rms_eps };
    tn_value inputs[] = { x, tlm_build_weight(b, slot, layer) };
    return tn_graph_op(b->graph, TNP_OP_RMS_NORM, name, inputs, 2, &attr);
}

static bool has(const tlm_builder *b, tlm_slot slot, uint32_t layer)
{
    return tlm_weights_at(b->variant->weights, slot, layer)->data;
}

tn_value tlm_build_linear(tlm_builder *b, tn_value x, tlm_slot weight, tlm_slot bias,
                          uint32_t layer)
{
    x = tlm_build_matmul(b, x, weight, layer);
    return has(b, bias, layer) ? tn_graph_add(b->graph, x, tlm_build_weight(b, bias, layer)) : x;
}

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
    if (has(b, norm, layer))
        x = tlm_build_rms_norm(b, x, norm, layer);
    return tn_graph_rope(b->graph, x, b->position, b->rope_factors, &attr);
}

// Writes the rows of this run to a state of the layer, and gives all rows up to kv_len: {D, G, S}.
static tn_value write_cache(tlm_builder *b, const char *letter, uint32_t layer, tn_value rows)
{
    const tlm_variant *v = b->variant;
    const tlm_hparams *p = v->hparams;
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%" PRIu32, letter, layer);
    int64_t width = p->head_dim * p->kv_heads;
    int64_t row_dims[] = { width, v->tokens };                         // {D * G, T}
    int64_t state_dims[] = { width, v->capacity };                     // {D * G, S}
    int64_t view_dims[] = { p->head_dim, p->kv_heads, v->capacity };   // {D, G, S}
    tn_value state = tn_graph_state(b->graph, name, v->kv_type, 2, state_dims);
    tn_value written = tn_graph_set_rows(
        b->graph, state, tn_graph_reshape(b->graph, rows, 2, row_dims), b->position);
    return tn_graph_limit(b->graph, tn_graph_reshape(b->graph, written, 3, view_dims), 2,
                          b->kv_len);
}

// Writes k and v, {D, G, T} or {D * G, T}, to the layer's states and attends with q {D, H, T}; the
// result is {D * H, T}.
static tn_value attend(tlm_builder *b, uint32_t layer, tn_value q, tn_value k, tn_value v)
{
    const tlm_hparams *p = b->variant->hparams;
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "blk.%" PRIu32 ".attn", layer);
    tnp_attention_attr attr = {
        .size = sizeof attr,
        .flags = TNP_ATTENTION_CAUSAL,
        .scale = p->attention_scale,
        .window = p->is_local[layer] ? (uint32_t)p->window : 0,
    };
    tn_value keys = write_cache(b, "k", layer, k), values = write_cache(b, "v", layer, v);
    tn_value inputs[] = { q, keys, values, b->position };
    tn_value out = tn_graph_op(b->graph, TNP_OP_ATTENTION, name, inputs, 4, &attr);   // {D, H, T}
    int64_t dims[] = { p->head_dim * p->heads, b->variant->tokens };
    return tn_graph_reshape(b->graph, out, 2, dims);
}

tn_value tlm_build_attention(tlm_builder *b, tn_value x, uint32_t layer)
{
    const tlm_hparams *p = b->variant->hparams;
    tn_value q = tlm_build_linear(b, x, TLM_ATTN_Q, TLM_ATTN_Q_BIAS, layer);   // {D * H, T}
    tn_value k = tlm_build_linear(b, x, TLM_ATTN_K, TLM_ATTN_K_BIAS, layer);   // {D * G, T}
    tn_value v = tlm_build_linear(b, x, TLM_ATTN_V, TLM_ATTN_V_BIAS, layer);   // {D * G, T}
    q = build_heads(b, q, p->heads, TLM_ATTN_Q_NORM, layer);
    k = build_heads(b, k, p->kv_heads, TLM_ATTN_K_NORM, layer);
    return tlm_build_linear(b, attend(b, layer, q, k, v), TLM_ATTN_OUTPUT, TLM_ATTN_OUTPUT_BIAS,
                            layer);
}

tn_value tlm_build_feed_forward(tlm_builder *b, tn_value x, tnp_op gating, uint32_t layer)
{
    tn_value inputs[] = {
        tlm_build_linear(b, x, TLM_FFN_GATE, TLM_FFN_GATE_BIAS, layer),
        tlm_build_linear(b, x, TLM_FFN_UP, TLM_FFN_UP_BIAS, layer),
    };
    tn_value gated = tn_graph_op(b->graph, gating, NULL, inputs, 2, NULL);
    return tlm_build_linear(b, gated, TLM_FFN_DOWN, TLM_FFN_DOWN_BIAS, layer);
}

tn_value tlm_build_pre_norm(tlm_builder *b)
{
    tn_value x = tlm_build_embedding(b);
    for (uint32_t layer = 0; layer < (uint32_t)b->variant->hparams->layers; layer++) {
        tlm_build_mark(b, layer, TN_NO_PART);
        tn_value y = tlm_build_rms_norm(b, x, TLM_ATTN_NORM, layer);
        x = tn_graph_add(b->graph, x, tlm_build_attention(b, y, layer));
        y = tlm_build_rms_norm(b, x, TLM_FFN_NORM, layer);
        x = tn_graph_add(b->graph, x, tlm_build_feed_forward(b, y, TNP_OP_SWIGLU, layer));
    }
    return tlm_build_logits(b, x);
}

tn_value tlm_build_logits(tlm_builder *b, tn_value x)
{
    tlm_build_mark(b, (uint32_t)b->variant->hparams->layers, TN_NO_PART);
    x = tn_graph_get_rows(b->graph, x, b->output_rows);   // {E, R}
    x = tlm_build_rms_norm(b, x, TLM_OUTPUT_NORM, 0);
    if (has(b, TLM_OUTPUT, 0))
        return tlm_build_matmul(b, x, TLM_OUTPUT, 0);
    tn_value inputs[] = { x, b->token_embd };
    return tn_graph_op(b->graph, TNP_OP_MATMUL, "output", inputs, 2, NULL);
}
