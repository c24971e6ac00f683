// rows.c: get_rows and set_rows.
#include "ops.h"

#include <string.h>

static const char *const outside = "an index is outside the table";

static const char *refuse_get_rows(const cpu_job *node)
{
    const cpu_tensor *table = &node->in[0];

    if (!cpu_is_decodable(table) && table->dtype != TNP_DTYPE_I32)
        return "get_rows from a table other than F32, F16, Q8_0, Q4_1 and I32";
    if (node->out.dtype != (table->dtype == TNP_DTYPE_I32 ? TNP_DTYPE_I32 : TNP_DTYPE_F32))
        return "get_rows with a result that is not F32 (I32 from an I32 table)";
    if (node->in[1].dtype != TNP_DTYPE_I32)
        return "get_rows with indices that are not I32";
    if (!cpu_rank_at_most(table, 2) || !cpu_rank_at_most(&node->in[1], 1))
        return "get_rows from a table of more than two dims, or with indices of more than one";
    return cpu_refuse_strides(node);
}

static void copy_row_i32(const cpu_tensor *table, const char *row, const cpu_tensor *out, char *to,
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * out->strides[0], row + i * table->strides[0], sizeof(int32_t));
}

// Workers take rows of the output.
static void run_get_rows(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *table = &job->in[0], *out = &job->out;
    int64_t n = cpu_min(out->dims[0], table->dims[0]);
    cpu_range part = cpu_part(out->dims[1], 1, worker, workers);
    float buffer[CPU_CHUNK];

    (void)phase;
    for (int64_t j = part.begin; j < part.end; j++) {
        int64_t index = cpu_index(&job->in[1], j);
        char *to = out->data + j * out->strides[1];
        const char *row = table->data + index * table->strides[1];

        if (index < 0 || index >= table->dims[1]) {
            cpu_fail(job, outside);
            return;
        }
        if (table->dtype == TNP_DTYPE_I32)
            copy_row_i32(table, row, out, to, n);
        else
            for (int64_t i = 0; i < n; i += CPU_CHUNK) {
                int64_t count = cpu_min(n - i, CPU_CHUNK);

                cpu_write(job->kernels, out, to, i, count,
                          cpu_read(job->kernels, table, row, i, count, buffer));
            }
    }
}

static const char *refuse_set_rows(const cpu_job *node)
{
    const cpu_tensor *table = &node->in[0];

    if (!cpu_is_float(table) && table->dtype != TNP_DTYPE_Q8_0)
        return "set_rows into a table other than F32, F16 and Q8_0";
    if (node->in[1].dtype != TNP_DTYPE_F32)
        return "set_rows of rows that are not F32";
    if (node->in[2].dtype != TNP_DTYPE_I32)
        return "set_rows with indices that are not I32";
    if (!cpu_rank_at_most(table, 2) || !cpu_rank_at_most(&node->in[1], 2) ||
        !cpu_rank_at_most(&node->in[2], 1))
        return "set_rows into a table of more than two dims, or with indices of more than one";
    return cpu_refuse_strides(node);
}

// Workers take columns, cut at blocks, of all rows: where an index comes twice the later row stays,
// as with one worker.
static void run_set_rows(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *table = &job->in[0], *rows = &job->in[1];
    cpu_range part = cpu_part(cpu_min(table->dims[0], rows->dims[0]), 32, worker, workers);
    float buffer[CPU_CHUNK];

    (void)phase;
    for (int64_t j = 0; j < rows->dims[1]; j++) {
        int64_t index = cpu_index(&job->in[2], j);
        const char *from = rows->data + j * rows->strides[1];

        if (index < 0 || index >= table->dims[1]) {
            cpu_fail(job, outside);
            return;
        }
        for (int64_t i = part.begin; i < part.end; i += CPU_CHUNK) {
            int64_t count = cpu_min(part.end - i, CPU_CHUNK);

            cpu_write(job->kernels, table, table->data + index * table->strides[1], i, count,
                      cpu_read(job->kernels, rows, from, i, count, buffer));
        }
    }
}

const cpu_op cpu_rows_ops[] = {
    { TNP_OP_GET_ROWS, 1, 0, refuse_get_rows, NULL, run_get_rows },
    { TNP_OP_SET_ROWS, 1, 0, refuse_set_rows, NULL, run_set_rows },
    { 0 },
};
