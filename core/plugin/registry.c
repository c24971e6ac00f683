// registry.c: which candidates are used, and the list of their devices.
//
// Candidates are tried in the order that the configurations give, then in that of the search. Of
// one name the first that starts is used. The list of devices has the same order and the same names
// at every start as long as the machine, the files and the configurations are the same.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

// ------------------------------------------------------------------------------ listing of devices

enum { MAX_MEMORIES = 64 };   // of one device

// Room for one answer of a plugin, and bytes behind it that it must not touch.
typedef struct guarded_info {
    tnp_device_info info;
    unsigned char guard[64];
} guarded_info;

static void make_text_safe(char *text, size_t room)
{
    char safe[128];
    tni_text_make_safe(safe, room < sizeof safe ? room : sizeof safe, text, room);
    tni_copy_text(text, room, safe);
}

static bool is_all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

// Asks for one device; false: it is left out and the reason is added.
static bool ask_info(tni_plugin *plugin, uint32_t index, tnp_device_info *out_info)
{
    guarded_info answer = { .info = { .size = sizeof answer.info } };
    tnp_error said = tni_plugin_error();
    char who[32];
    snprintf(who, sizeof who, "device %u is left out", index);
    tnp_status status = plugin->table->device_info(plugin->instance, index, &answer.info, &said);
    if (status != TNP_OK) {   // it may be there all the same: whoever has it misses it
        tn_error why;
        (void)tni_fail_plugin(&why, status, who, &said);
        tni_plugin_add_reason(plugin, "%s", why.text);
        tni_log_line(&plugin->runtime->log, TN_LOG_WARNING, "plugin %s: %s", plugin->manifest.name,
                     why.text);
        return false;
    }
    if (!is_all_zero(answer.guard, sizeof answer.guard) || answer.info.size != sizeof answer.info) {
        tni_plugin_add_reason(
            plugin, "%s: a fault of the plugin, it wrote beyond the %zu bytes of its info", who,
            sizeof answer.info);
        return false;
    }
    tnp_device_info *info = &answer.info;
    if (info->kind < TNP_KIND_CPU || info->kind > TNP_KIND_SOFTWARE) {
        tni_plugin_add_reason(plugin, "%s: unknown kind %u", who, info->kind);
        return false;
    }
    if (info->memory_count > MAX_MEMORIES) {
        tni_plugin_add_reason(plugin, "%s: %u memories, at most %d are possible", who,
                              info->memory_count, MAX_MEMORIES);
        return false;
    }
    make_text_safe(info->name, sizeof info->name);
    make_text_safe(info->driver, sizeof info->driver);
    make_text_safe(info->host, sizeof info->host);
    make_text_safe(info->pci, sizeof info->pci);
    if (!isfinite(info->flops_per_s) || info->flops_per_s < 0)
        info->flops_per_s = 0;
    *out_info = *info;
    return true;
}

// The rule of the contract: compared only between equal hosts, never between two devices of one
// plugin, never for software.
static bool is_same_physical(const tn_device *a, const tnp_plugin *table, const tnp_device_info *b)
{
    if (a->table == table || a->info.kind == TNP_KIND_SOFTWARE || b->kind == TNP_KIND_SOFTWARE ||
        strcmp(a->info.host, b->host) != 0)
        return false;
    return (b->pci[0] && strcmp(a->info.pci, b->pci) == 0) ||
           (!is_all_zero(b->uuid, sizeof b->uuid) &&
            memcmp(a->info.uuid, b->uuid, sizeof b->uuid) == 0);
}

// Why this device of the plugin is not to be listed beside those that are: false, and the reason is
// added.
static bool check_against_listed(tni_plugin *plugin, uint32_t index, const tnp_device_info *info)
{
    const tn_runtime *runtime = plugin->runtime;
    for (uint32_t i = 0; i < runtime->device_count; i++) {
        const tn_device *listed = runtime->devices[i];
        bool has_same_id = listed->instance == plugin->instance && listed->info.id == info->id;
        if (has_same_id)
            tni_plugin_add_reason(plugin, "device %u is left out: its id is that of an earlier one",
                                  index);
        else if (is_same_physical(listed, plugin->table, info))
            tni_plugin_add_reason(
                plugin, "device %u is left out: '%s' is offered by plugin %s, which comes first",
                index, info->name, listed->plugin);
        else
            continue;
        return false;
    }
    return true;
}

static tn_status list_device(tni_plugin *plugin, uint32_t index, tn_error *err)
{
    tn_runtime *runtime = plugin->runtime;
    tnp_device_info info;
    if (!ask_info(plugin, index, &info) || !check_against_listed(plugin, index, &info))
        return TN_OK;
    tn_device *device = tni_arena_take(&runtime->arena, sizeof *device);
    if (!device || !tni_grow(&runtime->allocator, &runtime->devices, &runtime->device_capacity,
                             runtime->device_count + 1, sizeof *runtime->devices))
        return tni_fail_memory(err, "the list of devices", sizeof *device);
    *device = (tn_device){ .runtime = runtime,
                           .table = plugin->table,
                           .instance = plugin->instance,
                           .plugin = plugin->manifest.name,
                           .info = info };
    snprintf(device->name, sizeof device->name, "%s%u", plugin->manifest.name, index);
    runtime->devices[runtime->device_count++] = device;
    plugin->device_count++;
    return TN_OK;
}

static tn_status list_devices(tni_plugin *plugin, tn_error *err)
{
    uint32_t count = 0;
    tnp_error said = tni_plugin_error();
    tnp_status answer = plugin->table->device_count(plugin->instance, &count, &said);
    if (answer != TNP_OK) {
        tn_error why;
        (void)tni_fail_plugin(&why, answer, "device_count", &said);
        tni_plugin_stop(plugin);
        tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "%s", why.text);
        return TN_OK;
    }
    plugin->why.text[0] = 0;
    if (count == 0 && said.text[0]) {
        char text[sizeof plugin->why.text];
        tni_text_make_safe(text, sizeof text, said.text, sizeof said.text);
        tni_plugin_add_reason(plugin, "%s", text);
    }
    if (count > TNI_MAX_DEVICES)
        tni_plugin_add_reason(plugin, "it says %u, the first %d are looked at", count,
                              TNI_MAX_DEVICES);
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < count && i < TNI_MAX_DEVICES; i++)
        status = list_device(plugin, i, err);
    tn_error details = plugin->why;
    tni_plugin_set_state(plugin, TN_PLUGIN_LOADED, "%u device%s", plugin->device_count,
                         plugin->device_count == 1 ? "" : "s");
    if (details.text[0])
        tni_plugin_add_reason(plugin, "%s", details.text);
    return status;
}

// -------------------------------------------------------------------------------------- candidates

static const tni_plugin *find_loaded(const tn_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->state == TN_PLUGIN_LOADED &&
            strcmp(runtime->plugins[i]->manifest.name, name) == 0)
            return runtime->plugins[i];
    return NULL;
}

// Brings a candidate to its state.
static tn_status decide(tni_plugin *plugin, tn_error *err)
{
    const char *name = plugin->manifest.name;
    const char *disabled_by = tni_config_disabled_by(&plugin->runtime->config, name);
    if (disabled_by) {
        tni_plugin_set_state(plugin, TN_PLUGIN_DISABLED, "disabled by %s", disabled_by);
        return TN_OK;
    }
    const tni_plugin *first = find_loaded(plugin->runtime, name);
    if (first) {
        tni_plugin_set_state(plugin, TN_PLUGIN_SHADOWED, "%s %s of %s comes first", name,
                             first->manifest.version, first->path);
        return TN_OK;
    }
    return tni_plugin_load(plugin) ? list_devices(plugin, err) : TN_OK;
}

// Those whose name is `name`, or all when it is NULL.
static tn_status decide_all(tn_runtime *runtime, const char *name, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < runtime->plugin_count; i++) {
        tni_plugin *plugin = runtime->plugins[i];
        if (plugin->state == 0 && (!name || strcmp(plugin->manifest.name, name) == 0))
            status = decide(plugin, err);
    }
    return status;
}

static void examine_all(tn_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->state == 0)
            (void)tni_plugin_examine(runtime->plugins[i]);   // a refusal is its state
}

// ------------------------------------------------------------------------------------------- names

// By one of the first `count` devices, and another than `device`.
static bool is_taken(const tn_runtime *runtime, uint32_t count, const tn_device *device,
                     const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (runtime->devices[i] != device && strcmp(runtime->devices[i]->name, name) == 0)
            return true;
    return false;
}

static bool is_called_alike(const tn_runtime *runtime, const tn_device *device)
{
    for (uint32_t i = 0; i < runtime->device_count; i++)
        if (runtime->devices[i] != device &&
            strcmp(runtime->devices[i]->info.name, device->info.name) == 0)
            return true;
    return false;
}

// Every device has <plugin><index> so far. Two of these can be equal (plugin "a" 10, plugin "a1"
// 0): the later one gets more underscores. Then a device that calls itself by a name people can
// type, and that is nobody else's, gets that.
static void name_devices(tn_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->device_count; i++) {
        tn_device *device = runtime->devices[i];
        size_t plugin_bytes = strlen(device->plugin), bytes;
        while (is_taken(runtime, i, device, device->name) &&
               (bytes = strlen(device->name)) + 1 < sizeof device->name) {
            memmove(device->name + plugin_bytes + 1, device->name + plugin_bytes,
                    bytes - plugin_bytes + 1);
            device->name[plugin_bytes] = '_';
        }
    }
    for (uint32_t i = 0; i < runtime->device_count; i++) {
        tn_device *device = runtime->devices[i];
        const char *own = device->info.name;
        if (tni_text_is_name(own) && strlen(own) < sizeof device->name &&
            !is_called_alike(runtime, device) &&
            !is_taken(runtime, runtime->device_count, device, own))
            tni_copy_text(device->name, sizeof device->name, own);
    }
}

tn_status tni_registry_fill(tn_runtime *runtime, tn_error *err)
{
    const tni_config_words *order = &runtime->config.order;
    tn_status status = TN_OK;
    examine_all(runtime);
    for (uint32_t i = 0; status == TN_OK && i < order->count; i++)
        status = decide_all(runtime, order->items[i].text, err);
    if (status == TN_OK)
        status = decide_all(runtime, NULL, err);
    name_devices(runtime);
    return status;
}
