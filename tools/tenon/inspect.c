// inspect.c: tenon inspect
//
// A file may have millions of elements, so each is made and written before the next.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "cli.h"
#include "json.h"

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

// A path or name may be any bytes: those that are not safe to show become \xNN.
static const char *safe(tn_error *room, const char *text)
{
    (void)tn_error_set(room, TN_OK, text);
    return room->text;
}

// JSON is UTF-8.
static json_t *text_of(const char *text)
{
    tn_error room;
    json_t *string = json_string(text);
    return string ? string : json_string(safe(&room, text));
}

// jansson answers NULL for what is not UTF-8, and without memory, which cli_json_is_short tells.
static json_t *string_of(const char *text, size_t bytes)
{
    json_t *string = json_stringn(text, bytes), *unchecked = NULL;
    if (!string && (unchecked = json_stringn_nocheck(text, bytes)))
        string = json_string("(not UTF-8)");
    json_decref(unchecked);
    return string;
}

// A value, or one element of an array: NULL when there is no memory for it.
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
        return string_of(text, bytes);
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

// ----------------------------------------------------------------------------------- what is in it

typedef struct contents {
    const tn_model *model;
    tn_model_info info;
    uint64_t tensor_bytes;
    json_t *problems, *warnings;   // lists of lines
    bool is_short;                 // of memory for them
} contents;

static void add_line(contents *c, json_t *list, const char *text, size_t bytes)
{
    c->is_short |= json_array_append_new(list, json_stringn(text, bytes)) != 0;
}

static void add_problem(void *context, const char *text, size_t bytes)
{
    contents *c = context;
    add_line(c, c->problems, text, bytes);
}

static void add_failure(contents *c, const tn_error *err)
{
    if (err->status == TN_E_HOST_MEMORY)
        c->is_short = true;   // says nothing of the file
    else
        add_problem(c, err->text, strlen(err->text));
}

// What keeps the model from running: of the file; where it is whole, of the tokenizer, and of keys
// and tensors. What the tokenizer had to assume is a warning.
static void find_problems(contents *c)
{
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    uint32_t count;
    const char *text;
    for (uint32_t i = 0; (text = tn_model_problem(c->model, i)); i++)
        add_problem(c, text, strlen(text));
    if (json_array_size(c->problems) > 0)
        return;
    if (tlm_tokenizer_create(c->model, NULL, &tokenizer, &err) != TN_OK)
        add_failure(c, &err);
    else if (*(text = tlm_tokenizer_warning(tokenizer)))
        add_line(c, c->warnings, text, strlen(text));
    tlm_tokenizer_destroy(tokenizer);
    if (tlm_model_check(c->model, &(tn_sink){ c, add_problem }, &count, &err) != TN_OK)
        add_failure(c, &err);
    if (tn_model_check(c->model, &err) != TN_OK)
        add_failure(c, &err);
}

// What the loops below go through: false past the end.
static bool part_at(const contents *c, uint32_t i, tn_model_part *part)
{
    *part = (tn_model_part){ .size = sizeof *part };
    return tn_model_part_at(c->model, i, part, NULL) == TN_OK;
}

static bool key_at(const contents *c, uint32_t i, tn_model_key *key)
{
    *key = (tn_model_key){ .size = sizeof *key };
    return tn_model_key_at(c->model, i, key, NULL) == TN_OK;
}

static bool tensor_at(const contents *c, uint32_t i, tn_model_tensor *tensor)
{
    *tensor = (tn_model_tensor){ .size = sizeof *tensor };
    return tn_model_tensor_at(c->model, i, tensor, NULL) == TN_OK;
}

static bool find_contents(contents *c, const tn_model *model)
{
    tn_model_tensor tensor;
    *c = (contents){ .model = model,
                     .info = { .size = sizeof c->info },
                     .problems = json_array(),
                     .warnings = json_array() };
    tn_model_describe(model, &c->info);
    for (uint32_t i = 0; tensor_at(c, i, &tensor); i++)
        c->tensor_bytes += tensor.bytes;
    if (c->problems && c->warnings)
        find_problems(c);
    return c->problems && c->warnings && !c->is_short;
}

static void drop_contents(contents *c)
{
    json_decref(c->problems);
    json_decref(c->warnings);
}

// -------------------------------------------------------------------------------------------- JSON

// Each call answers false when there is no memory for it, or the output takes no more.

static bool put(json_t *value)
{
    bool is_put = value && json_dumpf(value, stdout,
                                      JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)) == 0;
    json_decref(value);
    return is_put;
}

static bool put_field(const char *before, json_t *value)
{
    return fputs(before, stdout) != EOF && put(value);
}

static bool put_part(const tn_model_part *part)
{
    return put(json_pack("{so sI si si}", "path", text_of(part->path), "file_bytes",
                         (json_int_t)part->file_bytes, "tensors", (int)part->tensor_count,
                         "alignment_bytes", (int)part->alignment_bytes));
}

static bool put_key(const contents *c, const tn_model_key *key)
{
    bool is_array = key->type == TN_KEY_ARRAY;
    bool is_put = put_field("{\"name\":", text_of(key->name)) &&
                  put_field(",\"type\":", json_string(type_name(key->type))) &&
                  put_field(",\"element_type\":", json_string(type_name(key->element_type))) &&
                  put_field(",\"count\":", json_integer((json_int_t)key->count)) &&
                  fputs(is_array ? ",\"value\":[" : ",\"value\":", stdout) != EOF;
    for (uint64_t i = 0; i < (is_array ? key->count : 1) && is_put; i++)
        is_put = put_field(i ? "," : "", value_of(c->model, key, i));
    return is_put && fputs(is_array ? "]}" : "}", stdout) != EOF;
}

static bool put_tensor(const tn_model_tensor *tensor)
{
    json_t *dims = json_array();
    for (uint32_t i = 0; i < tensor->rank && dims; i++)
        if (json_array_append_new(dims, json_integer(tensor->dims[i])) != 0) {
            json_decref(dims);
            dims = NULL;
        }
    return put(json_pack("{so ss so si sI sI}", "name", text_of(tensor->name), "dtype",
                         tn_dtype_name(tensor->dtype), "dims", dims, "part", (int)tensor->part,
                         "offset", (json_int_t)tensor->offset, "bytes", (json_int_t)tensor->bytes));
}

static bool put_contents(const contents *c)
{
    tn_model_part part;
    tn_model_key key;
    tn_model_tensor tensor;
    bool is_put = put_field("{\"schema_version\":", json_integer(1)) &&
                  put_field(",\"path\":", text_of(c->info.path)) &&
                  put_field(",\"version\":", json_integer(c->info.version)) &&
                  put_field(",\"file_bytes\":", json_integer((json_int_t)c->info.file_bytes)) &&
                  put_field(",\"tensor_bytes\":", json_integer((json_int_t)c->tensor_bytes)) &&
                  put_field(",\"alignment_bytes\":", json_integer(c->info.alignment_bytes)) &&
                  fputs(",\"parts\":[", stdout) != EOF;
    for (uint32_t i = 0; is_put && part_at(c, i, &part); i++)
        is_put = fputs(i ? "," : "", stdout) != EOF && put_part(&part);
    is_put = is_put && fputs("],\"metadata\":[", stdout) != EOF;
    for (uint32_t i = 0; is_put && key_at(c, i, &key); i++)
        is_put = fputs(i ? "," : "", stdout) != EOF && put_key(c, &key);
    is_put = is_put && fputs("],\"tensors\":[", stdout) != EOF;
    for (uint32_t i = 0; is_put && tensor_at(c, i, &tensor); i++)
        is_put = fputs(i ? "," : "", stdout) != EOF && put_tensor(&tensor);
    return is_put && put_field("],\"warnings\":", json_incref(c->warnings)) &&
           put_field(",\"problems\":", json_incref(c->problems)) && fputs("}\n", stdout) != EOF;
}

// -------------------------------------------------------------------------------------------- text

// false: no memory.
static bool print_value(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7)) : NULL;
    json_decref(value);
    if (!text)
        return false;
    printf("%.*s%s", SHOWN_BYTES, text, strlen(text) > SHOWN_BYTES ? "..." : "");
    free(text);
    return true;
}

static bool print_key(const contents *c, const tn_model_key *key)
{
    bool is_array = key->type == TN_KEY_ARRAY, is_printed = true;
    uint64_t shown = !is_array ? 1 : key->count < SHOWN_ELEMENTS ? key->count : SHOWN_ELEMENTS;
    tn_error room;
    printf("  %-44s %-7s ", safe(&room, key->name), type_name(key->type));
    if (is_array)
        printf("%" PRIu64 " of %s: ", key->count, type_name(key->element_type));
    for (uint64_t i = 0; i < shown && is_printed; i++) {
        printf(i ? ", " : "");
        is_printed = print_value(value_of(c->model, key, i));
    }
    puts(is_array && key->count > shown ? ", ..." : "");
    return is_printed;
}

static void print_tensor(const tn_model_tensor *tensor)
{
    tn_error room;
    printf("  %-44s %-6s {", safe(&room, tensor->name), tn_dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < tensor->rank; i++)
        printf("%s%" PRId64, i ? ", " : "", tensor->dims[i]);
    printf("}  %" PRIu64 " bytes\n", tensor->bytes);
}

static void print_parts(const contents *c)
{
    tn_model_part part;
    tn_error room;
    if (c->info.part_count < 2)
        return;
    printf("parts: %" PRIu32 "\n", c->info.part_count);
    for (uint32_t i = 0; part_at(c, i, &part); i++)
        printf("  %s: %" PRIu32 " tensors, %" PRIu64 " bytes\n", safe(&room, part.path),
               part.tensor_count, part.file_bytes);
}

static void print_lines(const char *what, const json_t *lines)
{
    printf("%s: %zu\n", what, json_array_size(lines));
    for (size_t i = 0; i < json_array_size(lines); i++)
        printf("  %s\n", json_string_value(json_array_get(lines, i)));
}

// false: no memory.
static bool print_contents(const contents *c)
{
    tn_model_key key;
    tn_model_tensor tensor;
    tn_error room;
    bool is_printed = true;
    printf("%s: GGUF version %" PRIu32 ", %" PRIu64 " bytes, alignment %" PRIu32 "\n",
           safe(&room, c->info.path), c->info.version, c->info.file_bytes, c->info.alignment_bytes);
    print_parts(c);
    printf("metadata: %" PRIu32 " keys\n", c->info.key_count);
    for (uint32_t i = 0; is_printed && key_at(c, i, &key); i++)
        is_printed = print_key(c, &key);
    printf("tensors: %" PRIu32 ", %" PRIu64 " bytes\n", c->info.tensor_count, c->tensor_bytes);
    for (uint32_t i = 0; is_printed && tensor_at(c, i, &tensor); i++)
        print_tensor(&tensor);
    if (json_array_size(c->warnings) > 0)
        print_lines("warnings", c->warnings);
    print_lines("problems", c->problems);
    return is_printed;
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
    contents c;
    const bool is_told = find_contents(&c, model) &&
                         (given.json ? put_contents(&c) : print_contents(&c)) &&
                         !cli_json_is_short();   // one more try may have gone well
    const bool is_bad = json_array_size(c.problems) > 0;
    if (!is_told && !ferror(stdout))
        code = cli_fail(CLI_MEMORY, "not enough memory for a report on %s", argv[1]);
    drop_contents(&c);
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
