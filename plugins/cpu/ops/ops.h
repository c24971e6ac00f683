// ops.h: what the ops share: the division of work, rows of any dtype and stride as F32, and the
// checks of claims. For the .c files of this folder only.
//
// Every op walks its output row by row: a row is dims[0], and rows are numbered over dims[1] and
// up, fastest first.
#ifndef CPU_OPS_H
#define CPU_OPS_H

#include <stddef.h>

#include "../kernels.h"
#include "../op.h"

#define CPU_CHUNK                                                                                  \
    512   // elements of a row that pass through a buffer on the stack; a multiple of every block

typedef struct cpu_range {
    int64_t begin, end;
} cpu_range;

// The part of 0 .. count - 1 that falls to a worker: contiguous, cut at multiples of grain.
cpu_range cpu_part(int64_t count, int64_t grain, uint32_t worker, uint32_t workers);

static inline int64_t cpu_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cpu_round_up(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// Bytes of scratch are handed out in whole cache lines, so that workers do not share one.
static inline int64_t cpu_lines(int64_t bytes)
{
    return cpu_round_up(bytes, 64);
}

int64_t cpu_row_count(const cpu_tensor *t);

// First element of row `row` of an output with these dims, in t: its own row, or the one broadcast
// to it.
char *cpu_row(const cpu_tensor *t, const int64_t dims[TNP_MAX_DIMS], int64_t row);

// Elements first .. first + n - 1 of a row as F32. Where they stand as such, the answer points to
// them; else they are decoded into buffer, which has room for n, rounded up to a block. A dim of 1
// repeats.
//   first   a multiple of the block's elements
const float *cpu_read(const cpu_kernels *kernels, const cpu_tensor *t, const char *row,
                      int64_t first, int64_t n, float *buffer);

// Where a result of F32 elements from `first` on can be made: in the row itself, else in buffer;
// cpu_write brings it home.
float *cpu_target(const cpu_tensor *t, char *row, int64_t first, float *buffer);

// Puts n F32 into a row, converted; nothing to do when they were made in place. For block types
// first is a multiple of 32, and the rest of the last block becomes 0.
void cpu_write(const cpu_kernels *kernels, const cpu_tensor *t, char *row, int64_t first, int64_t n,
               const float *from);

// n elements of a plain type, of `bytes` bytes each.
void cpu_copy_elements(int64_t n, int64_t bytes, const char *from, int64_t from_stride, char *to,
                       int64_t to_stride);

// n elements of one plain type to another, one at a time, as op convert does (plain.c has the
// rules). Source and result may start at the same byte where their elements have one size.
void cpu_convert_elements(const cpu_kernels *kernels, int64_t n, tnp_dtype from_dtype,
                          const char *from, int64_t from_stride, tnp_dtype to_dtype, char *to,
                          int64_t to_stride);

// swiglu, geglu or reglu of (gate, up).
cpu_binary_kernel *cpu_gated_kernel(const cpu_kernels *kernels, tnp_op op);

int32_t cpu_index(const cpu_tensor *t, int64_t i);   // element i of dims[0] of an I32 operand

// The first failure is kept.
void cpu_fail(cpu_job *job, const char *text);

// For refuse.
static inline int cpu_has(const cpu_job *node,
                          uint32_t i)   // operand i is given; what is left out has dtype 0
{
    return i < node->input_count && node->in[i].dtype != 0;
}

int64_t cpu_block_elements(tnp_dtype dtype);   // 0 = not a dtype of this plugin
int64_t cpu_block_bytes(tnp_dtype dtype);
int cpu_is_plain(tnp_dtype dtype);            // not a block type
int cpu_is_float(const cpu_tensor *t);        // F32 or F16
int cpu_is_decodable(const cpu_tensor *t);    // what cpu_read takes
int cpu_has_unit_rows(const cpu_tensor *t);   // elements, or blocks, of a row stand side by side
int cpu_rank_at_most(const cpu_tensor *t, uint32_t rank);
const char *cpu_refuse_strides(
    const cpu_job *node);   // what no op here takes: misaligned elements, blocks apart

// One table a family, ended by number 0; table.c looks through them.
extern const cpu_op cpu_elementwise_ops[], cpu_norm_ops[], cpu_group_norm_ops[], cpu_softmax_ops[],
    cpu_rope_ops[], cpu_matmul_ops[], cpu_matmul_id_ops[], cpu_sort_ops[], cpu_attention_ops[],
    cpu_rows_ops[], cpu_convert_ops[], cpu_pad_ops[], cpu_reduce_ops[], cpu_conv_ops[],
    cpu_image_ops[];

#endif
