// matmul.c: products, of one matrix or of matrices chosen by ids. Few tokens are done row by row of
// the weight, many in tiles.
//
// Dims from 2 on, in which matrices of the weight are shared by neighbours, become up to three for
// the kernels; what is beyond, and a weight above what the device binds at once, takes more
// dispatches.
#include "matmul.h"

#define FEW_ROWS    4u   // of a workgroup
#define MANY_ROWS   64u
#define MAX_BATCHES 3u   // dims of the kernels
#define MAX_SPLIT   12u

typedef struct batches {
    uint32_t rank;
    uint64_t dims[MAX_SPLIT];
    uint64_t w[MAX_SPLIT], x[MAX_SPLIT], out[MAX_SPLIT];   // strides
} batches;

// A dispatch to be: where the batches beyond the kernel's dims, and the rows, begin.
typedef struct place {
    uint64_t w, x, out;   // offsets in bytes
    uint64_t row, rows;
} place;

static void add_batch(batches *all, uint64_t dim, uint64_t w, uint64_t x, uint64_t out)
{
    if (dim == 1)
        return;
    if (all->rank > 0) {
        const uint32_t last = all->rank - 1;
        const uint64_t count = all->dims[last];
        if (w == count * all->w[last] && x == count * all->x[last] &&
            out == count * all->out[last]) {
            all->dims[last] *= dim;
            return;
        }
    }
    all->dims[all->rank] = dim;
    all->w[all->rank] = w;
    all->x[all->rank] = x;
    all->out[all->rank] = out;
    all->rank++;
}

static batches batches_of(const tnh_node *node)
{
    const tnh_value *x = &node->in[0], *w = &node->in[1], *out = &node->out;
    batches all = { 0 };
    for (uint32_t d = 2; d < TNP_MAX_DIMS; d++) {
        const uint64_t x_stride = (uint64_t)x->strides[d], out_stride = (uint64_t)out->strides[d];
        const uint64_t shared = (uint64_t)(x->dims[d] / w->dims[d]);
        add_batch(&all, shared, 0, x_stride, out_stride);
        add_batch(&all, (uint64_t)w->dims[d], (uint64_t)w->strides[d], shared * x_stride,
                  shared * out_stride);
    }
    return all;
}

static bool is_too_large(const tnh_value *w, const vulkan_features *features)
{
    return !vulkan_is_bindable(w->span_bytes, features);
}

static uint64_t product_of(const uint64_t *dims, uint32_t count)
{
    uint64_t product = 1;
    for (uint32_t d = 0; d < count; d++)
        product *= dims[d];
    return product;
}

// -------------------------------------------------------------------------------------- dispatches

static bool is_flat(const tnh_value *value, const batches *all, const uint64_t *strides,
                    uint64_t offset)
{
    bool are_words = value->strides[1] % 4 == 0 && (value->offset + offset) % 4 == 0;
    for (uint32_t d = 0; d < all->rank; d++)
        are_words = are_words && strides[d] % 4 == 0;
    return are_words && value->strides[0] == tnh_block_bytes(value->dtype);
}

// A token's x and results, the choice of its matrix: what is pushed behind the batches.
static void push_ids(const tnh_node *node, uint32_t at, vulkan_dispatch *d)
{
    const tnh_value *w = &node->in[1], *ids = &node->in[2];
    vulkan_push(d, at);
    vulkan_push(d, (uint32_t)ids->strides[0]);
    vulkan_push(d, (uint32_t)ids->strides[1]);
    vulkan_push(d, (uint32_t)w->strides[2]);
    vulkan_push(d, (uint32_t)w->dims[2]);
}

// In the place of the ids.
static void push_other(const vulkan_tail *tail, uint32_t at, uint64_t first_row, vulkan_dispatch *d)
{
    const bool is_sum = tail->op == TNP_OP_ADD;
    vulkan_push(d, is_sum ? at + (uint32_t)(first_row * (uint64_t)tail->other->strides[0]) : at);
    vulkan_push(d, is_sum ? (uint32_t)tail->other->strides[0] : 0);
    vulkan_push(d, is_sum ? (uint32_t)tail->other->strides[1] : 0);
}

static uint32_t few_tokens_of(uint64_t tokens)
{
    return tokens == 1 ? 1 : tokens <= 4 ? 4 : VULKAN_FEW_TOKENS;
}

// The kernel, its groups and its own constants, with the tokens of one matrix, and matrices.
static void choose_kernel(vulkan_dispatch *d, bool is_few, uint64_t k, uint64_t rows,
                          uint64_t tokens, uint64_t matrices)
{
    if (is_few) {
        const uint32_t each = few_tokens_of(tokens);
        vulkan_constant(d, each);
        vulkan_constant(d, k < 1024 ? 32 : 64);   // invocations
        d->groups[0] = vulkan_groups(rows, FEW_ROWS);
        d->groups[1] = vulkan_groups(tokens, each);
    } else {
        const uint32_t each = tokens <= 32 ? 4 : 8;
        vulkan_constant(d, each);
        d->groups[0] = vulkan_groups(rows, MANY_ROWS);
        d->groups[1] = vulkan_groups(tokens, 8 * each);
    }
    d->groups[2] = (uint32_t)matrices;
}

static void emit_at(const tnh_node *node, const vulkan_tail *tail, const batches *all,
                    const place *at, vulkan_emitter *to)
{
    const tnh_value *x = &node->in[0], *w = &node->in[1], *out = tail->out;
    const bool by_id = node->op == TNP_OP_MATMUL_ID;
    const uint64_t k = (uint64_t)x->dims[0], choices = by_id ? product_of(all->dims, 2) : 0;
    const uint64_t tokens = by_id ? 1 : (uint64_t)x->dims[1];
    const bool is_few = by_id ? choices < 3 * (uint64_t)w->dims[2] : tokens <= VULKAN_FEW_TOKENS;
    const uint32_t inner = all->rank < MAX_BATCHES ? all->rank : MAX_BATCHES;
    tnh_value part = vulkan_rows_of(w, at->row, at->rows);
    part.offset += at->w;
    if (is_too_large(w, vulkan_emitter_features(to)))   // then one matrix at a time
        part.span_bytes = vulkan_row_span(w) + (at->rows - 1) * (uint64_t)w->strides[1];
    else
        part.span_bytes -= at->w;

    vulkan_dispatch d;
    uint32_t lengths[2], ids_at = 0, other_at = 0;
    const bool is_gate = tail->op != 0 && tail->op != TNP_OP_ADD;
    vulkan_begin(&d, is_few ? VULKAN_KERNEL_MATMUL_FEW : VULKAN_KERNEL_MATMUL_MANY);
    vulkan_constant(&d, w->dtype);
    vulkan_constant(&d, x->dtype);
    vulkan_constant(&d, is_flat(w, all, all->w, at->w) && (!by_id || w->strides[2] % 4 == 0));
    vulkan_constant(&d, is_flat(x, all, all->x, at->x));
    uint32_t out_at = vulkan_bind_value(to, &d, out, true);
    uint32_t w_at = vulkan_bind_value(to, &d, &part, false);
    uint32_t x_at = vulkan_bind_value(to, &d, x, false);
    if (by_id) {
        const tnh_value *ids = &node->in[2];
        vulkan_constant(&d, vulkan_bind_extent(to, &d, ids->extent[0] ? ids : out,
                                               ids->extent[0] ? 0 : 1, &lengths[0]));
        vulkan_constant(&d, vulkan_bind_extent(to, &d, ids->extent[1] ? ids : out,
                                               ids->extent[1] ? 1 : 2, &lengths[1]));
        ids_at = vulkan_bind_value(to, &d, ids, false);
    } else {
        vulkan_constant(&d, vulkan_bind_extent(to, &d, x, 0, &lengths[0]));
        vulkan_constant(&d, vulkan_bind_extent(to, &d, x, 1, &lengths[1]));
        if (tail->op == TNP_OP_ADD)
            other_at = vulkan_bind_value(to, &d, tail->other, false);
        else
            vulkan_bind_nothing(to, &d);
    }
    if (is_gate)
        other_at = vulkan_bind_value(to, &d, tail->other, false);
    else if (is_few)
        vulkan_bind_nothing(to, &d);
    vulkan_constant(&d, by_id);
    vulkan_constant(&d, tail->op);

    vulkan_push(&d, w_at);
    vulkan_push(&d, (uint32_t)w->strides[1]);
    vulkan_push(&d, (uint32_t)w->strides[0]);
    vulkan_push(&d, x_at + (uint32_t)at->x);
    vulkan_push(&d, by_id ? 0 : (uint32_t)x->strides[1]);
    vulkan_push(&d, (uint32_t)x->strides[0]);
    vulkan_push(&d, out_at + (uint32_t)(at->out + at->row * (uint64_t)out->strides[0]));
    vulkan_push(&d, by_id ? 0 : (uint32_t)out->strides[1]);
    vulkan_push(&d, (uint32_t)out->strides[0]);
    vulkan_push(&d, (uint32_t)k);
    vulkan_push(&d, (uint32_t)at->rows);
    vulkan_push(&d, (uint32_t)tokens);
    vulkan_push(&d, lengths[0]);
    vulkan_push(&d, lengths[1]);
    for (uint32_t i = 0; i < MAX_BATCHES - 1; i++)
        vulkan_push(&d, i < inner ? (uint32_t)all->dims[i] : 1);
    for (uint32_t i = 0; i < MAX_BATCHES; i++)
        vulkan_push(&d, i < inner ? (uint32_t)all->w[i] : 0);
    for (uint32_t i = 0; i < MAX_BATCHES; i++)
        vulkan_push(&d, i < inner ? (uint32_t)all->x[i] : 0);
    for (uint32_t i = 0; i < MAX_BATCHES; i++)
        vulkan_push(&d, i < inner ? (uint32_t)all->out[i] : 0);
    if (by_id)
        push_ids(node, ids_at, &d);
    else if (tail->op != 0)
        push_other(tail, other_at, at->row, &d);

    const uint64_t count = product_of(all->dims, inner);
    if (by_id && !is_few)
        choose_kernel(&d, false, k, at->rows, choices, (uint64_t)w->dims[2]);
    else
        choose_kernel(&d, is_few, k, at->rows, tokens, count);
    d.flops = 2 * (double)k * (double)at->rows * (double)tokens * (double)count;
    d.bytes = (double)part.span_bytes + (double)x->span_bytes + (double)out->span_bytes;
    d.checks_data = by_id;
    vulkan_emit(to, &d);
}

// ------------------------------------------------------------------------------------------ matmul

static const char *refuse_operands(const tnh_node *node)
{
    const tnh_value *x = &node->in[0], *w = &node->in[1], *out = &node->out;
    if (!vulkan_is_float(x))
        return "a product of activations that are neither F32 nor F16";
    if (!vulkan_is_decodable(w))
        return "a product with a weight that is neither of floats nor of blocks";
    if (out->dtype != TNP_DTYPE_F32)
        return "a product that is not F32";
    if (x->dims[0] != w->dims[0] || out->dims[0] != w->dims[1])
        return "a product of other dims than its operands have";
    if (!vulkan_has_whole_strides(x) || !vulkan_has_whole_strides(w) ||
        !vulkan_has_whole_strides(out))
        return "a stride that is no multiple of the element's bytes";
    if (x->dims[0] >> 31 || x->dims[1] >> 31 || w->dims[1] >> 31)
        return "more elements than a dispatch takes";
    return NULL;
}

// Dims of batches that the kernels do themselves.
static uint32_t inner_rank(const tnh_node *node, const batches *all,
                           const vulkan_features *features)
{
    if (is_too_large(&node->in[1], features))
        return 0;
    return all->rank < MAX_BATCHES ? all->rank : MAX_BATCHES;
}

const char *vulkan_refuse_product(const tnh_node *node, const vulkan_features *features)
{
    const char *reason = refuse_operands(node);
    if (reason)
        return reason;
    const tnh_value *x = &node->in[0], *w = &node->in[1], *out = &node->out;
    if (out->dims[1] != x->dims[1])
        return "a product of other dims than its operands have";
    for (uint32_t d = 2; d < TNP_MAX_DIMS; d++)
        if (x->dims[d] % w->dims[d] != 0 || x->dims[d] != out->dims[d])
            return "a product of other dims than its operands have";
    const batches all = batches_of(node);
    const uint32_t inner = inner_rank(node, &all, features);
    if (product_of(all.dims, inner) >> 31)
        return "more elements than a dispatch takes";
    uint64_t parts = product_of(all.dims + inner, all.rank - inner);
    if (is_too_large(w, features)) {
        const uint64_t rows = vulkan_rows_at_once(w, features);
        if (rows == 0)
            return "a row above what the device binds at once";
        parts *= ((uint64_t)w->dims[1] + rows - 1) / rows;
    }
    return parts > VULKAN_MAX_DISPATCHES ? "a product in more parts than are recorded" : NULL;
}

static const char *refuse_matmul(const vulkan_unit *unit, const vulkan_features *features)
{
    return vulkan_refuse_product(&unit->nodes[0], features);
}

void vulkan_emit_product(const tnh_node *node, const vulkan_tail *tail, vulkan_emitter *to)
{
    const tnh_value *w = &node->in[1];
    const vulkan_features *features = vulkan_emitter_features(to);
    batches all = batches_of(node);
    const uint32_t inner = inner_rank(node, &all, features);
    const uint64_t rows = (uint64_t)w->dims[1];
    const uint64_t step = is_too_large(w, features) ? vulkan_rows_at_once(w, features) : rows;
    const uint64_t parts = product_of(all.dims + inner, all.rank - inner);
    batches own = all;
    own.rank = inner;
    for (uint64_t part = 0; part < parts; part++) {
        place at = { 0 };
        uint64_t rest = part;
        for (uint32_t d = inner; d < all.rank; d++) {
            const uint64_t i = rest % all.dims[d];
            rest /= all.dims[d];
            at.w += i * all.w[d];
            at.x += i * all.x[d];
            at.out += i * all.out[d];
        }
        for (at.row = 0; at.row < rows; at.row += step) {
            at.rows = rows - at.row < step ? rows - at.row : step;
            emit_at(node, tail, &own, &at, to);
        }
    }
}

static void emit_matmul(const vulkan_unit *unit, vulkan_emitter *to)
{
    const vulkan_tail tail = { .out = &unit->nodes[0].out };
    vulkan_emit_product(&unit->nodes[0], &tail, to);
}

// --------------------------------------------------------------------------------------- matmul_id

static const char *refuse_matmul_id(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const char *reason = refuse_operands(node);
    (void)features;
    if (reason)
        return reason;
    const tnh_value *x = &node->in[0], *w = &node->in[1], *ids = &node->in[2], *out = &node->out;
    if (ids->dtype != TNP_DTYPE_I32)
        return "matmul_id with ids that are not I32";
    for (uint32_t d = 2; d < TNP_MAX_DIMS; d++)
        if (ids->dims[d] != 1 ||
            (d > 2 && (x->dims[d] != 1 || w->dims[d] != 1 || out->dims[d] != 1)))
            return "matmul_id of more than three dims";
    if ((x->dims[1] != 1 && x->dims[1] != out->dims[1]) || x->dims[2] != out->dims[2] ||
        ids->dims[0] != out->dims[1] || ids->dims[1] != out->dims[2])
        return "matmul_id with other activations or ids than the result has";
    if ((uint64_t)out->dims[1] * (uint64_t)out->dims[2] >> 31 || w->dims[2] >> 31)
        return "more elements than a dispatch takes";
    return NULL;
}

// The two dims of choices are the batches: the choice of a token, and the token.
static void emit_matmul_id(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *x = &node->in[0], *out = &node->out;
    const place at = { .rows = (uint64_t)node->in[1].dims[1] };
    batches all = { .rank = 2 };
    for (uint32_t d = 0; d < 2; d++) {
        all.dims[d] = (uint64_t)out->dims[d + 1];
        all.x[d] = x->dims[d + 1] == 1 ? 0 : (uint64_t)x->strides[d + 1];
        all.out[d] = (uint64_t)out->strides[d + 1];
    }
    const vulkan_tail tail = { .out = out };
    emit_at(node, &tail, &all, &at, to);
}

const vulkan_op vulkan_matmul_ops[] = {
    { TNP_OP_MATMUL, refuse_matmul, NULL, emit_matmul },
    { TNP_OP_MATMUL_ID, refuse_matmul_id, NULL, emit_matmul_id },
    { 0 },
};
