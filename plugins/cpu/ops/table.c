// table.c: all ops of the plugin, by number.
#include "ops.h"

static const cpu_op *const families[] = {
    cpu_elementwise_ops, cpu_norm_ops,      cpu_group_norm_ops, cpu_softmax_ops,   cpu_rope_ops,
    cpu_matmul_ops,      cpu_matmul_id_ops, cpu_sort_ops,       cpu_attention_ops, cpu_rows_ops,
    cpu_convert_ops,     cpu_pad_ops,       cpu_reduce_ops,     cpu_conv_ops,      cpu_image_ops,
};

const cpu_op *cpu_op_find(tnp_op number)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (const cpu_op *op = families[i]; op->number; op++)
            if (op->number == number)
                return op;
    return NULL;
}
