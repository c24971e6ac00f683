// gguf.c: any bytes as a GGUF file: opened, and when they open, every accessor called.
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t walk_key(const tn_model *model, const tn_model_key *key)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < key->count; i++) {
        int64_t integer = 0;
        double number = 0;
        const char *text = "";
        size_t text_bytes = 0;
        if (tn_model_get_i64_at(model, key->name, i, &integer, NULL) == TN_OK)
            sum += (uint64_t)integer;
        if (tn_model_get_f64_at(model, key->name, i, &number, NULL) == TN_OK)
            sum += number > 0;
        if (tn_model_get_string_at(model, key->name, i, &text, &text_bytes, NULL) == TN_OK)
            sum += strlen(text) + (unsigned char)text[text_bytes];
    }
    return sum;
}

static uint64_t walk(const tn_model *model)
{
    uint64_t sum = 0;
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    for (uint32_t i = 0; i < info.key_count; i++) {
        tn_model_key key = { .size = sizeof key };
        if (tn_model_key_at(model, i, &key, NULL) == TN_OK)
            sum += walk_key(model, &key);
    }
    for (uint32_t i = 0; i < info.tensor_count; i++) {
        tn_model_tensor tensor = { .size = sizeof tensor };
        if (tn_model_tensor_at(model, i, &tensor, NULL) != TN_OK)
            continue;
        const unsigned char *first = tensor.data;
        if (!first)   // inspected, and with a problem
            continue;
        sum += first[0] + first[tensor.bytes - 1] + strlen(tensor.name);
    }
    return sum;
}

// Inspected, a file opens where its header can be read, and has problems where it is refused else.
static uint64_t inspect(const uint8_t *data, size_t bytes, bool is_refused)
{
    uint64_t sum = 0;
    tn_model *model;
    tn_error err;
    if (tni_model_open_bytes(data, bytes, "fuzz", TN_MODEL_INSPECT, NULL, &model, &err) == TN_OK) {
        if ((tn_model_problem(model, 0) != NULL) != is_refused)
            __builtin_trap();
        sum = walk(model);
    } else if (!is_refused) {
        __builtin_trap();
    }
    tn_model_close(model);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static volatile uint64_t sink;   // so that the reads stay
    tn_model *model;
    tn_error err;
    const tn_status status = tni_model_open_bytes(data, bytes, "fuzz", 0, NULL, &model, &err);
    sink += status == TN_OK ? walk(model) : strlen(err.text);
    sink += inspect(data, bytes, status != TN_OK);
    (void)sink;
    tn_model_close(model);
    return 0;
}
