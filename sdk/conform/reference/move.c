// move.c: ops that move elements: get_rows, set_rows, convert, concat, pad, repeat.
#include "reference.h"

#include <string.h>

typedef struct source {
    const ref_tensor *tensor;
    int64_t at[TNP_MAX_DIMS];
} source;

static double element_of(const void *context, int64_t i)
{
    const source *from = context;
    int64_t at[TNP_MAX_DIMS];

    memcpy(at, from->at, sizeof at);
    at[0] += i;
    return ref_get(from->tensor, at);
}

static int is_inside(int64_t index, int64_t rows)
{
    return index >= 0 && index < rows;
}

// Row index[j, b...] of matrix b... of the table becomes row j of matrix b... of the output.
int ref_get_rows(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t rows[TNP_MAX_DIMS], to[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    memcpy(rows, out->dims, sizeof rows);
    rows[0] = 1;
    do {
        source from = { .tensor = &in[0] };
        int64_t index_at[TNP_MAX_DIMS] = { 0 };

        memcpy(index_at, to + 1, sizeof to - sizeof to[0]);
        memcpy(from.at, to, sizeof from.at);
        from.at[1] = (int64_t)ref_get(&in[1], index_at);
        if (!is_inside(from.at[1], in[0].dims[1]))
            return REF_BAD_INDEX;
        ref_set_row(out, to, out->dims[0], element_of, &from);
    } while (ref_next(rows, to));
    return REF_OK;
}

int ref_set_rows(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    (void)attr;
    for (int64_t j = 0; j < in[1].dims[1]; j++) {
        source from = { .tensor = &in[1], .at = { 0, j } };
        int64_t index_at[TNP_MAX_DIMS] = { j }, to[TNP_MAX_DIMS] = { 0 };

        to[1] = (int64_t)ref_get(&in[2], index_at);
        if (!is_inside(to[1], out->dims[1]))
            return REF_BAD_INDEX;
        ref_set_row(out, to, in[1].dims[0], element_of, &from);
    }
    return REF_OK;
}

// What changes an element is ref_set: the rules of conversion stand there.
int ref_convert(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t rows[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    memcpy(rows, out->dims, sizeof rows);
    rows[0] = 1;
    do {
        source from = { .tensor = &in[0] };

        memcpy(from.at, at, sizeof at);
        ref_set_row(out, at, out->dims[0], element_of, &from);
    } while (ref_next(rows, at));
    return REF_OK;
}

int ref_concat(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    uint32_t axis = ((const tnp_axis_attr *)attr)->axis;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS], first = in[0].dims[axis];

        memcpy(from, at, sizeof from);
        if (at[axis] >= first)
            from[axis] -= first;
        ref_set(out, at, ref_get(at[axis] < first ? &in[0] : &in[1], from));
    } while (ref_next(out->dims, at));
    return REF_OK;
}

int ref_pad(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_pad_attr *pad = attr;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS];
        int is_there = 1;

        for (uint32_t i = 0; i < TNP_MAX_DIMS; i++) {
            from[i] = at[i] - (i < pad->rank ? pad->before[i] : 0);
            is_there = is_there && is_inside(from[i], in[0].dims[i]);
        }
        ref_set(out, at, is_there ? ref_get(&in[0], from) : (double)pad->value);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

int ref_repeat(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS];

        for (int i = 0; i < TNP_MAX_DIMS; i++)
            from[i] = at[i] % in[0].dims[i];
        ref_set(out, at, ref_get(&in[0], from));
    } while (ref_next(out->dims, at));
    return REF_OK;
}
