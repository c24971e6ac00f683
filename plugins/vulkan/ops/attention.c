// attention.c: attention in tiles of rows (heads of tokens) and keys, without a matrix of scores.
// Where tiles are few, as when one token is made after the other, several workgroups share the keys
// of a tile and leave parts in scratch, which a second kernel merges.
#include "blocks.h"

#define ENOUGH_GROUPS  256u     // workgroups: with fewer the keys are split
#define KEYS_OF_SPLIT  128u     // and no workgroup gets fewer than these
#define MOST_COLUMNS   256u     // elements of v in the registers of a workgroup
#define SHARED_OF_WIDE 22528u   // bytes of shared memory with chunks of 64

typedef struct plan {
    uint32_t D, E, S, T, R, H, G;
    uint32_t rows, lanes, keys, chunk, slices;   // constants of the kernel
    uint32_t tiles, column_groups, splits;       // workgroups
} plan;

static plan plan_of(const tnh_node *node, const vulkan_features *features)
{
    const tnh_value *q = &node->in[0], *k = &node->in[1], *v = &node->in[2];
    plan p = { .D = (uint32_t)q->dims[0],
               .E = (uint32_t)v->dims[0],
               .S = (uint32_t)k->dims[2],
               .T = (uint32_t)q->dims[2],
               .R = (uint32_t)(q->dims[1] / k->dims[1]),
               .H = (uint32_t)q->dims[1],
               .G = (uint32_t)k->dims[1] };
    const uint64_t rows = (uint64_t)p.R * p.T;
    p.rows = rows <= 4 ? 4 : rows <= 8 ? 8 : 32;
    p.lanes = rows <= 4 ? 32 : rows <= 8 ? 16 : 8;
    p.keys = rows <= 8 ? 64 : 32;
    p.chunk = features->max_shared_bytes >= SHARED_OF_WIDE ? 64 : 32;
    p.slices = 1;
    while (p.slices * p.chunk < p.E && p.slices * p.chunk < MOST_COLUMNS)
        p.slices *= 2;
    p.tiles = vulkan_groups(rows, p.rows);
    p.column_groups = vulkan_groups(p.E, p.slices * p.chunk);
    const uint64_t groups = (uint64_t)p.tiles * p.G * p.column_groups;
    const uint32_t most = (p.S + KEYS_OF_SPLIT - 1) / KEYS_OF_SPLIT;
    p.splits = groups < ENOUGH_GROUPS ? (uint32_t)((ENOUGH_GROUPS + groups - 1) / groups) : 1;
    if (p.splits > most)
        p.splits = most;
    return p;
}

static bool has_three_dims(const tnh_value *value)
{
    for (uint32_t d = 3; d < TNP_MAX_DIMS; d++)
        if (value->dims[d] != 1)
            return false;
    return true;
}

static uint64_t scratch_bytes(const vulkan_unit *unit, const vulkan_features *features)
{
    const plan p = plan_of(&unit->nodes[0], features);
    return p.splits > 1 ? (uint64_t)p.splits * p.H * p.T * (p.E + 2) * 4 : 0;
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *q = &node->in[0], *k = &node->in[1], *v = &node->in[2];
    const tnp_attention_attr *attr = (const tnp_attention_attr *)&node->attr;
    if (!vulkan_is_float(q) || node->out.dtype != TNP_DTYPE_F32)
        return "attention with queries that are neither F32 nor F16, or a result that is not F32";
    if (!vulkan_is_decodable(k) || !vulkan_is_decodable(v))
        return "attention with keys or values other than F32, F16, BF16 and block types";
    if ((vulkan_is_block(k) && !vulkan_has_unit_rows(k)) ||
        (vulkan_is_block(v) && !vulkan_has_unit_rows(v)))
        return "a row of a block type whose blocks do not stand side by side";
    if (node->in[3].dtype != TNP_DTYPE_I32)
        return "attention with positions that are not I32";
    if (tnh_has(node, 4) && !vulkan_is_float(&node->in[4]))
        return "attention with a mask that is neither F32 nor F16";
    if (tnh_has(node, 5) && node->in[5].dtype != TNP_DTYPE_F32)
        return "attention with sinks that are not F32";
    if (!has_three_dims(q) || !has_three_dims(k) || !has_three_dims(v))
        return "attention of more than three dims";
    if (q->dims[1] % k->dims[1])
        return "attention with heads that are no multiple of the key heads";
    if (q->dims[0] != k->dims[0] || k->dims[1] != v->dims[1] || k->dims[2] != v->dims[2] ||
        node->out.dims[0] != v->dims[0] || node->out.dims[1] != q->dims[1] ||
        node->out.dims[2] != q->dims[2] || node->in[3].dims[0] != q->dims[2])
        return "attention of dims that do not go together";
    if ((tnh_has(node, 4) &&
         (node->in[4].dims[0] != k->dims[2] || node->in[4].dims[1] != q->dims[2])) ||
        (tnh_has(node, 5) && node->in[5].dims[0] != q->dims[1]))
        return "attention with a mask or sinks of other dims";
    if (attr->flags & ~(uint32_t)TNP_ATTENTION_CAUSAL)
        return "attention with a flag unknown here";
    if (!vulkan_has_whole_strides(&node->out))
        return "a stride that is no multiple of the element's bytes";
    for (uint32_t i = 0; i < node->input_count; i++)
        if (tnh_has(node, i) && !vulkan_has_whole_strides(&node->in[i]))
            return "a stride that is no multiple of the element's bytes";
    if ((uint64_t)q->dims[1] * (uint64_t)q->dims[2] >> 31 ||
        !vulkan_is_bindable(scratch_bytes(unit, features), features))
        return "attention of more heads and tokens than a dispatch takes";
    return NULL;
}

static void push_strides(const tnh_value *value, uint32_t count, vulkan_dispatch *d)
{
    for (uint32_t i = 0; i < count; i++)
        vulkan_push(d, (uint32_t)value->strides[i]);
}

// The value of those with a dim S that says how much of it counts; the keys where none does.
static const tnh_value *with_length(const tnh_node *node, uint32_t *dim)
{
    *dim = node->in[1].extent[2] == 0 && node->in[2].extent[2] == 0 && tnh_has(node, 4) ? 0 : 2;
    return *dim == 0 ? &node->in[4] : node->in[1].extent[2] ? &node->in[1] : &node->in[2];
}

static const tnh_value *with_tokens(const tnh_node *node)
{
    return node->out.extent[2] ? &node->out : &node->in[0];
}

// Queries against keys. `parts`: bytes of them in scratch, 0: the result is written.
static void emit_scores(const tnh_node *node, const plan *p, uint64_t parts, vulkan_emitter *to)
{
    const tnp_attention_attr *attr = (const tnp_attention_attr *)&node->attr;
    const tnh_value *mask = &node->in[4], *length;
    const bool has_mask = tnh_has(node, 4), has_sinks = tnh_has(node, 5);
    uint32_t offsets[8], length_dim;
    bool has_tokens = false;
    vulkan_dispatch d;
    vulkan_begin(&d, VULKAN_KERNEL_ATTENTION);
    offsets[0] = parts ? vulkan_bind_scratch(to, &d, 0, parts, true)
                       : vulkan_bind_value(to, &d, &node->out, true);
    for (uint32_t i = 0; i < 4; i++)
        offsets[i + 1] = vulkan_bind_value(to, &d, &node->in[i], false);
    if (has_mask)
        offsets[5] = vulkan_bind_value(to, &d, mask, false);
    else
        has_tokens = vulkan_bind_extent(to, &d, with_tokens(node), 2, &offsets[5]);
    offsets[6] = vulkan_bind_optional(to, &d, node, 5);
    length = with_length(node, &length_dim);
    const bool has_length = vulkan_bind_extent(to, &d, length, length_dim, &offsets[7]);

    const uint32_t constants[] = {
        node->in[0].dtype,
        node->in[1].dtype,
        node->in[2].dtype,
        has_mask ? mask->dtype : 0,
        has_sinks && !parts,
        (attr->flags & TNP_ATTENTION_CAUSAL) != 0,
        has_length,
        has_tokens,
        parts > 0,
        p->rows,
        p->lanes,
        p->keys,
        p->chunk,
        p->slices,
    };
    for (uint32_t i = 0; i < sizeof constants / sizeof *constants; i++)
        vulkan_constant(&d, constants[i]);
    push_strides(&node->out, 3, &d);
    for (uint32_t i = 0; i < 3; i++)
        push_strides(&node->in[i], 3, &d);
    push_strides(mask, 2, &d);
    push_strides(&node->in[3], 1, &d);
    push_strides(&node->in[5], 1, &d);
    for (uint32_t i = 0; i < 8; i += 4)
        vulkan_push(&d,
                    offsets[i] | offsets[i + 1] << 8 | offsets[i + 2] << 16 | offsets[i + 3] << 24);
    const uint32_t dims[] = { p->D, p->E, p->S, p->T, p->R, p->H };
    for (uint32_t i = 0; i < 6; i++)
        vulkan_push(&d, dims[i]);
    vulkan_push_float(&d, attr->scale);
    vulkan_push_float(&d, attr->softcap);
    vulkan_push(&d, attr->window);
    vulkan_push(&d, p->splits);
    d.groups[0] = p->tiles;
    d.groups[1] = p->G;
    d.groups[2] = p->column_groups * p->splits;
    d.flops = 2 * (double)p->H * p->T * p->S * ((double)p->D + p->E);
    d.bytes = 4 * (double)p->G * p->tiles * p->S * ((double)p->D + p->E);
    vulkan_emit(to, &d);
}

static void emit_merge(const tnh_node *node, const plan *p, uint64_t parts, vulkan_emitter *to)
{
    uint32_t offsets[4];
    vulkan_dispatch d;
    vulkan_begin(&d, VULKAN_KERNEL_ATTENTION_MERGE);
    offsets[0] = vulkan_bind_value(to, &d, &node->out, true);
    offsets[1] = vulkan_bind_scratch(to, &d, 0, parts, false);
    offsets[2] = vulkan_bind_optional(to, &d, node, 5);
    const bool has_tokens = vulkan_bind_extent(to, &d, with_tokens(node), 2, &offsets[3]) &&
                            !tnh_has(node, 4);
    vulkan_constant(&d, (uint32_t)tnh_has(node, 5));
    vulkan_constant(&d, has_tokens);
    push_strides(&node->out, 3, &d);
    push_strides(&node->in[5], 1, &d);
    vulkan_push(&d, offsets[0] | offsets[1] << 8 | offsets[2] << 16 | offsets[3] << 24);
    vulkan_push(&d, p->E);
    vulkan_push(&d, p->H);
    vulkan_push(&d, p->T);
    vulkan_push(&d, p->splits);
    d.groups[0] = p->H;
    d.groups[1] = p->T;
    d.flops = 2 * (double)parts;
    d.bytes = (double)parts;
    vulkan_emit(to, &d);
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const plan p = plan_of(node, vulkan_emitter_features(to));
    const uint64_t parts = scratch_bytes(unit, vulkan_emitter_features(to));
    emit_scores(node, &p, parts, to);
    if (parts)
        emit_merge(node, &p, parts, to);
}

const vulkan_op vulkan_attention_ops[] = {
    { TNP_OP_ATTENTION, refuse, scratch_bytes, emit },
    { 0 },
};
