// view.c: the rule of each view: dims, strides, offset and extents over the operand's storage.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"

#include "base/integer.h"
#include "graph/graph_internal.h"

typedef const tni_value *operand;

static void begin_as(tni_value *out, operand x)
{
    out->dtype = x->dtype;
    out->rank = x->rank;
    out->offset = x->offset;
    memcpy(out->dims, x->dims, sizeof out->dims);
    memcpy(out->strides, x->strides, sizeof out->strides);
    memcpy(out->extent, x->extent, sizeof out->extent);
}

static bool take_dims(const tni_rule *rule, const tnp_dims_attr *attr)
{
    if (attr->rank > TN_MAX_DIMS)
        return tni_rule_fail(rule, TN_E_SHAPE, "%u dims, at most %d are possible", attr->rank,
                             TN_MAX_DIMS);
    rule->out->rank = attr->rank;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        rule->out->dims[i] = i < attr->rank ? attr->dims[i] : 1;
        if (rule->out->dims[i] < 0)
            return tni_rule_fail(rule, TN_E_SHAPE, "dim %u is %" PRId64, i, rule->out->dims[i]);
    }
    return true;
}

// The dim of the output that stands for dim i of x: of the same size, over the same number of
// elements below it. Several neighbouring dims of 1 may do; then the one with as many dims above it
// as before, else the highest.
static uint32_t find_dim(const tni_value *out, operand x, uint32_t i)
{
    int64_t below_x = 1, below = 1;
    uint32_t found = TN_MAX_DIMS;
    for (uint32_t d = 0; d < i; d++)
        below_x *= x->dims[d];
    for (uint32_t j = 0; j < out->rank; below *= out->dims[j++]) {
        if (below != below_x || out->dims[j] != x->dims[i])
            continue;
        found = j;
        if (out->rank - j == x->rank - i)
            break;
    }
    return found;
}

static bool carry_extents(const tni_rule *rule, operand x)
{
    tni_value *out = rule->out;
    memset(out->extent, 0, sizeof out->extent);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        if (!x->extent[i])
            continue;
        uint32_t j = find_dim(out, x, i);
        if (j == TN_MAX_DIMS || out->extent[j])
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u of '%s' has an extent and would be split or merged", i,
                                 x->name);
        out->extent[j] = x->extent[i];
    }
    return true;
}

static bool reshape(const tni_rule *rule)
{
    operand x = rule->in[0];
    tni_value *out = rule->out;
    char text[160];
    begin_as(out, x);
    if (!take_dims(rule, rule->attr))
        return false;
    if (!tni_value_is_contiguous(x))
        return tni_rule_fail(rule, TN_E_SHAPE, "'%s' is strided: convert makes it contiguous",
                             x->name);
    uint64_t bytes, elements = 1;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (!tni_mul_u64(elements, (uint64_t)out->dims[i], &elements))
            return tni_rule_fail(rule, TN_E_SHAPE, "the dims are too large");
    if (elements != (uint64_t)tni_value_elements(x))
        return tni_rule_fail(rule, TN_E_SHAPE, "%" PRIu64 " elements are asked of %s", elements,
                             tni_value_text(x, text, sizeof text));
    char what[200];
    tni_format_text(what, sizeof what, "reshape '%s'", rule->name);
    return tni_value_lay_out(rule->graph, out, what, &bytes) && carry_extents(rule, x);
}

static bool slice(const tni_rule *rule)
{
    operand x = rule->in[0];
    tni_value *out = rule->out;
    const tnp_slice_attr *attr = rule->attr;
    int64_t block = tni_dtype_find(x->dtype)->block_elements;
    uint64_t offset = x->offset;
    begin_as(out, x);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        int64_t begin = attr->begin[i], count = attr->count[i], step = attr->step[i];
        if (i >= attr->rank) {
            begin = 0, count = x->dims[i], step = 1;
        }
        bool is_whole = begin == 0 && count == x->dims[i] && step == 1;
        if (begin < 0 || count < 0 || step < 1 || begin > x->dims[i] ||
            (count && (count - 1 > (x->dims[i] - 1 - begin) / step || begin >= x->dims[i])))
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "%" PRId64 " elements from %" PRId64 " by %" PRId64
                                 " leave dim %u of %" PRId64,
                                 count, begin, step, i, x->dims[i]);
        if (i == 0 && block > 1 && (begin % block || count % block || step != 1))
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim 0 of a block type is cut at multiples of %" PRId64, block);
        if (x->extent[i] && !is_whole)
            return tni_rule_fail(rule, TN_E_SHAPE, "dim %u of '%s' has an extent and cannot be cut",
                                 i, x->name);
        offset += (uint64_t)(begin / (i == 0 ? block : 1)) * (uint64_t)x->strides[i];
        out->dims[i] = count;
        out->strides[i] = count > 1 ? x->strides[i] * step
                                    : x->strides[i];   // of one element the step may be anything
    }
    if (tni_value_elements(out))   // where nothing is left, nothing is looked at
        out->offset = offset;
    return true;
}

static bool permute(const tni_rule *rule)
{
    operand x = rule->in[0];
    tni_value *out = rule->out;
    const tnp_permute_attr *attr = rule->attr;
    uint32_t seen = 0;
    begin_as(out, x);
    if (attr->rank > TN_MAX_DIMS || attr->rank < x->rank)
        return tni_rule_fail(rule, TN_E_SHAPE, "%u axes are given for %u dims", attr->rank,
                             x->rank);
    for (uint32_t i = 0; i < attr->rank; i++) {
        uint32_t from = attr->axes[i];
        if (from >= attr->rank || (seen & 1u << from))
            return tni_rule_fail(rule, TN_E_ARG, "the axes are no permutation of 0 to %u",
                                 attr->rank - 1);
        seen |= 1u << from;
        out->dims[i] = x->dims[from];
        out->strides[i] = x->strides[from];
        out->extent[i] = x->extent[from];
    }
    if (attr->rank && attr->axes[0] != 0 && tni_dtype_find(x->dtype)->block_elements > 1)
        return tni_rule_fail(rule, TN_E_SHAPE, "dim 0 of a block type stays where it is");
    out->rank = attr->rank;
    return true;
}

static bool broadcast(const tni_rule *rule)
{
    operand x = rule->in[0];
    tni_value *out = rule->out;
    uint64_t elements = 1, bytes;
    begin_as(out, x);
    if (!take_dims(rule, rule->attr))
        return false;
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        // The storage does not grow, yet the bytes of a contiguous copy must be a number.
        if (!tni_mul_u64(elements, (uint64_t)(out->dims[i] ? out->dims[i] : 1), &elements) ||
            !tni_mul_u64(elements, tni_dtype_find(x->dtype)->block_bytes, &bytes) ||
            bytes > INT64_MAX)
            return tni_rule_fail(rule, TN_E_SHAPE, "the dims are too large");
        if (out->dims[i] == x->dims[i])
            continue;
        if (x->dims[i] != 1 || x->extent[i])
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "dim %u is %" PRId64 " and cannot become %" PRId64, i, x->dims[i],
                                 out->dims[i]);
        out->strides[i] = 0;
    }
    return true;
}

static bool limit(const tni_rule *rule)
{
    operand x = rule->in[0], length = rule->in[1];
    uint32_t axis = ((const tnp_axis_attr *)rule->attr)->axis;
    begin_as(rule->out, x);
    if (axis >= x->rank)
        return tni_rule_fail(rule, TN_E_ARG, "axis %u of %u dims", axis, x->rank);
    if (length->dtype != TN_DTYPE_I32 || tni_value_elements(length) != 1)
        return tni_rule_fail(rule, TN_E_DTYPE, "the length '%s' must be one I32", length->name);
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
        if (length->extent[i])
            return tni_rule_fail(rule, TN_E_SHAPE,
                                 "the length '%s' has an extent itself, it must count as a whole",
                                 length->name);
    if (x->extent[axis] && x->extent[axis] != rule->in_index[1] + 1)
        return tni_rule_fail(rule, TN_E_SHAPE, "dim %u of '%s' has an extent already", axis,
                             x->name);
    rule->out->extent[axis] = rule->in_index[1] + 1;
    return true;
}

bool tni_view(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_RESHAPE:
        return reshape(rule);
    case TNP_OP_SLICE:
        return slice(rule);
    case TNP_OP_PERMUTE:
        return permute(rule);
    case TNP_OP_BROADCAST:
        return broadcast(rule);
    case TNP_OP_LIMIT:
        return limit(rule);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no view rule");
    }
}
