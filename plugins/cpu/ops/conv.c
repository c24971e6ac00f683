// conv.c: conv_1d, conv_2d and conv_transpose_1d.
//
// Sound {L, C, B} is taken as images {L, 1, C, B}. A convolution is a matrix product: the elements
// that the taps of the window see at one place, for all channels of a group, stand in a row, in the
// order of the kernel's own elements:
//
//   window of place p   | c 0: KH rows of KW taps | c 1 … |      K = KW * KH * C / groups
//   w of result o       | the same order          |              out[p, o] = sum over K
//
// Phase 0, where it is needed, copies a kernel that does not stand as contiguous F32. Then workers
// take PLACES places of one group of one image at a time, and make their windows once for all
// results of the group. The order of a sum depends on K alone.
//
// Scratch:  | w: K * O floats, where it is copied |, then for each worker  | windows: {K, PLACES} |
#include "ops.h"

#include <string.h>

#define PLACES  32
#define RESULTS 32   // of them in one product; the sums are on the stack

typedef struct images {
    char *data;
    int64_t w, h, c, b;       // sizes
    int64_t sw, sh, sc, sb;   // strides in bytes
} images;

static images images_of(const cpu_tensor *t, tnp_op op)
{
    const int64_t *d = t->dims, *s = t->strides;

    if (op == TNP_OP_CONV_2D)
        return (images){ t->data, d[0], d[1], d[2], d[3], s[0], s[1], s[2], s[3] };
    return (images){ t->data, d[0], 1, d[1], d[2], s[0], 0, s[1], s[2] };
}

// Sizes of one convolution.
typedef struct product {
    images x, w, out;   // of w: {KW, KH, C / groups, O}
    int64_t k;          // of a window
    int64_t results;    // of a group
    int64_t places;     // of an image
    int64_t w_row_bytes;
    int is_copied;                      // w
    int64_t copy_bytes, worker_bytes;   // regions of scratch
} product;

static product measure(const cpu_job *job)
{
    const tnp_conv_attr *attr = job->attr;
    const int64_t bytes = (int64_t)sizeof(float);
    product p = { images_of(&job->in[0], job->op),
                  images_of(&job->in[1], job->op),
                  images_of(&job->out, job->op),
                  0,
                  0,
                  0,
                  0,
                  0,
                  0,
                  0 };

    p.k = p.w.w * p.w.h * p.w.c;
    p.results = p.out.c / attr->groups;
    p.places = p.out.w * p.out.h;
    p.is_copied = job->in[1].dtype != TNP_DTYPE_F32 || (p.w.w > 1 && p.w.sw != bytes) ||
                  (p.w.h > 1 && p.w.sh != bytes * p.w.w) ||
                  (p.w.c > 1 && p.w.sc != bytes * p.w.w * p.w.h);
    p.w_row_bytes = p.is_copied ? bytes * p.k : p.w.sb;
    p.copy_bytes = p.is_copied ? cpu_lines(bytes * p.k * p.w.b) : 0;
    p.worker_bytes = cpu_lines(bytes * p.k * PLACES);
    return p;
}

static const char *refuse_conv(const cpu_job *node)
{
    const tnp_conv_attr *attr = node->attr;
    images x = images_of(&node->in[0], node->op), w = images_of(&node->in[1], node->op),
           out = images_of(&node->out, node->op);
    uint32_t rank = node->op == TNP_OP_CONV_2D ? 4 : 3;

    if (!cpu_is_float(&node->in[0]) || !cpu_is_float(&node->in[1]) ||
        node->out.dtype != TNP_DTYPE_F32)
        return "a convolution of what is neither F32 nor F16, or to another type than F32";
    if (!cpu_rank_at_most(&node->in[0], rank) || !cpu_rank_at_most(&node->in[1], rank) ||
        !cpu_rank_at_most(&node->out, rank))
        return "a convolution of more dims than images or sound have";
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (attr->stride[i] < 1 || attr->dilation[i] < 1)
            return "a convolution with a stride or a dilation of 0";
    if (node->op == TNP_OP_CONV_TRANSPOSE_1D)
        return attr->groups == 1 && w.b == x.c && w.c == out.c && x.b == out.b
                   ? cpu_refuse_strides(node)
                   : "a convolution with other channels than its kernel has";
    if (attr->groups == 0 || x.c % attr->groups || x.c / attr->groups != w.c ||
        out.c % attr->groups || w.b != out.c || x.b != out.b)
        return "a convolution with other channels than its kernel has";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_conv(const cpu_job *node, uint32_t workers)
{
    product p = measure(node);

    return (uint64_t)(p.copy_bytes + p.worker_bytes * workers);
}

static float load(const cpu_job *job, uint32_t input, const char *at)
{
    float value;

    if (job->in[input].dtype == TNP_DTYPE_F32)
        memcpy(&value, at, sizeof value);
    else
        job->kernels->decode_f16(1, at, &value);
    return value;
}

// The windows of results first .. past - 1 of w as contiguous F32.
static void copy_kernel(const cpu_job *job, const product *p, cpu_range results)
{
    float *to = (float *)(void *)job->scratch + results.begin * p->k;

    for (int64_t o = results.begin; o < results.end; o++)
        for (int64_t c = 0; c < p->w.c; c++)
            for (int64_t y = 0; y < p->w.h; y++)
                for (int64_t x = 0; x < p->w.w; x++)
                    *to++ = load(job, 1,
                                 p->w.data + x * p->w.sw + y * p->w.sh + c * p->w.sc + o * p->w.sb);
}

// What one row of taps sees, from element `first` of a row of the image on; 0 beyond its ends.
static float *see_row(const cpu_job *job, const product *p, const char *row, int64_t first,
                      float *to)
{
    const tnp_conv_attr *attr = job->attr;

    for (int64_t i = 0; i < p->w.w; i++, first += attr->dilation[0])
        *to++ = row && first >= 0 && first < p->x.w ? load(job, 0, row + first * p->x.sw) : 0.0f;
    return to;
}

static void make_window(const cpu_job *job, const product *p, int64_t b, int64_t group,
                        int64_t place, float *to)
{
    const tnp_conv_attr *attr = job->attr;
    int is_flat = job->op == TNP_OP_CONV_1D;   // the attributes of dims[1] do not count
    int64_t first_x = place % p->out.w * attr->stride[0] - (int64_t)attr->before[0];
    int64_t first_y = is_flat ? 0 : place / p->out.w * attr->stride[1] - (int64_t)attr->before[1];

    for (int64_t c = 0; c < p->w.c; c++) {
        const char *channel = p->x.data + (group * p->w.c + c) * p->x.sc + b * p->x.sb;

        for (int64_t tap = 0; tap < p->w.h; tap++) {
            int64_t y = first_y + (is_flat ? 0 : tap * attr->dilation[1]);
            const char *row = y >= 0 && y < p->x.h ? channel + y * p->x.sh : NULL;

            to = see_row(job, p, row, first_x, to);
        }
    }
}

// Sums {places, results} to the output.
static void write_sums(const product *p, int64_t b, int64_t first_result, int64_t results,
                       int64_t first_place, int64_t places, const float *sums)
{
    for (int64_t o = 0; o < results; o++) {
        char *channel = p->out.data + (first_result + o) * p->out.sc + b * p->out.sb;

        for (int64_t i = 0; i < places; i++) {
            int64_t place = first_place + i;

            memcpy(channel + place % p->out.w * p->out.sw + place / p->out.w * p->out.sh,
                   sums + o * PLACES + i, sizeof *sums);
        }
    }
}

static void convolve(const cpu_job *job, const product *p, int64_t b, int64_t group,
                     int64_t first_place, char *own)
{
    int64_t places = cpu_min(p->places - first_place, PLACES), end = (group + 1) * p->results;
    int64_t row_bytes = p->k * (int64_t)sizeof(float);
    const char *w = p->is_copied ? job->scratch : p->w.data;
    float *windows = (float *)(void *)own, sums[PLACES * RESULTS];

    for (int64_t i = 0; i < places; i++)
        make_window(job, p, b, group, first_place + i, windows + i * p->k);
    for (int64_t o = group * p->results; o < end; o += RESULTS) {
        int64_t results = cpu_min(end - o, RESULTS);

        job->kernels->matmul_f32(places, results, p->k, windows, row_bytes,
                                 (const float *)(const void *)(w + o * p->w_row_bytes),
                                 p->w_row_bytes, sums, PLACES);
        write_sums(p, b, o, results, first_place, places, sums);
    }
}

static void run_conv(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const tnp_conv_attr *attr = job->attr;
    product p = measure(job);
    int64_t groups = attr->groups, parts = (p.places + PLACES - 1) / PLACES;
    char *own = job->scratch + p.copy_bytes + p.worker_bytes * worker;

    if (phase == 0 && p.is_copied) {
        copy_kernel(job, &p, cpu_part(p.w.b, 1, worker, workers));
        return;
    }
    for (int64_t unit = worker; unit < parts * groups * p.out.b; unit += workers)
        convolve(job, &p, unit / (parts * groups), unit / parts % groups, unit % parts * PLACES,
                 own);
}

static uint32_t phases_of_conv(const cpu_job *job, uint32_t workers)
{
    (void)workers;
    return measure(job).is_copied ? 2 : 1;
}

// ------------------------------------------------------------------------------- conv_transpose_1d

// Places [part.begin, part.end) of one result of one sound: each element of x adds to the places
//   l * stride - before + tap * dilation
// in double, as the sums have no order that a kernel would give them.
static void transpose(const cpu_job *job, const product *p, int64_t o, int64_t b, cpu_range part)
{
    const tnp_conv_attr *attr = job->attr;
    int64_t stride = attr->stride[0];
    double sums[CPU_CHUNK] = { 0 };

    for (int64_t c = 0; c < p->x.c; c++)
        for (int64_t tap = 0; tap < p->w.w; tap++) {
            const char *x = p->x.data + c * p->x.sc + b * p->x.sb;
            double w = (double)load(job, 1, p->w.data + tap * p->w.sw + o * p->w.sc + c * p->w.sb);
            int64_t shift = tap * attr->dilation[0] - (int64_t)attr->before[0];
            int64_t from = part.begin - shift, past = part.end - shift;   // in l * stride
            int64_t l = from > 0 ? (from + stride - 1) / stride : 0;

            for (; l < p->x.w && l * stride < past; l++)
                sums[l * stride + shift - part.begin] += w * (double)load(job, 0, x + l * p->x.sw);
        }
    for (int64_t i = part.begin; i < part.end; i++) {
        float result = (float)sums[i - part.begin];

        memcpy(p->out.data + i * p->out.sw + o * p->out.sc + b * p->out.sb, &result, sizeof result);
    }
}

static void run_transpose(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    product p = measure(job);
    int64_t parts = (p.out.w + CPU_CHUNK - 1) / CPU_CHUNK;

    (void)phase;
    for (int64_t unit = worker; unit < parts * p.out.c * p.out.b; unit += workers) {
        int64_t begin = unit % parts * CPU_CHUNK;

        transpose(job, &p, unit / parts % p.out.c, unit / parts / p.out.c,
                  (cpu_range){ begin, cpu_min(begin + CPU_CHUNK, p.out.w) });
    }
}

const cpu_op cpu_conv_ops[] = {
    { TNP_OP_CONV_1D, 2, sizeof(tnp_conv_attr), refuse_conv, scratch_of_conv, run_conv,
      phases_of_conv },
    { TNP_OP_CONV_2D, 2, sizeof(tnp_conv_attr), refuse_conv, scratch_of_conv, run_conv,
      phases_of_conv },
    { TNP_OP_CONV_TRANSPOSE_1D, 1, sizeof(tnp_conv_attr), refuse_conv, NULL, run_transpose, NULL },
    { 0 },
};
