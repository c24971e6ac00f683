// elementwise.c: ops whose element j depends on element j of each operand. Workers take parts of
// all elements in order, which may begin and end inside a row: one long row is shared as well as
// many short ones.
#include "ops.h"

#include <math.h>

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

// ------------------------------------------------- functions with no kernel of their own

static void abs_of(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = fabsf(x[i]);
}

static void sqr(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * x[i];
}

static void rsqrt(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 1.0f / sqrtf(x[i]);
}

static void log_of(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = logf(x[i]);
}

static void sin_of(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = sinf(x[i]);
}

static void cos_of(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = cosf(x[i]);
}

// 0.5 (1 + erf(u)) is 0.5 erfc(-u), which keeps its digits for large negative x. In double, as erfc
// would enlarge the rounding of u by 2 u^2.
static void gelu_erf(int64_t n, const float *x, float *out)
{
    const double sqrt_1_2 = 0.70710678118654752440;

    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(0.5 * (double)x[i] * erfc((double)x[i] * -sqrt_1_2));
}

static void gelu_quick(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] / (1.0f + expf(-1.702f * x[i]));
}

static void clamp(int64_t n, const float *x, const tnp_clamp_attr *attr, float *out)
{
    for (int64_t i = 0; i < n; i++)   // a NaN stays one
        out[i] = x[i] < attr->min ? attr->min : x[i] > attr->max ? attr->max : x[i];
}

static void softcap(const cpu_kernels *kernels, int64_t n, const float *x, float cap, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] / cap;
    kernels->tanh(n, out, out);
    kernels->scale(n, out, cap, 0.0f, out);
}

static void reglu(int64_t n, const float *gate, const float *up, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (gate[i] < 0.0f ? 0.0f : gate[i]) * up[i];   // a NaN stays one
}

// ------------------------------------------------------------------------------------------- ops

cpu_binary_kernel *cpu_gated_kernel(const cpu_kernels *kernels, tnp_op op)
{
    switch (op) {
    case TNP_OP_GEGLU:
        return kernels->geglu;
    case TNP_OP_REGLU:
        return reglu;
    default:
        return kernels->swiglu;
    }
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
        return cpu_gated_kernel(kernels, op);
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
    case TNP_OP_ABS:
        return abs_of;
    case TNP_OP_SQR:
        return sqr;
    case TNP_OP_RSQRT:
        return rsqrt;
    case TNP_OP_LOG:
        return log_of;
    case TNP_OP_SIN:
        return sin_of;
    case TNP_OP_COS:
        return cos_of;
    case TNP_OP_GELU_ERF:
        return gelu_erf;
    case TNP_OP_GELU_QUICK:
        return gelu_quick;
    default:
        return kernels->gelu;
    }
}

static void apply_unary(const cpu_job *job, int64_t n, const float *x, float *out)
{
    const tnp_scale_attr *scale = job->attr;
    const tnp_softcap_attr *cap = job->attr;

    switch (job->op) {
    case TNP_OP_SCALE:
        job->kernels->scale(n, x, scale->scale, scale->bias, out);
        break;
    case TNP_OP_CLAMP:
        clamp(n, x, job->attr, out);
        break;
    case TNP_OP_SOFTCAP:
        softcap(job->kernels, n, x, cap->cap, out);
        break;
    default:
        unary_kernel(job->kernels, job->op)(n, x, out);
    }
}

static void run_unary(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *out = &job->out;
    cpu_range part = my_elements(out, worker, workers);
    float buffer[CPU_CHUNK], result[CPU_CHUNK];

    (void)phase;
    while (part.begin < part.end) {
        stretch s = next_stretch(part.begin, part.end, out->dims[0]);
        char *row = cpu_row(out, out->dims, s.row);
        const char *row_x = cpu_row(&job->in[0], out->dims, s.row);
        const float *x = cpu_read(job->kernels, &job->in[0], row_x, s.first, s.count, buffer);
        float *to = cpu_target(out, row, s.first, result);

        apply_unary(job, s.count, x, to);
        cpu_write(job->kernels, out, row, s.first, s.count, to);
        part.begin += s.count;
    }
}

const cpu_op cpu_elementwise_ops[] = {
    { TNP_OP_ADD, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_SUB, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_MUL, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_DIV, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_SWIGLU, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_SCALE, 1, sizeof(tnp_scale_attr), refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_NEG, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SQRT, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_EXP, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_TANH, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SIGMOID, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_RELU, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SILU, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_GELU, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_ABS, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SQR, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_RSQRT, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_LOG, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SIN, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_COS, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_CLAMP, 1, sizeof(tnp_clamp_attr), refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_GELU_ERF, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_GELU_QUICK, 1, 0, refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_SOFTCAP, 1, sizeof(tnp_softcap_attr), refuse_floats, NULL, run_unary, NULL },
    { TNP_OP_GEGLU, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { TNP_OP_REGLU, 1, 0, refuse_floats, NULL, run_binary, NULL },
    { 0 },
};
