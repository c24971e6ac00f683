// decompose_rows.c: norms, mean and top_k.
#include <math.h>

#include "graph/decompose_internal.h"

// A mean is a sum times a number, so that number has to be known before the run.
bool tni_decompose_mean_is_whole(const tn_graph *graph, const tni_node *node)
{
    return !graph->values[node->inputs[0]].extent[((const tnp_axis_attr *)node->attr)->axis];
}

// A weight or a bias that counts in part says nothing of the result, while the steps would take
// that length over.
bool tni_decompose_norm_is_whole(const tn_graph *graph, const tni_node *node)
{
    return !tni_decompose_has_extent(graph, node, 1, 0) &&
           !tni_decompose_has_extent(graph, node, 2, 0);
}

tn_value tni_decompose_mean(const tni_expansion *e)
{
    const tnp_axis_attr *attr = e->attr;
    int64_t count = tni_decompose_value(e, e->in[0]).dims[attr->axis];
    tn_value sum = tni_decompose_step(e, TNP_OP_SUM, "sum", e->in[0], TN_NO_VALUE, attr);
    return tni_decompose_last(
        e, TNP_OP_SCALE, sum, TN_NO_VALUE,
        &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr), .scale = (float)(1.0 / (double)count) });
}

static tn_value sum_of_squares(const tni_expansion *e, tn_value x)
{
    tn_value squares = tni_decompose_step(e, TNP_OP_SQR, "squares", x, TN_NO_VALUE, NULL);
    return tni_decompose_row_step(e, TNP_OP_SUM, "sum of squares", squares);
}

// sqrt(mean of x^2 over dims[0] + eps)
static tn_value length_of(const tni_expansion *e, tn_value x, float eps)
{
    float share = (float)(1.0 / (double)tni_decompose_value(e, x).dims[0]);
    tn_value mean = tni_decompose_scale_step(e, "mean square", sum_of_squares(e, x), share, eps);
    return tni_decompose_step(e, TNP_OP_SQRT, "length", mean, TN_NO_VALUE, NULL);
}

// The last steps of a norm: normed * weight + bias, of which one may be left out.
static tn_value weigh_and_shift(const tni_expansion *e, tn_value normed, tn_value weight,
                                tn_value bias)
{
    if (tn_value_is_none(bias))
        return tni_decompose_last(e, TNP_OP_MUL, normed, weight, NULL);
    if (!tn_value_is_none(weight))
        normed = tni_decompose_step(e, TNP_OP_MUL, "weighted", normed, weight, NULL);
    return tni_decompose_last(e, TNP_OP_ADD, normed, bias, NULL);
}

// x / length * weight + bias, of which weight and bias may be left out.
static tn_value divide_and_shift(const tni_expansion *e, tn_value x, tn_value length,
                                 tn_value weight, tn_value bias)
{
    if (tn_value_is_none(weight) && tn_value_is_none(bias))
        return tni_decompose_last(e, TNP_OP_DIV, x, length, NULL);
    tn_value normed = tni_decompose_step(e, TNP_OP_DIV, "normed", x, length, NULL);
    return weigh_and_shift(e, normed, weight, bias);
}

tn_value tni_decompose_rms_norm(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    tn_value length = length_of(e, x, ((const tnp_norm_attr *)e->attr)->eps);
    return divide_and_shift(e, x, length, e->in[1], TN_NO_VALUE);
}

tn_value tni_decompose_l2_norm(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    tn_value length = tni_decompose_step(e, TNP_OP_SQRT, "length", sum_of_squares(e, x),
                                         TN_NO_VALUE, NULL);
    float eps = ((const tnp_norm_attr *)e->attr)->eps;
    return tni_decompose_last(e, TNP_OP_DIV, x,
                              tni_decompose_clamp_step(e, "divisor", length, eps, INFINITY), NULL);
}

tn_value tni_decompose_layer_norm(const tni_expansion *e)
{
    tn_value x = tni_decompose_operand(e, 0);
    float share = (float)(1.0 / (double)tni_decompose_value(e, x).dims[0]);
    tn_value sum = tni_decompose_row_step(e, TNP_OP_SUM, "sum", x);
    tn_value mean = tni_decompose_scale_step(e, "mean", sum, share, 0);
    tn_value centred = tni_decompose_step(e, TNP_OP_SUB, "centred", x, mean, NULL);
    tn_value length = length_of(e, centred, ((const tnp_norm_attr *)e->attr)->eps);
    return divide_and_shift(e, centred, length, e->in[1], e->in[2]);
}

// Each group as one row, then each channel as it was: {W * H * C / groups, groups, B...}. What came
// as F16 is contiguous already; what is strided has to be.
tn_value tni_decompose_group_norm(const tni_expansion *e)
{
    const tnp_group_norm_attr *attr = e->attr;
    tn_value x = tni_decompose_operand(e, 0);
    tni_value image = tni_decompose_value(e, x);
    if (tn_value_is_none(x))
        return x;
    if (!tni_value_is_contiguous(&image))
        x = tni_decompose_convert_step(e, "contiguous", x, TN_DTYPE_F32);
    uint32_t rank = image.rank > 3 ? image.rank - 1 : 2;
    int64_t dims[TNP_MAX_DIMS] = { image.dims[0] * image.dims[1] * image.dims[2] / attr->groups,
                                   attr->groups };
    for (uint32_t i = 2; i < rank; i++)
        dims[i] = image.dims[i + 1];
    tn_value rows = tni_decompose_reshape(e, "groups", x, rank, dims);
    tn_value normed = tni_decompose_step(e, TNP_OP_LAYER_NORM, "normed", rows, TN_NO_VALUE,
                                         &(tnp_norm_attr){ sizeof(tnp_norm_attr), attr->eps });
    normed = tni_decompose_reshape(e, "channels", normed, image.rank, image.dims);
    tn_value weight = e->in[1], bias = e->in[2];
    if (!tn_value_is_none(weight))
        weight = tni_decompose_permute_row(e, "weight", weight, 2);
    if (!tn_value_is_none(bias))
        bias = tni_decompose_permute_row(e, "bias", bias, 2);
    if (tn_value_is_none(weight) && tn_value_is_none(bias))
        return tni_decompose_last(e, TNP_OP_CONVERT, normed, TN_NO_VALUE,
                                  &(tnp_convert_attr){ sizeof(tnp_convert_attr), e->dtype });
    return weigh_and_shift(e, normed, weight, bias);
}

// Both keep equal elements in order and put a NaN below every number.
tn_value tni_decompose_top_k(const tni_expansion *e)
{
    tn_value sorted = tni_decompose_step(
        e, TNP_OP_ARGSORT, "sorted", e->in[0], TN_NO_VALUE,
        &(tnp_argsort_attr){ sizeof(tnp_argsort_attr), TNP_SORT_DESCENDING });
    tn_value best = tni_decompose_slice(e, "best", sorted, 0, ((const tnp_top_k_attr *)e->attr)->k,
                                        1);
    return tni_decompose_last(e, TNP_OP_CONVERT, best, TN_NO_VALUE,
                              &(tnp_convert_attr){ sizeof(tnp_convert_attr), TN_DTYPE_I32 });
}
