// arch_gemma3.c: the architecture `gemma3`: RMS norms before and after attention and feed-forward,
// and over each head of queries and keys; of six layers five see only a window of the last tokens,
// and turn by a rope base of their own; GeGLU; embeddings times sqrt(E).
// Kamath et al., arXiv:2503.19786.
#include "arch.h"

#include <math.h>

static void read(tlm_hparams *hparams, tlm_keys *keys)
{
    enum { LAYERS_27B = 62 };
    tlm_hparams *p = hparams;
    tlm_hparams_read(p, keys);
    p->rope_layout = TNP_ROPE_NEOX;
    p->embedding_scale = sqrtf((float)p->embedding);
    // The file does not say: the model of 27 billion weights has other scores than the rest.
    if (p->layers == LAYERS_27B)
        p->attention_scale = 1 / sqrtf((float)p->embedding / (float)p->heads);

    p->window = tlm_keys_integer_or(keys, "attention.sliding_window", 1, 1 << 30, 0);
    if (p->window > 0)
        tlm_keys_local_layers(keys, "attention.sliding_window_pattern", 6, p->layers, p->is_local);
    p->local_rope_base = (float)tlm_keys_number_or(keys, "rope.freq_base_swa", 1, 1e12, 10000);
    if (p->yarn_extrapolation > 0)
        tlm_keys_fail(keys, TN_E_FILE, "gemma3.rope.scaling.type: YaRN is not known here");
    if (tlm_keys_number_or(keys, "attn_logit_softcapping", 0, 1e6, 0) > 0 ||
        tlm_keys_number_or(keys, "final_logit_softcapping", 0, 1e6, 0) > 0)
        tlm_keys_fail(keys, TN_E_FILE,
                      "gemma3.attn_logit_softcapping and final_logit_softcapping are not known");
}

// y = x + norm(attention(norm(x)));  z = y + norm(feed_forward(norm(y))), all {E, T}
static tn_value build_layer(tlm_builder *b, tn_value x, uint32_t layer)
{
    tlm_build_mark(b, layer, TN_NO_PART);
    tn_value y = tlm_build_rms_norm(b, x, TLM_ATTN_NORM, layer);
    y = tlm_build_attention(b, y, layer);
    y = tlm_build_rms_norm(b, y, TLM_ATTN_POST_NORM, layer);
    x = tn_graph_add(b->graph, x, y);

    y = tlm_build_rms_norm(b, x, TLM_FFN_NORM, layer);
    y = tlm_build_feed_forward(b, y, TNP_OP_GEGLU, layer);
    y = tlm_build_rms_norm(b, y, TLM_FFN_POST_NORM, layer);
    return tn_graph_add(b->graph, x, y);
}

static tn_value build(tlm_builder *b)
{
    tn_value x = tlm_build_embedding(b);
    for (uint32_t layer = 0; layer < (uint32_t)b->variant->hparams->layers; layer++)
        x = build_layer(b, x, layer);
    return tlm_build_logits(b, x);
}

// clang-format off
static const tlm_tensor_rule rules[] = {
    { TLM_TOKEN_EMBD,     { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   false },
    { TLM_OUTPUT_NORM,    { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_OUTPUT,         { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   true },   // or tied
    { TLM_ATTN_NORM,      { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_ATTN_Q,         { TLM_DIM_EMBEDDING, TLM_DIM_HEADS },        false },
    { TLM_ATTN_K,         { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_V,         { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_Q_NORM,    { TLM_DIM_HEAD, TLM_DIM_NONE },              false },
    { TLM_ATTN_K_NORM,    { TLM_DIM_HEAD, TLM_DIM_NONE },              false },
    { TLM_ATTN_OUTPUT,    { TLM_DIM_HEADS, TLM_DIM_EMBEDDING },        false },
    { TLM_ATTN_POST_NORM, { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_NORM,       { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_GATE,       { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_UP,         { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_DOWN,       { TLM_DIM_FEED_FORWARD, TLM_DIM_EMBEDDING }, false },
    { TLM_FFN_POST_NORM,  { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
};
// clang-format on

const tlm_architecture tlm_arch_gemma3 = {
    .name = "gemma3",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .read = read,
    .build = build,
};
