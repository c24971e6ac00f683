// norm.c: rms_norm and softmax. Rows are written last, so that out may be in[0].
#include "reference.h"

#include <math.h>
#include <string.h>

// The dims that number the rows of t: those of t with dims[0] taken as 1.
static void row_dims(const ref_tensor *t, int64_t dims[TNP_MAX_DIMS])
{
    memcpy(dims, t->dims, sizeof t->dims);
    dims[0] = 1;
}

int ref_rms_norm(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_norm_attr *norm = attr;
    int64_t rows[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 }, n = out->dims[0];

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    row_dims(out, rows);
    do {
        double sum = 0, length;

        for (at[0] = 0; at[0] < n; at[0]++)
            sum += ref_get(&in[0], at) * ref_get(&in[0], at);
        length = sqrt(sum / (double)n + norm->eps);
        for (at[0] = 0; at[0] < n; at[0]++) {
            int64_t weight_at[TNP_MAX_DIMS] = { at[0] };
            double weight = in[1].data ? ref_get(&in[1], weight_at) : 1;

            ref_set(out, at, ref_get(&in[0], at) / length * weight);
        }
        at[0] = 0;
    } while (ref_next(rows, at));
    return REF_OK;
}

static double masked(const tnp_softmax_attr *attr, const ref_tensor in[],
                     const int64_t at[TNP_MAX_DIMS])
{
    return ref_get(&in[0], at) * attr->scale + (in[1].data ? ref_get_broadcast(&in[1], at) : 0);
}

int ref_softmax(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t rows[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 }, n = out->dims[0];

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    row_dims(out, rows);
    do {
        double max = -INFINITY, sum = 0;

        for (at[0] = 0; at[0] < n; at[0]++)
            max = fmax(max, masked(attr, in, at));
        for (at[0] = 0; at[0] < n; at[0]++)
            sum += exp(masked(attr, in, at) - max);
        for (at[0] = 0; at[0] < n; at[0]++)
            ref_set(out, at, max == -INFINITY ? 0 : exp(masked(attr, in, at) - max) / sum);
        at[0] = 0;
    } while (ref_next(rows, at));
    return REF_OK;
}
