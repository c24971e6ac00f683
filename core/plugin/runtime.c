// runtime.c: an application's runtime, from its creation to its end.
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "plugin/plugin_internal.h"

// ---------------------------------------------------------------------------------------- creation

static tn_status take_options(const tn_runtime_options *given, tn_runtime_options *out,
                              tn_error *err)
{
    tn_status status = tni_take_options(out, sizeof *out, TNI_UP_TO(tn_runtime_options, reserved),
                                        given, "tn_runtime_create", err);
    if (status != TN_OK)
        return status;
    if ((out->plugin_path_count && !out->plugin_paths) || (out->setting_count && !out->settings))
        return tni_fail(err, TN_E_ARG, "tn_runtime_create: a list is NULL and its count is not 0");
    if (out->flags & ~(uint32_t)TN_RUNTIME_LIST_REFUSED || out->reserved)
        return tni_fail(err, TN_E_ARG,
                        "tn_runtime_create: flags 0x%" PRIx32 ", reserved %" PRIu32
                        ": these are not known",
                        out->flags, out->reserved);
    return tni_check_allocator(out->allocator, "tn_runtime_create", err);
}

static tn_status make_runtime(const tn_runtime_options *options, tn_runtime **out_runtime,
                              tn_error *err)
{
    tn_allocator allocator = tni_allocator(options->allocator);
    tn_runtime *runtime = tni_alloc_zeroed(&allocator, 1, sizeof *runtime);
    if (!runtime)
        return tni_fail_memory(err, "a runtime", sizeof *runtime);
    runtime->allocator = allocator;
    runtime->log = (tni_log){ .write = options->log, .context = options->log_context };
    tni_arena_init(&runtime->arena, &allocator);
    tni_config_init(&runtime->config, &runtime->arena, &runtime->log);
    tni_here_detect(&runtime->here);
    tni_situation_begin(runtime->situation);
    *out_runtime = runtime;
    if (pthread_mutex_init(&runtime->opening, NULL) != 0)
        return tni_fail_memory(err, "a mutex", sizeof runtime->opening);
    if (pthread_mutex_init(&runtime->asking, NULL) != 0) {
        pthread_mutex_destroy(&runtime->opening);
        return tni_fail_memory(err, "a mutex", sizeof runtime->asking);
    }
    runtime->has_mutexes = true;
    tn_status status = tni_pool_create(&allocator, options->threads, &runtime->pool, err);
    runtime->threads = status == TN_OK ? tni_pool_threads(runtime->pool) : 0;
    return status;
}

static tn_status read_settings(tn_runtime *runtime, const tn_runtime_options *options,
                               tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < options->setting_count; i++)
        status = options->settings[i]
                     ? tni_config_set(&runtime->config, options->settings[i], err)
                     : tni_fail(err, TN_E_ARG, "runtime options: setting %u is NULL", i);
    return status == TN_OK ? tni_config_read_all(&runtime->config, options->config, err) : status;
}

// Refused and named by the caller: an error; named so and without a device: a warning. Named by the
// environment or a configuration, or pinned to another hash by it: a warning. Else only
// tn_runtime_plugin tells, as of all where the caller wants the list.
static tn_status tell_refusals(const tn_runtime *runtime, uint32_t flags, tn_error *err)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++) {
        const tni_plugin *plugin = runtime->plugins[i];
        bool is_quarantined = plugin->state == TN_PLUGIN_QUARANTINED;
        const char *state = is_quarantined ? "in quarantine, " : "";
        const char *remedy = is_quarantined ? " (tenon plugins retry FILE tries it again)" : "";
        if (plugin->is_named && plugin->state == TN_PLUGIN_LOADED && plugin->device_count == 0)
            tni_log_line(&runtime->log, TN_LOG_WARNING, "plugin %s: %s", plugin->path,
                         plugin->why.text);
        if (plugin->state != TN_PLUGIN_REJECTED && plugin->state != TN_PLUGIN_DISABLED &&
            !is_quarantined)
            continue;
        if (plugin->is_named && flags & TN_RUNTIME_LIST_REFUSED)
            continue;
        if (plugin->is_named)
            return tni_fail(err, TN_E_PLUGIN, "plugin %s: %s%s%s", plugin->path, state,
                            plugin->why.text, remedy);
        if (plugin->is_warned_of && plugin->state != TN_PLUGIN_DISABLED)
            tni_log_line(&runtime->log, TN_LOG_WARNING, "plugin %s of %s: %s%s%s", plugin->path,
                         plugin->origin, state, plugin->why.text, remedy);
    }
    return TN_OK;
}

tn_status tn_runtime_create(const tn_runtime_options *options, tn_runtime **out_runtime,
                            tn_error *err)
{
    tn_runtime_options own;
    tn_runtime *runtime = NULL;

    tn_status status = tni_need(err, __func__, "out_runtime", out_runtime, NULL);
    if (status != TN_OK)
        return status;
    *out_runtime = NULL;
    status = take_options(options, &own, err);
    if (status == TN_OK)
        status = make_runtime(&own, &runtime, err);
    if (status == TN_OK)
        status = read_settings(runtime, &own, err);
    if (status == TN_OK)
        status = tni_discover(runtime, own.plugin_paths, own.plugin_path_count, err);
    if (status == TN_OK)
        status = tni_registry_fill(runtime, err);
    if (status == TN_OK)
        status = tell_refusals(runtime, own.flags, err);
    if (status != TN_OK) {
        tn_runtime_destroy(runtime);
        return status;
    }
    tni_runtime_warn_of_absent(runtime);
    *out_runtime = runtime;
    return TN_OK;
}

// Children before parents: devices, instances, then what these use of the host. Where a plugin is
// left in a call all of it stays.
void tn_runtime_destroy(tn_runtime *runtime)
{
    if (!runtime || !tni_plugins_close(runtime))
        return;
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        tni_crash_unwatch(runtime->plugins[i]);
    tni_pool_destroy(runtime->pool);
    if (runtime->has_mutexes) {
        pthread_mutex_destroy(&runtime->opening);
        pthread_mutex_destroy(&runtime->asking);
    }
    tn_allocator allocator = runtime->allocator;
    tni_free(&allocator, runtime->places);
    tni_free(&allocator, runtime->devices);
    tni_free(&allocator, runtime->shadowed);
    tni_free(&allocator, runtime->plugins);
    tni_config_finish(&runtime->config);
    tni_arena_finish(&runtime->arena);
    tni_free(&allocator, runtime);
}

// --------------------------------------------------------------------------------------- accessors

uint32_t tn_runtime_threads(const tn_runtime *runtime)
{
    return runtime ? tni_pool_threads(runtime->pool) : 0;
}

uint32_t tn_runtime_device_count(const tn_runtime *runtime)
{
    return runtime ? runtime->device_count : 0;
}

tn_device *tn_runtime_device(const tn_runtime *runtime, uint32_t index)
{
    return runtime && index < runtime->device_count ? runtime->devices[index] : NULL;
}

tn_device *tn_runtime_find_device(const tn_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; runtime && name && i < runtime->device_count; i++)
        if (strcmp(runtime->devices[i]->name, name) == 0)
            return runtime->devices[i];
    return NULL;
}

uint32_t tn_runtime_shadowed_count(const tn_runtime *runtime)
{
    return runtime ? runtime->shadowed_count : 0;
}

void tn_runtime_shadowed(const tn_runtime *runtime, uint32_t index, tn_shadowed_info *out_info)
{
    tn_shadowed_info info = { .size = sizeof info };
    if (runtime && index < runtime->shadowed_count) {
        const tni_shadowed *shadowed = &runtime->shadowed[index];
        info.kind = shadowed->device->info.kind;
        info.name = shadowed->device->name;
        info.description = shadowed->device->info.name;
        info.plugin = shadowed->device->plugin;
        info.by = shadowed->by->name;
        info.reason = shadowed->why;
    }
    tni_give_struct(out_info, &info, sizeof info);
}

uint32_t tn_runtime_plugin_count(const tn_runtime *runtime)
{
    return runtime ? runtime->plugin_count : 0;
}

tn_status tni_runtime_plugin_status(const tn_runtime *runtime, uint32_t index)
{
    return runtime->plugins[index]->why.status;
}

void tn_runtime_plugin(const tn_runtime *runtime, uint32_t index, tn_plugin_info *out_info)
{
    tn_plugin_info info = { .size = sizeof info };
    if (runtime && index < runtime->plugin_count) {
        const tni_plugin *plugin = runtime->plugins[index];
        const tnp_manifest
            *manifest = &plugin->manifest;   // zeros, and so texts of "", when there is none
        info = (tn_plugin_info){
            .size = sizeof info,
            .state = plugin->state,
            .path = plugin->path,
            .origin = plugin->origin,
            .name = manifest->name,
            .version = manifest->version,
            .vendor = manifest->vendor,
            .license = manifest->license,
            .reason = plugin->why.text,
            .abi_major = manifest->abi >> 16,
            .abi_minor = manifest->abi & 0xffffu,
            .device_count = plugin->device_count,
            .is_named = plugin->is_named,
        };
    }
    tni_give_struct(out_info, &info, sizeof info);
}

uint32_t tn_runtime_place_count(const tn_runtime *runtime)
{
    return runtime ? runtime->place_count : 0;
}

void tn_runtime_place(const tn_runtime *runtime, uint32_t index, tn_place_info *out_info)
{
    tn_place_info info = { .size = sizeof info };
    if (runtime && index < runtime->place_count) {
        const tni_place *place = &runtime->places[index];
        info.file_count = place->file_count;
        info.origin = place->origin;
        info.path = place->path;
        info.found = place->found;
    }
    tni_give_struct(out_info, &info, sizeof info);
}

const tn_allocator *tni_runtime_allocator(const tn_runtime *runtime)
{
    return &runtime->allocator;
}

const tni_log *tni_runtime_log(const tn_runtime *runtime)
{
    return &runtime->log;
}

tni_pool *tni_runtime_pool(const tn_runtime *runtime)
{
    return runtime->pool;
}

const char *tni_runtime_setting(const tn_runtime *runtime, const char *plugin, const char *key)
{
    const tni_setting *setting = tni_config_is_reserved(key)
                                     ? NULL
                                     : tni_config_find(&runtime->config, plugin, key);
    return setting ? setting->value : NULL;
}

void tni_runtime_set_trace(tn_runtime *runtime, const tni_trace *trace)
{
    runtime->trace = trace ? *trace : (tni_trace){ 0 };
}

uint64_t tni_runtime_hang_timeout_ns(const tn_runtime *runtime)
{
    return runtime->config.hang_timeout_ms.value * UINT64_C(1000000);
}

uint64_t tni_runtime_pack_cache_bytes(const tn_runtime *runtime)
{
    return runtime->config.pack_cache.value && !atomic_load(&runtime->keeps_no_packs)
               ? (uint64_t)runtime->config.pack_cache_mib.value << 20
               : 0;
}

void tni_runtime_keep_no_packs(tn_runtime *runtime, const char *why)
{
    if (!atomic_exchange(&runtime->keeps_no_packs, true))
        tni_log_line(&runtime->log, TN_LOG_WARNING,
                     "packs are not kept, so they are made at every start: %s", why);
}

uint32_t tni_runtime_sessions(tn_runtime *runtime, int change)
{
    return atomic_fetch_add(&runtime->sessions, (uint32_t)change) + (uint32_t)change;
}

bool tni_runtime_is_traced(const tn_runtime *runtime)
{
    return runtime->trace.span != NULL;
}
