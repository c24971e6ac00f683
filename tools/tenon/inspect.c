// inspect.c: tenon inspect
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "cli.h"

enum { SHOWN_ELEMENTS = 4, SHOWN_BYTES = 60 };

typedef struct inspect_options {
    bool json;
} inspect_options;

static const cli_option options[] = {
    { "json", 0, CLI_FLAG, NULL, offsetof(inspect_options, json), 0, 0, "print JSON" },
};

static const char *type_name(uint32_t type)
{
    static const char *const names[] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64" };
    return type < sizeof names / sizeof *names ? names[type] : "?";
}

// A value, or one element of an array.
static json_t *value_of(const tn_model *model, const tn_model_key *key, uint64_t index)
{
    int64_t whole;
    double real;
    bool truth;
    const char *text;
    size_t bytes;
    switch (key->element_type) {
    case TN_KEY_STRING:
        if (tn_model_get_string_at(model, key->name, index, &text, &bytes, NULL) != TN_OK)
            return json_null();
        json_t *string = json_stringn(text, bytes);
        return string ? string : json_string("(not UTF-8)");
    case TN_KEY_F32:
    case TN_KEY_F64:
        if (tn_model_get_f64_at(model, key->name, index, &real, NULL) != TN_OK || !isfinite(real))
            return json_null();   // JSON has no other numbers
        return json_real(real);
    case TN_KEY_BOOL:
        return key->type == TN_KEY_BOOL &&
                       tn_model_get_bool(model, key->name, &truth, NULL) == TN_OK
                   ? json_boolean(truth)
                   : json_null();
    default:
        return tn_model_get_i64_at(model, key->name, index, &whole, NULL) == TN_OK
                   ? json_integer(whole)
                   : json_null();
    }
}

static json_t *json_of_key(const tn_model *model, const tn_model_key *key)
{
    json_t *value;
    if (key->type != TN_KEY_ARRAY) {
        value = value_of(model, key, 0);
    } else {
        value = json_array();
        for (uint64_t i = 0; i < key->count; i++)
            json_array_append_new(value, value_of(model, key, i));
    }
    return json_pack("{ss ss ss sI so}", "name", key->name, "type", type_name(key->type),
                     "element_type", type_name(key->element_type), "count", (json_int_t)key->count,
                     "value", value);
}

static json_t *json_of_tensor(const tn_model_tensor *tensor)
{
    json_t *dims = json_array();
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_array_append_new(dims, json_integer(tensor->dims[i]));
    return json_pack("{ss ss so sI sI}", "name", tensor->name, "dtype",
                     tn_dtype_name(tensor->dtype), "dims", dims, "offset",
                     (json_int_t)tensor->offset, "bytes", (json_int_t)tensor->bytes);
}

// What would keep the model from running: of the tokenizer, and what it had to assume.
static json_t *problems_of(const tn_model *model)
{
    json_t *list = json_array();
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        json_array_append_new(list, json_string(err.text));
    else if (*tlm_tokenizer_warning(tokenizer))
        json_array_append_new(list, json_string(tlm_tokenizer_warning(tokenizer)));
    tlm_tokenizer_destroy(tokenizer);
    return list;
}

static json_t *report_of(const tn_model *model)
{
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    json_t *keys = json_array(), *tensors = json_array();
    json_int_t bytes = 0;
    for (uint32_t i = 0; i < info.key_count; i++) {
        tn_model_key key = { .size = sizeof key };
        if (tn_model_key_at(model, i, &key, NULL) == TN_OK)
            json_array_append_new(keys, json_of_key(model, &key));
    }
    for (uint32_t i = 0; i < info.tensor_count; i++) {
        tn_model_tensor tensor = { .size = sizeof tensor };
        if (tn_model_tensor_at(model, i, &tensor, NULL) != TN_OK)
            continue;
        bytes += (json_int_t)tensor.bytes;
        json_array_append_new(tensors, json_of_tensor(&tensor));
    }
    return json_pack("{si ss si sI sI si so so so}", "schema_version", 1, "path", info.path,
                     "version", (int)info.version, "file_bytes", (json_int_t)info.file_bytes,
                     "tensor_bytes", bytes, "alignment_bytes", (int)info.alignment_bytes,
                     "metadata", keys, "tensors", tensors, "problems", problems_of(model));
}

static void print_value(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
    printf("%.*s%s", SHOWN_BYTES, text ? text : "?",
           text && strlen(text) > SHOWN_BYTES ? "..." : "");
    free(text);
}

static void print_key(const json_t *key)
{
    const json_t *value = json_object_get(key, "value");
    size_t count = json_is_array(value) ? json_array_size(value) : 0;
    printf("  %-44s %-7s ", json_string_value(json_object_get(key, "name")),
           json_string_value(json_object_get(key, "type")));
    if (!json_is_array(value)) {
        print_value(value);
    } else {
        printf("%zu of %s: ", count, json_string_value(json_object_get(key, "element_type")));
        for (size_t i = 0; i < count && i < SHOWN_ELEMENTS; i++) {
            printf(i ? ", " : "");
            print_value(json_array_get(value, i));
        }
        printf(count > SHOWN_ELEMENTS ? ", ..." : "");
    }
    putchar('\n');
}

static void print_tensor(const json_t *tensor)
{
    char dims[128] = "";
    const json_t *list = json_object_get(tensor, "dims");
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t used = strlen(dims);
        snprintf(dims + used, sizeof dims - used, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "",
                 json_integer_value(json_array_get(list, i)));
    }
    printf("  %-44s %-6s {%s}  %" JSON_INTEGER_FORMAT " bytes\n",
           json_string_value(json_object_get(tensor, "name")),
           json_string_value(json_object_get(tensor, "dtype")), dims,
           json_integer_value(json_object_get(tensor, "bytes")));
}

static void print_report(const json_t *report)
{
    const json_t *keys = json_object_get(report, "metadata"),
                 *tensors = json_object_get(report, "tensors");
    const json_t *problems = json_object_get(report, "problems");
    printf("%s: GGUF version %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
           " bytes, alignment %" JSON_INTEGER_FORMAT "\n",
           json_string_value(json_object_get(report, "path")),
           json_integer_value(json_object_get(report, "version")),
           json_integer_value(json_object_get(report, "file_bytes")),
           json_integer_value(json_object_get(report, "alignment_bytes")));
    printf("metadata: %zu keys\n", json_array_size(keys));
    for (size_t i = 0; i < json_array_size(keys); i++)
        print_key(json_array_get(keys, i));
    printf("tensors: %zu, %" JSON_INTEGER_FORMAT " bytes\n", json_array_size(tensors),
           json_integer_value(json_object_get(report, "tensor_bytes")));
    for (size_t i = 0; i < json_array_size(tensors); i++)
        print_tensor(json_array_get(tensors, i));
    printf("problems: %zu\n", json_array_size(problems));
    for (size_t i = 0; i < json_array_size(problems); i++)
        printf("  %s\n", json_string_value(json_array_get(problems, i)));
}

static int run(int argc, char **argv)
{
    inspect_options given = { 0 };
    tn_model *model = NULL;
    int count, code = cli_parse(&cli_inspect_command, argc, argv, &given, 1, 1, &count);
    if (code >= 0)
        return code;
    code = cli_open_model(argv[1], &model);
    if (code != CLI_OK)
        return code;
    json_t *report = report_of(model);
    if (!report)
        code = cli_fail(CLI_MEMORY, "not enough memory for a report on %s", argv[1]);
    else if (given.json &&
             (json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0 ||
              putchar('\n') == EOF))
        code = cli_fail(CLI_FAILED, "the report cannot be printed");
    else if (!given.json)
        print_report(report);
    json_decref(report);
    tn_model_close(model);
    return code == CLI_OK ? cli_end_output() : code;
}

const cli_command cli_inspect_command = {
    "inspect",
    "FILE [options]",
    "Shows metadata and tensors of a model file, and what is wrong with it",
    "",
    options,
    sizeof options / sizeof *options,
    run,
};
