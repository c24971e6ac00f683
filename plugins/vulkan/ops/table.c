// table.c: finds an op by its number.
#include "ops.h"

static const vulkan_op *const families[] = {
    vulkan_attention_ops,
    vulkan_convert_ops,
    vulkan_elementwise_ops,
    vulkan_matmul_ops,
    vulkan_move_ops,
    vulkan_norm_ops,
    vulkan_reduce_ops,
    vulkan_rope_ops,
    vulkan_rows_ops,
    vulkan_softmax_ops,
    vulkan_sort_ops,
};

const vulkan_op *vulkan_op_find(tnp_op number)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (const vulkan_op *op = families[i]; op->number != 0; op++)
            if (op->number == number)
                return op;
    return NULL;
}
