// run.c: from an op's number to its function.
#include "reference.h"

static const struct {
    tnp_op op;
    ref_op *run;
} ops[] = {
    { TNP_OP_ADD, ref_elementwise },
    { TNP_OP_SUB, ref_elementwise },
    { TNP_OP_MUL, ref_elementwise },
    { TNP_OP_DIV, ref_elementwise },
    { TNP_OP_SCALE, ref_elementwise },
    { TNP_OP_NEG, ref_elementwise },
    { TNP_OP_SQRT, ref_elementwise },
    { TNP_OP_EXP, ref_elementwise },
    { TNP_OP_TANH, ref_elementwise },
    { TNP_OP_SIGMOID, ref_elementwise },
    { TNP_OP_RELU, ref_elementwise },
    { TNP_OP_SILU, ref_elementwise },
    { TNP_OP_GELU, ref_elementwise },
    { TNP_OP_SWIGLU, ref_elementwise },
    { TNP_OP_RMS_NORM, ref_rms_norm },
    { TNP_OP_SOFTMAX, ref_softmax },
    { TNP_OP_ROPE, ref_rope },
    { TNP_OP_MATMUL, ref_matmul },
    { TNP_OP_ATTENTION, ref_attention },
    { TNP_OP_GET_ROWS, ref_get_rows },
    { TNP_OP_SET_ROWS, ref_set_rows },
    { TNP_OP_CONVERT, ref_convert },
    { TNP_OP_CONCAT, ref_concat },
    { TNP_OP_SUM, ref_sum },
    { TNP_OP_MEAN, ref_sum },
    { TNP_OP_ARGMAX, ref_argmax },
};

int ref_run(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].op == op)
            return ops[i].run(op, attr, in, out);
    return REF_UNKNOWN_OP;
}
