// group_norm.c: (x - mean) / sqrt(variance + eps) * weight + bias over W, H and the channels of a
// group, for x {W, H, C, B...}.
//
// Phase 0: workers take rows, and leave the mean of each and its sum of squares around that mean in
// scratch. Phase 1: workers take rows again; the numbers of the rows of a group, all of one length,
// are merged in order into
//
//   mean = sum of row means / rows
//   sum of squares around it = sum of (row's own + W * (row mean - mean)^2)
//
// which loses no digits to the difference of large squares (Chan, Golub and LeVeque 1983).
#include "ops.h"

#include <math.h>

typedef struct row_numbers {
    double mean, squares;
} row_numbers;

static const char *refuse_group_norm(const cpu_job *node)
{
    const tnp_group_norm_attr *attr = node->attr;

    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "group_norm of what is neither F32 nor F16";
    for (uint32_t i = 1; i < node->input_count; i++)
        if (cpu_has(node, i) &&
            (node->in[i].dtype != TNP_DTYPE_F32 || node->in[i].dims[0] < node->out.dims[2]))
            return "group_norm with a weight or a bias that is not F32, one a channel";
    if (attr->groups == 0 || node->out.dims[2] % attr->groups)
        return "group_norm with groups that do not divide the channels";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_group_norm(const cpu_job *node, uint32_t workers)
{
    (void)workers;
    return (uint64_t)cpu_row_count(&node->out) * sizeof(row_numbers);
}

static double sum_of_row(const cpu_job *job, const char *row, double mean, int power)
{
    const cpu_tensor *x = &job->in[0];
    int64_t n = job->out.dims[0];
    float buffer[CPU_CHUNK];
    double sum = 0;

    for (int64_t i = 0; i < n; i += CPU_CHUNK) {
        int64_t count = cpu_min(n - i, CPU_CHUNK);
        const float *values = cpu_read(job->kernels, x, row, i, count, buffer);

        for (int64_t j = 0; j < count; j++) {
            double value = (double)values[j] - mean;

            sum += power == 2 ? value * value : value;
        }
    }
    return sum;
}

static void measure_rows(const cpu_job *job, cpu_range rows)
{
    row_numbers *numbers = (row_numbers *)(void *)job->scratch;

    for (int64_t r = rows.begin; r < rows.end; r++) {
        const char *row = cpu_row(&job->in[0], job->out.dims, r);

        numbers[r].mean = sum_of_row(job, row, 0, 1) / (double)job->out.dims[0];
        numbers[r].squares = sum_of_row(job, row, numbers[r].mean, 2);
    }
}

static row_numbers merge(const row_numbers *rows, int64_t count, int64_t row_elements)
{
    row_numbers all = { 0, 0 };

    for (int64_t r = 0; r < count; r++)
        all.mean += rows[r].mean;
    all.mean /= (double)count;
    for (int64_t r = 0; r < count; r++) {
        double distance = rows[r].mean - all.mean;

        all.squares += rows[r].squares + (double)row_elements * distance * distance;
    }
    return all;
}

static float of_channel(const cpu_job *job, uint32_t input, int64_t channel, float none)
{
    const cpu_tensor *t = &job->in[input];
    float room;

    return input < job->input_count && t->data
               ? *cpu_read(job->kernels, t, t->data, channel, 1, &room)
               : none;
}

// One row of a group with these numbers.
static void norm_row(const cpu_job *job, int64_t r, double mean, double factor)
{
    int64_t channel = r / job->out.dims[1] % job->out.dims[2];
    float weight = of_channel(job, 1, channel, 1.0f), bias = of_channel(job, 2, channel, 0.0f);
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    char *row = cpu_row(out, out->dims, r);
    const char *row_x = cpu_row(x, out->dims, r);
    float buffer[CPU_CHUNK], result[CPU_CHUNK];

    for (int64_t i = 0; i < out->dims[0]; i += CPU_CHUNK) {
        int64_t count = cpu_min(out->dims[0] - i, CPU_CHUNK);
        const float *values = cpu_read(job->kernels, x, row_x, i, count, buffer);
        float *to = cpu_target(out, row, i, result);

        for (int64_t j = 0; j < count; j++)
            to[j] = (float)(((double)values[j] - mean) * factor) * weight + bias;
        cpu_write(job->kernels, out, row, i, count, to);
    }
}

static void norm_rows(const cpu_job *job, cpu_range rows)
{
    const tnp_group_norm_attr *attr = job->attr;
    const row_numbers *numbers = (const row_numbers *)(const void *)job->scratch;
    int64_t group_rows = job->out.dims[2] / attr->groups * job->out.dims[1];
    int64_t known = -1;   // the group that the next two are of
    double mean = 0, factor = 0;

    for (int64_t r = rows.begin; r < rows.end; r++) {
        int64_t group = r / group_rows;

        if (group != known) {
            row_numbers all = merge(numbers + group * group_rows, group_rows, job->out.dims[0]);

            mean = all.mean;
            factor = 1.0 / sqrt(all.squares / (double)(group_rows * job->out.dims[0]) +
                                (double)attr->eps);
            known = group;
        }
        norm_row(job, r, mean, factor);
    }
}

static void run_group_norm(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const tnp_group_norm_attr *attr = job->attr;
    cpu_range part = cpu_part(cpu_row_count(&job->out), 1, worker, workers);

    if (job->out.dims[0] == 0 || job->out.dims[2] % attr->groups)   // channels cut by an extent
        return;
    if (phase == 0)
        measure_rows(job, part);
    else
        norm_rows(job, part);
}

const cpu_op cpu_group_norm_ops[] = {
    { TNP_OP_GROUP_NORM, 2, sizeof(tnp_group_norm_attr), refuse_group_norm, scratch_of_group_norm,
      run_group_norm, NULL },
    { 0 },
};
