// registry.c: which candidates are used, and the list of their devices.
//
// Candidates are tried in the order that the configurations give, then in that of the search. Of
// one name the first that starts is used. The list of devices has the same order and the same names
// at every start as long as the machine, the files and the configurations are the same.
//
//   examined ─► known? ─► no: probed ─► devices told before, or just now ─► listed
//                    └► quarantined └► else loaded, asked                ─► listed
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

// -------------------------------------------------------------------------------------- candidates

static const tni_plugin *find_loaded(const tn_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->state == TN_PLUGIN_LOADED &&
            strcmp(runtime->plugins[i]->manifest.name, name) == 0)
            return runtime->plugins[i];
    return NULL;
}

// Refused for good: state and reason.
static tn_status reject(tni_plugin *plugin, const tn_error *why)
{
    tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "%s", why->text);
    return TN_OK;
}

static tn_status list_device(tni_plugin *plugin, const tni_offer *offer, tn_error *err)
{
    tn_runtime *runtime = plugin->runtime;
    tn_device *device = tni_arena_take(&runtime->arena, sizeof *device);
    tni_residents *residents = tni_residents_make(&runtime->arena);
    if (!device || !residents ||
        !tni_grow(&runtime->allocator, &runtime->devices, &runtime->device_capacity,
                  runtime->device_count + 1, sizeof *runtime->devices))
        return tni_fail_memory(err, "the list of devices", sizeof *device);
    *device = (tn_device){ .runtime = runtime,
                           .owner = plugin,
                           .plugin = plugin->manifest.name,
                           .index = offer->index,
                           .residents = residents,
                           .info = offer->info };
    snprintf(device->name, sizeof device->name, "%s%u", plugin->manifest.name, offer->index);
    runtime->devices[runtime->device_count++] = device;
    return TN_OK;
}

static tn_status list_devices(tni_plugin *plugin, const tni_answer *answer, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < answer->count; i++)
        status = list_device(plugin, &answer->offers[i], err);
    tni_plugin_set_state(plugin, TN_PLUGIN_LOADED, "%s", answer->reason);   // more of it follows
    return status;
}

// Loads it now; what it answers is kept where that may be.
static tn_status load_and_list(tni_plugin *plugin, tn_error *err)
{
    tn_error why;
    tn_status status = tni_plugin_bring_up(plugin, &why);
    if (status == TN_E_HOST_MEMORY)
        return tni_fail(err, status, "%s", why.text);
    if (status != TN_OK)
        return reject(plugin, &why);
    if (tni_kept_may_list(&plugin->answer)) {
        tni_kept_set_answer(plugin, &plugin->answer);
        tni_kept_write(plugin);
    }
    return list_devices(plugin, &plugin->answer, err);
}

// Brings a candidate to its state.
static tn_status decide(tni_plugin *plugin, tn_error *err)
{
    const char *name = plugin->manifest.name;
    tn_error why;
    const tni_plugin *first = find_loaded(plugin->runtime, name);
    if (first) {
        tni_plugin_set_state(plugin, TN_PLUGIN_SHADOWED, "%s %s of %s comes first", name,
                             first->manifest.version, first->path);
        return TN_OK;
    }
    if (tni_plugin_check_pin(plugin, &why) != TN_OK)
        return reject(plugin, &why);
    if (plugin->kept.verdict == TNI_QUARANTINED) {
        tni_plugin_set_state(plugin, TN_PLUGIN_QUARANTINED, "it %s", plugin->kept.reason);
        return TN_OK;
    }
    if (plugin->is_probed && plugin->probed.is_refusal) {
        (void)tni_fail(&why, TN_E_PLUGIN, "%s", plugin->probed.reason);
        return reject(plugin, &why);
    }
    if (plugin->kept.verdict == TNI_LISTED)
        return list_devices(plugin, &plugin->kept.answer, err);
    if (plugin->is_probed && !plugin->probed.count && !plugin->probed.is_partial)
        return list_devices(plugin, &plugin->probed, err);
    return load_and_list(plugin, err);
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

static void examine(tni_plugin *plugin)
{
    tn_error why;
    if (tni_plugin_examine(plugin, &why) != TN_OK) {
        (void)reject(plugin, &why);
        return;
    }
    const char *disabled_by = tni_config_disabled_by(&plugin->runtime->config,
                                                     plugin->manifest.name);
    if (disabled_by)
        tni_plugin_set_state(plugin, TN_PLUGIN_DISABLED, "disabled by %s", disabled_by);
}

// Those of which nothing is known, all at once. A pin is looked at first: code of another file than
// the pinned one does not run, in no process.
static tn_status probe_unseen(tn_runtime *runtime, tn_error *err)
{
    tn_status status = TN_OK;
    uint32_t count = 0;
    tn_error why;
    tni_plugin **unseen = tni_arena_take_array(&runtime->arena, runtime->plugin_count,
                                               sizeof *unseen);
    if (runtime->plugin_count && !unseen)
        return tni_fail_memory(err, "the list of plugins", runtime->plugin_count * sizeof *unseen);
    for (uint32_t i = 0; status == TN_OK && i < runtime->plugin_count; i++) {
        tni_plugin *plugin = runtime->plugins[i];
        if (plugin->state != 0)
            continue;
        status = tni_kept_find(plugin, err);
        if (status != TN_OK || plugin->kept.verdict != TNI_UNSEEN)
            continue;
        if (tni_plugin_check_pin(plugin, &why) == TN_OK)
            unseen[count++] = plugin;
        else
            (void)reject(plugin, &why);
    }
    return status == TN_OK ? tni_probe(runtime, unseen, count, err) : status;
}

// How many devices it has in the end, before what there is to tell of them.
static void tell_counts(tn_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++) {
        tni_plugin *plugin = runtime->plugins[i];
        char details[sizeof plugin->why.text];
        if (plugin->state != TN_PLUGIN_LOADED)
            continue;
        for (uint32_t d = 0; d < runtime->device_count; d++)
            plugin->device_count += runtime->devices[d]->owner == plugin;
        tni_copy_text(details, sizeof details, plugin->why.text);
        tni_plugin_set_state(plugin, TN_PLUGIN_LOADED, "%u device%s%s%s", plugin->device_count,
                             plugin->device_count == 1 ? "" : "s", details[0] ? "; " : "", details);
    }
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
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->state == 0)
            examine(runtime->plugins[i]);
    tn_status status = probe_unseen(runtime, err);
    for (uint32_t i = 0; status == TN_OK && i < order->count; i++)
        status = decide_all(runtime, order->items[i].text, err);
    if (status == TN_OK)
        status = decide_all(runtime, NULL, err);
    if (status == TN_OK)
        status = tni_owners_decide(runtime, err);
    name_devices(runtime);
    tni_owners_doubt(runtime);
    tell_counts(runtime);
    return status;
}
