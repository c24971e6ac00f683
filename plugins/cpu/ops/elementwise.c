// elementwise.c: ops whose element j depends on element j of each operand. Workers take parts of
// all elements in order, which may begin and end inside a row: one long row is shared as well as
// many short ones.
#include "ops.h"

#define GRAIN 64   // elements; parts are cut where cache lines are, for F32 rows that begin on one

// One stretch of a row of the output, of at most CPU_CHUNK elements.
typedef struct stretch {
    int64_t row, first, count;
} stretch;

static stretch next_stretch(int64_t from, int64_t end, int64_t row_elements)
{
    int64_t first = from % row_elements;
    int64_t count = cpu_min(cpu_min(row_elements - first, end - from), CPU_CHUNK);

    return (stretch){ from / row_elements, first, count };
}

static cpu_range my_elements(const cpu_tensor *out, uint32_t worker, uint32_t workers)
{
    return cpu_part(cpu_row_count(out) * out->dims[0], GRAIN, worker, workers);
}

static const char *refuse_floats(const cpu_job *node)
{
    if (!cpu_is_float(&node->out))
        return "the result is neither F32 nor F16";
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!cpu_is_float(&node->in[i]))
            return "an operand is neither F32 nor F16";
    return cpu_refuse_strides(node);
}

static cpu_binary_kernel *binary_kernel(const cpu_kernels *kernels, tnp_op op)
{
    switch (op) {
    case TNP_OP_ADD:
        return kernels->add;
    case TNP_OP_SUB:
        return kernels->sub;
    case TNP_OP_MUL:
        return kernels->mul;
    case TNP_OP_DIV:
        return kernels->div;
    default:
        return kernels->swiglu;
    }
}

static void run_binary(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *out = &job->out;
    cpu_binary_kernel *kernel = binary_kernel(job->kernels, job->op);
    cpu_range part = my_elements(out, worker, workers);
    float a[CPU_CHUNK], b[CPU_CHUNK], result[CPU_CHUNK];

    (void)phase;
    while (part.begin < part.end) {
        stretch s = next_stretch(part.begin, part.end, out->dims[0]);
        char *row = cpu_row(out, out->dims, s.row);
        const char *row_a = cpu_row(&job->in[0], out->dims, s.row),
                   *row_b = cpu_row(&job->in[1], out->dims, s.row);
        float *to = cpu_target(out, row, s.first, result);

        kernel(s.count, cpu_read(job->kernels, &job->in[0], row_a, s.first, s.count, a),
               cpu_read(job->kernels, &job->in[1], row_b, s.first, s.count, b), to);
        cpu_write(job->kernels, out, row, s.first, s.count, to);
        part.begin += s.count;
    }
}

static cpu_unary_kernel *unary_kernel(const cpu_kernels *kernels, tnp_op op)
{
    switch (op) {
    case TNP_OP_NEG:
        return kernels->neg;
    case TNP_OP_SQRT:
        return kernels->sqrt;
    case TNP_OP_EXP:
        return kernels->exp;
    case TNP_OP_TANH:
        return kernels->tanh;
    case TNP_OP_SIGMOID:
        return kernels->sigmoid;
    case TNP_OP_RELU:
        return kernels->relu;
    case TNP_OP_SILU:
        return kernels->silu;
    default:
        return kernels->gelu;
    }
}

static void run_unary(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *out = &job->out;
    const tnp_scale_attr *scale = job->op == TNP_OP_SCALE ? job->attr : NULL;
    cpu_range part = my_elements(out, worker, workers);
    float buffer[CPU_CHUNK], result[CPU_CHUNK];

    (void)phase;
    while (part.begin < part.end) {
        stretch s = next_stretch(part.begin, part.end, out->dims[0]);
        char *row = cpu_row(out, out->dims, s.row);
        const char *row_x = cpu_row(&job->in[0], out->dims, s.row);
        const float *x = cpu_read(job->kernels, &job->in[0], row_x, s.first, s.count, buffer);
        float *to = cpu_target(out, row, s.first, result);

        if (scale)
            job->kernels->scale(s.count, x, scale->scale, scale->bias, to);
        else
            unary_kernel(job->kernels, job->op)(s.count, x, to);
        cpu_write(job->kernels, out, row, s.first, s.count, to);
        part.begin += s.count;
    }
}

const cpu_op cpu_elementwise_ops[] = {
    { TNP_OP_ADD, 1, 0, refuse_floats, NULL, run_binary },
    { TNP_OP_SUB, 1, 0, refuse_floats, NULL, run_binary },
    { TNP_OP_MUL, 1, 0, refuse_floats, NULL, run_binary },
    { TNP_OP_DIV, 1, 0, refuse_floats, NULL, run_binary },
    { TNP_OP_SWIGLU, 1, 0, refuse_floats, NULL, run_binary },
    { TNP_OP_SCALE, 1, sizeof(tnp_scale_attr), refuse_floats, NULL, run_unary },
    { TNP_OP_NEG, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_SQRT, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_EXP, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_TANH, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_SIGMOID, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_RELU, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_SILU, 1, 0, refuse_floats, NULL, run_unary },
    { TNP_OP_GELU, 1, 0, refuse_floats, NULL, run_unary },
    { 0 },
};
