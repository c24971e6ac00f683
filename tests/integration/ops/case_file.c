// case_file.c: see case_file.h.
#include "case_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const struct op_info {
    tnp_op op;
    const char *name, *attr;
    size_t attr_bytes;
} ops[] = {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, ...)                                  \
    { number, #name, #attr, sizeof(tnp_##attr##_attr) },
#include <tenon/ops.def>
};

static const struct dtype_info {
    const char *name;
    tnp_dtype dtype;
} dtypes[] = {
#define DTYPE(number, NAME, block_elements, block_bytes) { #NAME, number },
#include <tenon/dtypes.def>
};

typedef enum field_kind { U32, I64, FLOAT, DTYPE_NAME } field_kind;

#define FIELD(attr, field, kind, count)                                                            \
    {                                                                                              \
#attr, #field, offsetof(tnp_##attr##_attr, field), kind, count                             \
    }
static const struct field {
    const char *attr, *name;
    size_t offset;
    field_kind kind;
    size_t count;
} fields[] = {
    FIELD(dims, rank, U32, 1),
    FIELD(dims, dims, I64, TNP_MAX_DIMS),
    FIELD(slice, rank, U32, 1),
    FIELD(slice, begin, I64, TNP_MAX_DIMS),
    FIELD(slice, count, I64, TNP_MAX_DIMS),
    FIELD(slice, step, I64, TNP_MAX_DIMS),
    FIELD(permute, rank, U32, 1),
    FIELD(permute, axes, U32, TNP_MAX_DIMS),
    FIELD(axis, axis, U32, 1),
    FIELD(clamp, min, FLOAT, 1),
    FIELD(clamp, max, FLOAT, 1),
    FIELD(softcap, cap, FLOAT, 1),
    FIELD(norm, eps, FLOAT, 1),
    FIELD(group_norm, groups, U32, 1),
    FIELD(group_norm, eps, FLOAT, 1),
    FIELD(softmax, scale, FLOAT, 1),
    FIELD(softmax, alibi_max_bias, FLOAT, 1),
    FIELD(top_k, k, U32, 1),
    FIELD(rope, layout, U32, 1),
    FIELD(rope, rot_dims, U32, 1),
    FIELD(rope, base, FLOAT, 1),
    FIELD(rope, scale, FLOAT, 1),
    FIELD(rope, yarn_extrapolation, FLOAT, 1),
    FIELD(rope, yarn_attention, FLOAT, 1),
    FIELD(rope, yarn_beta_fast, FLOAT, 1),
    FIELD(rope, yarn_beta_slow, FLOAT, 1),
    FIELD(rope, yarn_context, U32, 1),
    FIELD(attention, flags, U32, 1),
    FIELD(attention, scale, FLOAT, 1),
    FIELD(attention, softcap, FLOAT, 1),
    FIELD(attention, window, U32, 1),
    FIELD(pad, rank, U32, 1),
    FIELD(pad, before, I64, TNP_MAX_DIMS),
    FIELD(pad, after, I64, TNP_MAX_DIMS),
    FIELD(pad, value, FLOAT, 1),
    FIELD(argsort, order, U32, 1),
    FIELD(conv, groups, U32, 1),
    FIELD(conv, stride, U32, 2),
    FIELD(conv, dilation, U32, 2),
    FIELD(conv, before, U32, 2),
    FIELD(conv, after, U32, 2),
    FIELD(pool, kind, U32, 1),
    FIELD(pool, kernel, U32, 2),
    FIELD(pool, stride, U32, 2),
    FIELD(pool, before, U32, 2),
    FIELD(pool, after, U32, 2),
    FIELD(upscale, mode, U32, 1),
    FIELD(upscale, width, I64, 1),
    FIELD(upscale, height, I64, 1),
    FIELD(convert, dtype, DTYPE_NAME, 1),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct op_info *op_of(const char *case_name, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    fail_msg("%s: no op is named '%s'", case_name, name);
    return NULL;
}

static tnp_dtype dtype_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (name && strcmp(dtypes[i].name, name) == 0)
            return dtypes[i].dtype;
    fail_msg("no type is named '%s'", name ? name : "");
    return 0;
}

// A number, or "nan", "inf", "-inf".
static double number_of(const json_t *from)
{
    return json_is_string(from) ? strtod(json_string_value(from), NULL) : json_number_value(from);
}

static void set_field(unsigned char *attr, const struct field *field, size_t i, const json_t *from)
{
    unsigned char *at = attr + field->offset;
    double number = number_of(from);

    switch (field->kind) {
    case U32:
    case DTYPE_NAME: {
        uint32_t value = field->kind == U32 ? (uint32_t)number : dtype_of(json_string_value(from));
        memcpy(at + i * sizeof value, &value, sizeof value);
        break;
    }
    case I64: {
        int64_t value = (int64_t)number;
        memcpy(at + i * sizeof value, &value, sizeof value);
        break;
    }
    case FLOAT: {
        float value = (float)number;
        memcpy(at + i * sizeof value, &value, sizeof value);
        break;
    }
    }
}

static void read_attr(const char *case_name, const struct op_info *op, json_t *from,
                      case_step *step)
{
    uint32_t size = (uint32_t)op->attr_bytes;
    const char *key;
    json_t *value;

    step->has_attr = strcmp(op->attr, "none") != 0;
    if (!step->has_attr)
        return;
    assert_true(size <= MOST_ATTR_BYTES);
    memcpy(step->attr, &size, sizeof size);
    json_object_foreach(from, key, value)
    {
        const struct field *field = fields, *end = fields + COUNT_OF(fields);

        while (field < end && (strcmp(field->attr, op->attr) || strcmp(field->name, key)))
            field++;
        if (field == end || (json_is_array(value) && json_array_size(value) != field->count))
            fail_msg("%s: %s takes no '%s' like this", case_name, op->name, key);
        for (size_t i = 0; i < field->count; i++)
            set_field(step->attr, field, i,
                      json_is_array(value) ? json_array_get(value, i) : value);
    }
}

static void read_tensor(const char *case_name, json_t *from, case_tensor *t)
{
    json_t *dims = json_object_get(from, "dims"), *data = json_object_get(from, "data");

    t->dtype = dtype_of(json_string_value(json_object_get(from, "dtype")));
    t->rank = (uint32_t)json_array_size(dims);
    t->count = 1;
    assert_in_range(t->rank, 1, TNP_MAX_DIMS);
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++) {
        t->dims[i] = i < t->rank ? json_integer_value(json_array_get(dims, i)) : 1;
        t->count *= t->dims[i];
    }
    if (t->count < 1 || (int64_t)json_array_size(data) != t->count)
        fail_msg("%s: there are %zu numbers for %ld elements", case_name, json_array_size(data),
                 (long)t->count);
    t->values = malloc((size_t)t->count * sizeof *t->values);
    assert_non_null(t->values);
    for (int64_t i = 0; i < t->count; i++)
        t->values[i] = number_of(json_array_get(data, (size_t)i));
}

static void read_step(const op_case *c, json_t *from, case_step *step)
{
    const struct op_info *op = op_of(c->name, json_string_value(json_object_get(from, "op")));
    json_t *operands = json_object_get(from, "in");

    step->op = op->op;
    step->operand_count = (uint32_t)json_array_size(operands);
    assert_in_range(step->operand_count, 1, MOST_OPERANDS);
    for (uint32_t i = 0; i < step->operand_count; i++) {
        step->operands[i] = (int32_t)json_integer_value(json_array_get(operands, i));
        assert_true(step->operands[i] < (int32_t)(c->input_count + c->step_count));
    }
    read_attr(c->name, op, json_object_get(from, "attr"), step);
}

static void read_case(json_t *from, op_case *c)
{
    json_t *inputs = json_object_get(from, "inputs"), *steps = json_object_get(from, "steps"),
           *item;
    size_t i;

    c->name = strdup(json_string_value(json_object_get(from, "name")));
    assert_non_null(c->name);
    c->absolute = json_number_value(json_object_get(from, "absolute"));
    c->relative = json_number_value(json_object_get(from, "relative"));
    assert_true(json_array_size(inputs) + json_array_size(steps) <= MOST_VALUES);
    json_array_foreach(inputs, i, item)
    {
        read_tensor(c->name, item, &c->inputs[i]);
        c->input_count++;
    }
    json_array_foreach(steps, i, item)
    {
        read_step(c, item, &c->steps[i]);
        c->step_count++;
    }
    assert_in_range(c->step_count, 1, MOST_VALUES);
    read_tensor(c->name, json_object_get(from, "want"), &c->want);
}

op_case *cases_read(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    op_case *cases;

    if (!json_is_array(root) || json_array_size(root) == 0)
        fail_msg("%s: %s", path, root ? "no array of cases" : error.text);
    cases = calloc(json_array_size(root) + 1, sizeof *cases);
    assert_non_null(cases);
    for (size_t i = 0; i < json_array_size(root); i++)
        read_case(json_array_get(root, i), &cases[i]);
    json_decref(root);
    return cases;
}

void cases_free(op_case *cases)
{
    for (op_case *c = cases; c->name; c++) {
        for (uint32_t i = 0; i < c->input_count; i++)
            free(c->inputs[i].values);
        free(c->want.values);
        free(c->name);
    }
    free(cases);
}
