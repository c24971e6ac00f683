// reduce.c: sum, mean, max, argmax and cumsum. Sums run in double, one element after the other: no
// model spends time here, and the order is plain. Workers take elements of the output, or the lines
// of cumsum. A NaN counts as lower than any number: max and argmax find one only where there is
// nothing else.
#include "ops.h"

#include <math.h>
#include <string.h>

static const char *refuse_sum(const cpu_job *node)
{
    const tnp_axis_attr *attr = node->attr;

    if (!cpu_is_float(&node->in[0]) || node->out.dtype != TNP_DTYPE_F32)
        return "sum, mean, max or cumsum of what is neither F32 nor F16, or to another type than "
               "F32";
    if (attr->axis >= TNP_MAX_DIMS)
        return "sum, mean, max or cumsum along an axis that is not there";
    return cpu_refuse_strides(node);
}

// Element `number` of all elements of t, in order of dims; a dim of 1 repeats.
static char *element(const cpu_tensor *t, const int64_t dims[TNP_MAX_DIMS], int64_t number)
{
    char *at = t->data;

    for (int i = 0; i < TNP_MAX_DIMS && number > 0; i++) {
        if (t->dims[i] > 1)
            at += number % dims[i] * t->strides[i];
        number /= dims[i];
    }
    return at;
}

static double load(const cpu_job *job, const char *at)
{
    float value;

    if (job->in[0].dtype == TNP_DTYPE_F32)
        memcpy(&value, at, sizeof value);
    else
        job->kernels->decode_f16(1, at, &value);
    return value;
}

static void run_sum(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    uint32_t axis = ((const tnp_axis_attr *)job->attr)->axis;
    cpu_range part = cpu_part(out->dims[0] * cpu_row_count(out), 16, worker, workers);
    cpu_tensor first = *x;   // of each line along the axis

    (void)phase;
    first.dims[axis] = 1;
    for (int64_t j = part.begin; j < part.end; j++) {
        const char *at = element(&first, out->dims, j);
        double sum = 0;
        float result;

        for (int64_t i = 0; i < x->dims[axis]; i++, at += x->strides[axis])
            sum += load(job, at);
        if (job->op == TNP_OP_MEAN)
            sum /= (double)x->dims[axis];
        result = (float)sum;
        memcpy(element(out, out->dims, j), &result, sizeof result);
    }
}

static void run_max(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    uint32_t axis = ((const tnp_axis_attr *)job->attr)->axis;
    cpu_range part = cpu_part(out->dims[0] * cpu_row_count(out), 16, worker, workers);
    cpu_tensor first = *x;   // of each line along the axis

    (void)phase;
    first.dims[axis] = 1;
    for (int64_t j = part.begin; j < part.end; j++) {
        const char *at = element(&first, out->dims, j);
        float max = x->dims[axis] == 0 ? -INFINITY : NAN;   // of no elements, an extent of 0: -inf

        for (int64_t i = 0; i < x->dims[axis]; i++, at += x->strides[axis])
            max = fmaxf(max, (float)load(job, at));   // of a NaN and a number it takes the number
        memcpy(element(out, out->dims, j), &max, sizeof max);
    }
}

static void run_cumsum(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    uint32_t axis = ((const tnp_axis_attr *)job->attr)->axis;
    cpu_tensor lines = *out;   // one element for each line along the axis
    cpu_tensor first = *x;     // of each line
    cpu_range part;

    (void)phase;
    lines.dims[axis] = first.dims[axis] = 1;
    part = cpu_part(lines.dims[0] * cpu_row_count(&lines), 1, worker, workers);
    for (int64_t j = part.begin; j < part.end; j++) {
        const char *from = element(&first, lines.dims, j);
        char *to = element(&lines, lines.dims, j);
        double sum = 0;

        for (int64_t i = 0; i < out->dims[axis]; i++) {
            float result;

            sum += load(job, from + i * x->strides[axis]);
            result = (float)sum;
            memcpy(to + i * out->strides[axis], &result, sizeof result);
        }
    }
}

static const char *refuse_argmax(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || node->out.dtype != TNP_DTYPE_I32)
        return "argmax of what is neither F32 nor F16, or to another type than I32";
    return cpu_refuse_strides(node);
}

static int64_t argmax_of_row(const cpu_job *job, const char *row, int64_t n)
{
    float buffer[CPU_CHUNK], best = 0;
    int64_t index = 0;

    for (int64_t i = 0; i < n; i += CPU_CHUNK) {
        int64_t count = cpu_min(n - i, CPU_CHUNK);
        const float *values = cpu_read(job->kernels, &job->in[0], row, i, count, buffer);
        int64_t here = job->kernels->argmax(count, values);

        if (i == 0 || values[here] > best ||
            (best != best && values[here] == values[here])) {   // NaN is not itself
            best = values[here];
            index = i + here;
        }
    }
    return index;
}

static void run_argmax(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);

    (void)phase;
    if (out->dims[0] == 0)
        return;
    for (int64_t r = part.begin; r < part.end; r++) {
        int32_t index = (int32_t)argmax_of_row(job, cpu_row(x, out->dims, r), x->dims[0]);

        memcpy(cpu_row(out, out->dims, r), &index, sizeof index);
    }
}

const cpu_op cpu_reduce_ops[] = {
    { TNP_OP_SUM, 1, sizeof(tnp_axis_attr), refuse_sum, NULL, run_sum, NULL },
    { TNP_OP_MEAN, 1, sizeof(tnp_axis_attr), refuse_sum, NULL, run_sum, NULL },
    { TNP_OP_MAX, 1, sizeof(tnp_axis_attr), refuse_sum, NULL, run_max, NULL },
    { TNP_OP_CUMSUM, 1, sizeof(tnp_axis_attr), refuse_sum, NULL, run_cumsum, NULL },
    { TNP_OP_ARGMAX, 1, 0, refuse_argmax, NULL, run_argmax, NULL },
    { 0 },
};
