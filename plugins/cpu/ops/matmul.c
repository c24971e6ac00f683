// matmul.c: out[n, m] = sum over k of w[k, n] * x[k, m], for each of the B matrices of x and out.
//
// Two ways, chosen by the dtype of w:
//   integer   block types with kernels of their own (integer_way_of), unless the user asked for
//             F32 activations. Phase 0 rounds all activations to q8 (blocks.h) in scratch. Phase 1
//             makes two panels of 16 rows of w at a time and multiplies them with every token; a
//             single token meets the rows as they are, 8 at a time. A constant w of two dims may
//             come packed (pack.h): the bits are the same.
//   F32       the rest. Phase 0 copies activations that do not stand as F32. Phase 1 decodes 8 rows
//             of w at a time (F32 ones are used where they are, and F16 ones for few tokens) and
//             multiplies them with every token.
//
// There is one phase alone where phase 0 has nothing to do, or little: a single row of activations
// is prepared by each worker for itself, on its stack. That takes a worker less time than a
// barrier, and products that follow each other with no scratch in common need none between them.
//
// Workers take contiguous ranges of the rows of w, cut at 16 or 8. A result is one sum, in an order
// that depends on K alone: neither the number of workers, nor that of tokens, nor the place of a
// row in its panel changes its bits.
//
// Tokens are taken so many at a time that their activations stay in the second-level cache while
// panel after panel goes over them; the panels themselves fit the first level. Sums grow where the
// result is, if its rows are whole there.
//
// Scratch:  | activations: B * M rows, q8 or F32 |
//           then for each worker  | panels, or 8 decoded rows | sums: {rows, tokens} |
#include "ops.h"

#include <string.h>

#include "../kernels/blocks.h"

#define ROWS          CPU_PANEL_ROWS
#define PANELS        2
#define PANEL_BYTES   20480    // of both together
#define X_BYTES       262144   // of activations taken together
#define LEAST_TOKENS  32
#define MOST_TOKENS   256
#define OWN_ROW_BYTES 32768   // of a row of activations that a worker may prepare for itself
#define FEW_TOKENS    6   // up to here F16 is decoded in the kernel, once for 3 tokens, not before

// A dtype of weights with kernels of its own.
typedef struct integer_way {
    cpu_pack_kernel *pack;
    cpu_matmul_q8_kernel *multiply;
    cpu_matvec_q8_kernel *multiply_one;   // token, without a panel
    int64_t panel_bytes;                  // for one block of 8 rows
} integer_way;

static integer_way integer_way_of(const cpu_job *job)
{
    const cpu_kernels *k = job->kernels;

    if (job->options->activations_f32)
        return (integer_way){ .pack = NULL };
    switch (job->in[1].dtype) {
    case TNP_DTYPE_Q4_0:
        return (integer_way){ k->pack_q4_0, k->matmul_q4_1_q8, k->matvec_q4_0_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q4_1:
        return (integer_way){ k->pack_q4_1, k->matmul_q4_1_q8, k->matvec_q4_1_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_0:
        return (integer_way){ k->pack_q5_0, k->matmul_q5_1_q8, k->matvec_q5_0_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_1:
        return (integer_way){ k->pack_q5_1, k->matmul_q5_1_q8, k->matvec_q5_1_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q8_0:
        return (integer_way){ k->pack_q8_0, k->matmul_q8_0_q8, k->matvec_q8_0_q8,
                              k->panel_q8_0_bytes };
    case TNP_DTYPE_Q4_K:
        return (integer_way){ k->pack_q4_k, k->matmul_q4_1_q8, k->matvec_q4_k_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_K:
        return (integer_way){ k->pack_q5_k, k->matmul_q5_1_q8, k->matvec_q5_k_q8,
                              sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q6_K:
        return (integer_way){ k->pack_q6_k, k->matmul_q6_k_q8, k->matvec_q6_k_q8,
                              sizeof(cpu_panel_q6_k) };
    default:
        return (integer_way){ .pack = NULL };
    }
}

// Sizes of one run, or at most of one run when made from full dims.
typedef struct product {
    integer_way way;
    int64_t k, n, m, batches;
    int64_t blocks;         // of 32 along k, the last one perhaps in part
    int64_t x_row_bytes;    // of prepared activations; 0 = they are used where they are
    int is_own_row;         // each worker prepares the one row for itself
    int64_t tokens;         // taken together
    int64_t rows;           // of w, taken together
    int64_t panel_blocks;   // along K, a multiple of 8
    int64_t w_stride;       // between rows of w, as kernels of the integer way take it
    int64_t w_parts, w_step;   // blocks of 32 in a block of w; bytes to the next block of w
    int64_t x_bytes, rows_bytes, worker_bytes;   // regions of scratch
} product;

static int stands_as_f32(const cpu_tensor *t)
{
    return t->dtype == TNP_DTYPE_F32 && cpu_has_unit_rows(t);
}

// Whether rows of F16 go to the kernel as they are.
static int takes_f16(const cpu_tensor *w, int64_t tokens)
{
    return w->dtype == TNP_DTYPE_F16 && tokens <= FEW_TOKENS && cpu_has_unit_rows(w);
}

// Decoders write whole blocks.
static int64_t decoded_row_bytes(const product *p)
{
    return cpu_round_up(p->k, CPU_K_BLOCK) * (int64_t)sizeof(float);
}

// A multiple of what tiles take.
static int64_t tokens_together(const product *p)
{
    int64_t row_bytes = p->x_row_bytes ? p->x_row_bytes : p->k * (int64_t)sizeof(float);
    int64_t tokens = X_BYTES / (row_bytes + 1) / LEAST_TOKENS * LEAST_TOKENS;

    return tokens < LEAST_TOKENS ? LEAST_TOKENS : cpu_min(tokens, MOST_TOKENS);
}

// What there is to do, and whether activations are prepared: a run of one token asks it often.
static product measure_activations(const cpu_job *job)
{
    const cpu_tensor *x = &job->in[0], *w = &job->in[1], *out = &job->out;
    product p = { .way = integer_way_of(job), .batches = 1 };

    p.k = cpu_min(x->dims[0], w->dims[0]);
    p.n = cpu_min(out->dims[0], w->dims[1]);
    p.m = cpu_min(out->dims[1], x->dims[1]);
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        p.batches *= out->dims[i];
    p.blocks = (p.k + CPU_BLOCK - 1) / CPU_BLOCK;
    if (p.way.pack)
        p.x_row_bytes = p.blocks * (int64_t)sizeof(cpu_block_q8);
    else if (!stands_as_f32(x))
        p.x_row_bytes = cpu_lines(p.k * (int64_t)sizeof(float));
    p.is_own_row = p.m * p.batches == 1 && p.x_row_bytes <= OWN_ROW_BYTES;
    return p;
}

static product measure(const cpu_job *job)
{
    const cpu_tensor *w = &job->in[1];
    product p = measure_activations(job);

    if (!p.is_own_row)
        p.x_bytes = cpu_lines(p.x_row_bytes * p.m * p.batches);
    p.tokens = p.m > 1 ? tokens_together(&p) : 1;
    p.rows = p.way.pack && p.m > 1 ? PANELS * ROWS : ROWS;
    if (p.way.pack && p.m > 1) {
        p.panel_blocks = PANEL_BYTES / PANELS / p.way.panel_bytes / CPU_K_PARTS * CPU_K_PARTS;
        p.rows_bytes = cpu_lines(p.way.panel_bytes * p.panel_blocks * PANELS);
    } else if (!p.way.pack && !stands_as_f32(w) && !takes_f16(w, p.m))
        p.rows_bytes = decoded_row_bytes(&p) * ROWS;
    p.w_stride = w->is_packed ? CPU_PACKED : w->strides[1];
    p.w_parts = cpu_block_elements(w->dtype) / CPU_BLOCK;
    p.w_step = cpu_block_bytes(w->dtype) * (w->is_packed ? ROWS : 1);
    p.worker_bytes = p.rows_bytes;
    if (p.m > 1)
        p.worker_bytes += cpu_min(p.m, MOST_TOKENS) * p.rows * (int64_t)sizeof(float);
    return p;
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
    product p = measure(node);

    return (uint64_t)(p.x_bytes + p.worker_bytes * workers);
}

// Row m of matrix b, for a tensor with the batch dims of out, or with divisors of them: neighbours
// share.
static char *matrix(const cpu_tensor *t, const cpu_tensor *out, int64_t b)
{
    char *at = t->data;

    for (int i = 2; i < TNP_MAX_DIMS && b > 0; i++) {
        int64_t shared = t->dims[i] > 0 ? out->dims[i] / t->dims[i] : 0;

        if (shared > 0 && t->dims[i] > 1)
            at += b % out->dims[i] / shared % t->dims[i] * t->strides[i];
        b /= out->dims[i];
    }
    return at;
}

// Prepares a part of all blocks of all rows, to lie row after row.
static void prepare_activations(const cpu_job *job, const product *p, cpu_range part, char *x_to)
{
    const cpu_tensor *x = &job->in[0];
    float values[CPU_CHUNK];

    while (part.begin < part.end) {
        int64_t row = part.begin / p->blocks, block = part.begin % p->blocks,
                first = block * CPU_BLOCK;
        int64_t blocks = cpu_min(cpu_min(p->blocks - block, part.end - part.begin),
                                 CPU_CHUNK / CPU_BLOCK);
        int64_t count = cpu_min(blocks * CPU_BLOCK, p->k - first);
        const char *row_x = matrix(x, &job->out, row / p->m) + row % p->m * x->strides[1];
        const float *from = cpu_read(job->kernels, x, row_x, first, count, values);
        char *to = x_to + row * p->x_row_bytes;

        if (p->way.pack) {
            if (count < blocks * CPU_BLOCK) {   // K ends inside a block
                memmove(values, from, (size_t)count * sizeof *values);
                memset(values + count, 0, (size_t)(blocks * CPU_BLOCK - count) * sizeof *values);
                from = values;
            }
            job->kernels->encode_q8(blocks * CPU_BLOCK, from,
                                    to + block * (int64_t)sizeof(cpu_block_q8));
        } else {
            memcpy(to + first * (int64_t)sizeof(float), from, (size_t)count * sizeof(float));
        }
        part.begin += blocks;
    }
}

// From sums {rows of a tile, tokens} to rows row .. row + rows - 1 of `tokens` tokens.
static void write_sums(const cpu_tensor *out, char *to, int64_t row, int64_t rows, int64_t tokens,
                       const float *sums, int64_t sums_stride)
{
    int64_t stride = out->dims[0] > 1 ? out->strides[0] : 0;

    for (int64_t t = 0; t < tokens; t++, to += out->strides[1], sums += sums_stride) {
        char *at = to + row * stride;

        if (stride == (int64_t)sizeof(float)) {
            memcpy(at, sums, (size_t)rows * sizeof(float));
            continue;
        }
        for (int64_t r = 0; r < rows; r++)
            memcpy(at + r * stride, sums + r, sizeof(float));
    }
}

// Rows of w, at most PANELS * ROWS, with tokens. sums {stride, tokens}, of which whole panels are
// written.
static void multiply_integer(const cpu_job *job, const product *p, const char *w, int64_t rows,
                             const char *x, int64_t tokens, char *own, float *sums, int64_t stride)
{
    int64_t row_bytes = job->in[1].strides[1], panels = (rows + ROWS - 1) / ROWS, b = 0;

    do {   // once for no blocks
        int64_t blocks = cpu_min(p->blocks - b, p->panel_blocks);

        for (int64_t r = 0; r < rows; r += ROWS)
            p->way.pack(cpu_min(rows - r, ROWS), blocks,
                        w + r * row_bytes + b / p->w_parts * p->w_step, p->w_stride,
                        own + r / ROWS * blocks * p->way.panel_bytes);
        p->way.multiply(panels, tokens, blocks, own, x + b * (int64_t)sizeof(cpu_block_q8),
                        p->x_row_bytes, sums, stride, b == 0);
        b += p->panel_blocks;
    } while (b < p->blocks);
}

// Rows of w with the one token there is.
static void multiply_one(const cpu_job *job, const product *p, const char *w, cpu_range part,
                         const char *x, char *to)
{
    int64_t row_bytes = job->in[1].strides[1];
    int is_in_place = cpu_has_unit_rows(&job->out);
    float own[ROWS];

    for (int64_t row = part.begin; row < part.end; row += ROWS) {
        int64_t rows = cpu_min(part.end - row, ROWS);
        float *sums = is_in_place && rows == ROWS ? (float *)(void *)to + row : own;

        p->way.multiply_one(rows, p->blocks, w + row * row_bytes, p->w_stride, x, sums);
        if (sums == own)
            write_sums(&job->out, to, row, rows, 1, own, ROWS);
    }
}

// Rows of w with tokens, in F32. F32 rows are used where they are, F16 ones too for few tokens; the
// rest is decoded.
static void multiply_f32(const cpu_job *job, const product *p, const char *w, int64_t rows,
                         const char *x, int64_t x_stride, int64_t tokens, char *own, float *sums)
{
    const cpu_tensor *t = &job->in[1];
    const float *x_f32 = (const float *)(const void *)x;
    int64_t w_stride = t->strides[1];

    if (takes_f16(t, tokens)) {
        job->kernels->matmul_f16(rows, tokens, p->k, w, w_stride, x_f32, x_stride, sums, ROWS);
        return;
    }
    if (!stands_as_f32(t)) {
        w_stride = decoded_row_bytes(p);
        for (int64_t r = 0; r < rows; r++) {
            float *to = (float *)(void *)(own + r * w_stride);
            const float *from = cpu_read(job->kernels, t, w + r * t->strides[1], 0, p->k, to);

            if (from != to)
                memcpy(to, from, (size_t)p->k * sizeof *to);
        }
        w = own;
    }
    job->kernels->matmul_f32(rows, tokens, p->k, w, w_stride, x_f32, x_stride, sums, ROWS);
}

// One matrix: rows [part.begin, part.end) of w with every token.
//   prepared   activations of all matrices; unused where they are taken as they are
static void multiply(const cpu_job *job, const product *p, int64_t b, cpu_range part,
                     const char *prepared, char *own)
{
    const cpu_tensor *out = &job->out;
    const char *x = p->x_row_bytes ? prepared + b * p->m * p->x_row_bytes
                                   : matrix(&job->in[0], out, b);
    int64_t x_stride = p->x_row_bytes ? p->x_row_bytes : job->in[0].strides[1];
    const char *w = matrix(&job->in[1], out, b);
    char *to = matrix(out, out, b);
    float sums_of_one[ROWS];
    float *sums = p->m > 1 ? (float *)(void *)(own + p->rows_bytes) : sums_of_one;
    int can_grow = p->way.pack && p->m > 1 && cpu_has_unit_rows(out) &&
                   out->strides[1] % (int64_t)sizeof(float) == 0;

    if (p->way.pack && p->m == 1) {
        multiply_one(job, p, w, part, x, to);
        return;
    }
    for (int64_t t = 0; t < p->m; t += p->tokens) {
        int64_t tokens = cpu_min(p->m - t, p->tokens);
        const char *x_rows = x + t * x_stride;
        char *to_rows = to + t * out->strides[1];

        for (int64_t row = part.begin; row < part.end; row += p->rows) {
            int64_t rows = cpu_min(part.end - row, p->rows);
            const char *w_rows = w + row * job->in[1].strides[1];

            if (can_grow && rows == p->rows) {
                multiply_integer(job, p, w_rows, rows, x_rows, tokens, own,
                                 (float *)(void *)to_rows + row,
                                 out->strides[1] / (int64_t)sizeof(float));
                continue;
            }
            if (p->way.pack)
                multiply_integer(job, p, w_rows, rows, x_rows, tokens, own, sums, p->rows);
            else
                multiply_f32(job, p, w_rows, rows, x_rows, x_stride, tokens, own, sums);
            write_sums(out, to_rows, row, rows, tokens, sums, p->rows);
        }
    }
}

static uint32_t phases_of_matmul(const cpu_job *job, uint32_t workers)
{
    product p = measure_activations(job);

    (void)workers;
    return p.x_row_bytes == 0 || p.is_own_row ? 1 : 2;
}

static void run_matmul(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    product p = measure(job);
    cpu_range part = cpu_part(p.n, p.rows, worker, workers);
    int64_t blocks = p.m * p.batches * p.blocks;   // of all activations
    char *prepared = job->scratch, *own = NULL;
    _Alignas(64) char row[OWN_ROW_BYTES];

    if (phase == 0 && p.x_row_bytes && !p.is_own_row) {
        // workers take parts of all blocks, so that one long row is shared too
        prepare_activations(job, &p, cpu_part(blocks, 1, worker, workers), prepared);
        return;
    }
    if (part.begin >= part.end)
        return;
    if (p.x_row_bytes && p.is_own_row) {
        prepared = row;
        prepare_activations(job, &p, (cpu_range){ 0, blocks }, prepared);
    }
    if (p.worker_bytes)
        own = job->scratch + p.x_bytes + p.worker_bytes * worker;
    for (int64_t b = 0; b < p.batches; b++)
        multiply(job, &p, b, part, prepared, own);
}

// Fewer rows than a group has would take many times their bytes.
int32_t cpu_op_packed_input(const cpu_job *node)
{
    const cpu_tensor *w = &node->in[1];

    return node->op == TNP_OP_MATMUL && cpu_rank_at_most(w, 2) && w->dims[1] >= ROWS &&
                   integer_way_of(node).pack
               ? 1
               : -1;
}

const cpu_op cpu_matmul_ops[] = {
    { TNP_OP_MATMUL, 2, 0, refuse_matmul, scratch_of_matmul, run_matmul, phases_of_matmul },
    { 0 },
};
