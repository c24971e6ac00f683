// graph.h: building a compute graph.
//
// A graph is values and nodes. Leaves are made first (inputs, weights, states), ops make further
// values, outputs are named, and tn_graph_finish verifies the whole and freezes it. Shapes have up
// to 8 dims, dims[0] fastest, in elements.
//
// Errors stick: the first one is kept in the graph, with the op's name, the shapes and the rule
// broken, every later call answers TN_NO_VALUE at once, and tn_graph_finish reports it. So a
// builder checks once, at the end.
//
// Ownership: values are handles, copied freely and never freed; they live as long as their graph.
// Names and attributes are copied. The bytes of weights are lent: they outlive the graph and every
// session made from it. Threads: [one per graph]; a finished graph is read by any number of
// threads.
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include <stdbool.h>
#include <tenon/ops.h>
#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MAX_DIMS TNP_MAX_DIMS

// Element types, by the numbers of the plugin contract: TN_DTYPE_F32, TN_DTYPE_Q8_0, …
// (dtypes.def).
typedef uint32_t tn_dtype;
enum {
#define DTYPE(number, NAME, block_elements, block_bytes) TN_DTYPE_##NAME = number,
#include <tenon/dtypes.def>
};

// "F32", "Q4_K"; "?" for a number that is no type. [any] Since 0.1
TN_API const char *tn_dtype_name(tn_dtype dtype);

// Bytes of `elements` consecutive elements of a row; 0 when dtype is no type, elements is negative
// or not whole blocks, or the size overflows. [any] Since 0.1
TN_API uint64_t tn_dtype_bytes(tn_dtype dtype, int64_t elements);

typedef struct tn_graph tn_graph;
typedef struct tn_value {
    uint32_t index, generation;   // generation tells the graph: a value of another graph is an
                                  // error, not a crash
} tn_value;
#define TN_NO_VALUE ((tn_value){ UINT32_MAX, 0 })

// Whether it is TN_NO_VALUE. [any] Since 0.1
static inline bool tn_value_is_none(tn_value value)
{
    return value.index == UINT32_MAX;
}

// ------------------------------------------------------------------------------------------- graph

// Makes an empty graph. allocator NULL = the C library's. Since 0.1
TN_NODISCARD TN_API tn_status tn_graph_create(const tn_allocator *allocator, tn_graph **out_graph,
                                              tn_error *err);

// NULL is fine. Not while a session has it. Since 0.1
TN_API void tn_graph_destroy(tn_graph *graph);

// Says where the nodes made from here on belong, until it is said again: for placing them over
// devices, results do not depend on it. layer: of the model, from 0; TN_NO_LAYER = of none, as all
// are at first. part: which device of those that share a divided layer, from 0; TN_NO_PART = of
// none in particular. Errors: sticks, TN_E_ARG part without layer. Since 0.1
#define TN_NO_LAYER UINT32_MAX
#define TN_NO_PART  UINT32_MAX
TN_API void tn_graph_mark(tn_graph *graph, uint32_t layer, uint32_t part);

// ------------------------------------------------------------------------------------------ leaves

// A value that comes with every run. name: not "", no two inputs of one name. Since 0.1
TN_API tn_value tn_graph_input(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                               const int64_t *dims);

// For a one-element I32 input that is a length or a position: what it will usually be and the most
// it can be, for costs and for sizing work; 0 = unknown. Since 0.1
TN_API void tn_graph_expect(tn_graph *graph, tn_value input, int64_t likely, int64_t at_most);

// A constant: `bytes` at `data`, lent, must be the contiguous size of dtype and dims. They stay as
// they are until no session uses them (tenon/session.h). Since 0.1
TN_API tn_value tn_graph_weight(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                                const int64_t *dims, const void *data, uint64_t bytes);

// `count` elements of dim `axis` of a weight from `begin` on, as a constant of its own, of the same
// name: a device on which only this is used holds no more of the weight. (A slice looks at the
// bytes of the whole.) weight: as tn_graph_weight gave it, or such a part of it that is one piece
// of its bytes. dims[0] of a block type: whole blocks. Since 0.1
TN_API tn_value tn_graph_weight_part(tn_graph *graph, tn_value weight, uint32_t axis, int64_t begin,
                                     int64_t count);

// Bytes kept between runs, zero at first. States of one name in several graphs of one session are
// the same state. Since 0.1
TN_API tn_value tn_graph_state(tn_graph *graph, const char *name, tn_dtype dtype, uint32_t rank,
                               const int64_t *dims);

// --------------------------------------------------------------------------------------------- ops

// For all of these. Operands are values of this graph. Returns: a new value, owned by the graph;
// TN_NO_VALUE after an error. Errors stick and are told by tn_graph_finish: TN_E_SHAPE, TN_E_DTYPE,
// TN_E_ARG, TN_E_HOST_MEMORY, each with the op, its name, the shapes and the rule. What an op
// computes, and the source of its formula, stands in ops.def. Letters: D head size, H query heads,
// G key heads (H is a multiple of G), T tokens, S slots of a cache. "F" is F32 or F16.

// One op of ops.def, by number. Every call below is a shorter way to say this one.
//   name     for messages and overrides; NULL or "" = made from the op's name
//   inputs   in the operands' order; TN_NO_VALUE for an optional one that is left out
//   attr     the op's struct of ops.h with its size set, copied; NULL when it has none
// Errors: also TN_E_UNSUPPORTED, fields set in attr that this release does not know. Since 0.1
TN_API tn_value tn_graph_op(tn_graph *graph, tnp_op op, const char *name, const tn_value *inputs,
                            uint32_t input_count, const void *attr);

// a + b. a: F, any dims; b: F, each dim that of a or 1. Result: as a. Since 0.1
TN_API tn_value tn_graph_add(tn_graph *graph, tn_value a, tn_value b);

// a * b, operands as for tn_graph_add. Since 0.1
TN_API tn_value tn_graph_mul(tn_graph *graph, tn_value a, tn_value b);

// silu(gate) * up. Both F, of the same type and dims, as is the result. Since 0.1
TN_API tn_value tn_graph_swiglu(tn_graph *graph, tn_value gate, tn_value up);

// x * scale. x: F. Result: as x. Since 0.1
TN_API tn_value tn_graph_scale(tn_graph *graph, tn_value x, float scale);

// x / sqrt(mean of x^2 over dims[0] + eps) * weight. x: F; weight: F32 {dims[0]}, or TN_NO_VALUE;
// eps >= 0. Result: as x. Since 0.1
TN_API tn_value tn_graph_rms_norm(tn_graph *graph, tn_value x, tn_value weight, float eps);

// x {K, M, B...} F times weight {K, N, B...} of any type: F32 {N, M, B...}. Each dim of weight from
// 2 on divides that of x: neighbours share. Since 0.1
TN_API tn_value tn_graph_matmul(tn_graph *graph, tn_value x, tn_value weight);

// Rotary position embedding of x {D, H, T} F by position I32 {T}, in tokens from 0; factors: F32
// {rot_dims / 2} that divide the frequencies, or TN_NO_VALUE. Result: as x. Since 0.1
TN_API tn_value tn_graph_rope(tn_graph *graph, tn_value x, tn_value position, tn_value factors,
                              const tnp_rope_attr *attr);

// Attention of q {D, H, T} F over k {D, G, S} and v {E, G, S}, F32, F16 or a block type; the extent
// of S says how many slots are filled. position: I32 {T}; mask: F {S, T}, or TN_NO_VALUE.
// Result: F32 {E, H, T}. Since 0.1
TN_API tn_value tn_graph_attention(tn_graph *graph, tn_value q, tn_value k, tn_value v,
                                   tn_value position, tn_value mask,
                                   const tnp_attention_attr *attr);

// Rows of table {D, R} of any type, decoded: index I32 {N}, each 0 to R - 1; F32 {D, N}, or I32 for
// an I32 table. Another index fails the run with TN_E_DATA. Since 0.1
TN_API tn_value tn_graph_get_rows(tn_graph *graph, tn_value table, tn_value index);

// Writes rows F32 {D, N} into table {D, R} at index I32 {N}, converted to its type. The result is
// the table after the write, over the same bytes; whatever looks at these bytes later sees it. The
// table is a state or a computed value, no weight, no input. Since 0.1
TN_API tn_value tn_graph_set_rows(tn_graph *graph, tn_value table, tn_value rows, tn_value index);

// The elements of x as `dtype`, contiguous; to its own dtype it makes a strided value contiguous.
// Block types convert from and to F32. Since 0.1
TN_API tn_value tn_graph_convert(tn_graph *graph, tn_value x, tn_dtype dtype);

// Views: the result looks at the bytes of x; nothing moves.

// x, contiguous, with other dims of the same product. A dim with an extent stays whole. Since 0.1
TN_API tn_value tn_graph_reshape(tn_graph *graph, tn_value x, uint32_t rank, const int64_t *dims);

// Dim i of the result is dim axes[i] of x; axes is a permutation of 0 to rank - 1. Since 0.1
TN_API tn_value tn_graph_permute(tn_graph *graph, tn_value x, uint32_t rank, const uint32_t *axes);

// `count` elements of dim `axis` from `begin` on. dims[0] of a block type: whole blocks. Since 0.1
TN_API tn_value tn_graph_slice(tn_graph *graph, tn_value x, uint32_t axis, int64_t begin,
                               int64_t count);

// Dims of 1 repeated to `dims`; the others stay. Since 0.1
TN_API tn_value tn_graph_broadcast(tn_graph *graph, tn_value x, uint32_t rank, const int64_t *dims);

// x of which only the first `length` elements of dim `axis` count in a run; length: one I32, read
// at each run, 0 to the dim, else the run fails with TN_E_DATA. Since 0.1
TN_API tn_value tn_graph_limit(tn_graph *graph, tn_value x, uint32_t axis, tn_value length);

// The value as an output, under a name unique among outputs. Since 0.1
TN_API void tn_graph_output(tn_graph *graph, const char *name, tn_value value);

// ------------------------------------------------------------------------------------------ finish

// Reports the first error, else verifies, drops what no output and no state needs, orders and
// freezes. After a failure the graph can only be destroyed. Errors: those of the builder;
// TN_E_GRAPH without outputs or when finished already. Since 0.1
TN_NODISCARD TN_API tn_status tn_graph_finish(tn_graph *graph, tn_error *err);

typedef struct tn_value_info {
    uint32_t size;   // sizeof, set by the caller
    tn_dtype dtype;
    uint32_t rank;
    uint32_t is_view;               // 1: shares its bytes with another value
    int64_t dims[TN_MAX_DIMS];      // 1 beyond rank
    int64_t strides[TN_MAX_DIMS];   // bytes
    uint64_t bytes;                 // of the contiguous value, all extents at their full dims
    const char *name;               // lives as long as the graph
} tn_value_info;

// Errors: TN_E_ARG for a value of another graph. Since 0.1
TN_NODISCARD TN_API tn_status tn_graph_value_info(const tn_graph *graph, tn_value value,
                                                  tn_value_info *out_info, tn_error *err);

// The input, state or output of that name; TN_NO_VALUE when there is none. Since 0.1
TN_API tn_value tn_graph_find(const tn_graph *graph, const char *name);

// The graph as text, a line a node, in the order it runs. Since 0.1
TN_API void tn_graph_print(const tn_graph *graph, const tn_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
