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

// A path may be any bytes; JSON is UTF-8: what is none is shown as \xNN.
static json_t *text_of(const char *text)
{
    tn_error safe;
    json_t *string = json_string(text);
    if (string)
        return string;
    (void)tn_error_set(&safe, TN_OK, text);
    return json_string(safe.text);
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
    return json_pack("{ss ss so si sI sI}", "name", tensor->name, "dtype",
                     tn_dtype_name(tensor->dtype), "dims", dims, "part", (int)tensor->part,
                     "offset", (json_int_t)tensor->offset, "bytes", (json_int_t)tensor->bytes);
}

static json_t *parts_of(const tn_model *model, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        tn_model_part part = { .size = sizeof part };
        if (tn_model_part_at(model, i, &part, NULL) == TN_OK)
            json_array_append_new(list, json_pack("{so sI si si}", "path", text_of(part.path),
                                                  "file_bytes", (json_int_t)part.file_bytes,
                                                  "tensors", (int)part.tensor_count,
                                                  "alignment_bytes", (int)part.alignment_bytes));
    }
    return list;
}

static void add_problem(void *list, const char *text, size_t bytes)
{
    json_array_append_new(list, json_stringn(text, bytes));
}

// What keeps the model from running: of the file; where it is whole, of the tokenizer, and of keys
// and tensors. What the tokenizer had to assume is a warning.
static void add_problems(const tn_model *model, json_t *problems, json_t *warnings)
{
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    uint32_t count;
    const char *problem;
    for (uint32_t i = 0; (problem = tn_model_problem(model, i)); i++)
        add_problem(problems, problem, strlen(problem));
    if (json_array_size(problems) > 0)
        return;
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        add_problem(problems, err.text, strlen(err.text));
    else if (*tlm_tokenizer_warning(tokenizer))
        json_array_append_new(warnings, json_string(tlm_tokenizer_warning(tokenizer)));
    tlm_tokenizer_destroy(tokenizer);
    if (tlm_model_check(model, &(tn_sink){ problems, add_problem }, &count, &err) != TN_OK)
        add_problem(problems, err.text, strlen(err.text));
    if (tn_model_check(model, &err) != TN_OK)
        add_problem(problems, err.text, strlen(err.text));
}

static json_t *report_of(const tn_model *model)
{
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    json_t *keys = json_array(), *tensors = json_array();
    json_t *problems = json_array(), *warnings = json_array();
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
    add_problems(model, problems, warnings);
    return json_pack("{si so si sI sI si so so so so so}", "schema_version", 1, "path",
                     text_of(info.path), "version", (int)info.version, "file_bytes",
                     (json_int_t)info.file_bytes, "tensor_bytes", bytes, "alignment_bytes",
                     (int)info.alignment_bytes, "parts", parts_of(model, info.part_count),
                     "metadata", keys, "tensors", tensors, "warnings", warnings, "problems",
                     problems);
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

static void print_parts(const json_t *parts)
{
    if (json_array_size(parts) < 2)
        return;
    printf("parts: %zu\n", json_array_size(parts));
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        printf("  %s: %" JSON_INTEGER_FORMAT " tensors, %" JSON_INTEGER_FORMAT " bytes\n",
               json_string_value(json_object_get(part, "path")),
               json_integer_value(json_object_get(part, "tensors")),
               json_integer_value(json_object_get(part, "file_bytes")));
    }
}

static void print_lines(const char *what, const json_t *lines)
{
    printf("%s: %zu\n", what, json_array_size(lines));
    for (size_t i = 0; i < json_array_size(lines); i++)
        printf("  %s\n", json_string_value(json_array_get(lines, i)));
}

static void print_report(const json_t *report)
{
    const json_t *keys = json_object_get(report, "metadata"),
                 *tensors = json_object_get(report, "tensors");
    const json_t *warnings = json_object_get(report, "warnings");
    printf("%s: GGUF version %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
           " bytes, alignment %" JSON_INTEGER_FORMAT "\n",
           json_string_value(json_object_get(report, "path")),
           json_integer_value(json_object_get(report, "version")),
           json_integer_value(json_object_get(report, "file_bytes")),
           json_integer_value(json_object_get(report, "alignment_bytes")));
    print_parts(json_object_get(report, "parts"));
    printf("metadata: %zu keys\n", json_array_size(keys));
    for (size_t i = 0; i < json_array_size(keys); i++)
        print_key(json_array_get(keys, i));
    printf("tensors: %zu, %" JSON_INTEGER_FORMAT " bytes\n", json_array_size(tensors),
           json_integer_value(json_object_get(report, "tensor_bytes")));
    for (size_t i = 0; i < json_array_size(tensors); i++)
        print_tensor(json_array_get(tensors, i));
    if (json_array_size(warnings) > 0)
        print_lines("warnings", warnings);
    print_lines("problems", json_object_get(report, "problems"));
}

static int run(int argc, char **argv)
{
    inspect_options given = { 0 };
    tn_model *model = NULL;
    int count, code = cli_parse(&cli_inspect_command, argc, argv, &given, 1, 1, &count);
    if (code >= 0)
        return code;
    code = cli_open_model(argv[1], TN_MODEL_INSPECT, &model);
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
    const bool is_bad = json_array_size(json_object_get(report, "problems")) > 0;
    json_decref(report);
    tn_model_close(model);
    if (code == CLI_OK)
        code = cli_end_output();
    return code == CLI_OK && is_bad ? CLI_FILE : code;
}

const cli_command cli_inspect_command = {
    "inspect",
    "FILE [options]",
    "Shows metadata and tensors of a model file, and what is wrong with it",
    "A damaged file is shown as far as it can be read. The exit code is 6 when there are problems: "
    "what keeps the\n"
    "model from running.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
