// sort.c: top_k and argsort: a bitonic sort, in shared memory or, of long rows, in scratch.
#include "../lines.h"
#include "ops.h"

#define GROUP 128u    // local_size_x of the kernels
#define SMALL 256u    // pairs in the shared memory of a workgroup: two kinds, so that short rows
#define LARGE 2048u   // leave room for more workgroups

// Elements of a row filled up to a power of two.
static uint64_t length_of(const tnh_node *node)
{
    uint64_t length = 1;
    while (length < (uint64_t)node->in[0].dims[0])
        length *= 2;
    return length;
}

static uint64_t rows_at_once(const tnh_node *node)
{
    const tnh_value *values[] = { &node->out, &node->in[0] };
    vulkan_lines rows;
    vulkan_lines_make(values, 2, 0, &rows);
    return vulkan_walk_elements(&rows.walk);
}

static uint64_t scratch_bytes(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    (void)features;
    return length_of(node) > LARGE ? 8 * length_of(node) * rows_at_once(node) : 0;
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[] = { &node->out, &node->in[0] };
    if (!vulkan_is_float(&node->in[0]) || node->out.dtype != TNP_DTYPE_I32)
        return "top_k or argsort of what is neither F32 nor F16, or to another type than I32";
    if (node->in[0].dims[0] > INT32_MAX || node->out.dims[0] > node->in[0].dims[0])
        return "top_k or argsort of more elements than there are, or than an I32 counts";
    if (node->op == TNP_OP_ARGSORT &&
        ((const tnp_argsort_attr *)&node->attr)->order > TNP_SORT_DESCENDING)
        return "argsort in an order unknown here";
    const char *reason = vulkan_lines_refuse(values, 2, 0);
    if (reason)
        return reason;
    return vulkan_is_bindable(scratch_bytes(unit, features), features)
               ? NULL
               : "top_k or argsort of more than the device binds at once";
}

// Rows that are sorted together, and what is done to them.
typedef struct sorting {
    const tnh_node *node;
    vulkan_lines rows;
    uint64_t part, count, length;
    uint64_t scratch;   // bytes; 0: all in shared memory
} sorting;

static uint32_t bind_pairs(const sorting *s, vulkan_emitter *to, vulkan_dispatch *d)
{
    if (s->scratch)
        return vulkan_bind_scratch(to, d, 0, s->scratch, true);
    vulkan_bind_nothing(to, d);
    return 0;
}

// Makes the sequences of these periods, as far as they are within what a workgroup has.
static void emit_blocks(const sorting *s, uint64_t first_period, uint64_t last_period,
                        vulkan_emitter *to)
{
    const tnh_value *out = &s->node->out, *x = &s->node->in[0];
    const uint32_t size = s->length <= SMALL ? SMALL : LARGE;
    const bool is_descending = s->node->op == TNP_OP_TOP_K ||
                               ((const tnp_argsort_attr *)&s->node->attr)->order ==
                                   TNP_SORT_DESCENDING;
    vulkan_dispatch d;
    vulkan_begin(&d, VULKAN_KERNEL_SORT);
    vulkan_constant(&d, x->dtype);
    vulkan_constant(&d, size);
    vulkan_constant(&d, is_descending);
    vulkan_constant(&d, first_period == 2);
    vulkan_constant(&d, last_period == s->length || s->length == 1);
    vulkan_walk_bind(&s->rows.walk, s->part, to, &d);
    vulkan_push(&d, (uint32_t)x->dims[0]);
    vulkan_push(&d, (uint32_t)out->dims[0]);
    vulkan_push(&d, (uint32_t)x->strides[0]);
    vulkan_push(&d, (uint32_t)out->strides[0]);
    vulkan_push(&d, (uint32_t)s->length);
    vulkan_push(&d, (uint32_t)first_period);
    vulkan_push(&d, (uint32_t)last_period);
    vulkan_push(&d, bind_pairs(s, to, &d));
    d.groups[0] = vulkan_groups(s->length, size);
    d.groups[1] = (uint32_t)s->count;
    d.flops = 100 * (double)s->length * (double)s->count;
    d.bytes = 16 * (double)s->length * (double)s->count;
    vulkan_emit(to, &d);
}

static void emit_step(const sorting *s, uint64_t period, uint64_t apart, vulkan_emitter *to)
{
    vulkan_dispatch d;
    vulkan_begin(&d, VULKAN_KERNEL_SORT_STEP);
    vulkan_push(&d, bind_pairs(s, to, &d));
    vulkan_push(&d, (uint32_t)s->length);
    vulkan_push(&d, (uint32_t)period);
    vulkan_push(&d, (uint32_t)apart);
    d.groups[0] = (uint32_t)(s->length / 2 / GROUP);
    d.groups[1] = (uint32_t)s->count;
    d.flops = 4 * (double)s->length * (double)s->count;
    d.bytes = 16 * (double)s->length * (double)s->count;
    vulkan_emit(to, &d);
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *values[] = { &node->out, &node->in[0] };
    sorting s = { .node = node,
                  .length = length_of(node),
                  .scratch = scratch_bytes(unit, vulkan_emitter_features(to)) };
    vulkan_lines_make(values, 2, 0, &s.rows);
    s.count = vulkan_walk_elements(&s.rows.walk);
    for (s.part = 0; s.part < vulkan_walk_parts(&s.rows.walk); s.part++) {
        emit_blocks(&s, 2, s.length < LARGE ? s.length : LARGE, to);
        for (uint64_t period = 2 * LARGE; period <= s.length; period *= 2) {
            for (uint64_t apart = period / 2; apart >= LARGE; apart /= 2)
                emit_step(&s, period, apart, to);
            emit_blocks(&s, period, period, to);
        }
    }
}

const vulkan_op vulkan_sort_ops[] = {
    { TNP_OP_TOP_K, refuse, scratch_bytes, emit },
    { TNP_OP_ARGSORT, refuse, scratch_bytes, emit },
    { 0 },
};
