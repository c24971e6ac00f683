// architecture.c: any bytes as a model: its keys and tensors are checked, and where nothing is
// wrong with them, graphs are built.
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arch.h"
#include "gguf/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect_line(void *context, const char *text, size_t bytes)
{
    (void)context;
    if (bytes == 0 || memchr(text, '\n', bytes))
        __builtin_trap();
}

// false: the model is refused.
static bool build(const tn_model *model, int64_t tokens, uint32_t parts)
{
    const tlm_architecture *architecture;
    const tn_allocator allocator = tlm_allocator(NULL);
    tn_error err;
    tlm_hparams hparams;
    tlm_weights weights = { 0 };
    tlm_built built;
    if (tlm_architecture_of(model, &architecture, &err) != TN_OK)
        return false;
    tlm_keys keys = { .model = model, .architecture = architecture->name, .err = &err };
    architecture->read(&hparams, &keys);
    if (keys.status != TN_OK ||
        tlm_weights_init(&weights, model, &hparams, architecture->rules, architecture->rule_count,
                         &allocator, &err) != TN_OK)
        return false;
    tlm_split split = { .has_heads = true, .parts = parts };
    for (uint32_t p = 0; p < parts; p++)
        split.shares[p] = p + 1;
    tlm_variant variant = { .hparams = &hparams,
                            .weights = &weights,
                            .tokens = tokens,
                            .capacity = hparams.context_tokens,
                            .kv_type = TN_DTYPE_F16,
                            .has_all_rows = tokens > 1,
                            .split = &split };
    if (tlm_build(architecture, &variant, &allocator, &built, &err) == TN_OK)
        tn_graph_destroy(built.graph);
    else if (!err.text[0])
        __builtin_trap();
    tlm_weights_finish(&weights);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tn_model *model;
    tn_error err;
    uint32_t count;
    if (tni_model_open_bytes(data, bytes, "fuzz", 0, NULL, &model, &err) == TN_OK &&
        tlm_model_check(model, &(tn_sink){ NULL, expect_line }, &count, &err) == TN_OK) {
        if (build(model, 1, 0) != (count == 0))
            __builtin_trap();
        (void)build(model, 4, 3);
    }
    tn_model_close(model);
    return 0;
}
