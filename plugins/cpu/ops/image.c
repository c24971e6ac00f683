// image.c: pool_2d and upscale, of images {W, H, ...}. Workers take rows of the output.
#include "ops.h"

#include <math.h>

// Element i of a row of the operand.
static float load(const cpu_job *job, const char *row, int64_t i)
{
    float room;

    return *cpu_read(job->kernels, &job->in[0], row, i, 1, &room);
}

static const char *refuse_image(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->out))
        return "pooling or upscale of what is neither F32 nor F16";
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        if (node->in[0].dims[i] != node->out.dims[i])
            return "pooling or upscale to another number of images";
    return cpu_refuse_strides(node);
}

// The image of the operand that row `row` of the output belongs to.
static const char *image_of(const cpu_job *job, int64_t row)
{
    cpu_tensor images = job->in[0];

    images.dims[1] = 1;
    return cpu_row(&images, job->out.dims, row);
}

// One row of results at a time, of at most CPU_CHUNK; y: which row of the image of results.
typedef void row_function(const cpu_job *job, const char *image, int64_t y, int64_t first,
                          int64_t count, float *to);

static void run_rows(const cpu_job *job, uint32_t worker, uint32_t workers, row_function *f)
{
    const cpu_tensor *out = &job->out;
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    float buffer[CPU_CHUNK];

    for (int64_t r = part.begin; r < part.end; r++) {
        char *row = cpu_row(out, out->dims, r);
        const char *image = image_of(job, r);

        for (int64_t i = 0; i < out->dims[0]; i += CPU_CHUNK) {
            int64_t count = cpu_min(out->dims[0] - i, CPU_CHUNK);
            float *to = cpu_target(out, row, i, buffer);

            f(job, image, r % out->dims[1], i, count, to);
            cpu_write(job->kernels, out, row, i, count, to);
        }
    }
}

// ------------------------------------------------------------------------------------------
// pool_2d

static const char *refuse_pool(const cpu_job *node)
{
    const tnp_pool_attr *attr = node->attr;

    if (attr->kind > TNP_POOL_MEAN)
        return "pooling of a kind unknown here";
    for (int i = 0; i < 2; i++)
        if (attr->kernel[i] < 1 || attr->stride[i] < 1)
            return "pooling with a kernel or a stride of 0";
    return refuse_image(node);
}

// The part of window `place` of dim d that is inside the image.
static cpu_range window(const cpu_job *job, int d, int64_t place)
{
    const tnp_pool_attr *attr = job->attr;
    int64_t begin = place * attr->stride[d] - (int64_t)attr->before[d];

    return (cpu_range){ begin > 0 ? begin : 0,
                        cpu_min(begin + attr->kernel[d], job->in[0].dims[d]) };
}

static void pool_row(const cpu_job *job, const char *image, int64_t y, int64_t first, int64_t count,
                     float *to)
{
    const tnp_pool_attr *attr = job->attr;
    cpu_range rows = window(job, 1, y);

    for (int64_t i = 0; i < count; i++) {
        cpu_range columns = window(job, 0, first + i);
        double max = NAN, sum = 0;   // a NaN counts as lower than any number

        for (int64_t r = rows.begin; r < rows.end; r++)
            for (int64_t c = columns.begin; c < columns.end; c++) {
                double value = (double)load(job, image + r * job->in[0].strides[1], c);

                max = fmax(max, value);
                sum += value;
            }
        sum /= (double)((rows.end - rows.begin) * (columns.end - columns.begin));
        to[i] = (float)(attr->kind == TNP_POOL_MAX ? max : sum);
    }
}

static void run_pool(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    (void)phase;
    run_rows(job, worker, workers, pool_row);
}

// ------------------------------------------------------------------------------------------
// upscale

static const char *refuse_upscale(const cpu_job *node)
{
    if (((const tnp_upscale_attr *)node->attr)->mode > TNP_UPSCALE_BILINEAR)
        return "upscale of a mode unknown here";
    return refuse_image(node);
}

// Where result `place` of `to` looks among `from` elements: between `index` and the one after it,
// which is there when share, that of the one after, is above 0.
typedef struct sample {
    int64_t index;
    double share;
} sample;

static sample sample_of(const cpu_job *job, int64_t place, int d)
{
    const tnp_upscale_attr *attr = job->attr;
    int64_t from = job->in[0].dims[d], to = job->out.dims[d];
    double position = ((double)place + 0.5) * (double)from / (double)to - 0.5;
    sample s = { place * from / to, 0 };

    if (attr->mode == TNP_UPSCALE_BILINEAR) {
        position = fmin(fmax(position, 0), (double)(from - 1));
        s.index = (int64_t)position;
        s.share = position - (double)s.index;
    }
    return s;
}

static double between(double a, double b, double share)
{
    return a * (1 - share) + b * share;
}

static double sample_row(const cpu_job *job, const char *row, sample x)
{
    double left = (double)load(job, row, x.index);

    return x.share > 0 ? between(left, (double)load(job, row, x.index + 1), x.share) : left;
}

static void upscale_row(const cpu_job *job, const char *image, int64_t place, int64_t first,
                        int64_t count, float *to)
{
    sample y = sample_of(job, place, 1);
    const char *row = image + y.index * job->in[0].strides[1];

    for (int64_t i = 0; i < count; i++) {
        sample x = sample_of(job, first + i, 0);
        double result = sample_row(job, row, x);

        if (y.share > 0)
            result = between(result, sample_row(job, row + job->in[0].strides[1], x), y.share);
        to[i] = (float)result;
    }
}

static void run_upscale(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    (void)phase;
    run_rows(job, worker, workers, upscale_row);
}

const cpu_op cpu_image_ops[] = {
    { TNP_OP_POOL_2D, 1, sizeof(tnp_pool_attr), refuse_pool, NULL, run_pool, NULL },
    { TNP_OP_UPSCALE, 1, sizeof(tnp_upscale_attr), refuse_upscale, NULL, run_upscale, NULL },
    { 0 },
};
