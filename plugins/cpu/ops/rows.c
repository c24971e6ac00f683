// rows.c: get_rows and set_rows.
#include "ops.h"

#include <string.h>

static const char *const outside = "an index is outside the table";

static const char *refuse_get_rows(const cpu_job *node)
{
    const cpu_tensor *table = &node->in[0], *index = &node->in[1];

    if (!cpu_is_decodable(table) && !cpu_is_plain(table->dtype))
        return "get_rows from a table of a type that is not decoded here";
    if (node->out.dtype != (table->dtype == TNP_DTYPE_I32 ? TNP_DTYPE_I32 : TNP_DTYPE_F32))
        return "get_rows with a result that is not F32 (I32 from an I32 table)";
    if (index->dtype != TNP_DTYPE_I32)
        return "get_rows with indices that are not I32";
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        if (table->dims[i] != node->out.dims[i] || index->dims[i - 1] != node->out.dims[i])
            return "get_rows from other matrices than there are indices for";
    if (index->dims[0] != node->out.dims[1] || index->dims[TNP_MAX_DIMS - 1] != 1)
        return "get_rows with other indices than rows of the result";
    return cpu_refuse_strides(node);
}

// The place of the index for row `row` of the output: index[j, b...] for row j of matrix b...
static const char *index_of_row(const cpu_tensor *index, const int64_t dims[TNP_MAX_DIMS],
                                int64_t row)
{
    const char *at = index->data;

    for (int i = 1; i < TNP_MAX_DIMS; i++) {
        at += row % dims[i] * index->strides[i - 1];
        row /= dims[i];
    }
    return at;
}

static void decode_row(const cpu_job *job, const char *from, char *to, int64_t n)
{
    const cpu_tensor *table = &job->in[0], *out = &job->out;
    float buffer[CPU_CHUNK];

    if (!cpu_is_decodable(table)) {
        cpu_convert_elements(job->kernels, n, table->dtype, from, table->strides[0], out->dtype, to,
                             out->strides[0]);
        return;
    }
    for (int64_t i = 0; i < n; i += CPU_CHUNK) {
        int64_t count = cpu_min(n - i, CPU_CHUNK);

        cpu_write(job->kernels, out, to, i, count,
                  cpu_read(job->kernels, table, from, i, count, buffer));
    }
}

// Workers take rows of the output.
static void run_get_rows(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *out = &job->out;
    cpu_tensor matrices = job->in[0];   // row 0 of each matrix of the table
    int64_t n = cpu_min(out->dims[0], job->in[0].dims[0]);
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);

    (void)phase;
    matrices.dims[1] = 1;
    for (int64_t r = part.begin; r < part.end; r++) {
        int32_t index;

        memcpy(&index, index_of_row(&job->in[1], out->dims, r), sizeof index);
        if (index < 0 || index >= job->in[0].dims[1]) {
            cpu_fail(job, outside);
            return;
        }
        decode_row(job, cpu_row(&matrices, out->dims, r) + index * job->in[0].strides[1],
                   cpu_row(out, out->dims, r), n);
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
    { TNP_OP_GET_ROWS, 1, 0, refuse_get_rows, NULL, run_get_rows, NULL },
    { TNP_OP_SET_ROWS, 1, 0, refuse_set_rows, NULL, run_set_rows, NULL },
    { 0 },
};
