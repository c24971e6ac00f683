// cost.c: what a job computes and moves.
#include "machine.h"
#include "node.h"

double cpu_job_flops(const cpu_job *job)
{
    double n = 1;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        n *= (double)job->out.dims[d];
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
    int64_t block_elements;
    uint32_t block_bytes;
    if (!cpu_dtype_block(tensor->dtype, &block_elements, &block_bytes))
        return 0;   // left out
    double bytes = (double)block_bytes / (double)block_elements;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (tensor->strides[d] != 0)
            bytes *= (double)tensor->dims[d];
    return bytes;
}

double cpu_job_bytes(const cpu_job *job)
{
    double bytes = tensor_bytes(&job->out);
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
