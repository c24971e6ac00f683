// attention.c: out = softmax(softcap(q.k * scale) + mask) v. Scores are computed anew each time
// they are needed.
#include "reference.h"

#include <math.h>

static int is_seen(const tnp_attention_attr *attention, int64_t position, int64_t key)
{
    if ((attention->flags & TNP_ATTENTION_CAUSAL) && key > position)
        return 0;
    return !attention->window || position - key < (int64_t)attention->window;
}

static double score(const tnp_attention_attr *attention, const ref_tensor in[], int64_t head,
                    int64_t key_head, int64_t t, int64_t s)
{
    int64_t q_at[TNP_MAX_DIMS] = { 0, head, t }, k_at[TNP_MAX_DIMS] = { 0, key_head, s },
            mask_at[TNP_MAX_DIMS] = { s, t };
    double product = 0;

    for (int64_t d = 0; d < in[0].dims[0]; d++) {
        q_at[0] = k_at[0] = d;
        product += ref_get(&in[0], q_at) * ref_get(&in[1], k_at);
    }
    product *= attention->scale;
    if (attention->softcap > 0)
        product = attention->softcap * tanh(product / attention->softcap);
    return product + (in[4].data ? ref_get(&in[4], mask_at) : 0);
}

int ref_attention(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_attention_attr *attention = attr;
    int64_t heads = out->dims[1], tokens = out->dims[2], keys = in[1].dims[2];

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t head = 0; head < heads; head++) {
            int64_t key_head = head / (heads / in[1].dims[1]), token[TNP_MAX_DIMS] = { t };
            int64_t position = (int64_t)ref_get(&in[3], token);
            double max = -INFINITY, sum = 0;

            for (int64_t s = 0; s < keys; s++)
                if (is_seen(attention, position, s))
                    max = fmax(max, score(attention, in, head, key_head, t, s));
            for (int64_t e = 0; e < out->dims[0]; e++) {
                int64_t v_at[TNP_MAX_DIMS] = { e, key_head }, out_at[TNP_MAX_DIMS] = { e, head, t };
                double weighted = 0;

                sum = 0;
                for (int64_t s = 0; s < keys && max > -INFINITY; s++)
                    if (is_seen(attention, position, s)) {
                        double share = exp(score(attention, in, head, key_head, t, s) - max);

                        v_at[2] = s;
                        sum += share;
                        weighted += share * ref_get(&in[2], v_at);
                    }
                ref_set(out, out_at, sum == 0 ? 0 : weighted / sum);
            }
        }
    return REF_OK;
}
