// convert.c: convert and concat: elements that move, and change at most their dtype.
#include "ops.h"

#include <string.h>

static const char *refuse_convert(const cpu_job *node)
{
    const cpu_tensor *x = &node->in[0], *out = &node->out;
    int is_plain = cpu_block_elements(x->dtype) == 1;

    if (x->dtype == out->dtype
            ? !is_plain
            : !cpu_is_decodable(x) || !(cpu_is_float(out) || out->dtype == TNP_DTYPE_Q8_0))
        return "convert other than a plain type to itself, or F32, F16, Q8_0, Q4_1 to F32, F16, "
               "Q8_0";
    return cpu_refuse_strides(node);
}

static void copy_elements(int64_t n, int64_t bytes, const char *from, int64_t from_stride, char *to,
                          int64_t to_stride)
{
    if (from_stride == bytes && to_stride == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)bytes);
}

// Workers take rows, or, of a single row, parts cut at blocks.
static void run_convert(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    int64_t rows = cpu_row_count(out), n = out->dims[0];
    cpu_range part = cpu_part(rows, 1, worker, workers), columns = { 0, n };
    float buffer[CPU_CHUNK];

    (void)phase;
    if (rows == 1) {
        part = (cpu_range){ 0, 1 };
        columns = cpu_part(n, 32, worker, workers);
    }
    for (int64_t r = part.begin; r < part.end; r++) {
        char *to = cpu_row(out, out->dims, r);
        const char *from = cpu_row(x, out->dims, r);

        if (x->dtype == out->dtype) {
            int64_t x_stride = x->dims[0] > 1 ? x->strides[0] : 0;

            copy_elements(columns.end - columns.begin, cpu_block_bytes(x->dtype),
                          from + columns.begin * x_stride, x_stride,
                          to + columns.begin * out->strides[0], out->strides[0]);
            continue;
        }
        for (int64_t i = columns.begin; i < columns.end; i += CPU_CHUNK) {
            int64_t count = cpu_min(columns.end - i, CPU_CHUNK);

            cpu_write(job->kernels, out, to, i, count,
                      cpu_read(job->kernels, x, from, i, count, buffer));
        }
    }
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
        copy_elements(x->dims[0], cpu_block_bytes(x->dtype), cpu_row(x, x->dims, r), x->strides[0],
                      cpu_row(&target, x->dims, r), out->strides[0]);
}

static void run_concat(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const tnp_axis_attr *attr = job->attr;

    (void)phase;
    place(&job->in[0], &job->out, attr->axis, 0, worker, workers);
    place(&job->in[1], &job->out, attr->axis, job->in[0].dims[attr->axis], worker, workers);
}

const cpu_op cpu_convert_ops[] = {
    { TNP_OP_CONVERT, 1, sizeof(tnp_convert_attr), refuse_convert, NULL, run_convert },
    { TNP_OP_CONCAT, 1, sizeof(tnp_axis_attr), refuse_concat, NULL, run_concat },
    { 0 },
};
