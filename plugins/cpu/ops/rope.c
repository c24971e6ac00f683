// rope.c: rotary position embedding.
//
// Phase 0 makes the cosine and sine of each pair for each token, in scratch, once for all heads;
// angles are in double: at position 8192 an angle in F32 would be off by 5e-4, which shows in the
// logits. Phase 1 turns the pairs.
//
// Scratch, for x {D, H, T, B...} with P = rot_dims / 2 pairs:
//   | token 0: cos[P] sin[P] | token 1 … | token T - 1 |
//   then for each worker, where rows are copied,  | D floats |
#include "ops.h"

#include <math.h>
#include <string.h>

#define PAIRS_AT_ONCE 64
#define PI            3.14159265358979323846

static int is_copied(const cpu_job *job)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;

    return x->dtype != TNP_DTYPE_F32 || out->dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(x) ||
           !cpu_has_unit_rows(out);
}

static int64_t pair_count(const cpu_job *job)
{
    return (int64_t)((const tnp_rope_attr *)job->attr)->rot_dims / 2;
}

static int64_t token_floats(const cpu_job *job)
{
    return 2 * pair_count(job);
}

static const char *refuse_rope(const cpu_job *node)
{
    const tnp_rope_attr *attr = node->attr;

    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "rope of what is neither F32 nor F16";
    if (node->in[1].dtype != TNP_DTYPE_I32)
        return "rope with positions that are not I32";
    if (cpu_has(node, 2) &&
        (node->in[2].dtype != TNP_DTYPE_F32 || node->in[2].dims[0] < (int64_t)attr->rot_dims / 2))
        return "rope with factors that are not F32 and one a pair";
    if (attr->layout != TNP_ROPE_NORMAL && attr->layout != TNP_ROPE_NEOX)
        return "rope with a layout of pairs unknown here";
    if (attr->rot_dims < 2 || attr->rot_dims % 2 || attr->rot_dims > node->in[0].dims[0])
        return "rope with rot_dims odd, below 2 or above the head's dims";
    if (attr->yarn_extrapolation > 0.0f &&
        (!(attr->base > 1.0f) || !(attr->yarn_beta_fast > 0.0f) || !(attr->yarn_beta_slow > 0.0f) ||
         attr->yarn_context == 0))
        return "rope with YaRN, and a base of 1 or less, or betas or a context of 0 or less";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_rope(const cpu_job *node, uint32_t workers)
{
    int64_t bytes = cpu_lines(token_floats(node) * node->out.dims[2] * (int64_t)sizeof(float));

    if (is_copied(node))
        bytes += cpu_lines(node->out.dims[0] * (int64_t)sizeof(float)) * workers;
    return (uint64_t)bytes;
}

// YaRN's ramp over pairs: those below `low` keep the angle they were trained with, those above
// `high` are scaled (Peng et al., arXiv:2309.00071, section 3.2).
typedef struct ramp {
    double low, high;
} ramp;

// The pair, not a whole one, that turns `turns` times within the context.
static double pair_that_turns(const tnp_rope_attr *attr, double turns)
{
    return (double)attr->rot_dims * log((double)attr->yarn_context / (2 * PI * turns)) /
           (2 * log((double)attr->base));
}

static ramp ramp_of(const tnp_rope_attr *attr)
{
    ramp r = { 0, 0 };

    if (attr->yarn_extrapolation > 0.0f) {
        r.low = fmax(0, floor(pair_that_turns(attr, (double)attr->yarn_beta_fast)));
        r.high = fmin((double)attr->rot_dims - 1,
                      ceil(pair_that_turns(attr, (double)attr->yarn_beta_slow)));
    }
    return r;
}

// The factor on the angle of a pair: `scale`, or with YaRN something between that and 1.
static double scale_of_pair(const tnp_rope_attr *attr, ramp r, int64_t pair)
{
    double scale = (double)attr->scale, way, plain;

    if (!(attr->yarn_extrapolation > 0.0f))
        return scale;
    way = ((double)pair - r.low) / fmax(0.001, r.high - r.low);
    plain = (double)attr->yarn_extrapolation * (1 - fmin(1, fmax(0, way)));
    return scale * (1 - plain) + plain;
}

static double factor_of_pair(const cpu_tensor *factors, int64_t pair)
{
    float factor;

    memcpy(&factor, factors->data + pair * factors->strides[0], sizeof factor);
    return (double)factor;
}

static void make_table(const cpu_job *job, cpu_range tokens)
{
    const tnp_rope_attr *attr = job->attr;
    const cpu_tensor *factors = job->input_count > 2 && job->in[2].data ? &job->in[2] : NULL;
    const double ratio = pow((double)attr->base, -2.0 / (double)attr->rot_dims);
    const float length = attr->yarn_attention == 0.0f ? 1.0f : attr->yarn_attention;
    int64_t pairs = pair_count(job);
    ramp yarn = ramp_of(attr);
    // base^(-2i / rot_dims), multiplied up: its error is that of i roundings of a double
    double power = 1;

    for (int64_t first = 0; first < pairs; first += PAIRS_AT_ONCE) {
        int64_t count = cpu_min(pairs - first, PAIRS_AT_ONCE);
        double step[PAIRS_AT_ONCE], angle[PAIRS_AT_ONCE];

        for (int64_t i = 0; i < count; i++, power *= ratio) {
            step[i] = power * scale_of_pair(attr, yarn, first + i);
            if (factors)
                step[i] /= factor_of_pair(factors, first + i);
        }
        for (int64_t t = tokens.begin; t < tokens.end; t++) {
            float *cosines = (float *)(void *)job->scratch + t * 2 * pairs + first,
                  *sines = cosines + pairs;
            double position = cpu_index(&job->in[1], t);

            for (int64_t i = 0; i < count; i++)
                angle[i] = position * step[i];
            job->kernels->sin_cos(count, angle, cosines, sines);
            if (length != 1.0f) {
                job->kernels->scale(count, cosines, length, 0.0f, cosines);
                job->kernels->scale(count, sines, length, 0.0f, sines);
            }
        }
    }
}

// A row is one head of one token.
static void turn_rows(cpu_job *job, uint32_t worker, cpu_range rows)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    const tnp_rope_attr *attr = job->attr;
    const float *table = (const float *)(const void *)job->scratch;
    int64_t pairs = pair_count(job), n = out->dims[0];
    cpu_rope_kernel *kernel = attr->layout == TNP_ROPE_NEOX ? job->kernels->rope_neox
                                                            : job->kernels->rope_normal;
    float *copy = NULL;

    if (is_copied(job))
        copy = (float *)(void *)(job->scratch +
                                 cpu_lines(2 * pairs * out->dims[2] * (int64_t)sizeof(float)) +
                                 cpu_lines(n * (int64_t)sizeof(float)) * worker);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        const float *cosines = table + r / out->dims[1] % out->dims[2] * 2 * pairs;
        char *row = cpu_row(out, out->dims, r);
        const char *row_x = cpu_row(x, out->dims, r);
        const float *from = copy ? cpu_read(job->kernels, x, row_x, 0, n, copy)
                                 : (const float *)(const void *)row_x;
        float *to = copy ? copy : (float *)(void *)row;

        kernel(pairs, from, cosines, cosines + pairs, to);
        if (to != from)
            memcpy(to + 2 * pairs, from + 2 * pairs, (size_t)(n - 2 * pairs) * sizeof *to);
        if (copy)
            cpu_write(job->kernels, out, row, 0, n, copy);
    }
}

static void run_rope(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    if (job->out.dims[0] < 2 * pair_count(job))   // an extent cut off part of a pair
        cpu_fail(job, "rope on a head of fewer elements than rot_dims");
    else if (phase == 0)
        make_table(job, cpu_part(job->out.dims[2], 1, worker, workers));
    else
        turn_rows(job, worker, cpu_part(cpu_row_count(&job->out), 1, worker, workers));
}

const cpu_op cpu_rope_ops[] = {
    { TNP_OP_ROPE, 2, sizeof(tnp_rope_attr), refuse_rope, scratch_of_rope, run_rope, NULL },
    { 0 },
};
