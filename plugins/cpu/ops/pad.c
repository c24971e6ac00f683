// pad.c: pad and repeat: rows of the operand at more than one place, or among elements of one
// value. Workers take rows of the output.
#include "ops.h"

static const char *refuse_same(const cpu_job *node)
{
    if (!cpu_is_plain(node->out.dtype) || node->in[0].dtype != node->out.dtype)
        return "pad or repeat of a block type, or to another dtype";
    return cpu_refuse_strides(node);
}

static const char *refuse_pad(const cpu_job *node)
{
    const tnp_pad_attr *attr = node->attr;

    if (attr->rank > TNP_MAX_DIMS)
        return "pad of more dims than there are";
    for (uint32_t i = 0; i < attr->rank; i++)
        if (attr->before[i] < 0 || attr->before[i] > node->out.dims[i])
            return "pad by less than 0 elements, or by more than the result has";
    return refuse_same(node);
}

// The row of x that stands in row `row` of the output; NULL where all is padding.
static const char *row_within(const cpu_job *job, int64_t row)
{
    const tnp_pad_attr *attr = job->attr;
    const cpu_tensor *x = &job->in[0];
    const char *at = x->data;

    for (uint32_t i = 1; i < TNP_MAX_DIMS; i++) {
        int64_t index = row % job->out.dims[i] - (i < attr->rank ? attr->before[i] : 0);

        if (index < 0 || index >= x->dims[i])
            return NULL;
        at += index * x->strides[i];
        row /= job->out.dims[i];
    }
    return at;
}

static void run_pad(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const tnp_pad_attr *attr = job->attr;
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    int64_t n = out->dims[0], bytes = cpu_block_bytes(out->dtype), stride = out->strides[0];
    int64_t before = cpu_min(attr->rank > 0 ? attr->before[0] : 0, n);
    int64_t count = cpu_min(x->dims[0], n - before);
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    char value[sizeof(int64_t)];   // the largest plain type's

    (void)phase;
    cpu_convert_elements(job->kernels, 1, TNP_DTYPE_F32, (const char *)&attr->value, 0, out->dtype,
                         value, 0);
    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        const char *from = row_within(job, r);
        int64_t copied = from ? count : 0, first = from ? before : n;

        cpu_copy_elements(first, bytes, value, 0, row, stride);
        if (copied)
            cpu_copy_elements(copied, bytes, from, x->strides[0], row + first * stride, stride);
        cpu_copy_elements(n - first - copied, bytes, value, 0, row + (first + copied) * stride,
                          stride);
    }
}

static void run_repeat(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    int64_t n = x->dims[0], bytes = cpu_block_bytes(out->dtype);
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);

    (void)phase;
    for (int i = 0; i < TNP_MAX_DIMS; i++)
        if (x->dims[i] == 0)
            return;
    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        const char *from = x->data;

        for (int64_t i = 1, rest = r; i < TNP_MAX_DIMS; rest /= out->dims[i++])
            from += rest % out->dims[i] % x->dims[i] * x->strides[i];
        for (int64_t i = 0; i < out->dims[0]; i += n)
            cpu_copy_elements(cpu_min(n, out->dims[0] - i), bytes, from, x->strides[0],
                              row + i * out->strides[0], out->strides[0]);
    }
}

const cpu_op cpu_pad_ops[] = {
    { TNP_OP_PAD, 1, sizeof(tnp_pad_attr), refuse_pad, NULL, run_pad, NULL },
    { TNP_OP_REPEAT, 1, sizeof(tnp_dims_attr), refuse_same, NULL, run_repeat, NULL },
    { 0 },
};
