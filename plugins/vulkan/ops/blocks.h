// blocks.h: what ops ask about values of any type, blocks too.
#ifndef VULKAN_OPS_BLOCKS_H
#define VULKAN_OPS_BLOCKS_H

#include "ops.h"

static inline bool vulkan_is_block(const tnh_value *value)
{
    return tnh_block_elements(value->dtype) > 1;
}

// Whether set_rows.comp makes it of F32.
static inline bool vulkan_is_encodable(const tnh_value *value)
{
    switch (value->dtype) {
    case TNP_DTYPE_F32:
    case TNP_DTYPE_F16:
    case TNP_DTYPE_BF16:
    case TNP_DTYPE_Q4_0:
    case TNP_DTYPE_Q4_1:
    case TNP_DTYPE_Q5_0:
    case TNP_DTYPE_Q5_1:
    case TNP_DTYPE_Q8_0:
    case TNP_DTYPE_IQ4_NL:
        return true;
    default:
        return false;
    }
}

// Whether blocks.glsl or base.glsl makes F32 of it: of what is encoded, and of the K types.
static inline bool vulkan_is_decodable(const tnh_value *value)
{
    switch (value->dtype) {
    case TNP_DTYPE_Q2_K:
    case TNP_DTYPE_Q3_K:
    case TNP_DTYPE_Q4_K:
    case TNP_DTYPE_Q5_K:
    case TNP_DTYPE_Q6_K:
        return true;
    default:
        return vulkan_is_encodable(value);
    }
}

// Whether every element begins where the kernels can read it.
static inline bool vulkan_has_whole_strides(const tnh_value *value)
{
    const int64_t unit = vulkan_is_block(value) ? 2 : tnh_block_bytes(value->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value->dims[d] > 1 && value->strides[d] % unit != 0)
            return false;
    return true;
}

// Whether the elements of a row stand side by side.
static inline bool vulkan_has_unit_rows(const tnh_value *value)
{
    return value->dims[0] == tnh_block_elements(value->dtype) ||
           value->strides[0] == tnh_block_bytes(value->dtype);
}

// From the first byte of a row to the last.
static inline uint64_t vulkan_row_span(const tnh_value *value)
{
    const int64_t blocks = value->dims[0] / tnh_block_elements(value->dtype);
    return (uint64_t)((blocks - 1) * value->strides[0] + tnh_block_bytes(value->dtype));
}

// Rows, dims[1], that the device binds at once; 0: not one.
static inline uint64_t vulkan_rows_at_once(const tnh_value *value, const vulkan_features *features)
{
    const uint64_t span = vulkan_row_span(value) + features->storage_alignment + 4;
    if (span > features->max_range_bytes)
        return 0;
    if (value->dims[1] == 1 || value->strides[1] == 0)
        return (uint64_t)value->dims[1];
    uint64_t rows = 1 + (features->max_range_bytes - span) / (uint64_t)value->strides[1];
    return rows < (uint64_t)value->dims[1] ? rows : (uint64_t)value->dims[1];
}

// The rows from `first` on, so many of them.
static inline tnh_value vulkan_rows_of(const tnh_value *value, uint64_t first, uint64_t count)
{
    tnh_value part = *value;
    part.offset += first * (uint64_t)value->strides[1];
    part.span_bytes -= ((uint64_t)value->dims[1] - count) * (uint64_t)value->strides[1];
    part.dims[1] = (int64_t)count;
    return part;
}

#endif
