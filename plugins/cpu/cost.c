// cost.c: what a job computes and moves.
#include "machine.h"
#include "node.h"

static double elements_of(const cpu_tensor *tensor)
{
    double n = 1;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        n *= (double)tensor->dims[d];
    return n;
}

static double flops_of_products(const cpu_job *job)
{
    const cpu_products_attr *attr = job->attr;
    const double k = (double)job->in[0].dims[0];
    double flops = attr->is_normed ? 4 * elements_of(&job->in[0]) : 0;
    for (uint32_t i = 0; i < attr->count; i++)
        flops += 2 * k * elements_of(attr->tail ? &job->out : &job->outs[i]);
    if (attr->tail)
        flops += (attr->tail == TNP_OP_ADD ? 1 : 12) * elements_of(&job->out);
    return flops;
}

double cpu_job_flops(const cpu_job *job)
{
    if (job->op == CPU_OP_PRODUCTS)
        return flops_of_products(job);
    const double n = elements_of(&job->out);
    const double k = (double)job->in[0].dims[0], s = (double)job->in[1].dims[2];
    switch (job->op) {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        return (double)(flops);
#include <tenon/ops.def>
    default:
        return 0;
    }
}

// A dim that is repeated by stride 0 is read once.
static double tensor_bytes(const cpu_tensor *tensor)
{
    if (tensor->dtype == 0)   // left out
        return 0;
    double bytes = (double)tnh_block_bytes(tensor->dtype) /
                   (double)tnh_block_elements(tensor->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (tensor->strides[d] != 0)
            bytes *= (double)tensor->dims[d];
    return bytes;
}

double cpu_job_bytes(const cpu_job *job)
{
    double bytes = 0;
    for (uint32_t i = 0; i < CPU_MAX_OUTPUTS; i++)
        bytes += tensor_bytes(&job->outs[i]);
    if (job->op == TNP_OP_GET_ROWS)   // of the table, only the rows
        return 2 * bytes;
    if (job->op == TNP_OP_SET_ROWS)
        return 2 * tensor_bytes(&job->in[1]);
    for (uint32_t i = 0; i < job->input_count; i++)
        bytes += tensor_bytes(&job->in[i]);
    return bytes;
}

double cpu_job_ns(const cpu_job *job)
{
    double compute = cpu_job_flops(job) / CPU_CORE_FLOPS_PER_S,
           move = cpu_job_bytes(job) / CPU_CORE_BYTES_PER_S;
    return 1e9 * (compute > move ? compute : move);
}
