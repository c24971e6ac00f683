// arch_llama.c: the architecture `llama`: RMS norms before attention and feed-forward, rotary
// positions on neighbouring pairs, grouped key heads, SwiGLU. Some models of it have biases, and
// some a factor for each frequency of the rotation.
// Touvron et al., arXiv:2302.13971 and arXiv:2307.09288; the factors: Grattafiori et al.,
// arXiv:2407.21783.
#include "arch.h"

// clang-format off
static const tlm_tensor_rule rules[] = {
    { TLM_TOKEN_EMBD,       { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   false },
    { TLM_OUTPUT_NORM,      { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_OUTPUT,           { TLM_DIM_EMBEDDING, TLM_DIM_VOCABULARY },   true },   // or tied
    { TLM_ROPE_FREQS,       { TLM_DIM_HALF_ROT, TLM_DIM_NONE },          true },
    { TLM_ATTN_NORM,        { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_ATTN_Q,           { TLM_DIM_EMBEDDING, TLM_DIM_HEADS },        false },
    { TLM_ATTN_K,           { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_V,           { TLM_DIM_EMBEDDING, TLM_DIM_KV_HEADS },     false },
    { TLM_ATTN_Q_BIAS,      { TLM_DIM_HEADS, TLM_DIM_NONE },             true },
    { TLM_ATTN_K_BIAS,      { TLM_DIM_KV_HEADS, TLM_DIM_NONE },          true },
    { TLM_ATTN_V_BIAS,      { TLM_DIM_KV_HEADS, TLM_DIM_NONE },          true },
    { TLM_ATTN_OUTPUT,      { TLM_DIM_HEADS, TLM_DIM_EMBEDDING },        false },
    { TLM_ATTN_OUTPUT_BIAS, { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         true },
    { TLM_FFN_NORM,         { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         false },
    { TLM_FFN_GATE,         { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_UP,           { TLM_DIM_EMBEDDING, TLM_DIM_FEED_FORWARD }, false },
    { TLM_FFN_DOWN,         { TLM_DIM_FEED_FORWARD, TLM_DIM_EMBEDDING }, false },
    { TLM_FFN_GATE_BIAS,    { TLM_DIM_FEED_FORWARD, TLM_DIM_NONE },      true },
    { TLM_FFN_UP_BIAS,      { TLM_DIM_FEED_FORWARD, TLM_DIM_NONE },      true },
    { TLM_FFN_DOWN_BIAS,    { TLM_DIM_EMBEDDING, TLM_DIM_NONE },         true },
};
// clang-format on

const tlm_architecture tlm_arch_llama = {
    .name = "llama",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .read = tlm_hparams_read,
    .build = tlm_build_pre_norm,
};
