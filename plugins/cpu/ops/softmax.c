// softmax.c: softmax over rows. Workers take whole rows. The scaled and masked row is made in the
// output, or where that is not F32 in the worker's own piece of scratch.
#include "ops.h"

#include <math.h>

static int is_copied(const cpu_job *job)
{
    return job->out.dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(&job->out);
}

static const char *refuse_softmax(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "softmax of what is neither F32 nor F16";
    if (cpu_has(node, 1) && !cpu_is_float(&node->in[1]))
        return "softmax with a mask that is neither F32 nor F16";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_softmax(const cpu_job *node, uint32_t workers)
{
    return is_copied(node)
               ? (uint64_t)cpu_lines(node->out.dims[0] * (int64_t)sizeof(float)) * workers
               : 0;
}

// The factor on the mask for row `row` of an x with these dims (Press et al., arXiv:2108.12409).
static float slope_of(const tnp_softmax_attr *attr, const int64_t dims[TNP_MAX_DIMS], int64_t row)
{
    double m = (double)attr->alibi_max_bias;
    int64_t head = row / dims[1] % dims[2], power = 1;

    if (!(m > 0.0))
        return 1.0f;
    while (power <= dims[2] / 2)
        power *= 2;
    return (float)(head < power
                       ? exp2(-m * (double)(head + 1) / (double)power)
                       : exp2(-m * (double)(2 * (head - power) + 1) / (double)(2 * power)));
}

// to[i] = x[i] * scale + slope * mask[i] for one row
static void scale_and_mask(const cpu_job *job, int64_t row, int64_t n, float *to)
{
    const tnp_softmax_attr *attr = job->attr;
    const cpu_tensor *x = &job->in[0],
                     *mask = job->input_count > 1 && job->in[1].data ? &job->in[1] : NULL;
    const char *row_x = cpu_row(x, job->out.dims, row),
               *row_mask = mask ? cpu_row(mask, job->out.dims, row) : NULL;
    float buffer[CPU_CHUNK], sloped[CPU_CHUNK], slope = slope_of(attr, job->out.dims, row);

    for (int64_t i = 0; i < n; i += CPU_CHUNK) {
        int64_t count = cpu_min(n - i, CPU_CHUNK);
        const float *bias;

        job->kernels->scale(count, cpu_read(job->kernels, x, row_x, i, count, buffer), attr->scale,
                            0.0f, to + i);
        if (!mask)
            continue;
        bias = cpu_read(job->kernels, mask, row_mask, i, count, buffer);
        if (slope != 1.0f) {
            job->kernels->scale(count, bias, slope, 0.0f, sloped);
            bias = sloped;
        }
        job->kernels->add(count, to + i, bias, to + i);
    }
}

static void run_softmax(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *out = &job->out;
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    int64_t n = out->dims[0];
    float *copy = NULL;

    (void)phase;
    if (is_copied(job))
        copy = (float *)(void *)(job->scratch + cpu_lines(n * (int64_t)sizeof(float)) * worker);
    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        float *to = copy ? copy : (float *)(void *)row;

        scale_and_mask(job, r, n, to);
        job->kernels->softmax(n, to);
        if (copy)
            cpu_write(job->kernels, out, row, 0, n, copy);
    }
}

const cpu_op cpu_softmax_ops[] = {
    { TNP_OP_SOFTMAX, 1, sizeof(tnp_softmax_attr), refuse_softmax, scratch_of_softmax, run_softmax,
      NULL },
    { 0 },
};
