// arch_llama.c: the architecture `llama`: RMS norms before attention and feed-forward, rotary
// positions on neighbouring pairs, grouped key heads, SwiGLU.
// Touvron et al., arXiv:2302.13971 and arXiv:2307.09288.
#include "arch.h"

// y = x + output(attention(norm(x)));  z = y + down(silu(gate(norm(y))) * up(norm(y))), all {E, T}
static tn_value build_layer(tlm_builder *b, tn_value x, uint32_t layer)
{
    const tlm_hparams *p = b->variant->hparams;

    tn_value normed = tlm_build_rms_norm(b, x, TLM_ATTN_NORM, layer);
    tn_value q = tlm_build_matmul(b, normed, TLM_ATTN_Q, layer);   // {D * H, T}
    tn_value k = tlm_build_matmul(b, normed, TLM_ATTN_K, layer);   // {D * G, T}
    tn_value v = tlm_build_matmul(b, normed, TLM_ATTN_V, layer);   // {D * G, T}
    q = tlm_build_rope(b, q, p->heads, TNP_ROPE_NORMAL);
    k = tlm_build_rope(b, k, p->kv_heads, TNP_ROPE_NORMAL);
    tn_value attended = tlm_build_attention(b, layer, q, k, v);
    x = tn_graph_add(b->graph, x, tlm_build_matmul(b, attended, TLM_ATTN_OUTPUT, layer));

    normed = tlm_build_rms_norm(b, x, TLM_FFN_NORM, layer);
    return tn_graph_add(b->graph, x, tlm_build_swiglu(b, normed, layer));
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
    { TLM_TOKEN_EMBD,  { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   false },
    { TLM_OUTPUT_NORM, { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_OUTPUT,      { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   true },    // else token_embd
    { TLM_ROPE_FREQS,  { TLM_DIM_HALF_ROT, TLM_DIM_NONE },          true },
    { TLM_ATTN_NORM,   { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_ATTN_Q,      { TLM_DIM_EMBEDDING, TLM_DIM_HEADS },        false },
    { TLM_ATTN_K,      { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_V,      { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_OUTPUT, { TLM_DIM_HEADS, TLM_DIM_EMBEDDING },        false },
    { TLM_FFN_NORM,    { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_GATE,    { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_UP,      { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_DOWN,    { TLM_DIM_FEED_FORWARD, TLM_DIM_EMBEDDING }, false },
};
// clang-format on

const tlm_architecture tlm_arch_llama = {
    .name = "llama",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .read = tlm_hparams_read,
    .build = build,
};
