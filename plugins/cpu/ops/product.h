// product.h: out[n, m] = sum over k of w[k, n] * x[k, m], for each of the B matrices of x and out:
// what the ops with such a product in them share. For the .c files of this folder only.
//
// Two ways, chosen by the dtype of w:
//   integer   block types with kernels of their own, unless the user asked for F32 activations.
//             First all activations are rounded to q8 (blocks.h) in scratch. Then two panels of 16
//             rows of w at a time are made and multiplied with every token; a single token meets
//             the rows as they are, 8 at a time. A constant w of two dims may come packed (pack.h):
//             the bits are the same.
//   F32       the rest. First activations that do not stand as F32 are copied. Then 8 rows of w at
//             a time are decoded (F32 ones are used where they are, and F16 ones for few tokens)
//             and multiplied with every token.
//
// A single row of activations is prepared by each worker for itself, on its stack. That takes a
// worker less time than a barrier.
//
// A result is one sum, in an order that depends on K alone: neither the number of workers, nor that
// of tokens, nor the place of a row in its panel changes its bits.
//
// Tokens are taken so many at a time that their activations stay in the second-level cache while
// panel after panel goes over them; the panels themselves fit the first level. Sums grow where the
// result is, if its rows are whole there.
#ifndef CPU_PRODUCT_H
#define CPU_PRODUCT_H

#include "../kernels/blocks.h"
#include "ops.h"

#define CPU_OWN_ROW_BYTES 32768   // of a row of activations that a worker may prepare for itself
#define CPU_MOST_TOKENS   256     // taken together

// Of one product; out has the dims that count, and where results go.
typedef struct cpu_factors {
    const cpu_kernels *kernels;
    const cpu_options *options;
    const cpu_tensor *x, *w, *out;
} cpu_factors;

// A dtype of weights with kernels of its own.
typedef struct cpu_integer_way {
    cpu_pack_kernel *pack;   // NULL = there is none
    cpu_matmul_q8_kernel *multiply;
    cpu_matvec_q8_kernel *multiply_one;   // token, without a panel
    int64_t panel_bytes;                  // for one block of 8 rows
} cpu_integer_way;

// Sizes of one run, or at most of one run when made from full dims.
typedef struct cpu_product {
    cpu_integer_way way;
    int64_t k, n, m, batches;
    int64_t blocks;            // of 32 along k, the last one perhaps in part
    int64_t x_row_bytes;       // of prepared activations; 0 = they are used where they are
    int is_own_row;            // each worker prepares the one row for itself
    int64_t tokens;            // taken together
    int64_t rows;              // of w, taken together: where workers' parts are cut
    int64_t panel_blocks;      // along K, a multiple of 8
    int64_t w_stride;          // between rows of w, as kernels of the integer way take it
    int64_t w_parts, w_step;   // blocks of 32 in a block of w; bytes to the next block of w
    int64_t x_bytes;           // of scratch for prepared activations, of all workers
    int64_t rows_bytes, worker_bytes;   // of each worker's: panels or decoded rows, and all of it
} cpu_product;

cpu_product cpu_product_of(const cpu_factors *factors);

// The same, without what only a multiplication needs: a run of one token asks it often.
cpu_product cpu_product_of_activations(const cpu_factors *factors);

// Prepares a part of all blocks of all rows of x, to lie row after row.
void cpu_product_prepare(const cpu_factors *factors, const cpu_product *product, cpu_range blocks,
                         char *to);

// Matrix b: rows of w, from a multiple of product->rows on, with every token.
//   prepared   activations of all matrices; unused where they are taken as they are
//   own        worker_bytes of scratch
void cpu_product_multiply(const cpu_factors *factors, const cpu_product *product, int64_t b,
                          cpu_range rows, const char *prepared, char *own);

#endif
