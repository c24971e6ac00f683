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
    { TNP_OP_ABS, ref_elementwise },
    { TNP_OP_SQR, ref_elementwise },
    { TNP_OP_RSQRT, ref_elementwise },
    { TNP_OP_LOG, ref_elementwise },
    { TNP_OP_SIN, ref_elementwise },
    { TNP_OP_COS, ref_elementwise },
    { TNP_OP_CLAMP, ref_elementwise },
    { TNP_OP_SWIGLU, ref_elementwise },
    { TNP_OP_GEGLU, ref_elementwise },
    { TNP_OP_REGLU, ref_elementwise },
    { TNP_OP_GELU_ERF, ref_elementwise },
    { TNP_OP_GELU_QUICK, ref_elementwise },
    { TNP_OP_SOFTCAP, ref_elementwise },
    { TNP_OP_RMS_NORM, ref_rms_norm },
    { TNP_OP_LAYER_NORM, ref_layer_norm },
    { TNP_OP_GROUP_NORM, ref_group_norm },
    { TNP_OP_L2_NORM, ref_l2_norm },
    { TNP_OP_SOFTMAX, ref_softmax },
    { TNP_OP_ROPE, ref_rope },
    { TNP_OP_MATMUL, ref_matmul },
    { TNP_OP_MATMUL_ID, ref_matmul_id },
    { TNP_OP_TOP_K, ref_top_k },
    { TNP_OP_ATTENTION, ref_attention },
    { TNP_OP_GET_ROWS, ref_get_rows },
    { TNP_OP_SET_ROWS, ref_set_rows },
    { TNP_OP_CONVERT, ref_convert },
    { TNP_OP_CONCAT, ref_concat },
    { TNP_OP_PAD, ref_pad },
    { TNP_OP_REPEAT, ref_repeat },
    { TNP_OP_SUM, ref_sum },
    { TNP_OP_MEAN, ref_sum },
    { TNP_OP_ARGMAX, ref_argmax },
    { TNP_OP_MAX, ref_max },
    { TNP_OP_CUMSUM, ref_cumsum },
    { TNP_OP_ARGSORT, ref_argsort },
    { TNP_OP_CONV_1D, ref_conv },
    { TNP_OP_CONV_2D, ref_conv },
    { TNP_OP_CONV_TRANSPOSE_1D, ref_conv_transpose_1d },
    { TNP_OP_POOL_2D, ref_pool_2d },
    { TNP_OP_UPSCALE, ref_upscale },
};

int ref_run(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].op == op)
            return ops[i].run(op, attr, in, out);
    return REF_UNKNOWN_OP;
}
