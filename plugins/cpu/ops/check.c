// check.c: what claims ask about an operand.
#include "ops.h"

int64_t cpu_block_elements(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TNP_DTYPE_##NAME:                                                                         \
        return block_elements;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

int64_t cpu_block_bytes(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TNP_DTYPE_##NAME:                                                                         \
        return block_bytes;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

int cpu_is_plain(tnp_dtype dtype)
{
    return cpu_block_elements(dtype) == 1;
}

int cpu_is_float(const cpu_tensor *t)
{
    return t->dtype == TNP_DTYPE_F32 || t->dtype == TNP_DTYPE_F16;
}

int cpu_is_decodable(const cpu_tensor *t)
{
    return cpu_is_float(t) || t->dtype == TNP_DTYPE_BF16 || cpu_block_elements(t->dtype) > 1;
}

int cpu_has_unit_rows(const cpu_tensor *t)
{
    return t->dims[0] <= cpu_block_elements(t->dtype) || t->strides[0] == cpu_block_bytes(t->dtype);
}

int cpu_rank_at_most(const cpu_tensor *t, uint32_t rank)
{
    for (uint32_t i = rank; i < TNP_MAX_DIMS; i++)
        if (t->dims[i] != 1)
            return 0;
    return 1;
}

static const char *refuse_strides_of(const cpu_tensor *t)
{
    int64_t bytes = cpu_block_bytes(t->dtype);

    if (cpu_block_elements(t->dtype) > 1)
        return cpu_has_unit_rows(t)
                   ? NULL
                   : "a row of a block type whose blocks do not stand side by side";
    for (int i = 0; i < TNP_MAX_DIMS; i++)
        if (t->dims[i] > 1 && t->strides[i] % (bytes ? bytes : 1))
            return "a stride that is no multiple of the element's bytes";
    return NULL;
}

const char *cpu_refuse_strides(const cpu_job *node)
{
    const char *reason = refuse_strides_of(&node->out);

    for (uint32_t i = 0; i < node->input_count && !reason; i++)
        if (cpu_has(node, i))
            reason = refuse_strides_of(&node->in[i]);
    return reason;
}
