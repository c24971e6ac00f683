// norm.c: rms_norm. Workers take whole rows. A row that does not stand as F32 is copied to the
// worker's own piece of scratch, normed there, and written back converted.
#include "ops.h"

static int is_copied(const cpu_job *job)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;

    return x->dtype != TNP_DTYPE_F32 || out->dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(x) ||
           !cpu_has_unit_rows(out);
}

static const char *refuse_rms_norm(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "rms_norm of what is neither F32 nor F16";
    if (cpu_has(node, 1) &&
        (node->in[1].dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(&node->in[1])))
        return "rms_norm with a weight that is not F32, or not contiguous";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_rms_norm(const cpu_job *node, uint32_t workers)
{
    return is_copied(node)
               ? (uint64_t)cpu_lines(node->out.dims[0] * (int64_t)sizeof(float)) * workers
               : 0;
}

static void run_rms_norm(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    const tnp_norm_attr *attr = job->attr;
    const float *weight = job->input_count > 1 ? (const float *)(const void *)job->in[1].data
                                               : NULL;
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    int64_t n = out->dims[0];
    float *copy = NULL;

    (void)phase;
    if (is_copied(job))
        copy = (float *)(void *)(job->scratch + cpu_lines(n * (int64_t)sizeof(float)) * worker);
    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        const char *row_x = cpu_row(x, out->dims, r);
        float *to = copy ? copy : (float *)(void *)row;

        job->kernels->rms_norm(n,
                               copy ? cpu_read(job->kernels, x, row_x, 0, n, copy)
                                    : (const float *)(const void *)row_x,
                               weight, attr->eps, to);
        if (copy)
            cpu_write(job->kernels, out, row, 0, n, copy);
    }
}

const cpu_op cpu_norm_ops[] = {
    { TNP_OP_RMS_NORM, 1, sizeof(tnp_norm_attr), refuse_rms_norm, scratch_of_rms_norm,
      run_rms_norm },
    { 0 },
};
