// arch_qwen2.c: the architecture `qwen2`: as llama, with biases on queries, keys and values, and
// rotary positions on the two halves of a head. Yang et al., arXiv:2407.10671.
#include "arch.h"

static void read(tlm_hparams *hparams, tlm_keys *keys)
{
    tlm_hparams_read(hparams, keys);
    hparams->rope_layout = TNP_ROPE_NEOX;
}

// clang-format off
static const tlm_tensor_rule rules[] = {
    { TLM_TOKEN_EMBD,  { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   false },
    { TLM_OUTPUT_NORM, { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_OUTPUT,      { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   true },   // or tied
    { TLM_ATTN_NORM,   { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_ATTN_Q,      { TLM_DIM_EMBEDDING, TLM_DIM_HEADS },        false },
    { TLM_ATTN_K,      { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_V,      { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_Q_BIAS, { TLM_DIM_HEADS, TLM_DIM_NONE },             false },
    { TLM_ATTN_K_BIAS, { TLM_DIM_KV_HEADS, TLM_DIM_NONE },          false },
    { TLM_ATTN_V_BIAS, { TLM_DIM_KV_HEADS, TLM_DIM_NONE },          false },
    { TLM_ATTN_OUTPUT, { TLM_DIM_HEADS, TLM_DIM_EMBEDDING },        false },
    { TLM_FFN_NORM,    { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_GATE,    { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_UP,      { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_DOWN,    { TLM_DIM_FEED_FORWARD, TLM_DIM_EMBEDDING }, false },
};
// clang-format on

const tlm_architecture tlm_arch_qwen2 = {
    .name = "qwen2",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .read = read,
    .build = tlm_build_pre_norm,
};
