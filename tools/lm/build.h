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
//   k.<layer>.part<p>, …  {D * its key heads, capacity}, where parts have heads of their own
// Output:
//   logits       {V, R} F32
// Nodes are marked with their layer, L for what comes after the last, and with the part that they
// belong to where the variant has a split (split.h); what divides a value among parts and puts it
// together again belongs to no part. What looks up embeddings is of no layer, or of parts of L.
// What is of part p has the name that the whole would have, and ".part<p>" behind it.
#ifndef TLM_BUILD_H
#define TLM_BUILD_H

#include "split.h"

enum { TLM_NODE_NAME_BYTES = 64 };

// How a graph of an architecture is built: the model, and the variant wanted.
typedef struct tlm_variant {
    const tlm_hparams *hparams;
    const tlm_weights *weights;
    int64_t tokens;     // T
    int64_t capacity;   // of the KV cache, in tokens
    tn_dtype kv_type;
    bool has_all_rows;        // R = T
    const tlm_split *split;   // outlives the graph; NULL = nothing is divided
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
    tn_value rope_factors;                            // used more than once
    uint32_t part;                                    // that nodes are marked with
    bool has_table[TLM_MOST_PARTS];
    tn_value table[TLM_MOST_PARTS];   // of embeddings, by part; where nothing is divided the first
} tlm_builder;

// Errors of all of these stick to the graph.

// Where the nodes to come belong.
void tlm_build_mark(tlm_builder *b, uint32_t layer, uint32_t part);

// The name of a node or state, with the part that nodes are marked with; cut where it is too long.
void tlm_build_name(const tlm_builder *b, char to[TLM_NODE_NAME_BYTES], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool tlm_build_has(const tlm_builder *b, tlm_slot slot, uint32_t layer);

// The weight of a slot; TN_NO_VALUE when the model has none. layer: 0 where it is there once.
tn_value tlm_build_weight(tlm_builder *b, tlm_slot slot, uint32_t layer);
// A part of one that is there, along an axis; the weight itself where that is all.
tn_value tlm_build_weight_part(tlm_builder *b, tlm_slot slot, uint32_t layer, uint32_t axis,
                               tlm_range range);

// x {E, T}: the embeddings of the tokens, times their scale.
tn_value tlm_build_embedding(tlm_builder *b);

// By rows (axis 1) of a weight, or by columns (axis 0).
tn_value tlm_build_matmul(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer, uint32_t axis,
                          tlm_range range);
tn_value tlm_build_rms_norm(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer);

// x + elements of a bias, or x where the model has none.
tn_value tlm_build_bias(tlm_builder *b, tn_value x, tlm_slot bias, uint32_t layer, tlm_range range);
// weight x + bias, of some rows.
tn_value tlm_build_linear_rows(tlm_builder *b, tn_value x, tlm_slot weight, tlm_slot bias,
                               uint32_t layer, tlm_range rows);
// Of all rows; divided among the parts where there is a split.
tn_value tlm_build_linear(tlm_builder *b, tn_value x, tlm_slot weight, tlm_slot bias,
                          uint32_t layer);

// What parts made, one after the other: added up, or put together along dims[0] (TNP_OP_CONCAT).
// The order is fixed, so the same bits come of it whatever the devices are.
tn_value tlm_build_join(tlm_builder *b, tnp_op op, const tn_value *parts, uint32_t count);

// x {E, T} to {E, T}: heads of queries and keys, through norms of their own where the model has
// them, turned by position; attention to what the layer sees of the KV cache; the output matrix.
tn_value tlm_build_attention(tlm_builder *b, tn_value x, uint32_t layer);

// down(gating(gate(x), up(x))). gating: TNP_OP_SWIGLU, TNP_OP_GEGLU or TNP_OP_REGLU.
tn_value tlm_build_feed_forward(tlm_builder *b, tn_value x, tnp_op gating, uint32_t layer);

// A whole model with norms before attention and feed-forward, and SwiGLU:
//   y = x + attention(norm(x));  z = y + feed_forward(norm(y)), all {E, T}
tn_value tlm_build_pre_norm(tlm_builder *b);

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

// That of a model. Errors: TN_E_FILE the key is missing or names none that is known.
tn_status tlm_architecture_of(const tn_model *model, const tlm_architecture **out_architecture,
                              tn_error *err);

// A finished graph of one variant. Errors: those of the graph.
tn_status tlm_build(const tlm_architecture *architecture, const tlm_variant *variant,
                    const tn_allocator *allocator, tlm_built *out_built, tn_error *err);

#endif
