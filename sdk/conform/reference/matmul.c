// matmul.c: out[n, m] = sum over k of w[k, n] * x[k, m], and the same with a matrix chosen by id.
#include "reference.h"

int ref_matmul(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t x_at[TNP_MAX_DIMS] = { 0, at[1] }, w_at[TNP_MAX_DIMS] = { 0, at[0] };
        double sum = 0;

        for (int i = 2; i < TNP_MAX_DIMS; i++) {
            x_at[i] = at[i];
            w_at[i] = at[i] / (out->dims[i] / in[1].dims[i]);   // neighbours share a matrix of w
        }
        for (int64_t k = 0; k < in[0].dims[0]; k++) {
            x_at[0] = w_at[0] = k;
            sum += ref_get(&in[0], x_at) * ref_get(&in[1], w_at);
        }
        ref_set(out, at, sum);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

// out[n, u, t] = sum over k of w[k, n, ids[u, t]] * x[k, u or 0, t]
int ref_matmul_id(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    (void)attr;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t x_at[TNP_MAX_DIMS] = { 0, in[0].dims[1] == 1 ? 0 : at[1], at[2] };
        int64_t id_at[TNP_MAX_DIMS] = { at[1], at[2] }, w_at[TNP_MAX_DIMS] = { 0, at[0] };
        double sum = 0;

        w_at[2] = (int64_t)ref_get(&in[2], id_at);
        if (w_at[2] < 0 || w_at[2] >= in[1].dims[2])
            return REF_BAD_INDEX;
        for (int64_t k = 0; k < in[0].dims[0]; k++) {
            x_at[0] = w_at[0] = k;
            sum += ref_get(&in[0], x_at) * ref_get(&in[1], w_at);
        }
        ref_set(out, at, sum);
    } while (ref_next(out->dims, at));
    return REF_OK;
}
