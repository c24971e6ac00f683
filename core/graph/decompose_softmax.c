// decompose_softmax.c: exp(y - max) / sum, where y = x * scale + slope * mask.
//
// A row that is -inf throughout gives zeros: its maximum is taken as the lowest number, so that
// exp(-inf) makes zeros, and their sum as the least positive one.
#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "graph/decompose_internal.h"

static bool has_slopes(const tnp_softmax_attr *attr, bool has_mask)
{
    return has_mask && attr->alibi_max_bias > 0;
}

// The slopes depend on how many heads count: that has to be known before the run, as has whether
// the mask is repeated for each.
bool tni_decompose_softmax_has_slopes(const tn_graph *graph, const tni_node *node)
{
    bool has_mask = node->input_count > 1 && node->inputs[1] != TNP_NONE;
    return !has_slopes(node->attr, has_mask) ||
           (!graph->values[node->inputs[0]].extent[2] && !graph->values[node->inputs[1]].extent[2]);
}

// {1, 1, H}; ops.def has the formula.
static tn_value make_slopes(const tni_expansion *e, double max_bias, int64_t heads)
{
    float *slopes = tni_alloc_zeroed(&e->graph->arena.allocator, (size_t)heads, sizeof *slopes);
    if (!slopes)
        return tni_graph_fail_memory(e->graph);
    int64_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    for (int64_t h = 0; h < heads; h++) {
        double step = h < power ? (double)(h + 1) : (double)(2 * (h - power) + 1) / 2;
        slopes[h] = (float)exp2(-max_bias * step / (double)power);
    }
    tn_value constant = tni_decompose_constant(e, "slopes", slopes, (uint32_t)heads);
    tni_free(&e->graph->arena.allocator, slopes);
    return tni_decompose_permute_row(e, "slope of heads", constant, 2);
}

static tn_value sloped_mask(const tni_expansion *e, tn_value mask)
{
    tni_value m = tni_decompose_value(e, mask);
    int64_t heads = tni_decompose_value(e, e->in[0]).dims[2];
    uint32_t rank = m.rank > 3 ? m.rank : 3;
    m.dims[2] = heads;
    tn_value all_heads = tni_decompose_broadcast(e, "mask of heads", mask, rank, m.dims);
    tn_value slopes = make_slopes(e, ((const tnp_softmax_attr *)e->attr)->alibi_max_bias, heads);
    return tni_decompose_step(e, TNP_OP_MUL, "sloped mask", all_heads, slopes, NULL);
}

// The maximum of a row and its sink.
static tn_value max_with_sink(const tni_expansion *e, tn_value max, tn_value sinks)
{
    tn_value above = tni_decompose_step(e, TNP_OP_SUB, "sink above max", sinks, max, NULL);
    above = tni_decompose_step(e, TNP_OP_RELU, "rise of max", above, TN_NO_VALUE, NULL);
    return tni_decompose_step(e, TNP_OP_ADD, "max with sink", max, above, NULL);
}

static tn_value sum_with_sink(const tni_expansion *e, tn_value sum, tn_value sinks, tn_value max)
{
    tn_value sink = tni_decompose_step(e, TNP_OP_SUB, "shifted sink", sinks, max, NULL);
    sink = tni_decompose_step(e, TNP_OP_EXP, "exp of sink", sink, TN_NO_VALUE, NULL);
    return tni_decompose_step(e, TNP_OP_ADD, "sum with sink", sum, sink, NULL);
}

tn_value tni_decompose_exps(const tni_expansion *e, tn_value y, tn_value sinks, tn_value *out_sum)
{
    bool has_sinks = !tn_value_is_none(sinks);
    tn_value max = tni_decompose_clamp_step(
        e, "max", tni_decompose_row_step(e, TNP_OP_MAX, "row max", y), -FLT_MAX, INFINITY);
    if (has_sinks) {
        tni_value rows = tni_decompose_value(e, max);
        sinks = tni_decompose_broadcast(e, "sink of rows", sinks, rows.rank, rows.dims);
        max = max_with_sink(e, max, sinks);
    }
    tn_value exp = tni_decompose_step(e, TNP_OP_EXP, "exp",
                                      tni_decompose_step(e, TNP_OP_SUB, "shifted", y, max, NULL),
                                      TN_NO_VALUE, NULL);
    tn_value sum = tni_decompose_row_step(e, TNP_OP_SUM, "row sum", exp);
    if (has_sinks)
        sum = sum_with_sink(e, sum, sinks, max);
    *out_sum = tni_decompose_clamp_step(e, "sum", sum, FLT_MIN, INFINITY);
    return exp;
}

tn_value tni_decompose_softmax(const tni_expansion *e)
{
    const tnp_softmax_attr *attr = e->attr;
    bool has_mask = !tn_value_is_none(e->in[1]);
    tn_value y = tni_decompose_operand(e, 0);
    if (attr->scale != 1)
        y = tni_decompose_scale_step(e, "scaled", y, attr->scale, 0);
    if (has_mask) {
        tn_value mask = tni_decompose_operand(e, 1);
        if (has_slopes(attr, has_mask))
            mask = sloped_mask(e, mask);
        y = tni_decompose_step(e, TNP_OP_ADD, "masked", y, mask, NULL);
    }
    tn_value sum, exp = tni_decompose_exps(e, y, TN_NO_VALUE, &sum);
    return tni_decompose_last(e, TNP_OP_DIV, exp, sum, NULL);
}
