// op_contents.c: what operands hold.
#include <math.h>

#include "op_work.h"

ref_tensor kit_op_tensor(const kit_op_work *w, const kit_operand *o, unsigned char *memory)
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

static void fill(const kit_op_work *w, const kit_operand *o, ref_tensor *t)
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
        if (o->has_nan && kit_random(0, 5) < 1)
            value = (double)NAN;
        if (block > 1)
            fill_block(o->dtype, here);
        else
            ref_set(&blocks, at, o->is_whole || o->index_of ? floor(value) : value);
    } while (ref_next(blocks.dims, at));
}

void kit_op_set_contents(kit_op_work *w, int round, unsigned char poison)
{
    uint64_t seed = kit_hash(w->c->sizes) + w->c->row->op;
    kit_program_fill(&w->p, poison);
    for (int i = 0; i < KIT_OPERANDS; i++) {
        kit_operand *o = &w->of[i];
        ref_tensor t = kit_op_tensor(w, o, w->p.image);
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

void kit_op_fill_constants(kit_op_work *w)
{
    for (int i = 0; i < KIT_OPERANDS; i++) {
        kit_operand *o = &w->of[i];
        if (!o->constant)
            continue;
        ref_tensor t = kit_op_tensor(w, o, NULL);
        const tnp_value *v = &w->s.values[o->value];
        memset(o->constant, 0xff, w->s.storages[v->storage].bytes);
        t.data = o->constant + v->offset;
        fill(w, o, &t);
    }
}
