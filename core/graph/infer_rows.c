// infer_rows.c: ops along one dim: norms, softmax, rope, sums and sorts.
#include "graph/infer.h"

#include <inttypes.h>

static bool infer_rms_norm(const tni_rule *rule)
{
    operand x = rule->in[0], weight = rule->in[1];
    const tnp_norm_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 0))
        return false;
    if (x->dims[0] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "rows of 0 elements have no mean");
    if (!(attr->eps >= 0))
        return tni_rule_fail(rule, TN_E_ARG, "eps must be 0 or more, it is %g", (double)attr->eps);
    if (weight && (weight->dtype != TN_DTYPE_F32 || weight->dims[0] != x->dims[0] ||
                   tni_value_elements(weight) != x->dims[0]))
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "the weight must be F32 with one element for each of dims[0]", "x",
                                 x, "weight", weight);
    tni_copy_shape(rule->out, x);
    return true;
}

// layer_norm and l2_norm; rms_norm above has its own words for its weight.
static bool infer_norm(const tni_rule *rule)
{
    operand x = rule->in[0];
    float eps = ((const tnp_norm_attr *)rule->attr)->eps;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 0))
        return false;
    if (x->dims[0] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "rows of 0 elements have no norm");
    if (!(eps >= 0))
        return tni_rule_fail(rule, TN_E_ARG, "eps must be 0 or more, it is %g", (double)eps);
    if (!tni_need_vector(rule, "the weight", rule->in[1], x->dims[0]) ||
        !tni_need_vector(rule, "the bias", rule->in[2], x->dims[0]))
        return false;
    tni_copy_shape(rule->out, x);
    return true;
}

static bool infer_group_norm(const tni_rule *rule)
{
    operand x = rule->in[0];
    const tnp_group_norm_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 2))
        return false;
    if (attr->groups == 0 || x->dims[2] % attr->groups || !(attr->eps >= 0) ||
        x->dims[0] * x->dims[1] * x->dims[2] == 0)
        return tni_rule_fail(rule, TN_E_ARG,
                             "%u groups must divide %" PRId64 " channels, and eps be 0 or more",
                             attr->groups, x->dims[2]);
    if (!tni_need_vector(rule, "the weight", rule->in[1], x->dims[2]) ||
        !tni_need_vector(rule, "the bias", rule->in[2], x->dims[2]))
        return false;
    tni_copy_shape(rule->out, x);
    return true;
}

static bool infer_softmax(const tni_rule *rule)
{
    operand x = rule->in[0], mask = rule->in[1];
    if (!tni_need_float(rule, "x", x) || (mask && !tni_need_float(rule, "mask", mask)))
        return false;
    if (!(((const tnp_softmax_attr *)rule->attr)->alibi_max_bias >= 0))
        return tni_rule_fail(rule, TN_E_ARG, "alibi_max_bias must be 0 or more");
    if (mask && !tni_broadcasts(mask, x))
        return tni_rule_fail_two(rule, TN_E_SHAPE, "each dim of the mask must be that of x, or 1",
                                 "x", x, "mask", mask);
    tni_copy_shape(rule->out, x);
    return !mask || tni_join_broadcast(rule, mask);
}

static bool infer_rope(const tni_rule *rule)
{
    operand x = rule->in[0], position = rule->in[1], factors = rule->in[2];
    const tnp_rope_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_index(rule, "position", position) ||
        !tni_need_whole(rule, "x", x, 0, 1))
        return false;
    if (attr->rot_dims < 2 || attr->rot_dims % 2 || attr->rot_dims > x->dims[0])
        return tni_rule_fail(rule, TN_E_ARG, "rot_dims must be even and 2 to %" PRId64 ", it is %u",
                             x->dims[0], attr->rot_dims);
    if (attr->layout > TNP_ROPE_NEOX || !(attr->base > 0) || !(attr->scale > 0))
        return tni_rule_fail(
            rule, TN_E_ARG,
            "base and scale must be above 0 and layout 0 or 1, they are %g, %g and %u",
            (double)attr->base, (double)attr->scale, attr->layout);
    if (!(attr->yarn_extrapolation >= 0) ||
        (attr->yarn_extrapolation > 0 && (!(attr->base > 1) || !(attr->yarn_beta_fast > 0) ||
                                          !(attr->yarn_beta_slow > 0) || attr->yarn_context == 0)))
        return tni_rule_fail(rule, TN_E_ARG,
                             "YaRN needs a base above 1, and betas and a context above 0, they are "
                             "%g, %g, %g and %u",
                             (double)attr->base, (double)attr->yarn_beta_fast,
                             (double)attr->yarn_beta_slow, attr->yarn_context);
    if (position->dims[0] != x->dims[2])
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "there must be a position for each token, dims[2] of x", "x", x,
                                 "position", position);
    if (factors && (factors->dtype != TN_DTYPE_F32 || factors->dims[0] != attr->rot_dims / 2 ||
                    tni_value_elements(factors) != factors->dims[0]))
        return tni_rule_fail_two(rule, TN_E_SHAPE, "factors must be F32 with rot_dims / 2 elements",
                                 "x", x, "factors", factors);
    tni_copy_shape(rule->out, x);
    return tni_join_extent(rule, &rule->out->extent[2], position->extent[0], 2);
}

static bool reduce(const tni_rule *rule, uint32_t axis, tn_dtype dtype)
{
    operand x = rule->in[0];
    if (!tni_need_float(rule, "x", x))
        return false;
    if (!tni_need_axis(rule, axis))
        return false;
    if (x->dims[axis] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "dim %u has 0 elements", axis);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = dtype;
    rule->out->dims[axis] = 1;
    rule->out->extent[axis] = 0;
    return true;
}

static bool infer_cumsum(const tni_rule *rule)
{
    uint32_t axis = ((const tnp_axis_attr *)rule->attr)->axis;
    if (!tni_need_float(rule, "x", rule->in[0]) || !tni_need_axis(rule, axis))
        return false;
    tni_copy_shape(rule->out, rule->in[0]);
    rule->out->dtype = TN_DTYPE_F32;
    return true;
}

static bool infer_argsort(const tni_rule *rule)
{
    operand x = rule->in[0];
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 0))
        return false;
    if (((const tnp_argsort_attr *)rule->attr)->order > TNP_SORT_DESCENDING)
        return tni_rule_fail(rule, TN_E_ARG, "the order is ascending (0) or descending (1)");
    if (x->dims[0] > INT32_MAX)
        return tni_rule_fail(rule, TN_E_SHAPE, "%" PRId64 " elements have no I32 index",
                             x->dims[0]);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_I32;
    return true;
}

static bool infer_top_k(const tni_rule *rule)
{
    operand x = rule->in[0];
    uint32_t k = ((const tnp_top_k_attr *)rule->attr)->k;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 0))
        return false;
    if (k == 0 || k > x->dims[0] || x->dims[0] > INT32_MAX)
        return tni_rule_fail(rule, TN_E_ARG, "k must be 1 to %" PRId64 ", it is %u", x->dims[0], k);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_I32;
    rule->out->dims[0] = k;
    return true;
}

bool tni_infer_rows(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_RMS_NORM:
        return infer_rms_norm(rule);
    case TNP_OP_LAYER_NORM:
    case TNP_OP_L2_NORM:
        return infer_norm(rule);
    case TNP_OP_GROUP_NORM:
        return infer_group_norm(rule);
    case TNP_OP_SOFTMAX:
        return infer_softmax(rule);
    case TNP_OP_ROPE:
        return infer_rope(rule);
    case TNP_OP_TOP_K:
        return infer_top_k(rule);
    case TNP_OP_SUM:
    case TNP_OP_MEAN:
    case TNP_OP_MAX:
        return reduce(rule, ((const tnp_axis_attr *)rule->attr)->axis, TN_DTYPE_F32);
    case TNP_OP_ARGMAX:
        return reduce(rule, 0, TN_DTYPE_I32);
    case TNP_OP_CUMSUM:
        return infer_cumsum(rule);
    case TNP_OP_ARGSORT:
        return infer_argsort(rule);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no shape rule");
    }
}
