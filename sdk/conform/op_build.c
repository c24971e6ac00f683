// op_build.c: the words of a row, read; and the slice of one node that they mean.
#include <stdio.h>
#include <stdlib.h>

#include "op_work.h"

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

static void read_operand(const kit_op_case *c, const char *spec, kit_operand *out)
{
    char word[8], rest[40] = "";
    double low, high;
    *out = (kit_operand){ .value = TNP_NONE };
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
    out->has_nan = strchr(rest, '~') != NULL;
    if (rest[0] == '<') {
        out->index_of = rest[1];
        out->is_distinct = rest[2] == '!';
    }
}

static void read_sizes(kit_op_work *w)
{
    for (int i = 0; i < 128; i++)
        w->size[i] = w->unit[i] = 1;
    w->is_named['1'] = true;
    for (const char *at = w->c->sizes; *at && *at != '-';) {
        unsigned char letter = (unsigned char)*at++;
        w->size[letter & 127] = strtol(at, (char **)&at, 10);
        w->is_named[letter & 127] = true;
    }
    for (int i = 0; i < KIT_ALL_OPERANDS; i++) {   // rows of block types are whole blocks
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

static void read_counts(kit_op_work *w)
{
    memcpy(w->count, w->size, sizeof w->count);
    for (const char *l = w->c->limited; *l; l++)
        w->count[(int)*l] = what_counts(w->c->limit, w->size[(int)*l], w->unit[(int)*l]);
}

void kit_op_read(kit_op_work *w, const kit_op_case *c)
{
    memset(w, 0, offsetof(kit_op_work, s));
    w->c = c;
    w->writes = c->row->out[0] == '=';
    for (int i = 0; i < KIT_OPERANDS; i++)
        read_operand(c, c->row->in[i], &w->of[i]);
    if (!w->writes)
        read_operand(c, c->row->out, &w->of[KIT_RESULT]);
    read_sizes(w);
    read_counts(w);
}

// --------------------------------------------------------------------------------------- the slice

static uint32_t rank_of(const kit_op_work *w, const kit_operand *o)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; o->letters[d]; d++)
        if (w->is_named[(int)o->letters[d]])
            rank = d + 1;
    return rank;
}

// Strides in bytes; for block types between blocks.
static void lay_out(const kit_operand *o, kit_layout how, const int64_t *dims, int64_t *strides,
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

static void set_extents(kit_op_work *w, const kit_operand *o)
{
    for (uint32_t d = 0; o->letters[d]; d++)
        w->s.values[o->value].extent[d] = w->length[(int)o->letters[d]];
}

static void add_operand(kit_op_work *w, int i, uint32_t flags)
{
    kit_operand *o = &w->of[i];
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
static void share_storage(kit_op_work *w)
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

static void add_lengths(kit_op_work *w)
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
static void map_constant(kit_op_work *w, kit_operand *o)
{
    tnp_storage *storage = &w->s.storages[w->s.values[o->value].storage];
    o->constant = calloc(1, storage->bytes);
    if (!o->constant)
        kit_fail("memory for the case", "%llu bytes are not there",
                 (unsigned long long)storage->bytes);
    storage->data = o->constant;
}

const void *kit_op_attributes(kit_op_work *w)
{
    if (w->c->row->op != TNP_OP_CONVERT)
        return w->c->row->attr;
    w->convert = (tnp_convert_attr){ sizeof w->convert, w->of[KIT_RESULT].dtype };
    return &w->convert;
}

void kit_op_build(kit_op_work *w)
{
    uint32_t inputs[KIT_OPERANDS], input_count = 0;
    const uint32_t both = TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES;
    kit_slice_init(&w->s);
    add_lengths(w);
    for (int i = 0; i < KIT_OPERANDS; i++) {
        kit_operand *o = &w->of[i];
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
        w->of[KIT_RESULT].value = w->s.slice.value_count++;
        w->s.values[w->of[KIT_RESULT].value] = w->s.values[w->of[0].value];
    } else {
        add_operand(w, KIT_RESULT, TNP_STORAGE_LEAVES);
    }
    kit_slice_node(&w->s, w->c->row->op, kit_op_attributes(w), inputs, input_count,
                   w->of[KIT_RESULT].value);
}
