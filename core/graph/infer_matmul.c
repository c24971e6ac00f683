// infer_matmul.c: matmul, matmul_id and attention.
#include "base/dtype.h"
#include "graph/infer.h"

static bool infer_matmul(const tni_rule *rule)
{
    operand x = rule->in[0], w = rule->in[1];
    if (!tni_need_float(rule, "x", x))
        return false;
    if (x->dims[0] != w->dims[0] || x->dims[0] == 0)
        return tni_rule_fail_two(rule, TN_E_SHAPE, "inner sizes differ", "x", x, "w", w);
    if (x->extent[0] != w->extent[0])
        return tni_rule_fail_two(rule, TN_E_SHAPE, "the inner dims must have one extent", "x", x,
                                 "w", w);
    for (uint32_t i = 2; i < TN_MAX_DIMS; i++)
        if (w->dims[i] == 0 || x->dims[i] % w->dims[i] || w->extent[i])
            return tni_rule_fail_two(
                rule, TN_E_SHAPE, "each dim of w from 2 on must divide that of x", "x", x, "w", w);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->rank = x->rank > w->rank ? x->rank : w->rank;
    rule->out->dims[0] = w->dims[1];
    rule->out->extent[0] = w->extent[1];
    return true;
}

static bool need_key_type(const tni_rule *rule, const char *name, operand x)
{
    tni_shape_text s;
    return tni_is_float(x) || tni_dtype_find(x->dtype)->block_elements > 1 ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be F32, F16 or a block type, it is %s", name,
                         tni_shown(x, &s));
}

static bool infer_attention(const tni_rule *rule)
{
    operand q = rule->in[0], k = rule->in[1], v = rule->in[2], position = rule->in[3],
            mask = rule->in[4], sinks = rule->in[5];
    const tnp_attention_attr *attr = rule->attr;
    if (!tni_need_float(rule, "q", q) || !need_key_type(rule, "k", k) ||
        !need_key_type(rule, "v", v) || !tni_need_index(rule, "position", position) ||
        !tni_need_whole(rule, "q", q, 0, 1) || !tni_need_whole(rule, "k", k, 0, 1) ||
        !tni_need_whole(rule, "v", v, 0, 1))
        return false;
    if (q->rank > 3 || k->rank > 3 || v->rank > 3)
        return tni_rule_fail(rule, TN_E_SHAPE, "q, k and v have at most 3 dims");
    if (q->dims[0] != k->dims[0])
        return tni_rule_fail_two(rule, TN_E_SHAPE, "heads differ in size", "q", q, "k", k);
    if (k->dims[0] == 0 || k->dims[2] == 0)
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "heads of 0 elements and 0 tokens give no scores", "q", q, "k", k);
    if (k->dims[1] == 0 || q->dims[1] % k->dims[1])
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "the heads of q must be a multiple of those of k", "q", q, "k", k);
    if (k->dims[1] != v->dims[1] || k->dims[2] != v->dims[2] || k->extent[2] != v->extent[2])
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "heads, tokens and extents of k and v must agree", "k", k, "v", v);
    if (position->dims[0] != q->dims[2])
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "there must be a position for each token, dims[2] of q", "q", q,
                                 "position", position);
    if (!(attr->softcap >= 0) || attr->scale != attr->scale)
        return tni_rule_fail(rule, TN_E_ARG,
                             "softcap must be 0 or more and scale a number, they are %g and %g",
                             (double)attr->softcap, (double)attr->scale);
    if (mask &&
        (!tni_is_float(mask) || mask->dims[0] != k->dims[2] || mask->dims[1] != q->dims[2] ||
         tni_value_elements(mask) != mask->dims[0] * mask->dims[1]))
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "the mask must be F32 or F16 {tokens of k, tokens of q}", "k", k,
                                 "mask", mask);
    if (!tni_need_vector(rule, "sinks", sinks, q->dims[1]))
        return false;
    tni_copy_shape(rule->out, q);
    rule->out->rank = 3;
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->dims[0] = v->dims[0];
    return tni_join_extent(rule, &rule->out->extent[2], position->extent[0], 2);
}

static bool infer_matmul_id(const tni_rule *rule)
{
    operand x = rule->in[0], w = rule->in[1], ids = rule->in[2];
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 1) ||
        !tni_need_whole(rule, "w", w, 0, 2) || !tni_need_whole(rule, "ids", ids, 0, 0))
        return false;
    if (x->rank > 3 || w->rank > 3 || ids->rank > 2 || ids->dtype != TN_DTYPE_I32)
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "x and w have at most 3 dims, ids are I32 with at most 2", "x", x,
                                 "ids", ids);
    if (x->dims[0] != w->dims[0] || x->dims[0] == 0 || w->dims[2] == 0)
        return tni_rule_fail_two(rule, TN_E_SHAPE, "inner sizes differ", "x", x, "w", w);
    if ((x->dims[1] != ids->dims[0] && x->dims[1] != 1) || x->dims[2] != ids->dims[1])
        return tni_rule_fail_two(
            rule, TN_E_SHAPE,
            "dims[1] of x must be the choices of each token, or 1, and dims[2] "
            "the tokens",
            "x", x, "ids", ids);
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->rank = 3;
    rule->out->dims[0] = w->dims[1];
    rule->out->dims[1] = ids->dims[0];
    rule->out->dims[2] = ids->dims[1];
    rule->out->extent[2] = x->extent[2];
    return tni_join_extent(rule, &rule->out->extent[2], ids->extent[1], 2);
}

bool tni_infer_matmul(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_MATMUL:
        return infer_matmul(rule);
    case TNP_OP_MATMUL_ID:
        return infer_matmul_id(rule);
    case TNP_OP_ATTENTION:
        return infer_attention(rule);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no shape rule");
    }
}
