// sort.c: top_k and argsort. An element's place is the number of those that come before it. Equal
// elements stay in order, and a NaN counts as lower than any number.
#include "reference.h"

#include <math.h>
#include <string.h>

static int is_above(double a, double b)
{
    return a > b || (!isnan(a) && isnan(b));
}

// Whether element i of the row at `at` comes before element j.
static int is_before(const ref_tensor *x, const int64_t at[TNP_MAX_DIMS], int descending, int64_t i,
                     int64_t j)
{
    int64_t a_at[TNP_MAX_DIMS], b_at[TNP_MAX_DIMS];
    double a, b;

    memcpy(a_at, at, sizeof a_at);
    memcpy(b_at, at, sizeof b_at);
    a_at[0] = i;
    b_at[0] = j;
    a = ref_get(x, a_at);
    b = ref_get(x, b_at);
    if (is_above(a, b))
        return descending;
    return is_above(b, a) ? !descending : i < j;
}

// The places below dims[0] of out get their index.
static void sort_rows(const ref_tensor *x, const ref_tensor *out, int descending)
{
    int64_t rows[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 };

    if (ref_is_empty(out))
        return;
    memcpy(rows, out->dims, sizeof rows);
    rows[0] = 1;
    do {
        for (int64_t i = 0; i < x->dims[0]; i++) {
            int64_t to[TNP_MAX_DIMS];

            memcpy(to, at, sizeof to);
            for (int64_t j = 0; j < x->dims[0]; j++)
                to[0] += is_before(x, at, descending, j, i);
            if (to[0] < out->dims[0])
                ref_set(out, to, (double)i);
        }
    } while (ref_next(rows, at));
}

int ref_top_k(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    (void)attr;
    sort_rows(&in[0], out, 1);
    return REF_OK;
}

int ref_argsort(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    sort_rows(&in[0], out, ((const tnp_argsort_attr *)attr)->order == TNP_SORT_DESCENDING);
    return REF_OK;
}
