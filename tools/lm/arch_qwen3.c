// arch_qwen3.c: the architecture `qwen3`: as llama, with a norm over each head of queries and keys,
// and rotary positions on the two halves of a head. Yang et al., arXiv:2505.09388.
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
    { TLM_ATTN_Q_NORM, { TLM_DIM_HEAD, TLM_DIM_NONE },              false },
    { TLM_ATTN_K_NORM, { TLM_DIM_HEAD, TLM_DIM_NONE },              false },
    { TLM_ATTN_OUTPUT, { TLM_DIM_HEADS, TLM_DIM_EMBEDDING },        false },
    { TLM_FFN_NORM,    { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_GATE,    { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_UP,      { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_DOWN,    { TLM_DIM_FEED_FORWARD, TLM_DIM_EMBEDDING }, false },
};
// clang-format on

const tlm_architecture tlm_arch_qwen3 = {
    .name = "qwen3",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .read = read,
    .build = tlm_build_pre_norm,
};
