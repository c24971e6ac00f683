// hparams.h: the numbers that make a model of an architecture: how wide, how deep, how many heads.
#ifndef TLM_HPARAMS_H
#define TLM_HPARAMS_H

#include "problems.h"

enum { TLM_MOST_LAYERS = 1000 };

// Letters: E embedding, L layers, H heads, G key heads, D head_dim, F feed_forward, V vocabulary.
typedef struct tlm_hparams {
    int64_t context_tokens;   // what the model was trained for
    int64_t vocabulary;
    int64_t embedding;
    int64_t layers;
    int64_t heads, kv_heads;   // kv_heads divides heads
    int64_t head_dim;
    int64_t feed_forward;
    int64_t rot_dims;   // even, at most head_dim
    float rms_eps;
    uint32_t rope_layout;   // TNP_ROPE_…
    float rope_base;
    float rope_scale;   // of positions

    // YaRN, as in tnp_rope_attr; yarn_extrapolation 0: none.
    float yarn_extrapolation, yarn_attention, yarn_beta_fast, yarn_beta_slow;
    uint32_t yarn_context;

    float attention_scale;   // of the scores
    float embedding_scale;   // 1 = none

    // A local layer sees only the last `window` tokens, its own included, and turns by
    // local_rope_base without scale.
    bool is_local[TLM_MOST_LAYERS];
    int64_t window;
    float local_rope_base;
} tlm_hparams;

// Reads the keys "<architecture>.<name>" of a model, each within its bounds. The first error
// sticks: what is read after it is the lower bound, and `status` tells. Where problems are listed,
// none sticks; a value that is wrong is its lower bound.
typedef struct tlm_keys {
    const tn_model *model;
    const char *architecture;
    tn_status status;
    tn_error *err;
    tlm_problems *problems;   // NULL: the first is an error
} tlm_keys;

int64_t tlm_keys_integer(tlm_keys *keys, const char *name, int64_t low, int64_t high);
int64_t tlm_keys_integer_or(tlm_keys *keys, const char *name, int64_t low, int64_t high,
                            int64_t otherwise);
double tlm_keys_number(tlm_keys *keys, const char *name, double low, double high);
double tlm_keys_number_or(tlm_keys *keys, const char *name, double low, double high,
                          double otherwise);

// Which layers are local: by an array with a truth value, or a number that is 0 or not, for each
// layer; by a number n, all but the last of each n; without the key as with `otherwise`.
void tlm_keys_local_layers(tlm_keys *keys, const char *name, int64_t otherwise, int64_t layers,
                           bool is_local[TLM_MOST_LAYERS]);

// The text of a key, or `otherwise`.
const char *tlm_keys_text_or(tlm_keys *keys, const char *name, const char *otherwise);

// Records an error unless there is one.
void tlm_keys_fail(tlm_keys *keys, tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// What transformers with rotary positions and RMS norms have in common: rope on neighbouring pairs,
// scores times 1 / sqrt(D), no scale of embeddings, no local layers. Errors: in keys.
void tlm_hparams_read(tlm_hparams *hparams, tlm_keys *keys);

#endif
