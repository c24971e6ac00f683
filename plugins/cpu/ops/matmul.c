// matmul.c: one product (product.h). Phase 0 prepares the activations; there is one phase alone
// where that is nothing, or where each worker does it for itself: products that follow each other
// with no scratch in common then need no barrier between them. Workers take contiguous ranges of
// the rows of w.
//
// Scratch:  | activations: B * M rows, q8 or F32 |
//           then for each worker  | panels, or 8 decoded rows | sums: {rows, tokens} |
#include "product.h"

static cpu_factors factors_of(const cpu_job *job)
{
    return (cpu_factors){ job->kernels, job->options, &job->in[0], &job->in[1], &job->out };
}

static const char *refuse_matmul(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]))
        return "matmul of activations that are neither F32 nor F16";
    if (!cpu_is_decodable(&node->in[1]))
        return "matmul with a weight that is neither a float nor of a block type";
    if (!cpu_has_unit_rows(&node->in[1]) && !cpu_is_float(&node->in[1]))
        return "matmul with a weight whose blocks do not stand side by side";
    if (node->out.dtype != TNP_DTYPE_F32)
        return "matmul with a result that is not F32";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_matmul(const cpu_job *node, uint32_t workers)
{
    cpu_factors f = factors_of(node);
    cpu_product p = cpu_product_of(&f);

    return (uint64_t)(p.x_bytes + p.worker_bytes * workers);
}

static uint32_t phases_of_matmul(const cpu_job *job, uint32_t workers)
{
    cpu_factors f = factors_of(job);
    cpu_product p = cpu_product_of_activations(&f);

    (void)workers;
    return p.x_row_bytes == 0 || p.is_own_row ? 1 : 2;
}

static void run_matmul(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    cpu_factors f = factors_of(job);
    cpu_product p = cpu_product_of(&f);
    cpu_range part = cpu_part(p.n, p.rows, worker, workers);
    int64_t blocks = p.m * p.batches * p.blocks;   // of all activations
    char *prepared = job->scratch, *own = NULL;
    _Alignas(64) char row[CPU_OWN_ROW_BYTES];

    if (phase == 0 && p.x_row_bytes && !p.is_own_row) {
        // workers take parts of all blocks, so that one long row is shared too
        cpu_product_prepare(&f, &p, cpu_part(blocks, 1, worker, workers), prepared);
        return;
    }
    if (part.begin >= part.end)
        return;
    if (p.x_row_bytes && p.is_own_row) {
        prepared = row;
        cpu_product_prepare(&f, &p, (cpu_range){ 0, blocks }, prepared);
    }
    if (p.worker_bytes)
        own = job->scratch + p.x_bytes + p.worker_bytes * worker;
    for (int64_t b = 0; b < p.batches; b++)
        cpu_product_multiply(&f, &p, b, part, prepared, own);
}

// Fewer rows than a group has would take many times their bytes.
int32_t cpu_op_packed_input(const cpu_job *node)
{
    const cpu_tensor *w = &node->in[1];
    cpu_factors f = factors_of(node);

    return node->op == TNP_OP_MATMUL && cpu_rank_at_most(w, 2) && w->dims[1] >= CPU_PANEL_ROWS &&
                   cpu_product_of_activations(&f).way.pack
               ? 1
               : -1;
}

const cpu_op cpu_matmul_ops[] = {
    { TNP_OP_MATMUL, 2, 0, refuse_matmul, scratch_of_matmul, run_matmul, phases_of_matmul },
    { 0 },
};
