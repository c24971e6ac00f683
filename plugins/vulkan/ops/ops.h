// ops.h: the ops by family, and what several of them ask.
#ifndef VULKAN_OPS_H
#define VULKAN_OPS_H

#include "../op.h"

// Each family's, ended by a row of number 0.
extern const vulkan_op vulkan_attention_ops[];
extern const vulkan_op vulkan_convert_ops[];
extern const vulkan_op vulkan_elementwise_ops[];
extern const vulkan_op vulkan_matmul_ops[];
extern const vulkan_op vulkan_move_ops[];
extern const vulkan_op vulkan_norm_ops[];
extern const vulkan_op vulkan_reduce_ops[];
extern const vulkan_op vulkan_rope_ops[];
extern const vulkan_op vulkan_rows_ops[];
extern const vulkan_op vulkan_softmax_ops[];
extern const vulkan_op vulkan_sort_ops[];

static inline bool vulkan_is_float(const tnh_value *value)
{
    return value->dtype == TNP_DTYPE_F32 || value->dtype == TNP_DTYPE_F16;
}

#endif
