// infer.c: what the shape rules share, and which family an op belongs to.
#include "graph/infer.h"

#include <inttypes.h>
#include <string.h>

bool tni_is_float(operand x)
{
    return x->dtype == TN_DTYPE_F32 || x->dtype == TN_DTYPE_F16;
}

const char *tni_shown(operand x, tni_shape_text *room)
{
    return tni_value_text(x, room->text, sizeof room->text);
}

bool tni_rule_fail_two(const tni_rule *rule, tn_status status, const char *rule_text,
                       const char *a_name, operand a, const char *b_name, operand b)
{
    tni_shape_text sa, sb;
    return tni_rule_fail(rule, status, "%s, %s is %s, %s is %s", rule_text, a_name,
                         tni_shown(a, &sa), b_name, tni_shown(b, &sb));
}

bool tni_need_float(const tni_rule *rule, const char *name, operand x)
{
    tni_shape_text s;
    return tni_is_float(x) || tni_rule_fail(rule, TN_E_DTYPE, "%s must be F32 or F16, it is %s",
                                            name, tni_shown(x, &s));
}

bool tni_need_index(const tni_rule *rule, const char *name, operand x)
{
    tni_shape_text s;
    return (x->dtype == TN_DTYPE_I32 && tni_value_elements(x) == x->dims[0]) ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be I32 with one dim, it is %s", name,
                         tni_shown(x, &s));
}

// Dims `first` to `last` of x may not have an extent.
bool tni_need_whole(const tni_rule *rule, const char *name, operand x, uint32_t first,
                    uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (x->extent[i])
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u of %s has an extent, it must count as a whole", i, name);
    return true;
}

void tni_copy_shape(tni_value *out, operand x)
{
    out->dtype = x->dtype;
    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    memcpy(out->extent, x->extent, sizeof out->extent);
}

// The extent of a dim of the output that stands for dim i of b: the one both have, or the only one.
bool tni_join_extent(const tni_rule *rule, uint32_t *extent, uint32_t other, uint32_t dim)
{
    if (*extent && other && *extent != other)
        return tni_rule_fail(
            rule, TN_E_SHAPE, "dim %u has the extent '%s' in one operand and '%s' in another", dim,
            rule->graph->values[*extent - 1].name, rule->graph->values[other - 1].name);
    if (!*extent)
        *extent = other;
    return true;
}

bool tni_broadcasts(operand b, operand a)
{
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (b->dims[i] != a->dims[i] && b->dims[i] != 1)
            return false;
    return true;
}

bool tni_join_broadcast(const tni_rule *rule, operand b)
{
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (b->dims[i] == rule->out->dims[i] &&
            !tni_join_extent(rule, &rule->out->extent[i], b->extent[i], i))
            return false;
    return true;
}

bool tni_need_axis(const tni_rule *rule, uint32_t axis)
{
    return axis < TN_MAX_DIMS ||
           tni_rule_fail(rule, TN_E_ARG, "axis %u of at most %d", axis, TN_MAX_DIMS);
}

bool tni_need_vector(const tni_rule *rule, const char *name, operand x, int64_t count)
{
    tni_shape_text s;
    return !x ||
           (x->dtype == TN_DTYPE_F32 && x->dims[0] == count && tni_value_elements(x) == count) ||
           tni_rule_fail(rule, TN_E_SHAPE, "%s must be F32 with %" PRId64 " elements, it is %s",
                         name, count, tni_shown(x, &s));
}

bool tni_infer(const tni_rule *rule)
{
    tnp_op op = rule->op->number;
    if (op < TNP_OP_RMS_NORM)
        return tni_infer_elementwise(rule);
    if (op < TNP_OP_MATMUL || op == TNP_OP_TOP_K || (op >= TNP_OP_SUM && op < TNP_OP_CONV_1D))
        return tni_infer_rows(rule);
    if (op < TNP_OP_GET_ROWS)
        return tni_infer_matmul(rule);
    return op < TNP_OP_SUM ? tni_infer_move(rule) : tni_infer_image(rule);
}
