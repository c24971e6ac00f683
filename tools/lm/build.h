// build.h: the pieces from which architectures put their graphs together.
//
// A graph takes T tokens at once. Inputs, all I32:
//   tokens       {T}    ids, of which the first `rows` count
//   position     {T}    their places in the text, counted from 0
//   rows         {1}    how many of the T count in this run; not there when T is 1
//   kv_len       {1}    tokens in the KV cache when the run is done
//   output_rows  {R}    the rows whose logits are wanted: R is 1, or T for all
// States, of the KV cache's type, a row for each position:
//   k.<layer>, v.<layer>  {D * G, capacity}
// Output:
//   logits       {V, R} F32
#ifndef TLM_BUILD_H
#define TLM_BUILD_H

#include "weights.h"

// How a graph of an architecture is built: the model, and the variant wanted.
typedef struct tlm_variant {
    const tlm_hparams *hparams;
    const tlm_weights *weights;
    int64_t tokens;     // T
    int64_t capacity;   // of the KV cache, in tokens
    tn_dtype kv_type;
    bool has_all_rows;   // R = T
} tlm_variant;

// A graph with its inputs and output.
typedef struct tlm_built {
    tn_graph *graph;
    tn_value tokens, position, kv_len, output_rows, rows, logits;   // rows: TN_NO_VALUE when T is 1
} tlm_built;

// What the pieces need in common while a graph is built.
typedef struct tlm_builder {
    const tlm_variant *variant;
    tn_graph *graph;
    tn_value tokens, position, kv_len, output_rows;   // as ops take them: limited by `rows`
    tn_value token_embd, rope_factors;                // used more than once
} tlm_builder;

// Errors of all of these stick to the graph.

// The weight of a slot; TN_NO_VALUE when the model has none. layer: 0 where it is there once.
tn_value tlm_build_weight(tlm_builder *b, tlm_slot slot, uint32_t layer);

// x {E, T}: the embeddings of the tokens.
tn_value tlm_build_embedding(tlm_builder *b);

tn_value tlm_build_matmul(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer);
tn_value tlm_build_rms_norm(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer);

// x {D * heads, T} as {D, heads, T}, turned by position. layout: TNP_ROPE_…
tn_value tlm_build_rope(tlm_builder *b, tn_value x, int64_t heads, uint32_t layout);

// Writes k and v, {D * G, T} or {D, G, T}, to the layer's states and attends with q {D, H, T}; the
// result is {D * H, T}.
tn_value tlm_build_attention(tlm_builder *b, uint32_t layer, tn_value q, tn_value k, tn_value v);

// down(silu(gate(x)) * up(x)).
tn_value tlm_build_swiglu(tlm_builder *b, tn_value x, uint32_t layer);

// The wanted rows of x {E, T} through the last norm and the output matrix, tied to the embedding
// when there is no other.
tn_value tlm_build_logits(tlm_builder *b, tn_value x);

// ----------------------------------------------------------------------------------- architectures

// An architecture is a file arch_<name>.c that defines one of these, and a line in
// architectures.def.
typedef struct tlm_architecture {
    const char *name;   // of general.architecture
    const tlm_tensor_rule *rules;
    uint32_t rule_count;
    void (*read)(tlm_hparams *hparams, tlm_keys *keys);
    tn_value (*build)(tlm_builder *b);   // the logits
} tlm_architecture;

// NULL when there is none of that name.
const tlm_architecture *tlm_architecture_find(const char *name);

// The names of all, "llama, …", for messages.
void tlm_architecture_names(char *to, size_t room);

// A finished graph of one variant. Errors: those of the graph.
tn_status tlm_build(const tlm_architecture *architecture, const tlm_variant *variant,
                    const tn_allocator *allocator, tlm_built *out_built, tn_error *err);

#endif
