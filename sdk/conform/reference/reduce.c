// reduce.c: sum, mean, max, argmax and cumsum. A NaN counts as lower than any number: max and
// argmax find one only where there is nothing else.
#include "reference.h"

#include <math.h>
#include <string.h>

int ref_sum(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    uint32_t axis = ((const tnp_axis_attr *)attr)->axis;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS], n = in[0].dims[axis];
        double sum = 0;

        memcpy(from, at, sizeof from);
        for (from[axis] = 0; from[axis] < n; from[axis]++)
            sum += ref_get(&in[0], from);
        ref_set(out, at, op == TNP_OP_MEAN ? sum / (double)n : sum);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

int ref_max(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    uint32_t axis = ((const tnp_axis_attr *)attr)->axis;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS], n = in[0].dims[axis];
        double max = n == 0 ? -INFINITY : NAN;   // of no elements, an extent of 0: -inf

        memcpy(from, at, sizeof from);
        for (from[axis] = 0; from[axis] < n; from[axis]++)
            max = fmax(max, ref_get(&in[0], from));   // of a NaN and a number fmax takes the number
        ref_set(out, at, max);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

int ref_cumsum(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    uint32_t axis = ((const tnp_axis_attr *)attr)->axis;
    int64_t lines[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    memcpy(lines, out->dims, sizeof lines);
    lines[axis] = 1;
    do {
        double sum = 0;

        for (at[axis] = 0; at[axis] < out->dims[axis]; at[axis]++) {
            sum += ref_get(&in[0], at);
            ref_set(out, at, sum);
        }
        at[axis] = 0;
    } while (ref_next(lines, at));
    return REF_OK;
}

int ref_argmax(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS], best = 0;
        double largest;

        memcpy(from, at, sizeof from);
        from[0] = 0;
        largest = ref_get(&in[0], from);
        for (from[0] = 1; from[0] < in[0].dims[0]; from[0]++)
            if (ref_get(&in[0], from) > largest ||
                (isnan(largest) && !isnan(ref_get(&in[0], from)))) {
                largest = ref_get(&in[0], from);
                best = from[0];
            }
        ref_set(out, at, (double)best);
    } while (ref_next(out->dims, at));
    return REF_OK;
}
