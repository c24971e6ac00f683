// op_run.c: one case of an op: a slice of one node, claimed, compiled, bound once, and run three
// times: as it is; with other rubbish wherever nothing was written; with other contents.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops.h"
#include "reference/reference.h"

typedef struct operand {
    bool is_there, is_constant, is_whole, is_distinct;
    tnp_dtype dtype;
    char letters[TNP_MAX_DIMS + 1];
    char index_of;   // letter; 0 = no index
    double low, high;
    uint32_t value;
    char *constant;   // where the host has its bytes
} operand;

enum { RESULT = KIT_OPERANDS, OPERANDS };

typedef struct op_work {
    const kit_op_case *c;
    operand of[OPERANDS];
    int64_t size[128], count[128], unit[128];   // by letter: of the dim; what counts; of its blocks
    bool is_named[128];
    uint32_t length[128];   // 1 + value that limits the letter
    bool writes;            // the result is operand 0
    tnp_convert_attr convert;
    kit_slice s;
    kit_claims claims;
    kit_program p;
} op_work;

// ----------------------------------------------------------------------------------- what is meant

static tnp_dtype dtype_of(const kit_op_case *c, const char *word)
{
    static const struct {
        const char *word;
        tnp_dtype dtype;
    } types[] = { { "f32", TNP_DTYPE_F32 }, { "f16", TNP_DTYPE_F16 },  { "bf16", TNP_DTYPE_BF16 },
                  { "i32", TNP_DTYPE_I32 }, { "i64", TNP_DTYPE_I64 },  { "i16", TNP_DTYPE_I16 },
                  { "i8", TNP_DTYPE_I8 },   { "bool", TNP_DTYPE_BOOL } };
    if (word[1] == 0)
        return word[0] == 'F' ? c->floats : word[0] == 'P' ? c->plain : c->weights;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(word, types[i].word))
            return types[i].dtype;
    return 0;
}

static void read_operand(const kit_op_case *c, const char *spec, operand *out)
{
    char word[8], rest[40] = "";
    double low, high;
    *out = (operand){ .value = TNP_NONE };
    if (!spec || sscanf(spec, "%7s %8s %39s", word, out->letters, rest) < 2)
        return;
    out->is_there = true;
    out->dtype = dtype_of(c, word);
    out->is_constant = word[0] == 'W';
    bool is_float = out->dtype == TNP_DTYPE_F32 || out->dtype == TNP_DTYPE_F16 ||
                    out->dtype == TNP_DTYPE_BF16;
    out->low = is_float ? -1 : 0;
    out->high = is_float ? 1 : 2;
    out->is_whole = !is_float || rest[0] == '{';
    if (sscanf(rest, "%*[[{]%lf,%lf", &low, &high) == 2) {
        out->low = low;
        out->high = high;
    }
    if (rest[0] == '<') {
        out->index_of = rest[1];
        out->is_distinct = rest[2] == '!';
    }
}

static void read_sizes(op_work *w)
{
    for (int i = 0; i < 128; i++)
        w->size[i] = w->unit[i] = 1;
    w->is_named['1'] = true;
    for (const char *at = w->c->sizes; *at && *at != '-';) {
        unsigned char letter = (unsigned char)*at++;
        w->size[letter & 127] = strtol(at, (char **)&at, 10);
        w->is_named[letter & 127] = true;
    }
    for (int i = 0; i < OPERANDS; i++) {   // rows of block types are whole blocks
        int letter = w->of[i].letters[0];
        int64_t block = w->of[i].is_there ? kit_block_elements(w->of[i].dtype) : 1;
        if (block <= w->unit[letter])
            continue;
        w->unit[letter] = block;
        w->size[letter] = (w->size[letter] + block - 1) / block * block;
    }
}

static int64_t what_counts(kit_limit limit, int64_t size, int64_t unit)
{
    switch (limit) {
    case KIT_NONE:
        return 0;
    case KIT_ONE:
        return unit;
    case KIT_HALF:
        return size / unit > 1 ? size / unit / 2 * unit : unit;
    default:
        return size;
    }
}

static void read_counts(op_work *w)
{
    memcpy(w->count, w->size, sizeof w->count);
    for (const char *l = w->c->limited; *l; l++)
        w->count[(int)*l] = what_counts(w->c->limit, w->size[(int)*l], w->unit[(int)*l]);
}

// --------------------------------------------------------------------------------------- the slice

static uint32_t rank_of(const op_work *w, const operand *o)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; o->letters[d]; d++)
        if (w->is_named[(int)o->letters[d]])
            rank = d + 1;
    return rank;
}

// Strides in bytes; for block types between blocks.
static void lay_out(const operand *o, kit_layout how, const int64_t *dims, int64_t *strides,
                    uint64_t *offset)
{
    int64_t unit = kit_block_bytes(o->dtype), blocks = dims[0] / kit_block_elements(o->dtype);
    strides[0] = unit;
    strides[1] = unit * blocks + (how == KIT_PADDED ? 3 * unit : 0);
    if (how == KIT_TURNED) {
        strides[1] = unit;
        strides[0] = unit * dims[1];
    }
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        strides[i] = i == 2 && how == KIT_TURNED ? unit * blocks * dims[1]
                                                 : strides[i - 1] * dims[i - 1];
    for (int i = 0; i < TNP_MAX_DIMS; i++) {
        if (how == KIT_STEPPED)
            strides[i] *= 2;
        if (how == KIT_SINGLE || (how == KIT_REPEATED && i > 0))
            strides[i] = 0;
    }
    *offset = how == KIT_OFFSET ? (uint64_t)unit : 0;
}

static void set_extents(op_work *w, const operand *o)
{
    for (uint32_t d = 0; o->letters[d]; d++)
        w->s.values[o->value].extent[d] = w->length[(int)o->letters[d]];
}

static void add_operand(op_work *w, int i, uint32_t flags)
{
    operand *o = &w->of[i];
    int64_t dims[TNP_MAX_DIMS], strides[TNP_MAX_DIMS];
    uint64_t offset;
    kit_layout how = (kit_layout)w->c->layout[i];
    if (how == KIT_SINGLE && o->is_distinct)
        how = KIT_CONTIGUOUS;
    for (int d = 0; d < TNP_MAX_DIMS; d++)
        dims[d] = 1;
    for (int d = 0; o->letters[d]; d++)
        dims[d] = w->size[(int)o->letters[d]];
    lay_out(o, how, dims, strides, &offset);
    o->value = kit_slice_value(&w->s, o->dtype, rank_of(w, o), dims, strides, offset, flags);
    set_extents(w, o);
}

// Operand 1 over the storage of operand 0.
static void share_storage(op_work *w)
{
    const tnp_value *first = &w->s.values[w->of[0].value];
    w->of[1].value = w->of[0].value;
    if (w->c->sharing == KIT_SAME)
        return;
    w->of[1].value = w->s.slice.value_count++;
    tnp_value *second = &w->s.values[w->of[1].value];
    *second = *first;
    second->offset += (uint64_t)first->strides[1];
    w->s.storages[first->storage].bytes += (uint64_t)first->strides[1];
}

static void add_lengths(op_work *w)
{
    for (const char *l = w->c->limited; *l; l++) {
        int64_t one = 1;
        uint32_t value = kit_slice_value(&w->s, TNP_DTYPE_I32, 1, &one, NULL, 0,
                                         TNP_STORAGE_ENTERS);
        w->s.values[value].flags = w->c->by_update ? TNP_VALUE_AT_SUBMIT : 0;
        w->s.values[value].likely = w->count[(int)*l];
        w->s.values[value].at_most = w->size[(int)*l];
        w->length[(int)*l] = value + 1;
    }
}

// Of a constant the host has the bytes from the first question on.
static void map_constant(op_work *w, operand *o)
{
    tnp_storage *storage = &w->s.storages[w->s.values[o->value].storage];
    o->constant = calloc(1, storage->bytes);
    if (!o->constant)
        kit_fail("memory for the case", "%llu bytes are not there",
                 (unsigned long long)storage->bytes);
    storage->data = o->constant;
}

static const void *attributes(op_work *w)
{
    if (w->c->row->op != TNP_OP_CONVERT)
        return w->c->row->attr;
    w->convert = (tnp_convert_attr){ sizeof w->convert, w->of[RESULT].dtype };
    return &w->convert;
}

static void build(op_work *w)
{
    uint32_t inputs[KIT_OPERANDS], input_count = 0;
    const uint32_t both = TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES;
    kit_slice_init(&w->s);
    add_lengths(w);
    for (int i = 0; i < KIT_OPERANDS; i++) {
        operand *o = &w->of[i];
        inputs[i] = TNP_NONE;
        if (!o->is_there)
            continue;
        bool is_written = w->writes && i == 0;
        if (i == 1 && w->c->sharing != KIT_APART)
            share_storage(w);
        else
            add_operand(w, i,
                        is_written
                            ? TNP_STORAGE_STATE | both
                            : TNP_STORAGE_ENTERS | (o->is_constant ? TNP_STORAGE_CONSTANT : 0));
        if (o->is_constant)
            map_constant(w, o);
        inputs[i] = o->value;
        input_count = (uint32_t)i + 1;
    }
    if (w->writes) {   // a value of its own over the same storage
        w->of[RESULT].value = w->s.slice.value_count++;
        w->s.values[w->of[RESULT].value] = w->s.values[w->of[0].value];
    } else {
        add_operand(w, RESULT, TNP_STORAGE_LEAVES);
    }
    kit_slice_node(&w->s, w->c->row->op, attributes(w), inputs, input_count, w->of[RESULT].value);
}

// ---------------------------------------------------------------------------------------- contents

static ref_tensor tensor_of(const op_work *w, const operand *o, unsigned char *memory)
{
    ref_tensor t = { 0 };
    if (!o->is_there)
        return t;
    const tnp_value *v = &w->s.values[o->value];
    t.data = (char *)memory + w->p.at[v->storage] + v->offset;
    t.dtype = o->dtype;
    memcpy(t.strides, v->strides, sizeof t.strides);
    for (int d = 0; d < TNP_MAX_DIMS; d++)
        t.dims[d] = 1;
    for (int d = 0; o->letters[d]; d++)
        t.dims[d] = w->count[(int)o->letters[d]];
    return t;
}

// Where the scales of a block stand: F16 each.
static int scales_of(tnp_dtype dtype, int *count)
{
    *count = dtype == TNP_DTYPE_Q4_1 || dtype == TNP_DTYPE_Q5_1 || dtype == TNP_DTYPE_Q2_K ||
                     dtype == TNP_DTYPE_Q4_K || dtype == TNP_DTYPE_Q5_K
                 ? 2
                 : 1;
    return dtype == TNP_DTYPE_Q2_K   ? 80
           : dtype == TNP_DTYPE_Q3_K ? 108
           : dtype == TNP_DTYPE_Q6_K ? 208
                                     : 0;
}

// Quants are any, scales such that numbers are about 1 in size.
static void fill_block(tnp_dtype dtype, unsigned char *block)
{
    static const uint16_t scales[] = { 0x1c00, 0x2000, 0x2266, 0x9d55 };   // 0.004 to 0.0125
    int count, at = scales_of(dtype, &count);
    for (int64_t i = 0; i < kit_block_bytes(dtype); i++)
        block[i] = (unsigned char)kit_random(0, 256);
    for (int i = 0; i < count; i++)
        memcpy(block + at + 2 * i, &scales[(int)kit_random(0, 4)], 2);
}

static void fill(const op_work *w, const operand *o, ref_tensor *t)
{
    int64_t at[TNP_MAX_DIMS] = { 0 }, block = kit_block_elements(o->dtype), number = 0;
    double first = kit_random(0, 1000), low = o->low, high = o->high;
    if (ref_is_empty(t))
        return;
    if (o->index_of)
        high = (double)w->count[(int)o->index_of];
    ref_tensor blocks = *t;
    blocks.dims[0] /= block;
    do {
        unsigned char *here = (unsigned char *)blocks.data;
        for (int d = 0; d < TNP_MAX_DIMS; d++)
            here += at[d] * blocks.strides[d];
        double value = kit_random(low, high);
        if (o->is_distinct)
            value = fmod(floor(first) + (double)number++, high);
        if (block > 1)
            fill_block(o->dtype, here);
        else
            ref_set(&blocks, at, o->is_whole || o->index_of ? floor(value) : value);
    } while (ref_next(blocks.dims, at));
}

static void set_contents(op_work *w, int round, unsigned char poison)
{
    uint64_t seed = kit_hash(w->c->sizes) + w->c->row->op;
    kit_program_fill(&w->p, poison);
    for (int i = 0; i < KIT_OPERANDS; i++) {
        operand *o = &w->of[i];
        ref_tensor t = tensor_of(w, o, w->p.image);
        if (!o->is_there)
            continue;
        uint32_t storage = w->s.values[o->value].storage;
        kit_seed(seed + 977u * (uint64_t)i + (round == 2 && !o->is_constant ? 7919u : 0));
        if (o->is_constant)
            memcpy(w->p.image + w->p.at[storage], o->constant, w->s.storages[storage].bytes);
        else
            fill(w, o, &t);
    }
    for (const char *l = w->c->limited; *l; l++) {
        int32_t length = (int32_t)w->count[(int)*l];
        uint32_t storage = w->s.values[w->length[(int)*l] - 1].storage;
        if (!w->c->by_update)
            memcpy(w->p.image + w->p.at[storage], &length, sizeof length);
    }
}

// ---------------------------------------------------------------------------------------- compared

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
static ref_tensor compute(op_work *w, const ref_tensor in[], const ref_tensor *out)
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
    if (ref_run(w->c->row->op, attributes(w), operands, &want) != REF_OK)
        kit_fail("a case that the reference can compute", "it cannot");
    for (int i = 0; i < KIT_OPERANDS; i++)
        if (operands[i].data != in[i].data && operands[i].data != want.data)
            free(operands[i].data);
    return want;
}

// The sum of the sizes of the terms that make each result: the op on the sizes of its operands.
static ref_tensor term_sizes(op_work *w, const ref_tensor in[], const ref_tensor *out)
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
    (void)ref_run(w->c->row->op, attributes(w), sizes, &sum);
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

static double bound_at(const op_work *w, const comparison *c, const int64_t at[TNP_MAX_DIMS],
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

static void compare(op_work *w, const ref_tensor in[], const char *when)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };
    tnp_op op = w->c->row->op;
    comparison c = { .bound = kit_bound_of(op),
                     .got = tensor_of(w, &w->of[w->writes ? 0 : RESULT], w->p.back) };
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
                              place_of(at, w->s.values[w->of[RESULT].value].rank), want, when),
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
                              place_of(at, w->s.values[w->of[RESULT].value].rank), want, bound,
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
static unsigned char *elements_of(const op_work *w, uint32_t *out_storage)
{
    const operand *o = &w->of[w->writes ? 0 : RESULT];
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

static void check_untouched(const op_work *w)
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

static void check_same(const op_work *w, const unsigned char *before)
{
    ref_tensor now = tensor_of(w, &w->of[w->writes ? 0 : RESULT], w->p.back);
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

// --------------------------------------------------------------------------------------------- run

static void run_round(kit_rig *r, op_work *w, int round, unsigned char poison)
{
    static const char *const when[] = { "at the first run", "with other rubbish around",
                                        "run again with other contents" };
    tnp_update updates[8];
    int32_t lengths[8];
    uint32_t count = 0;
    ref_tensor in[KIT_OPERANDS];
    set_contents(w, round, poison);
    for (int i = 0; i < KIT_OPERANDS; i++)
        in[i] = tensor_of(w, &w->of[i], w->p.image);
    for (const char *l = w->c->limited; *l && w->c->by_update; l++, count++) {
        lengths[count] = (int32_t)w->count[(int)*l];
        updates[count] = (tnp_update){ .storage = w->s.values[w->length[(int)*l] - 1].storage,
                                       .bytes = sizeof *lengths,
                                       .data = &lengths[count] };
    }
    KIT_OK_OF(kit_program_run(r, &w->p, updates, count), &r->err, "the work");
    compare(w, in, when[round]);
    check_untouched(w);
}

// The pair that the case is about, among those that the claim permits.
static bool is_permitted(const op_work *w, const kit_taken *claim)
{
    for (uint32_t i = 0; i < claim->claim.in_place_count; i++)
        if (claim->in_place[i].output == w->of[RESULT].value &&
            claim->in_place[i].input == w->of[w->c->in_place - 1].value)
            return true;
    return false;
}

// A whole number of any kind: near the borders of what can be, or anything.
static int32_t any_number(int64_t size)
{
    static const int32_t odd[] = { -1, INT32_MIN, INT32_MAX, 1 << 30, -256, 65536 };
    double which = kit_random(0, 4);
    if (which < 1)
        return odd[(int)kit_random(0, 6)];
    if (which < 2)
        return (int32_t)size + (int32_t)kit_random(-2, 3);
    return which < 3 ? (int32_t)kit_random(0, (double)size)
                     : (int32_t)(uint32_t)kit_random(0, 0x1p32);
}

// Some rounds whose indices and lengths are any bytes: the work may fail with TNP_E_DATA or give
// any result, but writes only elements of the result. Afterwards all is as it was.
static void run_wild(kit_rig *r, op_work *w)
{
    for (int round = 0; round < 16; round++) {
        set_contents(w, 0, round % 2 ? 0xff : 0x4b);
        kit_seed(kit_hash(w->c->sizes) + 31u * (uint64_t)round + 1);
        for (int i = 1; i < KIT_OPERANDS; i++) {
            ref_tensor t = tensor_of(w, &w->of[i], w->p.image);
            int64_t at[TNP_MAX_DIMS] = { 0 };
            if (!w->of[i].is_there || t.dtype != TNP_DTYPE_I32 || ref_is_empty(&t))
                continue;
            do
                ref_set(&t, at,
                        any_number(w->size[(int)(w->of[i].index_of ? w->of[i].index_of : 'S')]));
            while (ref_next(t.dims, at));
        }
        for (const char *l = w->c->limited; *l; l++) {
            int32_t length = any_number(w->size[(int)*l]);
            memcpy(w->p.image + w->p.at[w->s.values[w->length[(int)*l] - 1].storage], &length,
                   sizeof length);
        }
        tnp_status status = kit_program_run(r, &w->p, NULL, 0);
        if (status != TNP_OK)
            kit_want(status, TNP_E_DATA, &r->err, "work whose indices or lengths are any numbers");
        check_untouched(w);
    }
}

static void check_not_permitted(const op_work *w, const kit_taken *claim)
{
    if (is_permitted(w, claim))
        kit_fail("no permission in place where another operand sees the bytes otherwise",
                 "it is given, and operand 1 is operand 0 a row further on");
}

static void run_claimed(kit_rig *r, op_work *w, const kit_taken *claim)
{
    uint32_t from = w->c->in_place ? w->s.values[w->of[w->c->in_place - 1].value].storage + 1 : 0;
    uint32_t to = w->s.values[w->of[RESULT].value].storage;
    kit_program_place(r, &w->p, &w->s, &claim, 1, from, to);
    kit_program_make(r, &w->p, 0);
    unsigned char *before = malloc(w->p.bytes);
    if (!before)
        kit_fail("memory for the case", "it is not there");
    if (w->c->is_wild)
        run_wild(r, w);
    run_round(r, w, 0, 0xff);
    memcpy(before, w->p.back, w->p.bytes);
    run_round(r, w, 1, 0x4b);
    check_same(w, before);
    run_round(r, w, 2, 0xff);
    free(before);
    kit_program_free(r, &w->p);
}

static void fill_constants(op_work *w)
{
    for (int i = 0; i < KIT_OPERANDS; i++) {
        operand *o = &w->of[i];
        if (!o->constant)
            continue;
        ref_tensor t = tensor_of(w, o, NULL);
        const tnp_value *v = &w->s.values[o->value];
        memset(o->constant, 0xff, w->s.storages[v->storage].bytes);
        t.data = o->constant + v->offset;
        fill(w, o, &t);
    }
}

void kit_run_op(const kit_case *c)
{
    static op_work work;
    kit_rig r;
    op_work *w = &work;
    memset(w, 0, offsetof(op_work, s));
    w->c = c->op;
    w->writes = c->op->row->out[0] == '=';
    for (int i = 0; i < KIT_OPERANDS; i++)
        read_operand(c->op, c->op->row->in[i], &w->of[i]);
    if (!w->writes)
        read_operand(c->op, c->op->row->out, &w->of[RESULT]);
    read_sizes(w);
    read_counts(w);
    kit_rig_open(&r);
    build(w);
    memset(w->p.at, 0, sizeof w->p.at);
    fill_constants(w);
    kit_claim(&r, &w->s, &w->claims);
    const kit_taken *claim = kit_claim_of(&w->claims, 0);
    if (!claim)
        kit_will_skip("refused: %s", w->claims.reasons[0]);
    else if (c->op->in_place && c->op->sharing == KIT_SHIFTED)
        check_not_permitted(w, claim);
    else if (c->op->in_place && !is_permitted(w, claim))
        kit_will_skip("the claim does not permit it");
    else
        run_claimed(&r, w, claim);
    for (int i = 0; i < KIT_OPERANDS; i++)
        free(w->of[i].constant);
    kit_rig_close(&r);
}
