// convert.c: convert and concat: elements that move, and change at most their dtype.
#include "ops.h"

static const char *refuse_convert(const cpu_job *node)
{
    const cpu_tensor *x = &node->in[0], *out = &node->out;

    if (!(cpu_is_plain(x->dtype) && cpu_is_plain(out->dtype)) &&
        (x->dtype == out->dtype || !cpu_is_decodable(x) ||
         !(cpu_is_float(out) || out->dtype == TNP_DTYPE_Q8_0)))
        return "convert other than between plain types, from a block type to F32 or F16, or to "
               "Q8_0";
    return cpu_refuse_strides(node);
}

static int64_t element_stride(const cpu_tensor *t)
{
    return t->dims[0] > 1 ? t->strides[0] : 0;
}

// Elements first .. first + n - 1 of a row.
static void convert_elements(const cpu_job *job, const char *from, char *to, int64_t first,
                             int64_t n)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    int64_t x_stride = element_stride(x), out_stride = element_stride(out);
    float buffer[CPU_CHUNK];

    if (x->dtype == out->dtype) {
        cpu_copy_elements(n, cpu_block_bytes(x->dtype), from + first * x_stride, x_stride,
                          to + first * out_stride, out_stride);
        return;
    }
    if (!cpu_is_decodable(x) || !(cpu_is_float(out) || out->dtype == TNP_DTYPE_Q8_0)) {
        cpu_convert_elements(job->kernels, n, x->dtype, from + first * x_stride, x_stride,
                             out->dtype, to + first * out_stride, out_stride);
        return;
    }
    for (int64_t end = first + n; first < end; first += CPU_CHUNK) {
        int64_t count = cpu_min(end - first, CPU_CHUNK);

        cpu_write(job->kernels, out, to, first, count,
                  cpu_read(job->kernels, x, from, first, count, buffer));
    }
}

// Workers take rows, or, of a single row, parts cut at blocks.
static void run_convert(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    int64_t rows = cpu_row_count(out), n = out->dims[0];
    cpu_range part = cpu_part(rows, 1, worker, workers), columns = { 0, n };

    (void)phase;
    if (rows == 1) {
        part = (cpu_range){ 0, 1 };
        columns = cpu_part(n, 256, worker, workers);   // the largest block
    }
    for (int64_t r = part.begin; r < part.end; r++)
        convert_elements(job, cpu_row(x, out->dims, r), cpu_row(out, out->dims, r), columns.begin,
                         columns.end - columns.begin);
}

static const char *refuse_concat(const cpu_job *node)
{
    const tnp_axis_attr *attr = node->attr;

    if (cpu_block_elements(node->out.dtype) != 1)
        return "concat of a block type";
    if (node->in[0].dtype != node->out.dtype || node->in[1].dtype != node->out.dtype)
        return "concat of different dtypes";
    if (attr->axis >= TNP_MAX_DIMS)
        return "concat along an axis that is not there";
    return cpu_refuse_strides(node);
}

// One operand, whose first element becomes element `offset` along the axis. Workers take its rows.
static void place(const cpu_tensor *x, const cpu_tensor *out, uint32_t axis, int64_t offset,
                  uint32_t worker, uint32_t workers)
{
    cpu_range part = cpu_part(cpu_row_count(x), 1, worker, workers);
    cpu_tensor target = *out;

    target.data += offset * out->strides[axis];
    for (int i = 0; i < TNP_MAX_DIMS; i++)
        target.dims[i] = x->dims[i];
    for (int64_t r = part.begin; r < part.end; r++)
        cpu_copy_elements(x->dims[0], cpu_block_bytes(x->dtype), cpu_row(x, x->dims, r),
                          x->strides[0], cpu_row(&target, x->dims, r), out->strides[0]);
}

static void run_concat(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const tnp_axis_attr *attr = job->attr;

    (void)phase;
    place(&job->in[0], &job->out, attr->axis, 0, worker, workers);
    place(&job->in[1], &job->out, attr->axis, job->in[0].dims[attr->axis], worker, workers);
}

const cpu_op cpu_convert_ops[] = {
    { TNP_OP_CONVERT, 1, sizeof(tnp_convert_attr), refuse_convert, NULL, run_convert, NULL },
    { TNP_OP_CONCAT, 1, sizeof(tnp_axis_attr), refuse_concat, NULL, run_concat, NULL },
    { 0 },
};
