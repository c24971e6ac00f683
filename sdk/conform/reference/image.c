// image.c: convolutions, pooling and upscale of images {W, H, C, B} and sound {L, C, B}.
#include "reference.h"

#include <math.h>
#include <string.h>

// Sound {L, C, B} as images {L, 1, C, B}; kernels {K, C, O} in the same way.
static ref_tensor as_image(const ref_tensor *sound)
{
    ref_tensor image = *sound;

    image.dims[1] = 1;
    image.strides[1] = 0;
    for (int i = 2; i < TNP_MAX_DIMS; i++) {
        image.dims[i] = sound->dims[i - 1];
        image.strides[i] = sound->strides[i - 1];
    }
    return image;
}

// Where tap k of the window at place i looks, along dim d.
static int64_t tap(const tnp_conv_attr *conv, int d, int64_t i, int64_t k)
{
    return i * conv->stride[d] - (int64_t)conv->before[d] + k * conv->dilation[d];
}

// Element `at` {x, y, o, b} of the output.
static double convolve(const tnp_conv_attr *conv, const ref_tensor *x, const ref_tensor *w,
                       int64_t results, const int64_t at[TNP_MAX_DIMS])
{
    int64_t channels = w->dims[2], first = at[2] / (results / conv->groups) * channels;
    double sum = 0;

    for (int64_t c = 0; c < channels; c++)
        for (int64_t ky = 0; ky < w->dims[1]; ky++)
            for (int64_t kx = 0; kx < w->dims[0]; kx++) {
                int64_t w_at[TNP_MAX_DIMS] = { kx, ky, c, at[2] };
                int64_t x_at[TNP_MAX_DIMS] = { tap(conv, 0, at[0], kx), tap(conv, 1, at[1], ky),
                                               first + c, at[3] };

                if (x_at[0] >= 0 && x_at[0] < x->dims[0] && x_at[1] >= 0 && x_at[1] < x->dims[1])
                    sum += ref_get(x, x_at) * ref_get(w, w_at);
            }
    return sum;
}

int ref_conv(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    int is_sound = op == TNP_OP_CONV_1D;
    tnp_conv_attr conv = *(const tnp_conv_attr *)attr;
    ref_tensor x = is_sound ? as_image(&in[0]) : in[0], w = is_sound ? as_image(&in[1]) : in[1],
               to = is_sound ? as_image(out) : *out;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    if (is_sound) {
        conv.stride[1] = conv.dilation[1] = 1;
        conv.before[1] = 0;
    }
    if (ref_is_empty(out))
        return REF_OK;
    do
        ref_set(&to, at, convolve(&conv, &x, &w, to.dims[2], at));
    while (ref_next(to.dims, at));
    return REF_OK;
}

// Each element of x adds to the places that a convolution of the output would read for it:
// out[l * stride - before + k * dilation, o, b] += w[k, o, c] * x[l, c, b]
int ref_conv_transpose_1d(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_conv_attr *conv = attr;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        double sum = 0;

        for (int64_t l = 0; l < in[0].dims[0]; l++)
            for (int64_t k = 0; k < in[1].dims[0]; k++)
                for (int64_t c = 0; c < in[0].dims[1]; c++) {
                    int64_t x_at[TNP_MAX_DIMS] = { l, c, at[2] };
                    int64_t w_at[TNP_MAX_DIMS] = { k, at[1], c };

                    if (tap(conv, 0, l, k) == at[0])
                        sum += ref_get(&in[0], x_at) * ref_get(&in[1], w_at);
                }
        ref_set(out, at, sum);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

int ref_pool_2d(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_pool_attr *pool = attr;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS], first_x = at[0] * pool->stride[0] - (int64_t)pool->before[0],
                                    first_y = at[1] * pool->stride[1] - (int64_t)pool->before[1];
        double max = NAN, sum = 0, count = 0;   // a NaN is lower than any number, as in max

        memcpy(from, at, sizeof from);
        for (from[1] = first_y; from[1] < first_y + pool->kernel[1]; from[1]++)
            for (from[0] = first_x; from[0] < first_x + pool->kernel[0]; from[0]++)
                if (from[0] >= 0 && from[0] < in[0].dims[0] && from[1] >= 0 &&
                    from[1] < in[0].dims[1]) {
                    max = fmax(max, ref_get(&in[0], from));
                    sum += ref_get(&in[0], from);
                    count++;
                }
        ref_set(out, at, pool->kind == TNP_POOL_MAX ? max : sum / count);
    } while (ref_next(out->dims, at));
    return REF_OK;
}

static double sample_position(int64_t i, int64_t from, int64_t to)
{
    double position = ((double)i + 0.5) * (double)from / (double)to - 0.5;

    return fmin(fmax(position, 0), (double)(from - 1));
}

static double bilinear(const ref_tensor *x, const ref_tensor *out, const int64_t at[TNP_MAX_DIMS])
{
    double px = sample_position(at[0], x->dims[0], out->dims[0]),
           py = sample_position(at[1], x->dims[1], out->dims[1]), sum = 0;
    int64_t from[TNP_MAX_DIMS];

    memcpy(from, at, sizeof from);
    for (int i = 0; i < 4; i++) {   // the four elements around the position
        from[0] = (int64_t)px + i % 2;
        from[1] = (int64_t)py + i / 2;
        double share = (1 - fabs(px - (double)from[0])) * (1 - fabs(py - (double)from[1]));
        if (share > 0)   // one that is beyond the edge has no share
            sum += share * ref_get(x, from);
    }
    return sum;
}

int ref_upscale(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_upscale_attr *upscale = attr;
    int64_t at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t from[TNP_MAX_DIMS];

        memcpy(from, at, sizeof from);
        for (int i = 0; i < 2; i++)
            from[i] = at[i] * in[0].dims[i] / out->dims[i];
        ref_set(out, at,
                upscale->mode == TNP_UPSCALE_NEAREST ? ref_get(&in[0], from)
                                                     : bilinear(&in[0], out, at));
    } while (ref_next(out->dims, at));
    return REF_OK;
}
