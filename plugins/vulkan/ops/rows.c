// rows.c: get_rows and set_rows, and rows of convert.
#include "rows.h"

#include "../walk.h"

#define GROUP 64u   // local_size_x of the kernels

// The operands, one for each row, as the kernels go through them: the first element of each row.
typedef struct row_values {
    tnh_value to, from, index;
} row_values;

// The value whose dims from 1 on are those of the rows.
static const tnh_value *shape_of(const vulkan_rows *rows)
{
    return rows->table == rows->to ? rows->from : rows->to;
}

static tnh_value first_elements(const tnh_value *value, bool is_chosen, const tnh_value *shape)
{
    tnh_value rows = *value;
    rows.dims[0] = 1;
    if (is_chosen) {
        rows.dims[1] = shape->dims[1];
        rows.strides[1] = 0;
    }
    return rows;
}

static row_values values_of(const vulkan_rows *rows)
{
    const tnh_value *shape = shape_of(rows);
    row_values v = { .to = first_elements(rows->to, rows->table == rows->to, shape),
                     .from = first_elements(rows->from, rows->table == rows->from, shape) };
    v.index = v.from;
    if (rows->index) {
        v.index = *rows->index;
        v.index.dims[0] = 1;
        v.index.strides[0] = 0;
        for (uint32_t d = 1; d < TNP_MAX_DIMS; d++) {
            v.index.dims[d] = rows->index->dims[d - 1];
            v.index.strides[d] = rows->index->strides[d - 1];
        }
    }
    return v;
}

// The length of a dim of the rows, which any operand may have.
static const tnh_value *limited(const vulkan_rows *rows, uint32_t dim)
{
    if (rows->index && rows->index->extent[dim - 1] != 0)
        return rows->index;
    return shape_of(rows)->extent[dim] != 0 ? shape_of(rows) : NULL;
}

static bool bind_length(const vulkan_rows *rows, uint32_t dim, vulkan_emitter *to,
                        vulkan_dispatch *d, uint32_t *offset)
{
    static const tnh_value none;
    const tnh_value *value = limited(rows, dim);
    if (value && value == rows->index)
        dim--;
    return vulkan_bind_extent(to, d, value ? value : &none, dim, offset);
}

const char *vulkan_rows_refuse(const vulkan_rows *rows, const vulkan_features *features)
{
    const row_values v = values_of(rows);
    const tnh_value *const values[] = { &v.to, &v.from, &v.index };
    if (!vulkan_has_whole_strides(rows->to) || !vulkan_has_whole_strides(rows->from))
        return "a stride that is no multiple of the element's bytes";
    if (rows->table && !vulkan_is_bindable(rows->table->span_bytes, features)) {
        for (uint32_t d = 2; d < TNP_MAX_DIMS; d++)
            if (rows->table->dims[d] != 1)
                return "several matrices above what the device binds at once";
        if (vulkan_rows_at_once(rows->table, features) == 0)
            return "a row above what the device binds at once";
    }
    for (uint32_t d = 3; d < TNP_MAX_DIMS && rows->index; d++)
        if (limited(rows, d))
            return "a length of a dim behind the third";
    if (rows->to->dims[0] >> 31 || (rows->table && rows->table->dims[1] >> 31))
        return "more elements than a dispatch takes";
    return vulkan_walk_refuse(values, 3);
}

// The rows of the table from `first` on, so many of them.
static void emit_part(const vulkan_rows *rows, const row_values *v, uint64_t first, uint64_t count,
                      vulkan_emitter *to)
{
    const tnh_value *const values[] = { &v->to, &v->from, &v->index }, *shape = shape_of(rows);
    const bool is_get = rows->kernel == VULKAN_KERNEL_GET_ROWS;
    const tnh_value *coded = is_get ? rows->from : rows->to;
    const uint64_t elements = (uint64_t)shape->dims[0];
    const uint64_t unit = !vulkan_is_block(coded) ? 1 : is_get ? 8 : 32;
    vulkan_walk walk;
    vulkan_walk_make(values, 3, &walk);
    for (uint64_t part = 0; part < vulkan_walk_parts(&walk); part++) {
        vulkan_dispatch d;
        uint32_t lengths[2];
        vulkan_begin(&d, rows->kernel);
        vulkan_walk_bind(&walk, part, to, &d);
        vulkan_constant(&d, coded->dtype);
        vulkan_constant(&d, rows->index != NULL);
        vulkan_constant(&d, bind_length(rows, 1, to, &d, &lengths[0]));
        vulkan_constant(&d, bind_length(rows, 2, to, &d, &lengths[1]));
        vulkan_push(&d, (uint32_t)shape->dims[1]);
        vulkan_push(&d, (uint32_t)shape->dims[2]);
        vulkan_push(&d, (uint32_t)elements);
        vulkan_push(&d, (uint32_t)rows->to->strides[0]);
        vulkan_push(&d, (uint32_t)rows->from->strides[0]);
        vulkan_push(&d, rows->table ? (uint32_t)rows->table->strides[1] : 0);
        vulkan_push(&d, rows->table ? (uint32_t)rows->table->dims[1] : 0);
        vulkan_push(&d, (uint32_t)first);
        vulkan_push(&d, (uint32_t)count);
        vulkan_push(&d, lengths[0]);
        vulkan_push(&d, lengths[1]);
        d.groups[0] = vulkan_groups(elements / unit, GROUP);
        d.groups[1] = (uint32_t)vulkan_walk_elements(&walk);
        d.flops = (is_get ? 8 : 64) * (double)elements * d.groups[1];
        d.bytes = 8 * (double)elements * d.groups[1];
        d.checks_data = rows->index != NULL;
        vulkan_emit(to, &d);
    }
}

void vulkan_rows_emit(const vulkan_rows *rows, vulkan_emitter *to)
{
    const row_values whole = values_of(rows);
    if (!rows->table) {
        emit_part(rows, &whole, 0, 0, to);
        return;
    }
    const uint64_t count = (uint64_t)rows->table->dims[1];
    const vulkan_features *features = vulkan_emitter_features(to);
    const bool is_cut = !vulkan_is_bindable(rows->table->span_bytes, features);
    const uint64_t step = is_cut ? vulkan_rows_at_once(rows->table, features) : count;
    for (uint64_t first = 0; first < count; first += step) {
        const uint64_t here = count - first < step ? count - first : step;
        const tnh_value table = vulkan_rows_of(rows->table, first, here);
        row_values part = whole;
        tnh_value *bound = rows->table == rows->to ? &part.to : &part.from;
        bound->offset = table.offset;
        bound->span_bytes = table.span_bytes;
        emit_part(rows, &part, first, here, to);
    }
}

static vulkan_rows rows_of(const tnh_node *node)
{
    if (node->op == TNP_OP_GET_ROWS)
        return (vulkan_rows){ VULKAN_KERNEL_GET_ROWS, &node->out, &node->in[0], &node->in[0],
                              &node->in[1] };
    return (vulkan_rows){ VULKAN_KERNEL_SET_ROWS, &node->out, &node->in[1], &node->out,
                          &node->in[2] };
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const vulkan_rows rows = rows_of(&unit->nodes[0]);
    vulkan_rows_emit(&rows, to);
}

static const char *refuse_get_rows(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *table = &node->in[0], *index = &node->in[1], *out = &node->out;
    const vulkan_rows rows = rows_of(node);
    if (!vulkan_is_decodable(table) && table->dtype != TNP_DTYPE_I32)
        return "get_rows from a table that is neither of floats, blocks nor I32";
    if (out->dtype != (table->dtype == TNP_DTYPE_I32 ? TNP_DTYPE_I32 : TNP_DTYPE_F32))
        return "get_rows with a result that is not F32 (I32 from an I32 table)";
    if (index->dtype != TNP_DTYPE_I32)
        return "get_rows with indices that are not I32";
    if (out->dims[0] != table->dims[0] || out->dims[1] != index->dims[0] ||
        index->dims[TNP_MAX_DIMS - 1] != 1)
        return "get_rows with other rows than there are indices for";
    for (uint32_t d = 2; d < TNP_MAX_DIMS; d++)
        if (table->dims[d] != out->dims[d] || index->dims[d - 1] != out->dims[d])
            return "get_rows from other matrices than there are indices for";
    return vulkan_rows_refuse(&rows, features);
}

static const char *refuse_set_rows(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *table = &node->in[0], *from = &node->in[1], *index = &node->in[2];
    const vulkan_rows rows = rows_of(node);
    if (!vulkan_is_encodable(table))
        return "set_rows into a table of a type that is not encoded here";
    if (from->dtype != TNP_DTYPE_F32)
        return "set_rows of rows that are not F32";
    if (index->dtype != TNP_DTYPE_I32)
        return "set_rows with indices that are not I32";
    if (table->dims[0] != from->dims[0] || from->dims[1] != index->dims[0])
        return "set_rows of other rows than there are indices for";
    for (uint32_t d = 1; d < TNP_MAX_DIMS; d++)
        if ((d > 1 && (table->dims[d] != 1 || from->dims[d] != 1)) || index->dims[d] != 1)
            return "set_rows into a table of more than two dims, or with indices of more than one";
    return vulkan_rows_refuse(&rows, features);
}

const vulkan_op vulkan_rows_ops[] = {
    { TNP_OP_GET_ROWS, refuse_get_rows, NULL, emit },
    { TNP_OP_SET_ROWS, refuse_set_rows, NULL, emit },
    { 0 },
};
