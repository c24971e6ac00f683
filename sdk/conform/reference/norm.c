// norm.c: rms_norm, layer_norm, l2_norm, group_norm and softmax. Rows are written last, so that out
// may be in[0].
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

// (x - mean) / sqrt(variance + eps) * weight + bias for one element of dims[0] or of a channel.
static double normed(const ref_tensor in[], double x, double mean, double length, int64_t index)
{
    int64_t at[TNP_MAX_DIMS] = { index };
    double weight = in[1].data ? ref_get(&in[1], at) : 1,
           bias = in[2].data ? ref_get(&in[2], at) : 0;

    return (x - mean) / length * weight + bias;
}

int ref_layer_norm(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_norm_attr *norm = attr;
    int64_t rows[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 }, n = out->dims[0];

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    row_dims(out, rows);
    do {
        double mean = 0, variance = 0, length;

        for (at[0] = 0; at[0] < n; at[0]++)
            mean += ref_get(&in[0], at) / (double)n;
        for (at[0] = 0; at[0] < n; at[0]++)
            variance += pow(ref_get(&in[0], at) - mean, 2) / (double)n;
        length = sqrt(variance + norm->eps);
        for (at[0] = 0; at[0] < n; at[0]++)
            ref_set(out, at, normed(in, ref_get(&in[0], at), mean, length, at[0]));
        at[0] = 0;
    } while (ref_next(rows, at));
    return REF_OK;
}

int ref_l2_norm(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
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
        length = sqrt(sum) < norm->eps ? norm->eps : sqrt(sum);   // a NaN stays one
        for (at[0] = 0; at[0] < n; at[0]++)
            ref_set(out, at, ref_get(&in[0], at) / length);
        at[0] = 0;
    } while (ref_next(rows, at));
    return REF_OK;
}

// One group of one image: channels [first, first + channels), the other dims as in `image`.
static void norm_group(const tnp_group_norm_attr *norm, const ref_tensor in[],
                       const ref_tensor *out, const int64_t image[TNP_MAX_DIMS], int64_t first,
                       int64_t channels)
{
    int64_t group[TNP_MAX_DIMS], at[TNP_MAX_DIMS], begin[TNP_MAX_DIMS] = { 0 };
    double n = (double)(out->dims[0] * out->dims[1] * channels), mean = 0, variance = 0, length;
    ref_tensor x = in[0], to = *out;

    for (int i = 3; i < TNP_MAX_DIMS; i++)
        begin[i] = image[i];
    begin[2] = first;
    for (int i = 0; i < TNP_MAX_DIMS; i++) {
        x.data += begin[i] * x.strides[i];
        to.data += begin[i] * to.strides[i];
        group[i] = i < 2 ? out->dims[i] : i == 2 ? channels : 1;
    }
    memset(at, 0, sizeof at);
    do
        mean += ref_get(&x, at) / n;
    while (ref_next(group, at));
    do
        variance += pow(ref_get(&x, at) - mean, 2) / n;
    while (ref_next(group, at));
    length = sqrt(variance + norm->eps);
    do
        ref_set(&to, at, normed(in, ref_get(&x, at), mean, length, first + at[2]));
    while (ref_next(group, at));
}

int ref_group_norm(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_group_norm_attr *norm = attr;
    int64_t images[TNP_MAX_DIMS], at[TNP_MAX_DIMS] = { 0 }, channels = out->dims[2] / norm->groups;

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    memcpy(images, out->dims, sizeof images);
    images[0] = images[1] = images[2] = 1;
    do
        for (int64_t group = 0; group < norm->groups; group++)
            norm_group(norm, in, out, at, group * channels, channels);
    while (ref_next(images, at));
    return REF_OK;
}

static double alibi_slope(const tnp_softmax_attr *attr, int64_t head, int64_t heads)
{
    double m = attr->alibi_max_bias, power = 1;

    if (!(m > 0))
        return 1;
    while (power * 2 <= (double)heads)
        power *= 2;
    return (double)head < power ? exp2(-m * (double)(head + 1) / power)
                                : exp2(-m * (2 * ((double)head - power) + 1) / (2 * power));
}

static double masked(const tnp_softmax_attr *attr, const ref_tensor in[],
                     const int64_t at[TNP_MAX_DIMS])
{
    double x = ref_get(&in[0], at) * attr->scale;

    if (!in[1].data)
        return x;
    return x + alibi_slope(attr, at[2], in[0].dims[2]) * ref_get_broadcast(&in[1], at);
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
