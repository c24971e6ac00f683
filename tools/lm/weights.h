// weights.h: the tensors of a model, found and checked against what its architecture expects.
#ifndef TLM_WEIGHTS_H
#define TLM_WEIGHTS_H

#include "hparams.h"

typedef enum tlm_slot {
#define GLOBAL(slot, name) TLM_##slot,
#define LAYER(slot, name)  TLM_##slot,
#include "tensors.def"
    TLM_SLOTS
} tlm_slot;

// A dim of a tensor, by the number of hparams that it is.
typedef enum tlm_dim {
    TLM_DIM_NONE,           // past the rank
    TLM_DIM_EMBEDDING,      // E
    TLM_DIM_VOCABULARY,     // V
    TLM_DIM_HEAD,           // D
    TLM_DIM_HEADS,          // D * H
    TLM_DIM_KV_HEADS,       // D * G
    TLM_DIM_FEED_FORWARD,   // F
    TLM_DIM_HALF_ROT,       // rot_dims / 2
} tlm_dim;

// What an architecture expects. Vectors (one dim) are F32, matrices of any type.
typedef struct tlm_tensor_rule {
    tlm_slot slot;
    tlm_dim dims[2];   // dims[0] first
    bool is_optional;
} tlm_tensor_rule;

typedef struct tlm_weights {
    tn_allocator allocator;
    tn_model_tensor *tensors;   // {TLM_SLOTS, layers}; those of no layer stand at layer 0; data
                                // NULL = not there
} tlm_weights;

// Errors: TN_E_FILE a tensor is missing or has another type or shape, or the file has a tensor
// that no rule names: leaving it out would give wrong results; TN_E_HOST_MEMORY.
tn_status tlm_weights_init(tlm_weights *weights, const tn_model *model, const tlm_hparams *hparams,
                           const tlm_tensor_rule *rules, uint32_t rule_count,
                           const tn_allocator *allocator, tn_error *err);
// The same, to look at the file: problems get what would be TN_E_FILE.
tn_status tlm_weights_check(tlm_weights *weights, const tn_model *model, const tlm_hparams *hparams,
                            const tlm_tensor_rule *rules, uint32_t rule_count,
                            const tn_allocator *allocator, tlm_problems *problems, tn_error *err);
void tlm_weights_finish(tlm_weights *weights);   // zeros are fine

// layer: 0 for a tensor that is there once.
static inline const tn_model_tensor *tlm_weights_at(const tlm_weights *weights, tlm_slot slot,
                                                    uint32_t layer)
{
    return &weights->tensors[(size_t)layer * TLM_SLOTS + slot];
}

#endif
