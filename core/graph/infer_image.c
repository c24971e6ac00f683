// infer_image.c: convolutions, pooling, upscale: images {W, H, C, B} and sound {L, C, B}.
#include "graph/infer.h"

#include <inttypes.h>

// A window that slides over one dim.
typedef struct window {
    int64_t kernel, stride, dilation, before, after;
} window;

// How often the window fits; 0 = not once, nothing to look at, or a size wraps.
static int64_t places_of(int64_t dim, const window *w)
{
    int64_t reach = w->kernel - 1, padded = dim;
    if (dim < 1 || w->kernel < 1 || w->stride < 1 || w->dilation < 1 ||
        __builtin_mul_overflow(reach, w->dilation, &reach) ||
        __builtin_add_overflow(padded, w->before, &padded) ||
        __builtin_add_overflow(padded, w->after, &padded) || padded <= reach)
        return 0;
    return (padded - reach - 1) / w->stride + 1;
}

static window conv_window(const tnp_conv_attr *attr, int64_t kernel, uint32_t dim)
{
    return (window){ kernel, attr->stride[dim], attr->dilation[dim], attr->before[dim],
                     attr->after[dim] };
}

static bool slide(const tni_rule *rule, uint32_t dim, int64_t kernel, const window *w)
{
    rule->out->dims[dim] = places_of(rule->in[0]->dims[dim], w);
    return rule->out->dims[dim] > 0 ||
           tni_rule_fail(rule, TN_E_SHAPE,
                         "a window of %" PRId64 " by %" PRId64
                         " does not fit into dim %u of %" PRId64,
                         kernel, w->stride, dim, rule->in[0]->dims[dim]);
}

// x {spatial dims..., C, B} with the kernel w {spatial dims..., C / groups, O}.
static bool infer_conv(const tni_rule *rule, uint32_t spatial)
{
    operand x = rule->in[0], w = rule->in[1];
    const tnp_conv_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_float(rule, "w", w) ||
        !tni_need_whole(rule, "x", x, 0, spatial) || !tni_need_whole(rule, "w", w, 0, spatial + 1))
        return false;
    if (x->rank > spatial + 2 || w->rank > spatial + 2 || attr->groups == 0 ||
        x->dims[spatial] % attr->groups || x->dims[spatial] / attr->groups != w->dims[spatial] ||
        w->dims[spatial + 1] % attr->groups)
        return tni_rule_fail_two(
            rule, TN_E_SHAPE,
            "the channels of x must be those of w times the groups, and the groups "
            "divide the results",
            "x", x, "w", w);
    tni_copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->rank = x->rank > spatial + 1 ? x->rank : spatial + 1;
    for (uint32_t i = 0; i < spatial; i++) {
        window at = conv_window(attr, w->dims[i], i);
        if (!slide(rule, i, w->dims[i], &at))
            return false;
    }
    rule->out->dims[spatial] = w->dims[spatial + 1];
    return true;
}

static bool infer_conv_transpose_1d(const tni_rule *rule)
{
    operand x = rule->in[0], w = rule->in[1];
    const tnp_conv_attr *attr = rule->attr;
    int64_t length, reach;
    if (!tni_need_float(rule, "x", x) || !tni_need_float(rule, "w", w) ||
        !tni_need_whole(rule, "x", x, 0, 1) || !tni_need_whole(rule, "w", w, 0, 2))
        return false;
    if (x->rank > 3 || w->rank > 3 || attr->groups != 1 || w->dims[2] != x->dims[1] ||
        attr->stride[0] < 1 || attr->dilation[0] < 1 || x->dims[0] < 1 || w->dims[0] < 1)
        return tni_rule_fail_two(
            rule, TN_E_SHAPE,
            "dims[2] of w must be the channels of x, in one group, with strides of 1 "
            "or more",
            "x", x, "w", w);
    if (__builtin_mul_overflow(x->dims[0] - 1, (int64_t)attr->stride[0], &length) ||
        __builtin_mul_overflow(w->dims[0] - 1, (int64_t)attr->dilation[0], &reach) ||
        __builtin_add_overflow(length, reach + 1, &length))
        return tni_rule_fail(rule, TN_E_SHAPE, "the result is too large");
    length -= (int64_t)attr->before[0] + attr->after[0];
    if (length < 1)
        return tni_rule_fail(rule, TN_E_SHAPE, "nothing is left of the result without its edges");
    tni_copy_shape(rule->out, x);
    rule->out->dtype = TN_DTYPE_F32;
    rule->out->rank = x->rank > 2 ? x->rank : 2;
    rule->out->dims[0] = length;
    rule->out->dims[1] = w->dims[1];
    return true;
}

static bool infer_pool_2d(const tni_rule *rule)
{
    operand x = rule->in[0];
    const tnp_pool_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 1))
        return false;
    if (attr->kind > TNP_POOL_MEAN)
        return tni_rule_fail(rule, TN_E_ARG, "pooling is max (0) or mean (1), not %u", attr->kind);
    tni_copy_shape(rule->out, x);
    rule->out->rank = x->rank > 2 ? x->rank : 2;
    for (uint32_t i = 0; i < 2; i++) {
        window at = { attr->kernel[i], attr->stride[i], 1, attr->before[i], attr->after[i] };
        if (attr->before[i] >= attr->kernel[i] || attr->after[i] >= attr->kernel[i])
            return tni_rule_fail(rule, TN_E_ARG,
                                 "the padding of dim %u must be below its kernel of %u", i,
                                 attr->kernel[i]);
        if (!slide(rule, i, attr->kernel[i], &at))
            return false;
    }
    return true;
}

static bool infer_upscale(const tni_rule *rule)
{
    operand x = rule->in[0];
    const tnp_upscale_attr *attr = rule->attr;
    if (!tni_need_float(rule, "x", x) || !tni_need_whole(rule, "x", x, 0, 1))
        return false;
    if (attr->mode > TNP_UPSCALE_BILINEAR || attr->width < 1 || attr->height < 1 ||
        x->dims[0] * x->dims[1] == 0)
        return tni_rule_fail(rule, TN_E_ARG,
                             "the mode is 0 or 1 and the sizes at least 1, they are %u, %" PRId64
                             " and %" PRId64,
                             attr->mode, attr->width, attr->height);
    tni_copy_shape(rule->out, x);
    rule->out->rank = x->rank > 2 ? x->rank : 2;
    rule->out->dims[0] = attr->width;
    rule->out->dims[1] = attr->height;
    return true;
}

bool tni_infer_image(const tni_rule *rule)
{
    switch (rule->op->number) {
    case TNP_OP_CONV_1D:
        return infer_conv(rule, 1);
    case TNP_OP_CONV_2D:
        return infer_conv(rule, 2);
    case TNP_OP_CONV_TRANSPOSE_1D:
        return infer_conv_transpose_1d(rule);
    case TNP_OP_POOL_2D:
        return infer_pool_2d(rule);
    case TNP_OP_UPSCALE:
        return infer_upscale(rule);
    default:
        return tni_rule_fail(rule, TN_E_INTERNAL, "it has no shape rule");
    }
}
