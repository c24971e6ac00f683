// decompose_internal.h: what the decompositions are written with. For decompose*.c only.
//
// A decomposition makes the steps of one node, from its operands to its result. What lies between
// them is F32 and contiguous: an F16 operand is converted first, an F16 result last. Errors stick
// in the graph; a step after one answers TN_NO_VALUE.
#ifndef TNI_DECOMPOSE_INTERNAL_H
#define TNI_DECOMPOSE_INTERNAL_H

#include "graph/decompose.h"
#include "graph/graph_internal.h"

// A thing that several nodes use: the angles of a rope, the mask of a causal attention.
typedef struct tni_shared tni_shared;

typedef struct tni_expansion {
    tn_graph *graph;       // being made
    tni_shared **shared;   // a list
    tni_composites ops;    // composites that are decomposed on the way
    tnp_op op;
    uint32_t level;     // of the op: steps are of lower ones
    const char *path;   // the node's name; those of its steps begin with it
    uint32_t into;      // the value that the last step makes; TNP_NONE = a new one, named path
    tn_dtype dtype;     // of the result
    const void *attr;
    uint32_t input_count;
    tn_value in[TNI_MAX_INPUTS];
} tni_expansion;

typedef tn_value tni_decomposition(const tni_expansion *e);

// ------------------------------------------------------------------------------------------- steps

// A value as it is now; zeros for TN_NO_VALUE.
tni_value tni_decompose_value(const tni_expansion *e, tn_value value);
// "attn.0/softmax", kept by the graph; NULL after an error.
const char *tni_decompose_step_name(const tni_expansion *e, const char *role);
// Operand i, as F32 and contiguous when it is F16.
tn_value tni_decompose_operand(const tni_expansion *e, uint32_t i);

// One op on one or two values. role: what it makes, "sum". A composite that is in e->ops is
// decomposed in turn.
tn_value tni_decompose_step(const tni_expansion *e, tnp_op op, const char *role, tn_value a,
                            tn_value b, const void *attr);
// The last one: it makes the result, converted to its type where that is another than that of a.
tn_value tni_decompose_last(const tni_expansion *e, tnp_op op, tn_value a, tn_value b,
                            const void *attr);

// x * factor + bias; over dims[0], which becomes 1; to dtype; within min and max
tn_value tni_decompose_scale_step(const tni_expansion *e, const char *role, tn_value x,
                                  float factor, float bias);
tn_value tni_decompose_row_step(const tni_expansion *e, tnp_op op, const char *role, tn_value x);
tn_value tni_decompose_convert_step(const tni_expansion *e, const char *role, tn_value x,
                                    tn_dtype dtype);
tn_value tni_decompose_clamp_step(const tni_expansion *e, const char *role, tn_value x, float min,
                                  float max);

// A constant F32 {count}; the values are copied.
tn_value tni_decompose_constant(const tni_expansion *e, const char *role, const float *values,
                                uint32_t count);

// Views.
tn_value tni_decompose_permute(const tni_expansion *e, const char *role, tn_value x, uint32_t rank,
                               const uint32_t *axes);
tn_value tni_decompose_reshape(const tni_expansion *e, const char *role, tn_value x, uint32_t rank,
                               const int64_t *dims);
tn_value tni_decompose_broadcast(const tni_expansion *e, const char *role, tn_value x,
                                 uint32_t rank, const int64_t *dims);
// Dim 0, the only one with elements, becomes dim `to`, 1 or 2.
tn_value tni_decompose_permute_row(const tni_expansion *e, const char *role, tn_value x,
                                   uint32_t to);
// x of which as much of dim `axis` counts as the value `length` says.
tn_value tni_decompose_limit(const tni_expansion *e, const char *role, tn_value x, uint32_t axis,
                             uint32_t length);
// Every `step`th element of dim 0, `count` of them, from `begin` on.
tn_value tni_decompose_slice(const tni_expansion *e, const char *role, tn_value x, int64_t begin,
                             int64_t count, int64_t step);

// ------------------------------------------------------------------------------------------ shared

// What was kept under this key; NULL = nothing. Keys have no padding that is not zero.
const tn_value *tni_decompose_find_shared(const tni_expansion *e, const void *key, size_t bytes);
// Two values for who asks later.
void tni_decompose_keep_shared(const tni_expansion *e, const void *key, size_t bytes,
                               tn_value first, tn_value second);
// Whether the value and its lengths are the same wherever they are read in a run: only of what is
// made of such values a second node may use what the first has made.
bool tni_decompose_is_steady(const tni_expansion *e, tn_value value);

// ----------------------------------------------------------------------------------------- by file

tni_decomposition tni_decompose_neg, tni_decompose_sqr, tni_decompose_relu, tni_decompose_rsqrt,
    tni_decompose_sigmoid, tni_decompose_silu, tni_decompose_gelu, tni_decompose_gelu_quick,
    tni_decompose_softcap, tni_decompose_gated;
tni_decomposition tni_decompose_mean, tni_decompose_rms_norm, tni_decompose_layer_norm,
    tni_decompose_group_norm, tni_decompose_l2_norm, tni_decompose_top_k;
tni_decomposition tni_decompose_softmax, tni_decompose_rope, tni_decompose_attention;

// What softmax is made of: exp(y - max) and its sum, by row. sinks: {1, 1, H}, one more score for
// each row, which counts in max and sum; TN_NO_VALUE: none.
tn_value tni_decompose_exps(const tni_expansion *e, tn_value y, tn_value sinks, tn_value *out_sum);

// Whether the op with these operands and attributes can be said; NULL stands for always.
typedef bool tni_decomposable(const tn_graph *graph, const tni_node *node);
tni_decomposable tni_decompose_mean_is_whole, tni_decompose_norm_is_whole,
    tni_decompose_softmax_has_slopes, tni_decompose_rope_has_constants,
    tni_decompose_attention_has_lengths;

// Whether dim `from` of operand i or one above it is limited; false when it is left out.
bool tni_decompose_has_extent(const tn_graph *graph, const tni_node *node, uint32_t i,
                              uint32_t from);

#endif
