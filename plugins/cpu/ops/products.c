// products.c: one to three products (product.h) of one activation, as one unit (unit.h):
//
//   rms_norm?   products                              a result for each
//   rms_norm?   gate, up   swiglu | geglu | reglu     one result
//   rms_norm?   product   add                         one result, which may lie where the sum's
//                                                     other operand does
//
// The activation is normed and rounded once for all. Of a gated pair the gate grows where the
// result is, a few rows for some tokens at a time, and meets its up while both are in cache; a
// product meets what it is added to in the same way. The bits are those of the single ops.
//
// Phase 0 prepares the activations, row by row where they are normed; there is one phase alone
// where each worker does it for itself. Workers take contiguous ranges of the rows of all matrices.
//
// Scratch:  | activations: M rows of q8 |
//           then for each worker  | of a product | up: {TAIL_ROWS, tokens}? | a normed row, F32? |
#include "product.h"

#include <string.h>

#define TAIL_ROWS 64   // that meet at a time; a multiple of what products take

typedef struct products {
    const cpu_products_attr *attr;
    cpu_factors factors[CPU_MAX_OUTPUTS];
    cpu_product parts[CPU_MAX_OUTPUTS];
    int64_t x_bytes;                              // regions of scratch
    int64_t product_bytes, up_bytes, row_bytes;   // of each worker's
} products;

static products measure(const cpu_job *job)
{
    products all = { .attr = job->attr };

    for (uint32_t i = 0; i < all.attr->count; i++) {
        const cpu_tensor *out = all.attr->tail ? &job->out : &job->outs[i];

        all.factors[i] = (cpu_factors){ job->kernels, job->options, &job->in[0],
                                        &job->in[CPU_PRODUCTS_WEIGHT + i], out };
        all.parts[i] = cpu_product_of(&all.factors[i]);
        all.x_bytes = all.parts[i].x_bytes;
        if (all.parts[i].worker_bytes > all.product_bytes)
            all.product_bytes = cpu_lines(all.parts[i].worker_bytes);
    }
    if (all.attr->tail)
        all.up_bytes = TAIL_ROWS * all.parts[0].tokens * (int64_t)sizeof(float);
    if (all.attr->is_normed)
        all.row_bytes = cpu_lines(all.parts[0].k * (int64_t)sizeof(float));
    return all;
}

static int64_t worker_bytes(const products *all)
{
    return all->product_bytes + all->up_bytes + all->row_bytes;
}

static int is_plain_f32(const cpu_tensor *t)
{
    return t->dtype == TNP_DTYPE_F32 && cpu_has_unit_rows(t) && cpu_rank_at_most(t, 2);
}

static const char *refuse_products(const cpu_job *node)
{
    const cpu_products_attr *attr = node->attr;
    const cpu_tensor *norm = &node->in[CPU_PRODUCTS_NORM];

    const cpu_tensor *sum = &node->in[CPU_PRODUCTS_SUM];

    if (attr->tail == TNP_OP_ADD && (!is_plain_f32(sum) || sum->dims[0] != node->out.dims[0] ||
                                     sum->dims[1] != node->out.dims[1]))
        return "products together with a sum of what is not F32 in whole rows, or repeats";
    if (!is_plain_f32(&node->in[0]))
        return "products together of what is not F32 in whole rows";
    if (attr->is_normed && cpu_has(node, CPU_PRODUCTS_NORM) &&
        (!is_plain_f32(norm) || norm->dims[0] < node->in[0].dims[0]))
        return "a norm before products with a weight that is not F32 and as long as a row";
    for (uint32_t i = 0; i < attr->count; i++) {
        const cpu_tensor *w = &node->in[CPU_PRODUCTS_WEIGHT + i];
        const cpu_tensor *out = attr->tail ? &node->out : &node->outs[i];
        cpu_factors factors = { node->kernels, node->options, &node->in[0], w, out };

        if (!cpu_rank_at_most(w, 2) || !cpu_product_of_activations(&factors).way.pack)
            return "products together with a matrix of a type that has no integer kernels";
        if (!is_plain_f32(out) || out->dims[1] != node->in[0].dims[1])
            return "products together whose results are not F32 in whole rows";
    }
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_products(const cpu_job *node, uint32_t workers)
{
    products all = measure(node);

    return (uint64_t)(all.x_bytes + worker_bytes(&all) * workers);
}

// Row r of the activations, normed into `row` and rounded to `to`.
static void prepare_normed(const cpu_job *job, const products *all, int64_t r, float *row, char *to)
{
    const cpu_tensor *x = &job->in[0], *weight = &job->in[CPU_PRODUCTS_NORM];
    const cpu_product *p = &all->parts[0];
    cpu_tensor normed = { .data = (char *)row,
                          .dtype = TNP_DTYPE_F32,
                          .rank = 1,
                          .dims = { p->k, 1, 1, 1, 1, 1, 1, 1 },
                          .strides = { sizeof(float) } };
    cpu_factors factors = all->factors[0];

    job->kernels->rms_norm(p->k, (const float *)(const void *)(x->data + r * x->strides[1]),
                           (const float *)(const void *)weight->data, all->attr->eps, row);
    factors.x = &normed;
    cpu_product_prepare(&factors, p, (cpu_range){ 0, p->blocks }, to);
}

static void prepare(const cpu_job *job, const products *all, uint32_t worker, uint32_t workers,
                    float *row, char *to)
{
    const cpu_product *p = &all->parts[0];

    if (!all->attr->is_normed) {
        cpu_product_prepare(&all->factors[0], p, cpu_part(p->m * p->blocks, 1, worker, workers),
                            to);
        return;
    }
    for (cpu_range rows = cpu_part(p->m, 1, worker, workers); rows.begin < rows.end; rows.begin++)
        prepare_normed(job, all, rows.begin, row, to + rows.begin * p->x_row_bytes);
}

// Some rows for some tokens.
typedef struct tile {
    cpu_range rows;
    int64_t first_token, tokens;
} tile;

// The tile of a tensor like the result.
static cpu_tensor tile_of(const cpu_tensor *t, const tile *at)
{
    cpu_tensor part = *t;

    part.data += at->rows.begin * (int64_t)sizeof(float) + at->first_token * part.strides[1];
    return part;
}

static void multiply_tile(const products *all, uint32_t i, const tile *at, const char *prepared,
                          char *own, const cpu_tensor *out)
{
    cpu_factors factors = all->factors[i];
    cpu_product p = all->parts[i];
    cpu_tensor w = *factors.w;

    w.data += at->rows.begin * w.strides[1];
    factors.w = &w;
    factors.out = out;
    p.m = at->tokens;
    p.n = at->rows.end - at->rows.begin;
    cpu_product_multiply(&factors, &p, 0, (cpu_range){ 0, p.n },
                         prepared + at->first_token * p.x_row_bytes, own);
}

// The last product is made in `up`. The other operand of the tail is the gate, which is made where
// the result is, or what the product is added to.
static void run_tile(const cpu_job *job, const products *all, const tile *at, const char *prepared,
                     char *own, float *up)
{
    const int is_sum = all->attr->tail == TNP_OP_ADD;
    cpu_binary_kernel *kernel = is_sum ? job->kernels->add
                                       : cpu_gated_kernel(job->kernels, all->attr->tail);
    cpu_tensor out = tile_of(&job->out, at), ups = out;
    cpu_tensor other = is_sum ? tile_of(&job->in[CPU_PRODUCTS_SUM], at) : out;

    ups.data = (char *)up;
    ups.strides[1] = TAIL_ROWS * (int64_t)sizeof(float);
    if (!is_sum)
        multiply_tile(all, 0, at, prepared, own, &out);
    multiply_tile(all, all->attr->count - 1, at, prepared, own, &ups);
    for (int64_t t = 0; t < at->tokens; t++)
        kernel(at->rows.end - at->rows.begin,
               (const float *)(const void *)(other.data + t * other.strides[1]), up + t * TAIL_ROWS,
               (float *)(void *)(out.data + t * out.strides[1]));
}

static void run_with_tail(const cpu_job *job, const products *all, cpu_range rows,
                          const char *prepared, char *own, float *up)
{
    const cpu_product *p = &all->parts[0];
    tile at = { .first_token = 0 };

    for (; at.first_token < p->m; at.first_token += p->tokens) {
        at.tokens = cpu_min(p->m - at.first_token, p->tokens);
        for (at.rows = rows; at.rows.begin < rows.end; at.rows.begin += TAIL_ROWS) {
            at.rows.end = cpu_min(at.rows.begin + TAIL_ROWS, rows.end);
            run_tile(job, all, &at, prepared, own, up);
        }
    }
}

// What of `groups`, groups of rows of all matrices one after another, belongs to matrix i; `before`
// are those of the matrices before it, to which its own are added.
static cpu_range rows_of(const products *all, uint32_t i, cpu_range groups, int64_t *before)
{
    const cpu_product *p = &all->parts[i];
    int64_t first = groups.begin - *before, past = groups.end - *before;

    *before += (p->n + p->rows - 1) / p->rows;
    return (cpu_range){ (first > 0 ? first : 0) * p->rows, cpu_min(past * p->rows, p->n) };
}

static void run_apart(const cpu_job *job, const products *all, uint32_t worker, uint32_t workers,
                      const char *prepared, char *own)
{
    int64_t groups = 0, before = 0;

    for (uint32_t i = 0; i < all->attr->count; i++)
        groups += (all->parts[i].n + all->parts[i].rows - 1) / all->parts[i].rows;
    for (uint32_t i = 0; i < all->attr->count; i++) {
        cpu_range rows = rows_of(all, i, cpu_part(groups, 1, worker, workers), &before);

        if (rows.begin < rows.end && job->outs[i].data)
            cpu_product_multiply(&all->factors[i], &all->parts[i], 0, rows, prepared, own);
    }
}

static uint32_t phases_of_products(const cpu_job *job, uint32_t workers)
{
    products all = measure(job);

    (void)workers;
    return all.parts[0].is_own_row ? 1 : 2;
}

static void run_products(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    products all = measure(job);
    const cpu_product *p = &all.parts[0];
    char *prepared = job->scratch, *own = job->scratch + all.x_bytes + worker_bytes(&all) * worker;
    float *up = (float *)(void *)(own + all.product_bytes);
    float *row = (float *)(void *)(own + all.product_bytes + all.up_bytes);
    _Alignas(64) char own_row[CPU_OWN_ROW_BYTES];

    if (phase == 0 && !p->is_own_row) {
        prepare(job, &all, worker, workers, row, prepared);
        return;
    }
    if (p->is_own_row) {
        prepared = own_row;
        prepare(job, &all, 0, 1, row, prepared);
    }
    if (all.attr->tail)
        run_with_tail(job, &all, cpu_part(p->n, p->rows, worker, workers), prepared, own, up);
    else
        run_apart(job, &all, worker, workers, prepared, own);
}

const cpu_op cpu_products_op = {
    CPU_OP_PRODUCTS, 2, 0, refuse_products, scratch_of_products, run_products, phases_of_products
};
