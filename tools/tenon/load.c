// load.c: see load.h.
#include "load.h"

#include <stdlib.h>
#include <string.h>

static bool parse_kv_type(const char *text, tn_dtype *out_type)
{
    static const struct {
        const char *name;
        tn_dtype type;
    } types[] = { { "f32", TN_DTYPE_F32 }, { "f16", TN_DTYPE_F16 }, { "q8_0", TN_DTYPE_Q8_0 } };
    for (size_t i = 0; text && i < sizeof types / sizeof *types; i++)
        if (!strcmp(text, types[i].name)) {
            *out_type = types[i].type;
            return true;
        }
    return !text;
}

// A file that was cut may fail in any way: then that is what to say.
static int fail(const cli_loaded *loaded, const tn_error *err)
{
    int code = cli_check_model(loaded->model);
    return code == CLI_OK ? cli_fail_model(loaded->name, err) : code;
}

static int start(cli_loaded *loaded, const cli_model_options *given)
{
    cli_common common = given->common;
    const uint32_t count = common.settings.count;
    const char **settings = calloc(count + 1, sizeof *settings);
    if (!settings)
        return cli_fail(CLI_MEMORY, "not enough memory for the options");
    for (uint32_t i = 0; i < count; i++)
        settings[i] = common.settings.items[i];
    settings[count] = "plugin.cpu.repack=off";
    common.settings = (cli_list){ .items = settings, .count = count + given->no_repack };
    int code = cli_start(&common, &loaded->runtime);
    free(settings);
    return code;
}

int cli_load_model(cli_loaded *loaded, const char *name, const cli_model_options *given)
{
    tn_dtype type;
    *loaded = (cli_loaded){ .name = name };
    if (!parse_kv_type(given->kv_type, &type))
        return cli_fail(CLI_USAGE, "--kv-type is f32, f16 or q8_0, not '%s'", given->kv_type);
    int code = cli_open_model(name, given->no_mmap ? TN_MODEL_IN_MEMORY : 0, &loaded->model);
    return code == CLI_OK ? start(loaded, given) : code;
}

int cli_load(cli_loaded *loaded, const char *name, const cli_model_options *given)
{
    tn_error err = { 0 };
    int code = cli_load_model(loaded, name, given);
    tlm_tokenizer_options how = { .size = sizeof how, .pre = given->pre };
    if (code == CLI_OK &&
        tlm_tokenizer_create(loaded->model, &how, &loaded->tokenizer, &err) != TN_OK)
        code = fail(loaded, &err);
    if (code == CLI_OK && *tlm_tokenizer_warning(loaded->tokenizer))
        cli_note("warning: %s: %s", name, tlm_tokenizer_warning(loaded->tokenizer));
    return code;
}

int cli_load_context(cli_loaded *loaded, const cli_model_options *given, uint32_t flags,
                     uint32_t batch_tokens)
{
    tn_error err = { 0 };
    tn_device **devices = NULL;
    cli_placed placed;
    tlm_context_options how = { .size = sizeof how,
                                .flags = flags | (given->no_failover ? TLM_NO_FAILOVER : 0),
                                .context_tokens = (uint32_t)given->ctx,
                                .batch_tokens = batch_tokens };
    parse_kv_type(given->kv_type, &how.kv_type);
    int code = cli_place(loaded->runtime, &given->placement, given->devices, &placed);
    if (code == CLI_OK)
        code = cli_find_devices(loaded->runtime, given->devices, &devices, &how.device_count);
    how.devices = devices;
    how.placement = &placed.placement;
    how.overrides = placed.overrides;
    how.override_count = placed.override_count;
    if (code == CLI_OK &&
        tlm_context_create(loaded->runtime, loaded->model, &how, &loaded->context, &err) != TN_OK) {
        cli_name_placement(&err);
        code = fail(loaded, &err);
    }
    free(devices);
    cli_drop_placed(&placed);
    if (code == CLI_OK && *tlm_context_warning(loaded->context))
        cli_note("warning: %s: %s", loaded->name, tlm_context_warning(loaded->context));
    return code == CLI_OK ? cli_check_model(loaded->model) : code;
}

int cli_eval(const cli_loaded *loaded, const int32_t *ids, uint32_t count, const float **out_logits)
{
    tn_error err = { 0 };
    tn_status status = tlm_eval(loaded->context, ids, count, out_logits, &err);
    if (status == TN_E_DATA)   // the ids were looked at before: it is the device that refuses them
        err.status = TN_E_INTERNAL;
    return status == TN_OK ? cli_check_model(loaded->model) : fail(loaded, &err);
}

static tn_model_info describe(const cli_loaded *loaded)
{
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(loaded->model, &info);
    return info;
}

bool cli_is_in_memory(const cli_loaded *loaded)
{
    return !describe(loaded).is_mapped;
}

void cli_memory(const cli_loaded *loaded, uint64_t *out_planned, uint64_t *out_mapped)
{
    tn_memory_report memory = { .size = sizeof memory };
    const tn_model_info info = describe(loaded);
    tlm_context_memory(loaded->context, &memory);
    *out_planned = memory.arena_bytes + memory.state_bytes + memory.weight_copied_bytes +
                   (info.is_mapped ? 0 : info.file_bytes);
    *out_mapped = memory.weight_cached_bytes + (info.is_mapped ? memory.weight_mapped_bytes : 0);
}

void cli_model_options_finish(cli_model_options *given)
{
    cli_common_finish(&given->common);
    cli_placement_finish(&given->placement);
}

void cli_unload(cli_loaded *loaded)
{
    tlm_context_destroy(loaded->context);
    tlm_tokenizer_destroy(loaded->tokenizer);
    tn_runtime_destroy(loaded->runtime);
    tn_model_close(loaded->model);
    *loaded = (cli_loaded){ 0 };
}
