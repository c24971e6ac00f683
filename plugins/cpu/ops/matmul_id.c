// matmul_id.c: out[n, u, t] = sum over k of w[k, n, ids[u, t]] * x[k, u or 0, t].
//
// A row of x and its matrix are a choice; choice c is u + U * t. Phase 0: one worker sorts choices
// by their matrix, and finds an id that is none. Phase 1: workers take contiguous ranges of the
// rows of every matrix, cut at 8, and multiply them with the matrix' choices, so that a weight is
// decoded once for CHOICES of them. A result is one sum, in an order that depends on K alone, so
// neither the number of workers nor the choices beside it change its bits.
//
// Scratch, for E matrices and C = U * T choices:
//   | ends: E + 1, I64; ends[e] is where the choices of matrix e end, ends[E] one more of the same
//   | | choices, sorted: C, I64 | then for each worker  | CHOICES rows of x | 8 rows of w | sums:
//   {8, CHOICES} |
#include "ops.h"

#include <string.h>

#define ROWS    8
#define CHOICES 32

typedef struct product {
    int64_t k, n, matrices, choices;
    int64_t row_bytes;                                 // of decoded rows of x or w
    int64_t ends_bytes, choices_bytes, worker_bytes;   // regions of scratch
} product;

static product measure(const cpu_job *job)
{
    const cpu_tensor *x = &job->in[0], *w = &job->in[1], *out = &job->out;
    product p = { .k = cpu_min(x->dims[0], w->dims[0]), .n = cpu_min(out->dims[0], w->dims[1]) };

    p.matrices = w->dims[2];
    p.choices = out->dims[1] * out->dims[2];
    p.row_bytes = cpu_lines(cpu_round_up(p.k, 256) * (int64_t)sizeof(float));
    p.ends_bytes = cpu_lines((p.matrices + 1) * (int64_t)sizeof(int64_t));
    p.choices_bytes = cpu_lines(p.choices * (int64_t)sizeof(int64_t));
    p.worker_bytes = p.row_bytes * (CHOICES + ROWS) + ROWS * CHOICES * (int64_t)sizeof(float);
    return p;
}

static const char *refuse_matmul_id(const cpu_job *node)
{
    const cpu_tensor *x = &node->in[0], *w = &node->in[1], *ids = &node->in[2], *out = &node->out;

    if (!cpu_is_float(x))
        return "matmul_id of activations that are neither F32 nor F16";
    if (!cpu_is_decodable(w))
        return "matmul_id with a weight of a type that is not decoded here";
    if (ids->dtype != TNP_DTYPE_I32 || out->dtype != TNP_DTYPE_F32)
        return "matmul_id with ids that are not I32, or a result that is not F32";
    if (!cpu_rank_at_most(x, 3) || !cpu_rank_at_most(w, 3) || !cpu_rank_at_most(ids, 2) ||
        !cpu_rank_at_most(out, 3))
        return "matmul_id of more than three dims";
    if ((x->dims[1] != 1 && x->dims[1] != out->dims[1]) || x->dims[2] != out->dims[2] ||
        ids->dims[0] != out->dims[1] || ids->dims[1] != out->dims[2])
        return "matmul_id with other activations or ids than the result has";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_matmul_id(const cpu_job *node, uint32_t workers)
{
    product p = measure(node);

    return (uint64_t)(p.ends_bytes + p.choices_bytes + p.worker_bytes * workers);
}

// The matrix of a choice; below 0 where the id is none.
static int64_t matrix_of(const cpu_job *job, const product *p, int64_t choice)
{
    const cpu_tensor *ids = &job->in[2];
    int64_t U = job->out.dims[1];
    int32_t id;

    memcpy(&id, ids->data + choice % U * ids->strides[0] + choice / U * ids->strides[1], sizeof id);
    return id >= 0 && id < p->matrices ? id : -1;
}

// Counts the choices of each matrix, adds the counts up, and puts each choice into its place.
static void sort_choices(cpu_job *job, const product *p)
{
    int64_t *ends = (int64_t *)(void *)job->scratch,
            *sorted = (int64_t *)(void *)(job->scratch + p->ends_bytes);

    memset(ends, 0, (size_t)(p->matrices + 1) * sizeof *ends);
    for (int64_t c = 0; c < p->choices; c++) {
        int64_t e = matrix_of(job, p, c);

        if (e < 0) {
            cpu_fail(job, "an id is that of no matrix");
            return;
        }
        ends[e + 1]++;   // those of matrix e begin where those of e - 1 end
    }
    for (int64_t e = 1; e <= p->matrices; e++)
        ends[e] += ends[e - 1];
    for (int64_t c = 0; c < p->choices; c++)
        sorted[ends[matrix_of(job, p, c)]++] = c;
}

static void read_row(const cpu_job *job, const cpu_tensor *t, const char *row, int64_t n, char *to)
{
    float *room = (float *)(void *)to;
    const float *from = cpu_read(job->kernels, t, row, 0, n, room);

    if (from != room)
        memcpy(room, from, (size_t)n * sizeof *room);
}

static void write_sums(const cpu_job *job, const int64_t *choices, int64_t count, int64_t row,
                       int64_t rows, const float *sums)
{
    const cpu_tensor *out = &job->out;

    for (int64_t c = 0; c < count; c++) {
        int64_t u = choices[c] % out->dims[1], t = choices[c] / out->dims[1];

        cpu_copy_elements(rows, sizeof *sums, (const char *)(sums + c * ROWS), sizeof *sums,
                          out->data + row * out->strides[0] + u * out->strides[1] +
                              t * out->strides[2],
                          out->strides[0]);
    }
}

// At most CHOICES of them with rows [part.begin, part.end) of their matrix e.
static void multiply(const cpu_job *job, const product *p, int64_t e, const int64_t *choices,
                     int64_t count, cpu_range part, char *own)
{
    const cpu_tensor *x = &job->in[0], *w = &job->in[1];
    char *x_rows = own, *w_rows = x_rows + CHOICES * p->row_bytes;
    float *sums = (float *)(void *)(w_rows + ROWS * p->row_bytes);

    for (int64_t c = 0; c < count; c++) {
        int64_t u = x->dims[1] > 1 ? choices[c] % job->out.dims[1] : 0,
                t = choices[c] / job->out.dims[1];

        read_row(job, x, x->data + u * x->strides[1] + t * x->strides[2], p->k,
                 x_rows + c * p->row_bytes);
    }
    for (int64_t row = part.begin; row < part.end; row += ROWS) {
        int64_t rows = cpu_min(part.end - row, ROWS);

        for (int64_t r = 0; r < rows; r++)
            read_row(job, w, w->data + (row + r) * w->strides[1] + e * w->strides[2], p->k,
                     w_rows + r * p->row_bytes);
        job->kernels->matmul_f32(rows, count, p->k, w_rows, p->row_bytes,
                                 (const float *)(const void *)x_rows, p->row_bytes, sums, ROWS);
        write_sums(job, choices, count, row, rows, sums);
    }
}

static void run_matmul_id(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    product p = measure(job);
    cpu_range part = cpu_part(p.n, ROWS, worker, workers);
    const int64_t *ends = (const int64_t *)(const void *)job->scratch,
                  *sorted = (const int64_t *)(const void *)(job->scratch + p.ends_bytes);
    char *own = job->scratch + p.ends_bytes + p.choices_bytes + p.worker_bytes * worker;

    if (phase == 0) {
        if (worker == 0)
            sort_choices(job, &p);
        return;
    }
    if (atomic_load_explicit(&job->failure, memory_order_relaxed))
        return;   // set before the barrier between the phases, so all workers see it
    for (int64_t e = 0; e < p.matrices; e++)
        for (int64_t c = e > 0 ? ends[e - 1] : 0; c < ends[e]; c += CHOICES)
            multiply(job, &p, e, sorted + c, cpu_min(ends[e] - c, CHOICES), part, own);
}

const cpu_op cpu_matmul_id_ops[] = {
    { TNP_OP_MATMUL_ID, 2, 0, refuse_matmul_id, scratch_of_matmul_id, run_matmul_id, NULL },
    { 0 },
};
