// product.c: the two ways of a product, as product.h tells.
#include "product.h"

#include <string.h>

#define PANEL_BYTES  7680     // of one
#define X_BYTES      262144   // of activations taken together
#define LEAST_TOKENS 32
#define FEW_TOKENS   6   // up to here F16 is decoded in the kernel, once a tile, not before

static cpu_integer_way integer_way_of(const cpu_factors *f)
{
    const cpu_kernels *k = f->kernels;

    if (f->options->activations_f32)
        return (cpu_integer_way){ .pack = NULL };
    switch (f->w->dtype) {
    case TNP_DTYPE_Q4_0:
        return (cpu_integer_way){ k->pack_q4_0, k->matmul_q4_1_q8, k->matvec_q4_0_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q4_1:
        return (cpu_integer_way){ k->pack_q4_1, k->matmul_q4_1_q8, k->matvec_q4_1_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_0:
        return (cpu_integer_way){ k->pack_q5_0, k->matmul_q5_1_q8, k->matvec_q5_0_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_1:
        return (cpu_integer_way){ k->pack_q5_1, k->matmul_q5_1_q8, k->matvec_q5_1_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q8_0:
        return (cpu_integer_way){ k->pack_q8_0, k->matmul_q8_0_q8, k->matvec_q8_0_q8,
                                  k->panel_q8_0_bytes };
    case TNP_DTYPE_IQ4_NL:
        return (cpu_integer_way){ k->pack_iq4_nl, k->matmul_q8_0_q8, k->matvec_iq4_nl_q8,
                                  k->panel_q8_0_bytes };
    case TNP_DTYPE_Q2_K:
        return (cpu_integer_way){ k->pack_q2_k, k->matmul_q2_k_q8, k->matvec_q2_k_q8,
                                  sizeof(cpu_panel_q2_k) };
    case TNP_DTYPE_Q3_K:
        return (cpu_integer_way){ k->pack_q3_k, k->matmul_q6_k_q8, k->matvec_q3_k_q8,
                                  k->panel_q6_k_bytes };
    case TNP_DTYPE_Q4_K:
        return (cpu_integer_way){ k->pack_q4_k, k->matmul_q4_1_q8, k->matvec_q4_k_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q5_K:
        return (cpu_integer_way){ k->pack_q5_k, k->matmul_q5_1_q8, k->matvec_q5_k_q8,
                                  sizeof(cpu_panel_q4_1) };
    case TNP_DTYPE_Q6_K:
        return (cpu_integer_way){ k->pack_q6_k, k->matmul_q6_k_q8, k->matvec_q6_k_q8,
                                  k->panel_q6_k_bytes };
    default:
        return (cpu_integer_way){ .pack = NULL };
    }
}

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
static int64_t decoded_row_bytes(const cpu_product *p)
{
    return cpu_round_up(p->k, CPU_K_BLOCK) * (int64_t)sizeof(float);
}

// A multiple of what tiles take.
static int64_t tokens_together(const cpu_product *p)
{
    int64_t row_bytes = p->x_row_bytes ? p->x_row_bytes : p->k * (int64_t)sizeof(float);
    int64_t tokens = X_BYTES / (row_bytes + 1) / LEAST_TOKENS * LEAST_TOKENS;

    return tokens < LEAST_TOKENS ? LEAST_TOKENS : cpu_min(tokens, CPU_MOST_TOKENS);
}

cpu_product cpu_product_of_activations(const cpu_factors *f)
{
    const cpu_tensor *x = f->x, *w = f->w, *out = f->out;
    cpu_product p = { .way = integer_way_of(f), .batches = 1 };

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
    p.is_own_row = p.m * p.batches == 1 && p.x_row_bytes <= CPU_OWN_ROW_BYTES;
    return p;
}

cpu_product cpu_product_of(const cpu_factors *f)
{
    const cpu_tensor *w = f->w;
    cpu_product p = cpu_product_of_activations(f);

    if (!p.is_own_row)
        p.x_bytes = cpu_lines(p.x_row_bytes * p.m * p.batches);
    p.tokens = p.m > 1 ? tokens_together(&p) : 1;
    p.rows = p.way.pack && p.m > 1 ? f->kernels->panels_at_once * CPU_PANEL_ROWS : CPU_PANEL_ROWS;
    if (p.way.pack && p.m > 1) {
        p.panel_blocks = PANEL_BYTES / p.way.panel_bytes / CPU_K_PARTS * CPU_K_PARTS;
        p.rows_bytes = cpu_lines(p.way.panel_bytes * p.panel_blocks * f->kernels->panels_at_once);
    } else if (!p.way.pack && !stands_as_f32(w) && !takes_f16(w, p.m))
        p.rows_bytes = decoded_row_bytes(&p) * CPU_PANEL_ROWS;
    p.w_stride = w->is_packed ? CPU_PACKED : w->strides[1];
    p.w_parts = cpu_block_elements(w->dtype) / CPU_BLOCK;
    p.w_step = cpu_block_bytes(w->dtype) * (w->is_packed ? CPU_PANEL_ROWS : 1);
    p.worker_bytes = p.rows_bytes;
    if (p.m > 1)
        p.worker_bytes += cpu_min(p.m, CPU_MOST_TOKENS) * p.rows * (int64_t)sizeof(float);
    return p;
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

void cpu_product_prepare(const cpu_factors *f, const cpu_product *p, cpu_range part, char *to)
{
    const cpu_tensor *x = f->x;
    float values[CPU_CHUNK];

    while (part.begin < part.end) {
        int64_t row = part.begin / p->blocks, block = part.begin % p->blocks,
                first = block * CPU_BLOCK;
        int64_t blocks = cpu_min(cpu_min(p->blocks - block, part.end - part.begin),
                                 CPU_CHUNK / CPU_BLOCK);
        int64_t count = cpu_min(blocks * CPU_BLOCK, p->k - first);
        const char *row_x = matrix(x, f->out, row / p->m) + row % p->m * x->strides[1];
        const float *from = cpu_read(f->kernels, x, row_x, first, count, values);
        char *row_to = to + row * p->x_row_bytes;

        if (p->way.pack) {
            if (count < blocks * CPU_BLOCK) {   // K ends inside a block
                memmove(values, from, (size_t)count * sizeof *values);
                memset(values + count, 0, (size_t)(blocks * CPU_BLOCK - count) * sizeof *values);
                from = values;
            }
            f->kernels->encode_q8(blocks * CPU_BLOCK, from,
                                  row_to + block * (int64_t)sizeof(cpu_block_q8));
        } else {
            memcpy(row_to + first * (int64_t)sizeof(float), from, (size_t)count * sizeof(float));
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

// Rows of w, at most p->rows, with tokens. sums {stride, tokens}, of which whole panels are
// written.
static void multiply_integer(const cpu_factors *f, const cpu_product *p, const char *w,
                             int64_t rows, const char *x, int64_t tokens, char *own, float *sums,
                             int64_t stride)
{
    int64_t row_bytes = f->w->strides[1], panels = (rows + CPU_PANEL_ROWS - 1) / CPU_PANEL_ROWS,
            b = 0;

    do {   // once for no blocks
        int64_t blocks = cpu_min(p->blocks - b, p->panel_blocks);

        for (int64_t r = 0; r < rows; r += CPU_PANEL_ROWS)
            p->way.pack(cpu_min(rows - r, CPU_PANEL_ROWS), blocks,
                        w + r * row_bytes + b / p->w_parts * p->w_step, p->w_stride,
                        cpu_panel_at(own, f->kernels->panels_together, r / CPU_PANEL_ROWS,
                                     blocks * p->way.panel_bytes));
        p->way.multiply(panels, tokens, blocks, own, x + b * (int64_t)sizeof(cpu_block_q8),
                        p->x_row_bytes, sums, stride, b == 0);
        b += p->panel_blocks;
    } while (b < p->blocks);
}

// Rows of w with the one token there is.
static void multiply_one(const cpu_factors *f, const cpu_product *p, const char *w, cpu_range part,
                         const char *x, char *to)
{
    int64_t row_bytes = f->w->strides[1];
    int is_in_place = cpu_has_unit_rows(f->out);
    float own[CPU_PANEL_ROWS];

    for (int64_t row = part.begin; row < part.end; row += CPU_PANEL_ROWS) {
        int64_t rows = cpu_min(part.end - row, CPU_PANEL_ROWS);
        float *sums = is_in_place && rows == CPU_PANEL_ROWS ? (float *)(void *)to + row : own;

        p->way.multiply_one(rows, p->blocks, w + row * row_bytes, p->w_stride, x, sums);
        if (sums == own)
            write_sums(f->out, to, row, rows, 1, own, CPU_PANEL_ROWS);
    }
}

// Rows of w with tokens, in F32. F32 rows are used where they are, F16 ones too for few tokens; the
// rest is decoded.
static void multiply_f32(const cpu_factors *f, const cpu_product *p, const char *w, int64_t rows,
                         const char *x, int64_t x_stride, int64_t tokens, char *own, float *sums)
{
    const cpu_tensor *t = f->w;
    const float *x_f32 = (const float *)(const void *)x;
    int64_t w_stride = t->strides[1];

    if (takes_f16(t, tokens)) {
        f->kernels->matmul_f16(rows, tokens, p->k, w, w_stride, x_f32, x_stride, sums,
                               CPU_PANEL_ROWS);
        return;
    }
    if (!stands_as_f32(t)) {
        w_stride = decoded_row_bytes(p);
        for (int64_t r = 0; r < rows; r++) {
            float *to = (float *)(void *)(own + r * w_stride);
            const float *from = cpu_read(f->kernels, t, w + r * t->strides[1], 0, p->k, to);

            if (from != to)
                memcpy(to, from, (size_t)p->k * sizeof *to);
        }
        w = own;
    }
    f->kernels->matmul_f32(rows, tokens, p->k, w, w_stride, x_f32, x_stride, sums, CPU_PANEL_ROWS);
}

void cpu_product_multiply(const cpu_factors *f, const cpu_product *p, int64_t b, cpu_range part,
                          const char *prepared, char *own)
{
    const cpu_tensor *out = f->out;
    const char *x = p->x_row_bytes ? prepared + b * p->m * p->x_row_bytes : matrix(f->x, out, b);
    int64_t x_stride = p->x_row_bytes ? p->x_row_bytes : f->x->strides[1];
    const char *w = matrix(f->w, out, b);
    char *to = matrix(out, out, b);
    float sums_of_one[CPU_PANEL_ROWS];
    float *sums = p->m > 1 ? (float *)(void *)(own + p->rows_bytes) : sums_of_one;
    int can_grow = p->way.pack && p->m > 1 && cpu_has_unit_rows(out) &&
                   out->strides[1] % (int64_t)sizeof(float) == 0;

    if (p->way.pack && p->m == 1) {
        multiply_one(f, p, w, part, x, to);
        return;
    }
    for (int64_t t = 0; t < p->m; t += p->tokens) {
        int64_t tokens = cpu_min(p->m - t, p->tokens);
        const char *x_rows = x + t * x_stride;
        char *to_rows = to + t * out->strides[1];

        for (int64_t row = part.begin; row < part.end; row += p->rows) {
            int64_t rows = cpu_min(part.end - row, p->rows);
            const char *w_rows = w + row * f->w->strides[1];

            if (can_grow && rows == p->rows) {
                multiply_integer(f, p, w_rows, rows, x_rows, tokens, own,
                                 (float *)(void *)to_rows + row,
                                 out->strides[1] / (int64_t)sizeof(float));
                continue;
            }
            if (p->way.pack)
                multiply_integer(f, p, w_rows, rows, x_rows, tokens, own, sums, p->rows);
            else
                multiply_f32(f, p, w_rows, rows, x_rows, x_stride, tokens, own, sums);
            write_sums(out, to_rows, row, rows, tokens, sums, p->rows);
        }
    }
}
