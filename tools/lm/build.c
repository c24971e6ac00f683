// build.c: the pieces of graphs. Letters as in hparams.h; T tokens of the variant, S tokens of
// capacity.
#include "build.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

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
    return tn_graph_op(b->graph, TNP_OP_GET_ROWS, "token_embd", inputs, 2, NULL);
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

tn_value tlm_build_rope(tlm_builder *b, tn_value x, int64_t heads, uint32_t layout)
{
    const tlm_hparams *p = b->variant->hparams;
    int64_t dims[] = { p->head_dim, heads, b->variant->tokens };   // {D, H or G, T}
    tnp_rope_attr attr = {
        .size = sizeof attr,
        .layout = layout,
        .rot_dims = (uint32_t)p->rot_dims,
        .base = p->rope_base,
        .scale = p->rope_scale,
    };
    tn_value heads_of_x = tn_graph_reshape(b->graph, x, 3, dims);
    return tn_graph_rope(b->graph, heads_of_x, b->position, b->rope_factors, &attr);
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

tn_value tlm_build_attention(tlm_builder *b, uint32_t layer, tn_value q, tn_value k, tn_value v)
{
    const tlm_hparams *p = b->variant->hparams;
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "blk.%" PRIu32 ".attn", layer);
    tnp_attention_attr attr = {
        .size = sizeof attr,
        .flags = TNP_ATTENTION_CAUSAL,
        .scale = (float)(1 / sqrt((double)p->head_dim)),
    };
    tn_value keys = write_cache(b, "k", layer, k), values = write_cache(b, "v", layer, v);
    tn_value inputs[] = { q, keys, values, b->position };
    tn_value out = tn_graph_op(b->graph, TNP_OP_ATTENTION, name, inputs, 4, &attr);   // {D, H, T}
    int64_t dims[] = { p->head_dim * p->heads, b->variant->tokens };
    return tn_graph_reshape(b->graph, out, 2, dims);
}

tn_value tlm_build_swiglu(tlm_builder *b, tn_value x, uint32_t layer)
{
    tn_value gate = tlm_build_matmul(b, x, TLM_FFN_GATE, layer);
    tn_value up = tlm_build_matmul(b, x, TLM_FFN_UP, layer);
    return tlm_build_matmul(b, tn_graph_swiglu(b->graph, gate, up), TLM_FFN_DOWN, layer);
}

tn_value tlm_build_logits(tlm_builder *b, tn_value x)
{
    x = tn_graph_get_rows(b->graph, x, b->output_rows);   // {E, R}
    x = tlm_build_rms_norm(b, x, TLM_OUTPUT_NORM, 0);
    if (tlm_weights_at(b->variant->weights, TLM_OUTPUT, 0)->data)
        return tlm_build_matmul(b, x, TLM_OUTPUT, 0);
    tn_value inputs[] = { x, b->token_embd };
    return tn_graph_op(b->graph, TNP_OP_MATMUL, "output", inputs, 2, NULL);
}
