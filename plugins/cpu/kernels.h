// kernels.h: the micro-kernels of the CPU plugin: their signatures, and one table of them a level.
// A kernel works on contiguous F32 rows or on blocks; strides, F16 operands and the division of
// work belong to the ops above it.
//
// Rules for all kernels: no state, no allocation; counts may be 0; nothing is read or written past
// the elements named, not even inside one vector; no pointer needs more than its element's
// alignment. Source and result may be the same array where a comment says "in place", else they do
// not overlap.
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include <stdint.h>

// out[i] = f(x[i]); in place. exp, tanh: within 2 and 4 ulp of the exact value, and what is built
// on them (sigmoid, silu, gelu, swiglu, geglu) within 6 ulp of it, for the arguments as rounded,
// plus 3e-37: where exp(-x) overflows they give 0.
typedef void cpu_unary_kernel(int64_t n, const float *x, float *out);

// out[i] = f(a[i], b[i]); in place on either
typedef void cpu_binary_kernel(int64_t n, const float *a, const float *b, float *out);

// out[i] = x[i] * scale + bias; in place
typedef void cpu_scale_kernel(int64_t n, const float *x, float scale, float bias, float *out);

// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; weight NULL = ones; in place
typedef void cpu_rms_norm_kernel(int64_t n, const float *x, const float *weight, float eps,
                                 float *out);

// x[i] = exp(x[i] - max) / sum, where an exp below 2^-125 may be 0; zeros when x is -inf throughout
typedef void cpu_softmax_kernel(int64_t n, float *x);

// x[i] = exp(x[i] - max); returns max and puts the sum of the results into *sum. -INFINITY, zeros
// and 0 when x is -inf throughout
typedef float cpu_softmax_part_kernel(int64_t n, float *x, float *sum);

// out[i] = a[i] * factor_a + b[i] * factor_b; in place on a
typedef void cpu_blend_kernel(int64_t n, const float *a, float factor_a, const float *b,
                              float factor_b, float *out);

// index of the largest, the first of equals; NaN is never larger; 0 when n is 0
typedef int64_t cpu_argmax_kernel(int64_t n, const float *x);

// cos[i], sin[i] of angle[i] radians, each within 1e-7
typedef void cpu_sin_cos_kernel(int64_t n, const double *angle, float *cos_out, float *sin_out);

// Turns n pairs by cos[i], sin[i]: pair i is (x[2i], x[2i + 1]) for normal, (x[i], x[i + n]) for
// neox; in place
typedef void cpu_rope_kernel(int64_t n, const float *x, const float *cos_in, const float *sin_in,
                             float *out);

// n elements at `from` (F16, BF16 or blocks) to F32; n is a multiple of the block's elements, 32 or
// 256
typedef void cpu_decode_kernel(int64_t n, const void *from, float *to);

// n F32 to F16, Q8_0, or q8 (blocks.h: rounded activations); rounds to nearest, ties to even; n is
// a multiple of 32 for blocks. A block of q8 with an infinity or a NaN in it decodes to NaN
// throughout; one of Q8_0 too
typedef void cpu_encode_kernel(int64_t n, const float *from, void *to);

// out[t * out_stride + r] = sum over i < k of w[r][i] * x[t][i], for r < rows, t < tokens; w F32,
// F16 or Q8_0, whose last block is there to its end. Strides in bytes for w and x, in elements for
// out. The order of the sum depends on k alone, and F16 and Q8_0 give the bits of their values in
// F32.
typedef void cpu_matmul_kernel(int64_t rows, int64_t tokens, int64_t k, const void *w,
                               int64_t w_stride, const float *x, int64_t x_stride, float *out,
                               int64_t out_stride);

// In place of a row's stride: w is a packed group of 8 rows (blocks.h), or what follows one of its
// blocks. Kernels that take one give the bits that they give for the rows as they were.
#define CPU_PACKED (-1)

// `blocks` blocks of 32 of 1 to 8 rows of a weight, stride bytes from row to row or CPU_PACKED, to
// a panel (blocks.h). Rows that are not there repeat the last one. Where the weight's own blocks
// are of 256, w is the start of one, and the last one may be used in part. Where panels lie in
// pairs (panels_together), the first of two takes the room of both.
typedef void cpu_pack_kernel(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                             void *panel);

// acc[t * acc_stride + r] = what is there, or 0 where `from_0`, + row r of `panels` panels of 8
// rows, times activation t, for t < tokens; where they lie in pairs, `panel` is the first of one. x
// is q8, x_stride bytes from token to token. Blocks are added in order, whatever the number of
// tokens or panels.
typedef void cpu_matmul_q8_kernel(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                                  const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                                  int from_0);

// acc[r] = row r of a weight times one activation, for 1 to 8 rows, stride bytes from row to row or
// CPU_PACKED: what pack and matmul give for one token, bit for bit, without the panel between.
// Blocks of 32, as for pack. All 8 acc are written.
typedef void cpu_matvec_q8_kernel(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                                  const void *x, float *acc);

// out[j][i] = sum over s < n of p[j][s] * v[s][i], for i < width, j < count; s in order; v and its
// bits as w above. Strides in bytes for v, in elements for p and out.
typedef void cpu_row_sums_kernel(int64_t count, int64_t n, int64_t width, const float *p,
                                 int64_t p_stride, const void *v, int64_t v_stride, float *out,
                                 int64_t out_stride);

typedef struct cpu_kernels {
    const char *level;          // as in TENON_CPU_ISA
    int64_t panel_q8_0_bytes;   // of a panel of Q8_0, for one block (blocks.h)
    int64_t panel_q6_k_bytes;   // of Q6_K, or Q3_K
    int64_t panels_together;    // 1, or 2: panels lie in pairs (blocks.h)
    int64_t panels_at_once;     // multiplied best
#define KERNEL(name, type, ...) type *name;
#include "kernels.def"
} cpu_kernels;

extern const cpu_kernels cpu_kernels_scalar;
#if defined(__x86_64__)
extern const cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512vnni;
#elif defined(__aarch64__)
extern const cpu_kernels cpu_kernels_neon, cpu_kernels_neondot;
#endif

// Every kernel of every level is declared here, so that files of kernels need no header of their
// own.
#define KERNEL(name, type, ...) type cpu_##name##_scalar;
#include "kernels.def"
#if defined(__x86_64__)
#define KERNEL(name, type, avx2, avx512vnni, ...)                                                  \
    type cpu_##name##_##avx2, cpu_##name##_##avx512vnni;
#include "kernels.def"
#elif defined(__aarch64__)
#define KERNEL(name, type, avx2, avx512vnni, neon, neondot)                                        \
    type cpu_##name##_##neon, cpu_##name##_##neondot;
#include "kernels.def"
#endif

#endif
