// infer.c: the shape rule of each op that computes: dtype, dims and extents of the output from
// those of the operands.
//
// Extents travel with dims: a dim of the output that stands for a dim of an operand counts as far
// as that one does.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "graph/graph_internal.h"

typedef const tni_value *operand;

static bool is_float(operand x)
{
    return x->dtype == TN_DTYPE_F32 || x->dtype == TN_DTYPE_F16;
}

// Texts of operands for messages; static storage per slot would not be safe between threads, so the
// caller lends it.
typedef struct shape_text {
    char text[160];
} shape_text;

static const char *shown(operand x, shape_text *room)
{
    return tni_value_text(x, room->text, sizeof room->text);
}

static bool fail_two(const tni_rule *rule, tn_status status, const char *rule_text,
                     const char *a_name, operand a, const char *b_name, operand b)
{
    shape_text sa, sb;
    return tni_rule_fail(rule, status, "%s, %s is %s, %s is %s", rule_text, a_name, shown(a, &sa),
                         b_name, shown(b, &sb));
}

static bool need_float(const tni_rule *rule, const char *name, operand x)
{
    shape_text s;
    return is_float(x) ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be F32 or F16, it is %s", name, shown(x, &s));
}

static bool need_index(const tni_rule *rule, const char *name, operand x)
{
    shape_text s;
    return (x->dtype == TN_DTYPE_I32 && tni_value_elements(x) == x->dims[0]) ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be I32 with one dim, it is %s", name,
                         shown(x, &s));
}

// Dims `first` to `last` of x may not have an extent.
static bool need_whole(const tni_rule *rule, const char *name, operand x, uint32_t first,
                       uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (x->extent[i])
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u of %s has an extent, it must count as a whole", i, name);
    return true;
}

static void copy_shape(tni_value *out, operand x)
{
    out->dtype = x->dtype;
    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    memcpy(out->extent, x->extent, sizeof out->extent);
}

// The extent of a dim of the output that stands for dim i of b: the one both have, or the only one.
static bool join_extent(const tni_rule *rule, uint32_t *extent, uint32_t other, uint32_t dim)
{
    if (*extent && other && *extent != other)
        return tni_rule_fail(
            rule, TN_E_SHAPE, "dim %u has the extent '%s' in one operand and '%s' in another", dim,
            rule->graph->values[*extent - 1].name, rule->graph->values[other - 1].name);
    if (!*extent)
        *extent = other;
    return true;
}

static bool broadcasts(operand b, operand a)
{
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (b->dims[i] != a->dims[i] && b->dims[i] != 1)
            return false;
    return true;
}

static bool join_broadcast(const tni_rule *rule, operand b)
{
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (b->dims[i] == rule->out->dims[i] &&
            !join_extent(rule, &rule->out->extent[i], b->extent[i], i))
            return false;
    return true;
}

// ------------------------------------------------------------------------------ element by element

static bool infer_unary(const tni_rule *rule)
{
    if (!need_float(rule, "x", rule->in[0]))
        return false;
    copy_shape(rule->out, rule->in[0]);
    return true;
}

static bool infer_binary(const tni_rule *rule)
{
    operand a = rule->in[0], b = rule->in[1];
    if (!need_float(rule, "a", a) || !need_float(rule, "b", b))
        return false;
    if (!broadcasts(b, a))
        return fail_two(rule, TN_E_SHAPE, "each dim of b must be that of a, or 1", "a", a, "b", b);
    copy_shape(rule->out, a);
    return join_broadcast(rule, b);
}

static bool infer_gated(const tni_rule *rule)
{
    operand gate = rule->in[0], up = rule->in[1];
    if (memcmp(gate->dims, up->dims, sizeof gate->dims) != 0 || gate->dtype != up->dtype)
        return fail_two(rule, TN_E_SHAPE, "gate and up must have one shape and type", "gate", gate,
                        "up", up);
    return infer_binary(rule);
}

// ----------------------------------------------------------------------------------- along dims[0]

static bool infer_rms_norm(const tni_rule *rule)
{
    operand x = rule->in[0], weight = rule->in[1];
    const tnp_norm_attr *attr = rule->attr;
    if (!need_float(rule, "x", x) || !need_whole(rule, "x", x, 0, 0))
        return false;
    if (x->dims[0] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "rows of 0 elements have no mean");
    if (!(attr->eps >= 0))
        return tni_rule_fail(rule, TN_E_ARG, "eps must be 0 or more, it is %g", (double)attr->eps);
    if (weight && (weight->dtype != TN_DTYPE_F32 || weight->dims[0] != x->dims[0] ||
                   tni_value_elements(weight) != x->dims[0]))
        return fail_two(rule, TN_E_SHAPE,
                        "the weight must be F32 with one element for each of dims[0]", "x", x,
                        "weight", weight);
    copy_shape(rule->out, x);
    return true;
}

static bool infer_softmax(const tni_rule *rule)
{
    operand x = rule->in[0], mask = rule->in[1];
    if (!need_float(rule, "x", x) || (mask && !need_float(rule, "mask", mask)))
        return false;
    if (mask && !broadcasts(mask, x))
        return fail_two(rule, TN_E_SHAPE, "each dim of the mask must be that of x, or 1", "x", x,
                        "mask", mask);
    copy_shape(rule->out, x);
    return !mask || join_broadcast(rule, mask);
}

static bool infer_rope(const tni_rule *rule)
{
    operand x = rule->in[0], position = rule->in[1], factors = rule->in[2];
    const tnp_rope_attr *attr = rule->attr;
    if (!need_float(rule, "x", x) || !need_index(rule, "position", position) ||
        !need_whole(rule, "x", x, 0, 1))
        return false;
    if (attr->rot_dims < 2 || attr->rot_dims % 2 || attr->rot_dims > x->dims[0])
        return tni_rule_fail(rule, TN_E_ARG, "rot_dims must be even and 2 to %" PRId64 ", it is %u",
                             x->dims[0], attr->rot_dims);
    if (attr->layout > TNP_ROPE_NEOX || !(attr->base > 0) || !(attr->scale > 0))
        return tni_rule_fail(
            rule, TN_E_ARG,
            "base and scale must be above 0 and layout 0 or 1, they are %g, %g and %u",
            (double)attr->base, (double)attr->scale, attr->layout);
    if (position->dims[0] != x->dims[2])
        return fail_two(rule, TN_E_SHAPE, "there must be a position for each token, dims[2] of x",
                        "x", x, "position", position);
    if (factors && (factors->dtype != TN_DTYPE_F32 || factors->dims[0] != attr->rot_dims / 2 ||
                    tni_value_elements(factors) != factors->dims[0]))
        return fail_two(rule, TN_E_SHAPE, "factors must be F32 with rot_dims / 2 elements", "x", x,
                        "factors", factors);
    copy_shape(rule->out, x);
    return join_extent(rule, &rule->out->extent[2], position->extent[0], 2);
}

// ------------------------------------------------------------------------------- matmul, attention

static bool infer_matmul(const tni_rule *rule)
{
    operand x = rule->in[0], w = rule->in[1];
    if (!need_float(rule, "x", x))
        return false;
    if (x->dims[0] != w->dims[0] || x->dims[0] == 0)
        return fail_two(rule, TN_E_SHAPE, "inner sizes differ", "x", x, "w", w);
    if (x->extent[0] != w->extent[0])
        return fail_two(rule, TN_E_SHAPE, "the inner dims must have one extent", "x", x, "w", w);
    for (uint32_t i = 2; i < TN_MAX_DIMS; i++)
        if (w->dims[i] == 0 || x->dims[i] % w->dims[i] || w->extent[i])
            return fail_two(rule, TN_E_SHAPE, "each dim of w from 2 on must divide that of x", "x",
                            x, "w", w);
    copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->rank = x->rank > w->rank ? x->rank : w->rank;
    rule->out->dims[0] = w->dims[1];
    rule->out->extent[0] = w->extent[1];
    return true;
}

static bool need_key_type(const tni_rule *rule, const char *name, operand x)
{
    shape_text s;
    return is_float(x) || tni_dtype_find(x->dtype)->block_elements > 1 ||
           tni_rule_fail(rule, TN_E_DTYPE, "%s must be F32, F16 or a block type, it is %s", name,
                         shown(x, &s));
}

static bool infer_attention(const tni_rule *rule)
{
    operand q = rule->in[0], k = rule->in[1], v = rule->in[2], position = rule->in[3],
            mask = rule->in[4];
    const tnp_attention_attr *attr = rule->attr;
    if (!need_float(rule, "q", q) || !need_key_type(rule, "k", k) || !need_key_type(rule, "v", v) ||
        !need_index(rule, "position", position) || !need_whole(rule, "q", q, 0, 1) ||
        !need_whole(rule, "k", k, 0, 1) || !need_whole(rule, "v", v, 0, 1))
        return false;
    if (q->rank > 3 || k->rank > 3 || v->rank > 3)
        return tni_rule_fail(rule, TN_E_SHAPE, "q, k and v have at most 3 dims");
    if (q->dims[0] != k->dims[0])
        return fail_two(rule, TN_E_SHAPE, "heads differ in size", "q", q, "k", k);
    if (k->dims[0] == 0 || k->dims[2] == 0)
        return fail_two(rule, TN_E_SHAPE, "heads of 0 elements and 0 tokens give no scores", "q", q,
                        "k", k);
    if (k->dims[1] == 0 || q->dims[1] % k->dims[1])
        return fail_two(rule, TN_E_SHAPE, "the heads of q must be a multiple of those of k", "q", q,
                        "k", k);
    if (k->dims[1] != v->dims[1] || k->dims[2] != v->dims[2] || k->extent[2] != v->extent[2])
        return fail_two(rule, TN_E_SHAPE, "heads, tokens and extents of k and v must agree", "k", k,
                        "v", v);
    if (position->dims[0] != q->dims[2])
        return fail_two(rule, TN_E_SHAPE, "there must be a position for each token, dims[2] of q",
                        "q", q, "position", position);
    if (!(attr->softcap >= 0) || attr->scale != attr->scale)
        return tni_rule_fail(rule, TN_E_ARG,
                             "softcap must be 0 or more and scale a number, they are %g and %g",
                             (double)attr->softcap, (double)attr->scale);
    if (mask && (!is_float(mask) || mask->dims[0] != k->dims[2] || mask->dims[1] != q->dims[2] ||
                 tni_value_elements(mask) != mask->dims[0] * mask->dims[1]))
        return fail_two(rule, TN_E_SHAPE, "the mask must be F32 or F16 {tokens of k, tokens of q}",
                        "k", k, "mask", mask);
    copy_shape(rule->out, q);
    rule->out->rank = 3;
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->dims[0] = v->dims[0];
    return join_extent(rule, &rule->out->extent[2], position->extent[0], 2);
}

// ------------------------------------------------------------------------------ rows, copies, sums

static bool need_matrix(const tni_rule *rule, const char *name, operand x)
{
    shape_text s;
    return tni_value_elements(x) == x->dims[0] * x->dims[1] ||
           tni_rule_fail(rule, TN_E_SHAPE, "%s must have two dims, it is %s", name, shown(x, &s));
}

static bool infer_get_rows(const tni_rule *rule)
{
    operand table = rule->in[0], index = rule->in[1];
    if (!need_matrix(rule, "the table", table) || !need_index(rule, "index", index) ||
        !need_whole(rule, "the table", table, 0, 0))
        return false;
    if (table->dims[1] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "the table has no rows");
    rule->out->dtype = table->dtype == TN_DTYPE_I32 ? TN_DTYPE_I32 : TN_DTYPE_F32;
    rule->out->rank = 2;
    rule->out->dims[0] = table->dims[0];
    rule->out->dims[1] = index->dims[0];
    rule->out->extent[1] = index->extent[0];
    return true;
}

static bool infer_set_rows(const tni_rule *rule)
{
    operand table = rule->in[0], rows = rule->in[1], index = rule->in[2];
    if (!need_matrix(rule, "the table", table) || !need_matrix(rule, "rows", rows) ||
        !need_index(rule, "index", index))
        return false;
    if (rows->dtype != TN_DTYPE_F32 || rows->dims[0] != table->dims[0] ||
        rows->dims[1] != index->dims[0])
        return fail_two(rule, TN_E_SHAPE,
                        "rows must be F32, as wide as the table, one for each index", "rows", rows,
                        "table", table);
    if (!need_whole(rule, "the table", table, 0, 1) || !need_whole(rule, "rows", rows, 0, 0))
        return false;
    if (rows->extent[1] && index->extent[0] && rows->extent[1] != index->extent[0])
        return tni_rule_fail(rule, TN_E_SHAPE, "rows and index have different extents");
    copy_shape(rule->out, table);
    return true;
}

static bool infer_convert(const tni_rule *rule)
{
    operand x = rule->in[0];
    tn_dtype to = ((const tnp_convert_attr *)rule->attr)->dtype;
    const tni_dtype *from_type = tni_dtype_find(x->dtype), *to_type = tni_dtype_find(to);
    shape_text s;
    if (!to_type)
        return tni_rule_fail(rule, TN_E_DTYPE, "%u is no element type", to);
    bool is_plain = from_type->block_elements == 1 && to_type->block_elements == 1;
    if (!is_plain && x->dtype != to && x->dtype != TN_DTYPE_F32 && to != TN_DTYPE_F32)
        return tni_rule_fail(rule, TN_E_DTYPE,
                             "block types convert from and to F32 only, not %s to %s", shown(x, &s),
                             to_type->name);
    copy_shape(rule->out, x);
    rule->out->dtype = to;
    return true;
}

static bool infer_concat(const tni_rule *rule)
{
    operand a = rule->in[0], b = rule->in[1];
    uint32_t axis = ((const tnp_axis_attr *)rule->attr)->axis;
    if (axis >= TN_MAX_DIMS)
        return tni_rule_fail(rule, TN_E_ARG, "axis %u of at most %d", axis, TN_MAX_DIMS);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (a->dtype != b->dtype || (i != axis && a->dims[i] != b->dims[i]))
            return fail_two(rule, TN_E_SHAPE,
                            "a and b must agree in type and in all dims but the axis", "a", a, "b",
                            b);
    if (!need_whole(rule, "a", a, axis, axis) || !need_whole(rule, "b", b, axis, axis))
        return false;
    copy_shape(rule->out, a);
    if (__builtin_add_overflow(a->dims[axis], b->dims[axis], &rule->out->dims[axis]))
        return fail_two(rule, TN_E_SHAPE, "the axis becomes too large", "a", a, "b", b);
    rule->out->rank = a->rank > axis + 1 ? a->rank : axis + 1;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (i != axis && !join_extent(rule, &rule->out->extent[i], b->extent[i], i))
            return false;
    return true;
}

static bool reduce(const tni_rule *rule, uint32_t axis, tn_dtype dtype)
{
    operand x = rule->in[0];
    if (!need_float(rule, "x", x))
        return false;
    if (axis >= TN_MAX_DIMS)
        return tni_rule_fail(rule, TN_E_ARG, "axis %u of at most %d", axis, TN_MAX_DIMS);
    if (x->dims[axis] == 0)
        return tni_rule_fail(rule, TN_E_SHAPE, "dim %u has 0 elements", axis);
    copy_shape(rule->out, x);
    rule->out->dtype = dtype;
    rule->out->dims[axis] = 1;
    rule->out->extent[axis] = 0;
    return true;
}

bool tni_infer(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_ADD:
    case TNP_OP_SUB:
    case TNP_OP_MUL:
    case TNP_OP_DIV:
        return infer_binary(rule);
    case TNP_OP_SCALE:
    case TNP_OP_NEG:
    case TNP_OP_SQRT:
    case TNP_OP_EXP:
    case TNP_OP_TANH:
    case TNP_OP_SIGMOID:
    case TNP_OP_RELU:
    case TNP_OP_SILU:
    case TNP_OP_GELU:
        return infer_unary(rule);
    case TNP_OP_SWIGLU:
        return infer_gated(rule);
    case TNP_OP_RMS_NORM:
        return infer_rms_norm(rule);
    case TNP_OP_SOFTMAX:
        return infer_softmax(rule);
    case TNP_OP_ROPE:
        return infer_rope(rule);
    case TNP_OP_MATMUL:
        return infer_matmul(rule);
    case TNP_OP_ATTENTION:
        return infer_attention(rule);
    case TNP_OP_GET_ROWS:
        return infer_get_rows(rule);
    case TNP_OP_SET_ROWS:
        return infer_set_rows(rule);
    case TNP_OP_CONVERT:
        return infer_convert(rule);
    case TNP_OP_CONCAT:
        return infer_concat(rule);
    case TNP_OP_SUM:
    case TNP_OP_MEAN:
        return reduce(rule, ((const tnp_axis_attr *)rule->attr)->axis, TN_DTYPE_F32);
    case TNP_OP_ARGMAX:
        return reduce(rule, 0, TN_DTYPE_I32);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no shape rule");
    }
}
