// ops.c: the cases that a row of op_rows.c stands for.
//
// Of each row: every type on every set of sizes. Of its first two types, on the first set: each
// layout of each operand, of the result, and of all; in place of each operand that ops.def permits;
// each dim that may be limited at 0, 1, half and all, alone and together, with layouts and in
// place; any bytes in the place of indices and lengths.
#include <stdio.h>
#include <stdlib.h>

#include "ops.h"

typedef struct types {
    tnp_dtype floats, weights, plain;
} types;

#define F32 TNP_DTYPE_F32
#define F16 TNP_DTYPE_F16

static const types of_floats[] = { { F32, 0, 0 }, { F16, 0, 0 } };
static const types of_weights[] = {
    { F32, F32, 0 },
    { F32, TNP_DTYPE_Q8_0, 0 },
    { F32, F16, 0 },
    { F32, TNP_DTYPE_BF16, 0 },
    { F32, TNP_DTYPE_Q4_0, 0 },
    { F32, TNP_DTYPE_Q4_1, 0 },
    { F32, TNP_DTYPE_Q5_0, 0 },
    { F32, TNP_DTYPE_Q5_1, 0 },
    { F32, TNP_DTYPE_Q2_K, 0 },
    { F32, TNP_DTYPE_Q3_K, 0 },
    { F32, TNP_DTYPE_Q4_K, 0 },
    { F32, TNP_DTYPE_Q5_K, 0 },
    { F32, TNP_DTYPE_Q6_K, 0 },
    { F32, TNP_DTYPE_IQ4_NL, 0 },
    { F16, F32, 0 },
    { F16, F16, 0 },
};
static const types of_plain[] = {
    { 0, 0, F32 },           { 0, 0, TNP_DTYPE_I32 },
    { 0, 0, F16 },           { 0, 0, TNP_DTYPE_BF16 },
    { 0, 0, TNP_DTYPE_I64 }, { 0, 0, TNP_DTYPE_I16 },
    { 0, 0, TNP_DTYPE_I8 },  { 0, 0, TNP_DTYPE_BOOL },
};
static const types of_none[] = { { 0, 0, 0 } };

static bool names(const kit_op_row *row, char type)
{
    bool is_there = row->out[0] == type;
    for (int i = 0; i < KIT_OPERANDS; i++)
        is_there |= row->in[i] && row->in[i][0] == type;
    return is_there;
}

static const types *types_of(const kit_op_row *row, uint32_t *count)
{
#define ALL(list) (*count = sizeof(list) / sizeof *(list), (list))
    if (names(row, 'W') || names(row, 'V'))
        return ALL(of_weights);
    if (names(row, 'K')) {
        *count = 4;
        return of_weights;
    }
    if (names(row, 'P'))
        return ALL(of_plain);
    return names(row, 'F') ? ALL(of_floats) : ALL(of_none);
#undef ALL
}

static kit_op_case **made;   // owned here: cases point to them
static uint32_t made_count, made_room;

void kit_free_ops(void)
{
    for (uint32_t i = 0; i < made_count; i++)
        free(made[i]);
    free(made);
    made = NULL;
    made_count = made_room = 0;
}

static kit_op_case *keep(const kit_op_case *c)
{
    kit_op_case *copy = malloc(sizeof *copy);
    if (made_count == made_room) {
        kit_op_case **more = realloc(made, (made_room + 1024) * sizeof *more);
        if (!more) {
            free(copy);
            return NULL;
        }
        made = more;
        made_room += 1024;
    }
    if (copy) {
        *copy = *c;
        made[made_count++] = copy;
    }
    return copy;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text + 32);
}

// `what`: how this case differs from the plain one; NULL for that.
static void add(kit_list *list, const kit_op_case *op, const char *what)
{
    kit_case c = { .run = kit_run_op, .op = keep(op), .is_batched = true };
    tnp_dtype type = op->weights ? op->weights : op->plain ? op->plain : op->floats;
    char type_name[24] = "";
    if (type)
        snprintf(type_name, sizeof type_name, ".%s%s",
                 op->floats == F16 && op->weights ? "f16_" : "", kit_dtype_name(type));
    lower(type_name);
    snprintf(c.name, sizeof c.name, "ops.%s%s%s%s.%s%s%s", kit_op_name(op->row->op),
             op->row->variant ? "." : "", op->row->variant ? op->row->variant : "", type_name,
             op->sizes, what ? "." : "", what ? what : "");
    if (!c.op)
        list->is_short_of_memory = true;
    else
        kit_list_add(list, &c);
}

static uint32_t in_place_of(tnp_op op)
{
    switch (op) {
#define IN(i) (1u << (i))
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, ...)                        \
    case TNP_OP_##NAME:                                                                            \
        return in_place;
#include <tenon/ops.def>
#undef IN
    default:
        return 0;
    }
}

static const char *const layout_names[KIT_LAYOUTS] = { "contiguous", "padded", "turned",
                                                       "stepped",    "offset", "repeated",
                                                       "single" };
static const char *const limit_names[] = { "", "0", "1", "half", "all" };

static bool is_there(const kit_op_row *row, int i)
{
    return i == KIT_OPERANDS || (row->in[i] && row->in[i][0]);
}

static void add_layouts(kit_list *list, const kit_op_case *plain)
{
    bool writes = plain->row->out[0] == '=';   // the result is an operand
    for (int how = KIT_PADDED; how < KIT_LAYOUTS; how++) {
        char what[40];
        kit_op_case all = *plain;
        for (int i = 0; i <= KIT_OPERANDS; i++) {
            bool is_result = i == KIT_OPERANDS || (writes && i == 0);
            kit_op_case c = *plain;
            if (!is_there(plain->row, i) || (how >= KIT_REPEATED && is_result))
                continue;
            all.layout[i] = (uint8_t)how;
            c.layout[i] = (uint8_t)how;
            if (writes && is_result)
                c.layout[0] = c.layout[KIT_OPERANDS] = (uint8_t)how;
            if (writes && i == KIT_OPERANDS)
                continue;
            if (i == KIT_OPERANDS)
                snprintf(what, sizeof what, "result_%s", layout_names[how]);
            else
                snprintf(what, sizeof what, "operand_%d_%s", i, layout_names[how]);
            add(list, &c, what);
        }
        snprintf(what, sizeof what, "all_%s", layout_names[how]);
        if (how < KIT_REPEATED)
            add(list, &all, what);
    }
}

// Operands of the result's letters and type can have its dims, strides and element size.
static bool could_be_in_place(const kit_op_row *row, int i)
{
    return in_place_of(row->op) >> i & 1 && is_there(row, i) &&
           !strncmp(row->in[i], row->out, strcspn(row->out, " [{<") + 1) &&
           strcspn(row->in[i] + 2, " ") == strcspn(row->out + 2, " ");
}

static void add_in_place(kit_list *list, const kit_op_case *plain)
{
    for (int i = 0; i < KIT_OPERANDS; i++)
        for (int how = KIT_CONTIGUOUS; how < KIT_REPEATED; how++) {
            char what[40];
            kit_op_case c = *plain;
            if (!could_be_in_place(plain->row, i))
                continue;
            c.in_place = (uint8_t)(i + 1);
            c.layout[i] = c.layout[KIT_OPERANDS] = (uint8_t)how;
            snprintf(what, sizeof what, "in_place_%d_%s", i, layout_names[how]);
            add(list, &c, what);
        }
}

static void add_limits(kit_list *list, const kit_op_case *plain)
{
    const char *letters = plain->row->extents;
    char what[40];
    for (const char *l = letters; *l; l++)
        for (int how = KIT_NONE; how <= KIT_WHOLE; how++) {
            kit_op_case c = *plain;
            c.limited[0] = *l;
            c.limit = (kit_limit)how;
            c.by_update = how != KIT_ONE;
            snprintf(what, sizeof what, "%c_counts_%s", *l, limit_names[how]);
            add(list, &c, what);
        }
    if (!letters[0])
        return;
    kit_op_case c = *plain;
    snprintf(c.limited, sizeof c.limited, "%s", letters);
    c.limit = KIT_HALF;
    add(list, &c, "all_count_half");
    memset(c.layout, KIT_PADDED, sizeof c.layout);
    c.by_update = true;
    add(list, &c, "all_count_half_padded");
    memset(c.layout, KIT_CONTIGUOUS, sizeof c.layout);
    c.in_place = could_be_in_place(plain->row, 0);
    if (c.in_place)
        add(list, &c, "all_count_half_in_place");
}

// Both operands over one storage: the same elements, or some of them. In place the second must not
// be permitted: elements would be overwritten before they are read.
static void add_shared(kit_list *list, const kit_op_case *plain)
{
    const kit_op_row *row = plain->row;
    kit_op_case c = *plain;
    if (!is_there(row, 1) || strcmp(row->in[0], row->in[1]) != 0)
        return;
    c.sharing = KIT_SAME;
    add(list, &c, "same_operand");
    c.in_place = could_be_in_place(row, 0);
    if (c.in_place)
        add(list, &c, "same_operand_in_place");
    c.sharing = KIT_SHIFTED;
    if (c.in_place)
        add(list, &c, "shifted_operand_in_place");
    c.in_place = 0;
    add(list, &c, "shifted_operand");
}

// Lengths that nobody checked, and indices.
static void add_wild(kit_list *list, const kit_op_case *plain)
{
    kit_op_case c = *plain;
    bool has_index = false;
    for (int i = 0; i < KIT_OPERANDS; i++)
        has_index |= is_there(plain->row, i) && i > 0 && !strncmp(plain->row->in[i], "i32", 3);
    c.is_wild = true;
    if (has_index)
        add(list, &c, "any_index");
    snprintf(c.limited, sizeof c.limited, "%s", plain->row->extents);
    c.limit = KIT_HALF;
    if (c.limited[0])
        add(list, &c, "any_length");
}

static void add_row(kit_list *list, const kit_op_row *row)
{
    uint32_t type_count;
    const types *all = types_of(row, &type_count);
    for (uint32_t t = 0; t < type_count; t++) {
        const char *set = row->sizes;
        for (bool is_first = true; *set; is_first = false) {
            size_t length = strcspn(set, "|");
            kit_op_case c = { .row = row,
                              .floats = all[t].floats,
                              .weights = all[t].weights,
                              .plain = all[t].plain };
            snprintf(c.sizes, sizeof c.sizes, "%.*s", (int)length, set);
            set += length + (set[length] == '|');
            add(list, &c, NULL);
            if (!is_first || t > 1)
                continue;
            add_layouts(list, &c);
            add_in_place(list, &c);
            add_shared(list, &c);
            add_limits(list, &c);
            add_wild(list, &c);
        }
    }
}

void kit_list_ops(kit_list *list)
{
    for (uint32_t i = 0; i < kit_op_row_count; i++)
        add_row(list, &kit_op_rows[i]);
}
