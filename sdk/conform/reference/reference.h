// reference.h: every op once, in plain C with double accumulation, written to be read: what the
// results of a plugin are compared with. Nothing here is fast, shares code with a plugin, or
// allocates.
//
// Formulas stand in ops.def; a function here follows its line there from left to right. A tensor is
// looked at element by element, so strides, broadcast and dtypes are the business of ref_get and
// ref_set alone.
//
// Dtypes read: all of dtypes.def. Written: the plain ones and Q8_0. An I64 keeps its digits up to
// 2^53.
#ifndef TENON_REFERENCE_H
#define TENON_REFERENCE_H

#include <tenon/ops.h>

typedef struct ref_tensor {
    char *data;   // first element; NULL = an optional operand left out
    tnp_dtype dtype;
    int64_t dims[TNP_MAX_DIMS];      // what counts in this run; 1 beyond the rank
    int64_t strides[TNP_MAX_DIMS];   // bytes; strides[0] is between blocks for block types
} ref_tensor;

enum { REF_OK = 0, REF_UNKNOWN_OP = 1, REF_BAD_INDEX = 2 };

// Computes one node.
//   attr    the op's attribute struct, or NULL
//   in      operands as in ops.def; in[i].data is NULL beyond input_count too
//   out     its bytes are written; for set_rows the same tensor as in[0]
// Returns:  REF_OK; REF_UNKNOWN_OP; REF_BAD_INDEX: an index outside its table, out is then
// unspecified
int ref_run(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out);

// Activations rounded as the CPU plugin does by default: blocks of 32, scale = max |x| / 127, q =
// round(x / scale) with ties to even, result = q * (scale in half precision). n is a multiple of
// 32.
void ref_round_activations(int64_t n, const float *x, float *out);

// Elements. `at` has an index for each dim. To a float type a value is rounded to nearest, ties to
// even, to BF16 by way of F32. To an integer type it is cut toward zero; beyond the type's range it
// becomes the least or the largest of it, and a NaN becomes 0. BOOL is 0 for 0, and else 1.
double ref_get(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS]);
void ref_set(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS], double value);

// Converts values to elements at[0] .. at[0] + n - 1 of a row: block types are written a block at a
// time, and at[0] and n are then multiples of 32. `value` gives element i.
typedef double ref_row(const void *context, int64_t i);
void ref_set_row(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS], int64_t n, ref_row *value,
                 const void *context);

// For the files of this folder: steps to the next element, dims[0] fastest; 0 after the last.
// is_empty: a dim is 0.
int ref_next(const int64_t dims[TNP_MAX_DIMS], int64_t at[TNP_MAX_DIMS]);
int ref_is_empty(const ref_tensor *t);
double ref_get_broadcast(const ref_tensor *t,
                         const int64_t at[TNP_MAX_DIMS]);   // a dim of 1 repeats

double ref_half(const void *at);
double ref_block_element(tnp_dtype dtype, const char *block, int64_t i);   // of a block type

typedef int ref_op(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out);
ref_op ref_elementwise, ref_rms_norm, ref_layer_norm, ref_l2_norm, ref_group_norm, ref_softmax,
    ref_rope, ref_matmul, ref_matmul_id, ref_top_k, ref_attention, ref_get_rows, ref_set_rows,
    ref_convert, ref_concat, ref_pad, ref_repeat, ref_sum, ref_max, ref_argmax, ref_cumsum,
    ref_argsort, ref_conv, ref_conv_transpose_1d, ref_pool_2d, ref_upscale;

#endif
