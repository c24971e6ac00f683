// norm.c: rms_norm, layer_norm and l2_norm. Workers take whole rows. A row that does not stand as
// F32 is copied to the worker's own piece of scratch, normed there, and written back converted. So
// are a weight and a bias whose elements do not stand side by side, once.
//
// Scratch, of n floats each:  | for each worker: row? weight? bias? |
#include "ops.h"

#include <math.h>

#define LANES 4   // sums run side by side, so that one addition need not wait for the one before

static int is_copied(const cpu_job *job)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;

    return x->dtype != TNP_DTYPE_F32 || out->dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(x) ||
           !cpu_has_unit_rows(out);
}

static const char *refuse_norm(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "a norm of what is neither F32 nor F16";
    for (uint32_t i = 1; i < node->input_count; i++)
        if (cpu_has(node, i) &&
            (node->in[i].dtype != TNP_DTYPE_F32 || node->in[i].dims[0] < node->out.dims[0]))
            return "a norm with a weight or a bias that is not F32 and as long as a row";
    return cpu_refuse_strides(node);
}

static int is_vector_copied(const cpu_job *job, uint32_t i)
{
    return cpu_has(job, i) && !cpu_has_unit_rows(&job->in[i]);
}

static int64_t floats_of_worker(const cpu_job *job)
{
    return cpu_round_up(job->out.dims[0], 16) *
           (is_copied(job) + is_vector_copied(job, 1) + is_vector_copied(job, 2));
}

static uint64_t scratch_of_norm(const cpu_job *node, uint32_t workers)
{
    return (uint64_t)floats_of_worker(node) * sizeof(float) * workers;
}

// One row, or one vector of weights or biases.
typedef struct norm_row {
    int64_t n;
    const float *x, *weight, *bias;   // weight, bias: NULL = none
    float eps;
    float *out;
} norm_row;

// sum of (x - mean)^power, power 1 or 2
static double sum_of(const norm_row *row, double mean, int power)
{
    double sums[LANES] = { 0 };
    int64_t i = 0;

    for (; i + LANES <= row->n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double x = (double)row->x[i + l] - mean;

            sums[l] += power == 2 ? x * x : x;
        }
    for (; i < row->n; i++) {
        double x = (double)row->x[i] - mean;

        sums[0] += power == 2 ? x * x : x;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void layer_norm(const norm_row *row)
{
    double n = (double)(row->n ? row->n : 1), mean = sum_of(row, 0, 1) / n;
    double factor = 1.0 / sqrt(sum_of(row, mean, 2) / n + (double)row->eps);

    for (int64_t i = 0; i < row->n; i++) {
        float x = (float)(((double)row->x[i] - mean) * factor);

        if (row->weight)
            x *= row->weight[i];
        row->out[i] = row->bias ? x + row->bias[i] : x;
    }
}

static void l2_norm(const norm_row *row)
{
    double length = sqrt(sum_of(row, 0, 2));
    float factor = (float)(1.0 / (length < (double)row->eps ? (double)row->eps : length));

    for (int64_t i = 0; i < row->n; i++)
        row->out[i] = row->x[i] * factor;
}

// Weight or bias; NULL = none. One that is copied takes the next n floats of *room.
static const float *vector(const cpu_job *job, uint32_t i, float **room)
{
    const cpu_tensor *t = &job->in[i];
    float *to = *room;

    if (i >= job->input_count || !t->data)
        return NULL;
    if (!is_vector_copied(job, i))
        return (const float *)(const void *)t->data;
    *room += cpu_round_up(job->out.dims[0], 16);
    return cpu_read(job->kernels, t, t->data, 0, job->out.dims[0], to);
}

static void run_norm(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    const tnp_norm_attr *attr = job->attr;
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    int64_t own = floats_of_worker(job);
    float *room = own ? (float *)(void *)job->scratch + own * worker : NULL;
    norm_row one = { .n = out->dims[0], .eps = attr->eps };
    float *copy = NULL;

    (void)phase;
    one.weight = vector(job, 1, &room);
    one.bias = vector(job, 2, &room);
    if (is_copied(job))
        copy = room;
    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        const char *row_x = cpu_row(x, out->dims, r);

        one.out = copy ? copy : (float *)(void *)row;
        one.x = copy ? cpu_read(job->kernels, x, row_x, 0, one.n, copy)
                     : (const float *)(const void *)row_x;
        if (job->op == TNP_OP_RMS_NORM)
            job->kernels->rms_norm(one.n, one.x, one.weight, one.eps, one.out);
        else if (job->op == TNP_OP_LAYER_NORM)
            layer_norm(&one);
        else
            l2_norm(&one);
        if (copy)
            cpu_write(job->kernels, out, row, 0, one.n, copy);
    }
}

const cpu_op cpu_norm_ops[] = {
    { TNP_OP_RMS_NORM, 1, sizeof(tnp_norm_attr), refuse_norm, scratch_of_norm, run_norm, NULL },
    { TNP_OP_LAYER_NORM, 1, sizeof(tnp_norm_attr), refuse_norm, scratch_of_norm, run_norm, NULL },
    { TNP_OP_L2_NORM, 1, sizeof(tnp_norm_attr), refuse_norm, scratch_of_norm, run_norm, NULL },
    { 0 },
};
