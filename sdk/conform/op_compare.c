// op_compare.c: results against the reference, within the bounds of bounds.c; bytes that nobody may
// touch; and the same bits whatever rubbish lay around.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "op_work.h"

// A contiguous tensor of the same dims.
static ref_tensor copy_of(const ref_tensor *t, tnp_dtype dtype)
{
    ref_tensor c = *t;
    int64_t bytes = kit_block_bytes(dtype), at[TNP_MAX_DIMS] = { 0 };
    if (!t->data)
        return c;
    c.dtype = dtype;
    for (int d = 0; d < TNP_MAX_DIMS; d++) {
        c.strides[d] = bytes;
        bytes *= t->dims[d] ? t->dims[d] : 1;
    }
    c.data = malloc((size_t)bytes);
    if (!c.data)
        kit_fail("memory for the case", "%lld bytes are not there", (long long)bytes);
    if (!ref_is_empty(t))
        do
            ref_set(&c, at, ref_get(t, at));
        while (ref_next(t->dims, at));
    return c;
}

static bool is_float(tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_F32 || dtype == TNP_DTYPE_F16 || dtype == TNP_DTYPE_BF16;
}

// Floats are wanted as F32: the rounding to their type is part of the bound.
static ref_tensor compute(kit_op_work *w, const ref_tensor in[], const ref_tensor *out)
{
    ref_tensor operands[KIT_OPERANDS], want;
    bool is_f32 = is_float(out->dtype) || kit_block_elements(out->dtype) > 1;
    for (int i = 0; i < KIT_OPERANDS; i++) {   // blocks are decoded once
        bool is_block = in[i].data && kit_block_elements(in[i].dtype) > 1;
        operands[i] = is_block ? copy_of(&in[i], TNP_DTYPE_F32) : in[i];
    }
    want = copy_of(out, is_f32 ? TNP_DTYPE_F32 : out->dtype);
    if (w->writes) {
        ref_tensor table = copy_of(&in[0], TNP_DTYPE_F32);
        free(want.data);
        if (operands[0].data != in[0].data)
            free(operands[0].data);
        want = operands[0] = table;
    }
    if (ref_run(w->c->row->op, kit_op_attributes(w), operands, &want) != REF_OK)
        kit_fail("a case that the reference can compute", "it cannot");
    for (int i = 0; i < KIT_OPERANDS; i++)
        if (operands[i].data != in[i].data && operands[i].data != want.data)
            free(operands[i].data);
    return want;
}

// The sum of the sizes of the terms that make each result: the op on the sizes of its operands.
static ref_tensor term_sizes(kit_op_work *w, const ref_tensor in[], const ref_tensor *out)
{
    ref_tensor sizes[KIT_OPERANDS], sum = copy_of(out, TNP_DTYPE_F32);
    for (int i = 0; i < KIT_OPERANDS; i++) {
        int64_t at[TNP_MAX_DIMS] = { 0 };
        sizes[i] = in[i];
        if (!in[i].data || !(is_float(in[i].dtype) || kit_block_elements(in[i].dtype) > 1))
            continue;
        sizes[i] = copy_of(&in[i], TNP_DTYPE_F32);
        if (!ref_is_empty(&in[i]))
            do
                ref_set(&sizes[i], at, fabs(ref_get(&in[i], at)));
            while (ref_next(in[i].dims, at));
    }
    (void)ref_run(w->c->row->op, kit_op_attributes(w), sizes, &sum);
    for (int i = 0; i < KIT_OPERANDS; i++)
        if (sizes[i].data != in[i].data)
            free(sizes[i].data);
    return sum;
}

static bool is_relative(tnp_op op)   // its terms are none below 0
{
    return op == TNP_OP_RMS_NORM || op == TNP_OP_L2_NORM || op == TNP_OP_SOFTMAX;
}

static double term_count(tnp_op op, const ref_tensor in[], const ref_tensor *out)
{
    double count = 1, results = 1;
    switch (op) {
    case TNP_OP_CONV_1D:
    case TNP_OP_CONV_2D:
    case TNP_OP_CONV_TRANSPOSE_1D:
        for (int d = 0; d < TNP_MAX_DIMS; d++)
            count *= (double)in[1].dims[d];
        return count;
    case TNP_OP_SUM:
    case TNP_OP_MEAN:
        for (int d = 0; d < TNP_MAX_DIMS; d++) {
            count *= (double)in[0].dims[d];
            results *= (double)out->dims[d];
        }
        return results > 0 ? count / results : 0;
    case TNP_OP_CUMSUM:
        return (double)(in[0].dims[0] > in[0].dims[1] ? in[0].dims[0] : in[0].dims[1]);
    default:
        return (double)in[0].dims[0];
    }
}

// Activations may be rounded to the type of the weights beside them.
static double rounding_of(tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_F16 ? 0x1p-11 : dtype == TNP_DTYPE_BF16 ? 0x1p-8 : 0;
}

static double largest_of_row(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS])
{
    int64_t here[TNP_MAX_DIMS];
    double largest = 0;
    memcpy(here, at, sizeof here);
    for (here[0] = 0; here[0] < t->dims[0]; here[0]++)
        largest = fmax(largest, fabs(ref_get(t, here)));
    return largest;
}

static const char *place_of(const int64_t at[TNP_MAX_DIMS], uint32_t rank)
{
    char text[160] = "";
    for (uint32_t d = 0; d < (rank ? rank : 1); d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", d ? ", " : "",
                 (long long)at[d]);
    return kit_text("%s", text);
}

typedef struct comparison {
    const kit_bound *bound;
    ref_tensor got, want, sizes;
    double terms, weight_rounding;
    bool by_nmse;
} comparison;

static double bound_at(const kit_op_work *w, const comparison *c, const int64_t at[TNP_MAX_DIMS],
                       double want)
{
    double size = is_relative(w->c->row->op) ? fabs(want)
                  : c->sizes.data            ? ref_get(&c->sizes, at)
                                             : 0;
    double largest = kit_block_elements(c->got.dtype) > 1 ? largest_of_row(&c->want, at) : 0;
    double bound = c->bound->absolute + c->bound->ulps * 0x1p-23 * fabs(want) +
                   c->bound->terms * (c->terms + 8) * 0x1p-24 * size + c->weight_rounding * size;
    if (w->c->row->op == TNP_OP_ATTENTION)   // values of a coarse type below 1
        bound += c->weight_rounding;
    return bound + kit_type_error(c->got.dtype, fabs(want), largest);
}

void kit_op_compare(kit_op_work *w, const ref_tensor in[], const char *when)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };
    tnp_op op = w->c->row->op;
    comparison c = { .bound = kit_bound_of(op),
                     .got = kit_op_tensor(w, &w->of[w->writes ? 0 : KIT_RESULT], w->p.back) };
    double error_sum = 0, size_sum = 1e-30;
    if (ref_is_empty(&c.got))
        return;
    c.want = compute(w, in, &c.got);
    c.terms = term_count(op, in, &c.got);
    tnp_dtype weights = w->c->weights;
    c.by_nmse = c.bound->nmse > 0 && weights && kit_block_elements(weights) > 1;
    c.weight_rounding = c.bound->nmse > 0 && weights ? rounding_of(weights) : 0;
    if (c.bound->terms > 0 && !is_relative(op))
        c.sizes = term_sizes(w, in, &c.got);
    do {
        double got = ref_get(&c.got, at), want = ref_get(&c.want, at);
        if (isnan(want) != isnan(got) || (isinf(want) && got != want))
            kit_fail(kit_text("element {%s} is %.9g, %s",
                              place_of(at, w->s.values[w->of[KIT_RESULT].value].rank), want, when),
                     "%.9g", got);
        if (isnan(want) || got == want)
            continue;
        if (c.by_nmse) {
            double floor_of = c.sizes.data ? ref_get(&c.sizes, at) : 0;
            error_sum += (got - want) * (got - want);
            size_sum += fmax(want * want, floor_of * floor_of / fmax(c.terms, 1));
            continue;
        }
        double bound = bound_at(w, &c, at, want);
        if (!(fabs(got - want) <= bound))
            kit_fail(kit_text("element {%s} is %.9g within %.2g, %s",
                              place_of(at, w->s.values[w->of[KIT_RESULT].value].rank), want, bound,
                              when),
                     "%.9g, %.2g off", got, fabs(got - want));
    } while (ref_next(c.got.dims, at));
    if (c.by_nmse && !(error_sum / size_sum <= c.bound->nmse))
        kit_fail(kit_text("the mean square of the errors is within %.1g of that of the results, %s",
                          c.bound->nmse, when),
                 "%.2g", error_sum / size_sum);
    free(c.want.data);
    free(c.sizes.data);
}

// 1 for each byte of the result's storage that belongs to an element of it, also beyond an extent.
static unsigned char *elements_of(const kit_op_work *w, uint32_t *out_storage)
{
    const kit_operand *o = &w->of[w->writes ? 0 : KIT_RESULT];
    const tnp_value *v = &w->s.values[o->value];
    unsigned char *owned = calloc(1, w->s.storages[v->storage].bytes);
    int64_t at[TNP_MAX_DIMS] = { 0 }, dims[TNP_MAX_DIMS], block = kit_block_elements(o->dtype);
    if (!owned)
        kit_fail("memory for the case", "it is not there");
    memcpy(dims, v->dims, sizeof dims);
    dims[0] /= block;
    do {
        unsigned char *element = owned + v->offset;
        for (int d = 0; d < TNP_MAX_DIMS; d++)
            element += at[d] * v->strides[d];
        memset(element, 1, (size_t)kit_block_bytes(o->dtype));
    } while (ref_next(dims, at));
    *out_storage = v->storage;
    return owned;
}

void kit_op_check_untouched(const kit_op_work *w)
{
    uint32_t result;
    unsigned char *owned = elements_of(w, &result);
    for (uint32_t s = 0; s < w->s.slice.storage_count; s++) {
        bool is_length = false;
        for (const char *l = w->c->limited; *l; l++)
            is_length |= w->s.values[w->length[(int)*l] - 1].storage == s;
        bool is_shared = w->p.at[s] == w->p.at[result];   // also the operand whose place it takes
        for (uint64_t i = 0; i < w->s.storages[s].bytes && !(is_length && w->c->by_update); i++) {
            uint64_t at = w->p.at[s] + i;
            if (w->p.image[at] == w->p.back[at] || (is_shared && owned[i]))
                continue;
            if (is_shared)
                kit_fail("bytes between the elements of the result stay as they were",
                         "byte %llu of its storage has changed", (unsigned long long)i);
            kit_fail("operands stay as they were", "byte %llu of storage %u has changed",
                     (unsigned long long)i, s);
        }
    }
    free(owned);
}

void kit_op_check_same(const kit_op_work *w, const unsigned char *before)
{
    ref_tensor now = kit_op_tensor(w, &w->of[w->writes ? 0 : KIT_RESULT], w->p.back);
    int64_t at[TNP_MAX_DIMS] = { 0 }, block = kit_block_elements(now.dtype);
    if (ref_is_empty(&now))
        return;
    now.dims[0] /= block;
    do {
        char *here = now.data;
        for (int d = 0; d < TNP_MAX_DIMS; d++)
            here += at[d] * now.strides[d];
        const unsigned char *there = before + (here - (char *)w->p.back);
        if (memcmp(here, there, (size_t)kit_block_bytes(now.dtype)) != 0)
            kit_fail(
                "results do not depend on bytes that nobody wrote",
                "element {%s} differs when other rubbish lies beyond extents, between rows, in "
                "the result and in scratch",
                place_of(at, TNP_MAX_DIMS));
    } while (ref_next(now.dims, at));
}
