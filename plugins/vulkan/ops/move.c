// move.c: concat, pad and repeat: copies between parts of values. Elements of a block type are
// moved as halves of words.
#include "../walk.h"
#include "ops.h"

#include <math.h>

#define GROUP 128u   // local_size_x of the kernels

// Rows of blocks as rows of 16-bit elements. False: their blocks do not stand side by side.
static bool as_plain(tnh_value *value)
{
    const int64_t elements = (int64_t)tnh_block_elements(value->dtype);
    const int64_t bytes = (int64_t)tnh_block_bytes(value->dtype);
    if (elements == 1)
        return true;
    if (bytes % 2 || (value->dims[0] > elements && value->strides[0] != bytes))
        return false;
    value->dims[0] = value->dims[0] / elements * bytes / 2;
    value->strides[0] = 2;
    value->dtype = TNP_DTYPE_I16;
    return true;
}

static void move(const tnh_value *from, const tnh_value *out, vulkan_emitter *to)
{
    const tnh_value *values[] = { out, from };
    vulkan_walk walk;
    vulkan_walk_make(values, 2, &walk);
    const uint64_t elements = vulkan_walk_elements(&walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&walk); part++) {
        vulkan_dispatch d;
        vulkan_begin(&d, VULKAN_KERNEL_MOVE);
        vulkan_constant(&d, (uint32_t)tnh_block_bytes(out->dtype));
        vulkan_walk_bind(&walk, part, to, &d);
        d.groups[0] = vulkan_groups(elements, GROUP);
        d.flops = 10 * (double)elements;
        d.bytes = 8 * (double)elements;
        vulkan_emit(to, &d);
    }
}

// The elements of `value` from `first` on that are as many as those of `like`.
static tnh_value part_of(const tnh_value *value, const tnh_value *like,
                         const int64_t first[TNP_MAX_DIMS])
{
    tnh_value part = *value;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        part.dims[d] = like->dims[d];
        part.offset += (uint64_t)(first[d] * value->strides[d]);
    }
    (void)tnh_span_of(&part, &part.span_bytes);
    return part;
}

static const char *refuse_move(const tnh_value *from, const tnh_value *out)
{
    const tnh_value *values[] = { out, from };
    return vulkan_walk_refuse(values, 2);
}

// ------------------------------------------------------------------------------------------ concat

typedef struct concat {
    tnh_value from[2], out[2];
} concat;

static const char *read_concat(const tnh_node *node, concat *c)
{
    const uint32_t axis = ((const tnp_axis_attr *)&node->attr)->axis;
    tnh_value out = node->out;
    int64_t first[TNP_MAX_DIMS] = { 0 };
    if (axis >= TNP_MAX_DIMS)
        return "concat along an axis that is not there";
    bool is_plain = as_plain(&out);
    for (uint32_t i = 0; i < 2; i++) {
        if (node->in[i].dtype != node->out.dtype)
            return "concat of different types";
        c->from[i] = node->in[i];
        is_plain = as_plain(&c->from[i]) && is_plain;
        for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
            if (first[d] + c->from[i].dims[d] > out.dims[d])
                return "concat of dims that do not go together";
        c->out[i] = part_of(&out, &c->from[i], first);
        first[axis] += c->from[i].dims[axis];
    }
    return is_plain ? NULL : "a row of a block type whose blocks do not stand side by side";
}

static const char *refuse_concat(const vulkan_unit *unit, const vulkan_features *features)
{
    concat c;
    const char *reason = read_concat(&unit->nodes[0], &c);
    (void)features;
    for (uint32_t i = 0; i < 2 && !reason; i++)
        reason = refuse_move(&c.from[i], &c.out[i]);
    return reason;
}

static void emit_concat(const vulkan_unit *unit, vulkan_emitter *to)
{
    concat c;
    (void)read_concat(&unit->nodes[0], &c);
    for (uint32_t i = 0; i < 2; i++)
        move(&c.from[i], &c.out[i], to);
}

// --------------------------------------------------------------------------------------------- pad

static bool is_same_plain(const tnh_node *node)
{
    return tnh_block_elements(node->out.dtype) == 1 && node->in[0].dtype == node->out.dtype;
}

static tnh_value inside_of(const tnh_node *node)
{
    const tnp_pad_attr *attr = (const tnp_pad_attr *)&node->attr;
    return part_of(&node->out, &node->in[0], attr->before);
}

static const char *refuse_pad(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *out = &node->out;
    const tnp_pad_attr *attr = (const tnp_pad_attr *)&node->attr;
    (void)features;
    if (!is_same_plain(node))
        return "pad of a block type, or to another dtype";
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (attr->before[d] < 0 || attr->before[d] > out->dims[d] - node->in[0].dims[d])
            return "pad by less than 0 elements, or by more than the result has";
    const tnh_value inside = inside_of(node);
    const char *reason = vulkan_walk_refuse(&out, 1);
    return reason ? reason : refuse_move(&node->in[0], &inside);
}

// A float as a whole number of a type: toward zero, beyond its range the end, a NaN 0.
static int64_t whole_of(float x, tnp_dtype dtype)
{
    const int bits = dtype == TNP_DTYPE_I8    ? 8
                     : dtype == TNP_DTYPE_I16 ? 16
                     : dtype == TNP_DTYPE_I32 ? 32
                                              : 64;
    const int64_t most = (int64_t)(UINT64_MAX >> 1) >> (64 - bits);
    if (dtype == TNP_DTYPE_BOOL)
        return x != 0.0f;
    if (isnan(x))
        return 0;
    if ((double)x >= ldexp(1, bits - 1))
        return most;
    return (double)x < -ldexp(1, bits - 1) ? -most - 1 : (int64_t)x;
}

static void emit_fill(const tnh_node *node, vulkan_emitter *to)
{
    const tnh_value *out = &node->out;
    const float value = ((const tnp_pad_attr *)&node->attr)->value;
    const bool is_float = vulkan_is_float(out) || out->dtype == TNP_DTYPE_BF16;
    const uint64_t bits = is_float ? 0 : (uint64_t)whole_of(value, out->dtype);
    vulkan_walk walk;
    vulkan_walk_make(&out, 1, &walk);
    const uint64_t elements = vulkan_walk_elements(&walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&walk); part++) {
        vulkan_dispatch d;
        vulkan_begin(&d, VULKAN_KERNEL_FILL);
        vulkan_constant(&d, out->dtype);
        vulkan_walk_bind(&walk, part, to, &d);
        if (is_float)
            vulkan_push_float(&d, value);
        else
            vulkan_push(&d, (uint32_t)bits);
        vulkan_push(&d, (uint32_t)(bits >> 32));
        d.groups[0] = vulkan_groups(elements, GROUP);
        d.flops = 10 * (double)elements;
        d.bytes = 4 * (double)elements;
        vulkan_emit(to, &d);
    }
}

static void emit_pad(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value inside = inside_of(node);
    emit_fill(node, to);
    move(&node->in[0], &inside, to);
}

// ------------------------------------------------------------------------------------------ repeat

// Dims of copies are dims of their own, along which the operand does not go on. False: these are
// more than a value has.
static bool split_copies(const tnh_node *node, tnh_value *from, tnh_value *out)
{
    uint32_t rank = 0;
    *from = node->in[0];
    *out = node->out;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        const int64_t own = node->in[0].dims[d], all = node->out.dims[d];
        if (own == 0 || all % own != 0)
            return false;
        const int64_t dims[2] = { own, all / own };
        for (uint32_t i = 0; i < 2; i++) {
            if (dims[i] == 1)
                continue;
            if (rank == TNP_MAX_DIMS)
                return false;
            from->dims[rank] = out->dims[rank] = dims[i];
            from->strides[rank] = i == 0 ? node->in[0].strides[d] : 0;
            out->strides[rank] = node->out.strides[d] * (i == 0 ? 1 : own);
            rank++;
        }
    }
    for (; rank < TNP_MAX_DIMS; rank++) {
        from->dims[rank] = out->dims[rank] = 1;
        from->strides[rank] = out->strides[rank] = 0;
    }
    return true;
}

static const char *refuse_repeat(const vulkan_unit *unit, const vulkan_features *features)
{
    tnh_value from, out;
    (void)features;
    if (!is_same_plain(&unit->nodes[0]))
        return "repeat of a block type, or to another dtype";
    if (!split_copies(&unit->nodes[0], &from, &out))
        return "repeat along more dims than are gone through";
    return refuse_move(&from, &out);
}

static void emit_repeat(const vulkan_unit *unit, vulkan_emitter *to)
{
    tnh_value from, out;
    (void)split_copies(&unit->nodes[0], &from, &out);
    move(&from, &out, to);
}

const vulkan_op vulkan_move_ops[] = {
    { TNP_OP_CONCAT, refuse_concat, NULL, emit_concat },
    { TNP_OP_PAD, refuse_pad, NULL, emit_pad },
    { TNP_OP_REPEAT, refuse_repeat, NULL, emit_repeat },
    { 0 },
};
