// infer_elementwise.c: ops that go element by element.
#include "graph/infer.h"

#include <math.h>
#include <string.h>

static bool infer_unary(const tni_rule *rule)
{
    if (!tni_need_float(rule, "x", rule->in[0]))
        return false;
    tni_copy_shape(rule->out, rule->in[0]);
    return true;
}

static bool infer_binary(const tni_rule *rule)
{
    operand a = rule->in[0], b = rule->in[1];
    if (!tni_need_float(rule, "a", a) || !tni_need_float(rule, "b", b))
        return false;
    if (!tni_broadcasts(b, a))
        return tni_rule_fail_two(rule, TN_E_SHAPE, "each dim of b must be that of a, or 1", "a", a,
                                 "b", b);
    tni_copy_shape(rule->out, a);
    return tni_join_broadcast(rule, b);
}

static bool infer_gated(const tni_rule *rule)
{
    operand gate = rule->in[0], up = rule->in[1];
    if (memcmp(gate->dims, up->dims, sizeof gate->dims) != 0 || gate->dtype != up->dtype)
        return tni_rule_fail_two(rule, TN_E_SHAPE, "gate and up must have one shape and type",
                                 "gate", gate, "up", up);
    return infer_binary(rule);
}

static bool infer_clamp(const tni_rule *rule)
{
    const tnp_clamp_attr *attr = rule->attr;
    if (!(attr->min <= attr->max))
        return tni_rule_fail(rule, TN_E_ARG, "min must be at most max, they are %g and %g",
                             (double)attr->min, (double)attr->max);
    return infer_unary(rule);
}

static bool infer_softcap(const tni_rule *rule)
{
    float cap = ((const tnp_softcap_attr *)rule->attr)->cap;
    if (!(cap > 0) || isinf(cap))
        return tni_rule_fail(rule, TN_E_ARG, "the cap must be above 0 and finite, it is %g",
                             (double)cap);
    return infer_unary(rule);
}

bool tni_infer_elementwise(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_ADD:
    case TNP_OP_SUB:
    case TNP_OP_MUL:
    case TNP_OP_DIV:
        return infer_binary(rule);
    case TNP_OP_SWIGLU:
    case TNP_OP_GEGLU:
    case TNP_OP_REGLU:
        return infer_gated(rule);
    case TNP_OP_CLAMP:
        return infer_clamp(rule);
    case TNP_OP_SOFTCAP:
        return infer_softcap(rule);
    default:   // every other op below the norms
        return infer_unary(rule);
    }
}
