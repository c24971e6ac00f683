// move.c: ops that move elements: get_rows, set_rows, convert, concat.
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

static int read_index(const ref_tensor *indices, int64_t j, int64_t rows, int64_t *index)
{
    int64_t at[TNP_MAX_DIMS] = { j };

    *index = (int64_t)ref_get(indices, at);
    return *index >= 0 && *index < rows;
}

int ref_get_rows(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    (void)attr;
    for (int64_t j = 0; j < out->dims[1]; j++) {
        source from = { .tensor = &in[0] };
        int64_t to[TNP_MAX_DIMS] = { 0, j };

        if (!read_index(&in[1], j, in[0].dims[1], &from.at[1]))
            return REF_BAD_INDEX;
        ref_set_row(out, to, out->dims[0], element_of, &from);
    }
    return REF_OK;
}

int ref_set_rows(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    (void)attr;
    for (int64_t j = 0; j < in[1].dims[1]; j++) {
        source from = { .tensor = &in[1], .at = { 0, j } };
        int64_t to[TNP_MAX_DIMS] = { 0 };

        if (!read_index(&in[2], j, out->dims[1], &to[1]))
            return REF_BAD_INDEX;
        ref_set_row(out, to, in[1].dims[0], element_of, &from);
    }
    return REF_OK;
}

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
