// infer_move.c: ops that move elements: rows, conversions, concat, pad, repeat.
#include "base/dtype.h"
#include "graph/infer.h"

#include <inttypes.h>

static bool need_matrix(const tni_rule *rule, const char *name, operand x)
{
    tni_shape_text s;
    return tni_value_elements(x) == x->dims[0] * x->dims[1] ||
           tni_rule_fail(rule, TN_E_SHAPE, "%s must have two dims, it is %s", name,
                         tni_shown(x, &s));
}

// The dims of the index from 1 on are those of the table from 2 on: one choice of rows for each
// matrix.
static bool infer_get_rows(const tni_rule *rule)
{
    operand table = rule->in[0], index = rule->in[1];
    tni_value *out = rule->out;
    tni_shape_text s;
    if (index->dtype != TN_DTYPE_I32 || index->rank > TN_MAX_DIMS - 1)
        return tni_rule_fail(rule, TN_E_DTYPE, "index must be I32, it is %s", tni_shown(index, &s));
    if (!tni_need_whole(rule, "the table", table, 0, 0))
        return false;
    if (table->dims[1] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "the table has no rows");
    for (uint32_t i = 2; i < TN_MAX_DIMS; i++)
        if (table->dims[i] != index->dims[i - 1])
            return tni_rule_fail_two(
                rule, TN_E_SHAPE,
                "dims of the index from 1 on must be those of the table from 2 on", "table", table,
                "index", index);
    out->dtype = table->dtype == TN_DTYPE_I32 ? TN_DTYPE_I32 : TN_DTYPE_F32;
    out->rank = index->rank + 1 > 2 ? index->rank + 1 : 2;
    out->dims[0] = table->dims[0];
    for (uint32_t i = 1; i < TN_MAX_DIMS; i++) {
        out->dims[i] = index->dims[i - 1];
        out->extent[i] = index->extent[i - 1];
        if (i >= 2 && !tni_join_extent(rule, &out->extent[i], table->extent[i], i))
            return false;
    }
    return true;
}

static bool infer_set_rows(const tni_rule *rule)
{
    operand table = rule->in[0], rows = rule->in[1], index = rule->in[2];
    if (!need_matrix(rule, "the table", table) || !need_matrix(rule, "rows", rows) ||
        !tni_need_index(rule, "index", index))
        return false;
    if (rows->dtype != TN_DTYPE_F32 || rows->dims[0] != table->dims[0] ||
        rows->dims[1] != index->dims[0])
        return tni_rule_fail_two(rule, TN_E_SHAPE,
                                 "rows must be F32, as wide as the table, one for each index",
                                 "rows", rows, "table", table);
    if (!tni_need_whole(rule, "the table", table, 0, 1) ||
        !tni_need_whole(rule, "rows", rows, 0, 0))
        return false;
    if (rows->extent[1] && index->extent[0] && rows->extent[1] != index->extent[0])
        return tni_rule_fail(rule, TN_E_SHAPE, "rows and index have different extents");
    if (rows->storage == table->storage || index->storage == table->storage)
        return tni_rule_fail(rule, TN_E_ARG,
                             "rows and index may not look at the bytes of the table");
    tni_copy_shape(rule->out, table);
    return true;
}

static bool infer_convert(const tni_rule *rule)
{
    operand x = rule->in[0];
    tn_dtype to = ((const tnp_convert_attr *)rule->attr)->dtype;
    const tni_dtype *from_type = tni_dtype_find(x->dtype), *to_type = tni_dtype_find(to);
    tni_shape_text s;
    if (!to_type)
        return tni_rule_fail(rule, TN_E_DTYPE, "%u is no element type", to);
    bool is_plain = from_type->block_elements == 1 && to_type->block_elements == 1;
    if (!is_plain && x->dtype != to && x->dtype != TN_DTYPE_F32 && to != TN_DTYPE_F32)
        return tni_rule_fail(rule, TN_E_DTYPE,
                             "block types convert from and to F32 only, not %s to %s",
                             tni_shown(x, &s), to_type->name);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = to;
    return true;
}

static bool infer_concat(const tni_rule *rule)
{
    operand a = rule->in[0], b = rule->in[1];
    uint32_t axis = ((const tnp_axis_attr *)rule->attr)->axis;
    if (!tni_need_axis(rule, axis))
        return false;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (a->dtype != b->dtype || (i != axis && a->dims[i] != b->dims[i]))
            return tni_rule_fail_two(rule, TN_E_SHAPE,
                                     "a and b must agree in type and in all dims but the axis", "a",
                                     a, "b", b);
    if (!tni_need_whole(rule, "a", a, axis, axis) || !tni_need_whole(rule, "b", b, axis, axis))
        return false;
    tni_copy_shape(rule->out, a);
    if (__builtin_add_overflow(a->dims[axis], b->dims[axis], &rule->out->dims[axis]))
        return tni_rule_fail_two(rule, TN_E_SHAPE, "the axis becomes too large", "a", a, "b", b);
    rule->out->rank = a->rank > axis + 1 ? a->rank : axis + 1;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (i != axis && !tni_join_extent(rule, &rule->out->extent[i], b->extent[i], i))
            return false;
    return true;
}

static bool need_plain(const tni_rule *rule, const char *name, operand x)
{
    tni_shape_text s;
    return tni_dtype_find(x->dtype)->block_elements == 1 ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be of a plain type, it is %s", name,
                         tni_shown(x, &s));
}

static bool infer_pad(const tni_rule *rule)
{
    operand x = rule->in[0];
    const tnp_pad_attr *attr = rule->attr;
    if (!need_plain(rule, "x", x))
        return false;
    if (attr->rank > TN_MAX_DIMS || attr->rank < x->rank)
        return tni_rule_fail(rule, TN_E_ARG, "%u dims are padded of %u", attr->rank, x->rank);
    tni_copy_shape(rule->out, x);
    rule->out->rank = attr->rank;
    for (uint32_t i = 0; i < attr->rank; i++) {
        int64_t before = attr->before[i], after = attr->after[i], *dim = &rule->out->dims[i];
        if (before < 0 || after < 0 || __builtin_add_overflow(*dim, before, dim) ||
            __builtin_add_overflow(*dim, after, dim))
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u cannot be padded by %" PRId64 " and %" PRId64, i, before,
                                 after);
        if ((before || after) && !tni_need_whole(rule, "x", x, i, i))
            return false;
    }
    return true;
}

static bool infer_repeat(const tni_rule *rule)
{
    operand x = rule->in[0];
    const tnp_dims_attr *attr = rule->attr;
    if (!need_plain(rule, "x", x))
        return false;
    if (attr->rank > TN_MAX_DIMS || attr->rank < x->rank)
        return tni_rule_fail(rule, TN_E_ARG, "%u dims are asked of %u", attr->rank, x->rank);
    tni_copy_shape(rule->out, x);
    rule->out->rank = attr->rank;
    for (uint32_t i = 0; i < attr->rank; i++) {
        if (attr->dims[i] < 0 || (x->dims[i] ? attr->dims[i] % x->dims[i] : attr->dims[i]) != 0)
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u must become a multiple of %" PRId64 ", not %" PRId64, i,
                                 x->dims[i], attr->dims[i]);
        if (attr->dims[i] != x->dims[i] && !tni_need_whole(rule, "x", x, i, i))
            return false;
        rule->out->dims[i] = attr->dims[i];
    }
    return true;
}

bool tni_infer_move(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_GET_ROWS:
        return infer_get_rows(rule);
    case TNP_OP_SET_ROWS:
        return infer_set_rows(rule);
    case TNP_OP_CONVERT:
        return infer_convert(rule);
    case TNP_OP_CONCAT:
        return infer_concat(rule);
    case TNP_OP_PAD:
        return infer_pad(rule);
    case TNP_OP_REPEAT:
        return infer_repeat(rule);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no shape rule");
    }
}
