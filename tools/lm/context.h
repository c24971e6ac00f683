// context.h: the inside of a tlm_context, for context.c, context_*.c, eval.c and work.c only.
#ifndef TLM_CONTEXT_H
#define TLM_CONTEXT_H

#include "build.h"
#include "overrides.h"

enum {
    MOST_VARIANTS = 3,
    MOST_WARNING_BYTES = TLM_WARNING_BYTES + 2 * TLM_NOTE_BYTES + 2,
};

struct tlm_context {
    tn_allocator allocator;
    const tn_model *model;
    const tlm_architecture *architecture;
    tlm_hparams hparams;
    tlm_weights weights;
    tlm_overrides overrides;
    tlm_split split;
    char warning[MOST_WARNING_BYTES];   // what the model has not, or does not allow
    tn_dtype kv_type;
    uint32_t capacity;      // of the KV cache, in tokens
    uint32_t batch_limit;   // the largest variant
    uint32_t position;      // tokens in it
    bool is_broken;         // a device failed since the last reset
    bool has_all_logits;

    uint32_t variant_count;
    uint32_t sizes[MOST_VARIANTS];   // tokens at once, ascending
    tlm_built built[MOST_VARIANTS];
    tn_session *session;
    uint32_t run_count;
    uint32_t *run_starts;   // {capacity}: positions before the runs that the KV cache comes from,
                            // ascending

    int32_t *ids;             // {capacity}: those in the KV cache, position of them
    int32_t *positions;       // {largest size}: what is fed
    int32_t *output_rows;     // {largest size}: 0, 1, …
    float *logits;            // {V}, or with all logits {V, count} of the largest call so far
    size_t logits_capacity;   // in floats
};

// context_graphs.c. Builds a graph for each batch size, by hparams, weights, capacity, batch_limit
// and split; what was built counts also after an error.
tn_status tlm_context_build(tlm_context *c, tn_error *err);
// How many they are.
uint32_t tlm_context_graphs(const tlm_context *c, const tn_graph *graphs[MOST_VARIANTS]);
void tlm_context_drop_graphs(tlm_context *c);

// context_fit.c. Adds to an error of memory which context would fit, where that is what helps.
// Answers its status.
tn_status tlm_context_say_what_fits(const tlm_context *c, tn_runtime *runtime,
                                    const tn_session_options *options, tn_error *err);

#endif
