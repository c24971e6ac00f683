// helpers/nodes.h: the nodes of a slice, checked and copied, as kernels want to see them.
//
// No part of the contract: code that a plugin may compile into itself. slice.h beside it is for one
// that knows a few ops; this one reads every node by the table of ops.def, and says who may
// overwrite whose bytes. What a later host has put behind a struct, and is not zero, refuses the
// node. Reasons are static texts, for tnp_claim_sink.refuse; NULL: understood.
#ifndef TENON_HELPERS_NODES_H
#define TENON_HELPERS_NODES_H

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNH_MAX_INPUTS = 6, TNH_MAX_ATTR_BYTES = 256 };

// ------------------------------------------------------------------------------------- element types

// Elements and bytes of a block; 0: a type that is not known here.
static inline int64_t tnh_block_elements(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        return block_elements;
#include "../dtypes.def"
    default:
        return 0;
    }
}
static inline int64_t tnh_block_bytes(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        return block_bytes;
#include "../dtypes.def"
    default:
        return 0;
    }
}

// --------------------------------------------------------------------------------------------- values

typedef struct tnh_value {
    tnp_dtype dtype;   // 0: no value, an optional operand that was left out
    uint32_t rank;
    int64_t dims[TNP_MAX_DIMS];
    int64_t strides[TNP_MAX_DIMS];   // in bytes, >= 0
    uint32_t extent[TNP_MAX_DIMS];   // 1 + index of the value with the length, 0 = all
    uint32_t layout;                 // not 0: a constant of which only this pack is left
    uint32_t storage;
    uint32_t storage_flags;
    uint64_t offset;       // in the storage
    uint64_t span_bytes;   // from the first byte of the first element to the last of the last
} tnh_value;

// Flags of a storage that somebody outside the slice looks at.
enum {
    TNH_SEEN_OUTSIDE = TNP_STORAGE_CONSTANT | TNP_STORAGE_STATE | TNP_STORAGE_ENTERS |
                       TNP_STORAGE_LEAVES
};

// Bytes from the first to the last; 0 when the number does not fit.
static inline int tnh_span_of(const tnh_value *value, uint64_t *span)
{
    *span = (uint64_t)tnh_block_bytes(value->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        uint64_t count = (uint64_t)(d == 0 ? value->dims[0] / tnh_block_elements(value->dtype)
                                           : value->dims[d]);
        uint64_t stride = (uint64_t)value->strides[d];
        if (count > 1 && stride > (UINT64_MAX - *span) / (count - 1))
            return 0;
        *span += (count - 1) * stride;
    }
    return 1;
}

static inline const char *tnh_read_plain_value(const tnp_slice *slice, uint32_t index,
                                               tnh_value *out)
{
    tnp_value value;
    tnp_storage storage;
    if (index >= slice->value_count)
        return "a node names a value that the slice does not have";
    if (!TNP_TAKE(&value, slice->values[index]) || TNP_ALIEN(value.flags, 0))
        return "a value has a property that this plugin does not know";
    if (tnh_block_elements(value.dtype) == 0)
        return "a value has an element type that this plugin does not know";
    if (value.storage >= slice->storage_count)
        return "a value names a storage that the slice does not have";
    if (!TNP_TAKE(&storage, slice->storages[value.storage]) ||
        TNP_ALIEN(storage.flags, TNH_SEEN_OUTSIDE))
        return "a storage has a property that this plugin does not know";
    if (value.layout != 0 && !(storage.flags & TNP_STORAGE_CONSTANT))
        return "a value that is no constant is a pack";
    if (value.rank > TNP_MAX_DIMS)
        return "a value has more than 8 dims";

    memset(out, 0, sizeof *out);
    out->dtype = value.dtype;
    out->rank = value.rank;
    out->layout = value.layout;
    out->storage = value.storage;
    out->storage_flags = storage.flags;
    out->offset = value.offset;
    memcpy(out->dims, value.dims, sizeof out->dims);
    memcpy(out->strides, value.strides, sizeof out->strides);
    memcpy(out->extent, value.extent, sizeof out->extent);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value.dims[d] < 1 || value.strides[d] < 0 || (d >= value.rank && value.dims[d] != 1))
            return "a value has a dim or a stride that no value can have";
    if (value.dims[0] % tnh_block_elements(value.dtype) != 0)
        return "a value has rows that end inside a block";
    if (!tnh_span_of(out, &out->span_bytes) || out->span_bytes > storage.bytes ||
        value.offset > storage.bytes - out->span_bytes)
        return "a value ends outside its storage";
    return NULL;
}

// A value that is the extent of another: one I32.
static inline const char *tnh_value_read_length(const tnp_slice *slice, uint32_t index,
                                                tnh_value *out)
{
    const char *reason = tnh_read_plain_value(slice, index, out);
    if (reason)
        return reason;
    if (out->dtype != TNP_DTYPE_I32 || out->layout != 0)
        return "an extent is not I32";
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (out->dims[d] != 1 || out->extent[d] != 0)
            return "an extent is not one element";
    return NULL;
}

// A value and its extents.
static inline const char *tnh_value_read(const tnp_slice *slice, uint32_t index, tnh_value *out)
{
    tnh_value length;
    const char *reason = tnh_read_plain_value(slice, index, out);
    for (uint32_t d = 0; d < TNP_MAX_DIMS && !reason; d++)
        if (out->extent[d] != 0)
            reason = tnh_value_read_length(slice, out->extent[d] - 1, &length);
    return reason;
}

// Bytes of one row whose blocks stand side by side.
static inline uint64_t tnh_row_bytes(const tnh_value *value)
{
    return (uint64_t)(value->dims[0] / tnh_block_elements(value->dtype) *
                      tnh_block_bytes(value->dtype));
}

// Whether an output may take the address of an input: same dims, strides and element size.
static inline int tnh_value_matches(const tnh_value *a, const tnh_value *b)
{
    return tnh_block_elements(a->dtype) == tnh_block_elements(b->dtype) &&
           tnh_block_bytes(a->dtype) == tnh_block_bytes(b->dtype) &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

// The bytes that the dims with strides below `period` span; 0 when a longer stride is no multiple
// of the period.
static inline int tnh_span_within(const tnh_value *value, int64_t period, uint64_t *span)
{
    *span = (uint64_t)tnh_block_bytes(value->dtype);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        int64_t count = d == 0 ? value->dims[0] / tnh_block_elements(value->dtype) : value->dims[d];
        if (value->strides[d] < period)
            *span += (uint64_t)(count - 1) * (uint64_t)value->strides[d];
        else if (count > 1 && value->strides[d] % period != 0)
            return 0;
    }
    return 1;
}

// Seen modulo the period, each value is one stretch; the stretches do not touch:
//
//   |..aaaa...bbb..|..aaaa...bbb..|      two column ranges of one matrix, the period being its row
static inline int tnh_is_apart_modulo(int64_t period, const tnh_value *a, uint64_t a_begin,
                                      const tnh_value *b, uint64_t b_begin)
{
    uint64_t a_span, b_span, length = (uint64_t)period;
    if (!tnh_span_within(a, period, &a_span) || !tnh_span_within(b, period, &b_span))
        return 0;
    a_begin %= length;
    b_begin %= length;
    return a_begin + a_span <= length && b_begin + b_span <= length &&
           (a_begin + a_span <= b_begin || b_begin + b_span <= a_begin);
}

// Whether no byte belongs to elements of both, a beginning at address a_begin and b at b_begin
// (offsets in one storage will do). 0 also when that is not easily seen.
static inline int tnh_value_is_apart(const tnh_value *a, uint64_t a_begin, const tnh_value *b,
                                     uint64_t b_begin)
{
    if (a_begin + a->span_bytes <= b_begin || b_begin + b->span_bytes <= a_begin)
        return 1;
    // Seen from the start of the earlier value, its own stretch does not wrap around the period.
    uint64_t base = a_begin < b_begin ? a_begin : b_begin;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (a->strides[d] > 0 &&
            tnh_is_apart_modulo(a->strides[d], a, a_begin - base, b, b_begin - base))
            return 1;
        if (b->strides[d] > 0 &&
            tnh_is_apart_modulo(b->strides[d], a, a_begin - base, b, b_begin - base))
            return 1;
    }
    return 0;
}

// ---------------------------------------------------------------------------------------------- nodes

// A row of ops.def.
typedef struct tnh_op_rule {
    const char *name;
    uint32_t inputs_min, inputs_max;
    uint32_t attr_bytes;   // of the op's struct as this header knows it; 0 = none
    uint32_t in_place;     // a bit for each operand whose bytes the output may take
    int32_t writes;        // the operand that the op writes through, -1 = none
} tnh_op_rule;

static inline int tnh_op_rule_find(tnp_op number, tnh_op_rule *out)
{
    switch (number) {
#define IN(i) (1u << (i))
#define OP(number, NAME, label, least, most, attr, reuse, through, flops)                          \
    case number:                                                                                   \
        out->name = #label;                                                                        \
        out->inputs_min = least;                                                                   \
        out->inputs_max = most;                                                                    \
        out->attr_bytes = sizeof(tnp_##attr##_attr) > 1 ? (uint32_t)sizeof(tnp_##attr##_attr) : 0; \
        out->in_place = reuse;                                                                     \
        out->writes = through;                                                                     \
        return 1;
#include "../ops.def"
#undef IN
    default:
        return 0;
    }
}

typedef struct tnh_node {
    tnp_op op;
    tnh_op_rule rule;
    const char *name;                          // lent by the slice
    uint32_t input_count;                      // 1 + the last that is there
    uint32_t inputs[TNH_MAX_INPUTS], output;   // indices of values; TNP_NONE = left out
    tnh_value in[TNH_MAX_INPUTS], out;         // dtype 0 = left out
    union {                                    // the op's struct, copied by TNP_TAKE
        char bytes[TNH_MAX_ATTR_BYTES];
        int64_t alignment;
    } attr;
} tnh_node;

static inline int tnh_has(const tnh_node *node, uint32_t input)
{
    return input < TNH_MAX_INPUTS && node->in[input].dtype != 0;
}

// Attributes that the op here does not know must say nothing.
static inline const char *tnh_read_attributes(const tnp_node *node, tnh_node *out)
{
    uint32_t known = out->rule.attr_bytes, size = 0;
    if (node->attributes)
        memcpy(&size, node->attributes, sizeof size);
    if (known > sizeof out->attr || (known > 0 && size < sizeof size))
        return "the op's attributes are missing";
    if (node->attributes && !tnp_take(out->attr.bytes, known > 0 ? known : (uint32_t)sizeof size,
                                      node->attributes, size))
        return "an attribute is not known to this plugin";
    return NULL;
}

static inline const char *tnh_read_inputs(const tnp_slice *slice, const tnp_node *node,
                                          tnh_node *out)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        int is_left_out = node->inputs[i] == TNP_NONE;
        if (i >= out->rule.inputs_max || i >= TNH_MAX_INPUTS) {
            if (!is_left_out)
                return "the op has more inputs than this plugin knows";
            continue;
        }
        if (is_left_out)
            continue;
        const char *reason = tnh_value_read(slice, node->inputs[i], &out->in[i]);
        if (reason)
            return reason;
        out->inputs[i] = node->inputs[i];
        out->input_count = i + 1;
    }
    for (uint32_t i = 0; i < out->rule.inputs_min; i++)
        if (out->inputs[i] == TNP_NONE)
            return "an input is missing";
    return NULL;
}

static inline const char *tnh_read_output(const tnp_slice *slice, const tnp_node *node,
                                          tnh_node *out)
{
    if (node->output_count == 0 || node->outputs[0] == TNP_NONE)
        return "the output is missing";
    for (uint32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] != TNP_NONE)
            return "the op has more outputs than this plugin knows";
    const char *reason = tnh_value_read(slice, node->outputs[0], &out->out);
    if (reason)
        return reason;
    out->output = node->outputs[0];
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (out->out.dims[d] > 1 && out->out.strides[d] == 0)
            return "the output repeats its elements";
    if (out->out.storage_flags & TNP_STORAGE_CONSTANT)
        return "the output is a constant";
    if (out->rule.writes >= 0) {
        const tnh_value *table = &out->in[out->rule.writes];
        if (!tnh_value_matches(table, &out->out) || table->storage != out->out.storage ||
            table->offset != out->out.offset)
            return "the output is not the operand that the op writes through";
    }
    return NULL;
}

// Reads one node. Whether its dims and types are such as the op can have is for the op to look at.
static inline const char *tnh_node_read(const tnp_slice *slice, uint32_t index, tnh_node *out)
{
    tnp_node node;
    memset(out, 0, sizeof *out);
    out->output = TNP_NONE;
    for (uint32_t i = 0; i < TNH_MAX_INPUTS; i++)
        out->inputs[i] = TNP_NONE;
    if (index >= slice->node_count)
        return "the slice does not have that node";
    if (!TNP_TAKE(&node, slice->nodes[index]))
        return "the node has a property that this plugin does not know";
    out->name = node.name;
    out->op = node.op;
    if (!tnh_op_rule_find(node.op, &out->rule))
        return "this plugin does not know the op";
    const char *reason = tnh_read_attributes(&node, out);
    if (!reason)
        reason = tnh_read_inputs(slice, &node, out);
    return reason ? reason : tnh_read_output(slice, &node, out);
}

// Whether the output may take the bytes of this operand. Element j of the operand is read before
// element j of the output is written, but other elements may be read later through another operand
// that looks at the same storage.
//   in_place   of the op's rule
static inline int tnh_may_reuse(uint32_t in_place, const tnh_value *ins, uint32_t count,
                                uint32_t input, const tnh_value *out)
{
    const tnh_value *in = &ins[input];
    if (!(in_place >> input & 1u) || in->dtype == 0 || !tnh_value_matches(in, out) ||
        (in->storage_flags & TNP_STORAGE_CONSTANT))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const tnh_value *other = &ins[i];
        if (i == input || other->dtype == 0 || other->storage != in->storage)
            continue;
        int is_same = (in_place >> i & 1u) && other->offset == in->offset &&
                      tnh_value_matches(other, in);
        if (!is_same && !tnh_value_is_apart(in, in->offset, other, other->offset))
            return 0;
    }
    return 1;
}

// ------------------------------------------------------------------------------------------ who looks

typedef struct tnh_users {
    uint32_t count;       // nodes of the slice that look at the storage, or take a length from it
    uint32_t last_user;   // 1 + the last of them
} tnh_users;

static inline void tnh_count_user(const tnp_slice *slice, uint32_t value, uint32_t node,
                                  tnh_users *users, size_t stride)
{
    if (value >= slice->value_count || slice->values[value]->storage >= slice->storage_count)
        return;
    tnh_users *of = (tnh_users *)((char *)users + slice->values[value]->storage * stride);
    if (of->last_user == node + 1)
        return;
    of->last_user = node + 1;
    of->count++;
}

static inline void tnh_count_users_of(const tnp_slice *slice, uint32_t value, uint32_t node,
                                      tnh_users *users, size_t stride)
{
    if (value >= slice->value_count)
        return;
    tnh_count_user(slice, value, node, users, stride);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (slice->values[value]->extent[d] != 0)
            tnh_count_user(slice, slice->values[value]->extent[d] - 1, node, users, stride);
}

//   users   all 0, one for each storage of the slice, the next `stride` bytes further
static inline void tnh_count_all_users(const tnp_slice *slice, tnh_users *users, size_t stride)
{
    for (uint32_t n = 0; n < slice->node_count; n++) {
        for (uint32_t i = 0; i < slice->nodes[n]->input_count; i++)
            tnh_count_users_of(slice, slice->nodes[n]->inputs[i], n, users, stride);
        for (uint32_t i = 0; i < slice->nodes[n]->output_count; i++)
            tnh_count_users_of(slice, slice->nodes[n]->outputs[i], n, users, stride);
    }
}

// ------------------------------------------------------------------------------- nodes taken together
//
// What several nodes that are one unit must be asked, before they are claimed. Indices are checked.

static inline uint32_t tnh_input_of(const tnp_node *node, uint32_t i)
{
    return i < node->input_count ? node->inputs[i] : TNP_NONE;
}
static inline uint32_t tnh_output_of(const tnp_node *node)
{
    return node->output_count > 0 ? node->outputs[0] : TNP_NONE;
}

// Whether so many nodes of the slice look at the storage of a value, and nobody outside.
static inline int tnh_stays_inside(const tnp_slice *slice, const tnh_users *users, uint32_t value,
                                   uint32_t count)
{
    if (value >= slice->value_count || slice->values[value]->storage >= slice->storage_count)
        return 0;
    uint32_t storage = slice->values[value]->storage;
    return !(slice->storages[storage]->flags & TNH_SEEN_OUTSIDE) && users[storage].count == count;
}

// Whether the node takes what this one makes as one of its first two operands, and nobody else
// does.
static inline int tnh_takes_all_of(const tnp_slice *slice, const tnh_users *users, uint32_t node,
                                   uint32_t maker)
{
    uint32_t made = tnh_output_of(slice->nodes[maker]);
    return (tnh_input_of(slice->nodes[node], 0) == made) !=
               (tnh_input_of(slice->nodes[node], 1) == made) &&
           tnh_stays_inside(slice, users, made, 2);
}

// A node between the first and the last of a unit (ascending) that writes through an operand may
// change what the unit reads: then the nodes cannot be one.
static inline int tnh_is_written_between(const tnp_slice *slice, uint32_t first, uint32_t last)
{
    for (uint32_t n = first + 1; n < last; n++) {
        tnh_op_rule rule;
        if (!tnh_op_rule_find(slice->nodes[n]->op, &rule) || rule.writes >= 0)
            return 1;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
