// attention.c: out = softmax(softcap(q.k * scale) + mask) v, with a sink's score under the softmax.
// Scores are computed anew for each chunk of the output, so that nothing is allocated.
#include "reference.h"

#include <math.h>

enum { CHUNK = 64 };

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

// Elements [begin, end) of one head of one token, at most CHUNK of them.
static void weigh_values(const tnp_attention_attr *attention, const ref_tensor in[],
                         const ref_tensor *out, int64_t head, int64_t t, int64_t begin, int64_t end)
{
    int64_t key_head = head / (out->dims[1] / in[1].dims[1]), keys = in[1].dims[2];
    int64_t token[TNP_MAX_DIMS] = { t }, out_at[TNP_MAX_DIMS] = { 0, head, t };
    int64_t position = (int64_t)ref_get(&in[3], token);
    int64_t head_at[TNP_MAX_DIMS] = { head };
    double sink = in[5].data ? ref_get(&in[5], head_at) : -INFINITY;
    double max = sink, sum = 0, weighted[CHUNK] = { 0 };

    for (int64_t s = 0; s < keys; s++)
        if (is_seen(attention, position, s))
            max = fmax(max, score(attention, in, head, key_head, t, s));
    if (sink != -INFINITY)
        sum = exp(sink - max);   // a score of no key: it has no value
    for (int64_t s = 0; s < keys && max > -INFINITY; s++) {
        int64_t v_at[TNP_MAX_DIMS] = { 0, key_head, s };

        if (!is_seen(attention, position, s))
            continue;
        double share = exp(score(attention, in, head, key_head, t, s) - max);
        sum += share;
        for (v_at[0] = begin; v_at[0] < end; v_at[0]++)
            weighted[v_at[0] - begin] += share * ref_get(&in[2], v_at);
    }
    for (out_at[0] = begin; out_at[0] < end; out_at[0]++)
        ref_set(out, out_at, sum == 0 ? 0 : weighted[out_at[0] - begin] / sum);
}

int ref_attention(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    for (int64_t t = 0; t < out->dims[2]; t++)
        for (int64_t head = 0; head < out->dims[1]; head++)
            for (int64_t e = 0; e < out->dims[0]; e += CHUNK)
                weigh_values(attr, in, out, head, t, e,
                             e + CHUNK < out->dims[0] ? e + CHUNK : out->dims[0]);
    return REF_OK;
}
