// ops.h: numbers of element types and ops, and the attribute structs of the ops. Part of the plugin contract; plugin.h
// includes it, and so does libtenon's graph.h, so that both sides of the border take the same structs. What the ops
// compute stands in ops.def.
//
// Attribute structs hold fixed-width numbers only and no padding: they may be compared, hashed and sent byte by byte.
// Each begins with its size. They grow at the end, in multiples of 8 bytes, and a field that is 0 means "as before".
#ifndef TENON_OPS_H
#define TENON_OPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TNP_MAX_DIMS 8

typedef uint32_t tnp_dtype;
enum {
#define DTYPE(number, NAME, block_elements, block_bytes) TNP_DTYPE_##NAME = number,
#include "dtypes.def"
};

typedef uint32_t tnp_op;
enum {
#define OP(number, NAME, ...) TNP_OP_##NAME = number,
#include "ops.def"
};

typedef char tnp_none_attr;   // stands in ops.def for "no attributes"; never passed

typedef struct tnp_dims_attr {   // reshape, broadcast
    uint32_t size, rank;
    int64_t dims[TNP_MAX_DIMS];   // 1 beyond rank
    // 1.0 ends here
} tnp_dims_attr;

typedef struct tnp_slice_attr {   // one entry a dim of the operand
    uint32_t size, rank;
    int64_t begin[TNP_MAX_DIMS];
    int64_t count[TNP_MAX_DIMS];   // elements kept
    int64_t step[TNP_MAX_DIMS];    // >= 1; dims[0] of a block type: 1
    // 1.0 ends here
} tnp_slice_attr;

typedef struct tnp_permute_attr {
    uint32_t size, rank;
    uint32_t axes[TNP_MAX_DIMS];   // a permutation of 0 .. rank - 1; axes[i] = i beyond rank
    // 1.0 ends here
} tnp_permute_attr;

typedef struct tnp_axis_attr {   // limit, concat, sum, mean, max, cumsum
    uint32_t size, axis;
    // 1.0 ends here
} tnp_axis_attr;

typedef struct tnp_scale_attr {
    uint32_t size;
    float scale, bias;
    uint32_t reserved;   // 0
    // 1.0 ends here
} tnp_scale_attr;

typedef struct tnp_clamp_attr {
    uint32_t size;
    float min, max;
    uint32_t reserved;   // 0
    // 1.0 ends here
} tnp_clamp_attr;

typedef struct tnp_softcap_attr {
    uint32_t size;
    float cap;           // > 0
    // 1.0 ends here
} tnp_softcap_attr;

typedef struct tnp_norm_attr {   // rms_norm, layer_norm, l2_norm
    uint32_t size;
    float eps;
    // 1.0 ends here
} tnp_norm_attr;

typedef struct tnp_group_norm_attr {
    uint32_t size, groups;   // groups divides the channels
    float eps;
    uint32_t reserved;   // 0
    // 1.0 ends here
} tnp_group_norm_attr;

typedef struct tnp_softmax_attr {
    uint32_t size;
    float scale;
    float alibi_max_bias;   // 0 = the mask as it is
    uint32_t reserved;   // 0
    // 1.0 ends here
} tnp_softmax_attr;

typedef struct tnp_top_k_attr {
    uint32_t size, k;    // 1 <= k <= dims[0]
    // 1.0 ends here
} tnp_top_k_attr;

enum { TNP_ROPE_NORMAL = 0, TNP_ROPE_NEOX = 1 };   // pairs are (2i, 2i + 1), or (i, i + rot_dims / 2)
typedef struct tnp_rope_attr {
    uint32_t size, layout;
    uint32_t rot_dims;           // even, 2 <= rot_dims <= D
    float base;                  // > 0, 10000 in most models
    float scale;                 // of positions, 1 = none; 1/4 = a context four times as long
    float yarn_extrapolation;    // 0 = no YaRN, 1 = full
    float yarn_attention;        // factor on cos and sin; 0 is taken as 1
    float yarn_beta_fast, yarn_beta_slow;
    uint32_t yarn_context;       // tokens that the model was first trained on
    // 1.0 ends here
} tnp_rope_attr;

enum { TNP_ATTENTION_CAUSAL = 1u << 0 };
typedef struct tnp_attention_attr {
    uint32_t size, flags;
    float scale;                 // of the scores, 1/sqrt(D) in most models
    float softcap;               // 0 = none
    uint32_t window;             // in tokens, the query's own included; 0 = none
    uint32_t reserved;           // 0
    // 1.0 ends here
} tnp_attention_attr;

typedef struct tnp_pad_attr {
    uint32_t size, rank;
    int64_t before[TNP_MAX_DIMS], after[TNP_MAX_DIMS];   // elements, >= 0; 0 beyond rank
    float value;
    uint32_t reserved;   // 0
    // 1.0 ends here
} tnp_pad_attr;

enum { TNP_SORT_ASCENDING = 0, TNP_SORT_DESCENDING = 1 };
typedef struct tnp_argsort_attr {
    uint32_t size, order;
    // 1.0 ends here
} tnp_argsort_attr;

typedef struct tnp_conv_attr {   // of dims[0] and dims[1]
    uint32_t size, groups;       // groups >= 1; conv_transpose_1d: 1
    uint32_t stride[2], dilation[2];   // >= 1
    uint32_t before[2], after[2];      // padding by zeros, in elements
    // 1.0 ends here
} tnp_conv_attr;

enum { TNP_POOL_MAX = 0, TNP_POOL_MEAN = 1 };
typedef struct tnp_pool_attr {   // of dims[0] and dims[1]
    uint32_t size, kind;
    uint32_t kernel[2], stride[2];     // >= 1
    uint32_t before[2], after[2];      // padding, below kernel
    // 1.0 ends here
} tnp_pool_attr;

enum { TNP_UPSCALE_NEAREST = 0, TNP_UPSCALE_BILINEAR = 1 };
typedef struct tnp_upscale_attr {
    uint32_t size, mode;
    int64_t width, height;       // of the result, >= 1
    // 1.0 ends here
} tnp_upscale_attr;

typedef struct tnp_convert_attr {
    uint32_t size;
    tnp_dtype dtype;
    // 1.0 ends here
} tnp_convert_attr;

#ifdef __cplusplus
}
#endif
#endif
