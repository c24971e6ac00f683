// device.c: describing a device, opening it, asking about its memories.
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"
#include "base/integer.h"
#include "plugin/plugin_internal.h"

uint32_t tn_device_is_default(const tn_device *device)
{
    return device && device->info.kind != TNP_KIND_SOFTWARE;
}

void tn_device_describe(const tn_device *device, tn_device_info *out_info)
{
    if (!device)
        return;
    tn_device_info info = {
        .size = sizeof info,
        .kind = device->info.kind,
        .name = device->name,
        .description = device->info.name,
        .driver = device->info.driver,
        .plugin = device->plugin,
        .memory_bytes = device->info.memory_bytes,
        .flops_per_s = device->info.flops_per_s,
    };
    tni_give_struct(out_info, &info, sizeof info);
}

// The device as the plugin tells it in this process; NULL = there is none any more.
static const tni_offer *find_offer(const tn_device *device)
{
    const tni_answer *answer = &device->owner->answer;
    const tni_offer listed = { device->index, device->info }, *found = NULL;
    for (uint32_t i = 0; i < answer->count; i++) {
        const tni_offer *offer = &answer->offers[i];
        if (tni_offer_is_same(offer, &listed) && (!found || offer->index == device->index))
            found = offer;
    }
    return found;
}

// The plugin may be loaded only now, by what was known of its devices from before.
static tn_status bring_up(tn_device *device, tn_error *err)
{
    tni_plugin *plugin = device->owner;
    bool is_new = !plugin->instance, was_listed = plugin->kept.verdict == TNI_LISTED;
    tni_answer listed = plugin->kept.answer;
    tn_error why;
    tn_status status = tni_plugin_bring_up(plugin, &why);
    if (is_new && was_listed &&
        (status != TN_OK || !tni_answer_is_same(&listed, &plugin->answer))) {
        plugin->kept.verdict = TNI_ANSWERED;   // the next start asks, and tells what it finds
        if (status == TN_OK)
            tni_kept_set_answer(plugin, &plugin->answer);
        tni_kept_write(plugin);
    }
    if (status != TN_OK)
        return tni_fail(err, status, "%s: plugin %s: %s", device->name, plugin->path, why.text);
    const tni_offer *offer = find_offer(device);
    if (!offer)
        return tni_fail(err, TN_E_DEVICE_LOST,
                        "%s: is not there any more: plugin %s offers %u other device%s now, listed "
                        "from the next start on",
                        device->name, device->plugin, plugin->answer.count,
                        plugin->answer.count == 1 ? "" : "s");
    device->table = plugin->table;
    device->instance = plugin->instance;
    device->id = offer->info.id;
    return TN_OK;
}

static tn_status open_device(tn_device *device, tn_error *err)
{
    tn_status status = device->instance ? TN_OK : bring_up(device, err);
    if (status != TN_OK)
        return status;
    tnp_open what = { .size = sizeof what, .id = device->id };
    tnp_error said = tni_plugin_error();
    tnp_device *opened = NULL;
    tnp_status answer = device->table->open(device->instance, &what, &opened, &said);
    if (answer != TNP_OK)
        return tni_device_fail(device, "open", answer, &said, err);
    if (!opened)
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: open: a fault of the plugin, success without a device", device->name);
    device->opened = opened;
    return TN_OK;
}

tn_status tni_device_open(tn_device *device, tn_error *err)
{
    char warning[sizeof err->text] = "";
    pthread_mutex_lock(&device->runtime->opening);
    bool is_first = !device->opened;
    tn_status status = is_first ? open_device(device, err) : TN_OK;
    if (is_first && status == TN_OK)
        tni_measured_load(device, warning, sizeof warning);
    pthread_mutex_unlock(&device->runtime->opening);
    // Outside the lock: the log is a call of the application's. By now the plugin has asked.
    if (is_first && status == TN_OK && device->owner)
        tni_plugin_warn_of_unasked(device->owner);
    if (warning[0])
        tni_log_line(&device->runtime->log, TN_LOG_WARNING,
                     "%s: what was measured of it is ignored: %s", device->name, warning);
    return status;
}

void tni_device_abandon(tn_device *device)
{
    if (!atomic_exchange(&device->is_abandoned, true))
        device->table->abandon(device->opened);
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return limit && value > limit ? limit : value;
}

bool tni_device_is_beside(const tn_device *a, const tn_device *b)
{
    return a->instance && a->table == b->table && a->instance == b->instance;
}

bool tni_device_link(const tn_device *from, const tn_device *to, tnp_link *out_link)
{
    const tn_device *whose = from ? from : to;
    tnp_error ignored = tni_plugin_error();
    *out_link = (tnp_link){ .size = sizeof *out_link };
    if (whose->opened && whose->table->link &&
        whose->table->link(from ? from->opened : NULL, to ? to->opened : NULL, out_link,
                           &ignored) == TNP_OK)
        return true;
    *out_link = (tnp_link){ .size = sizeof *out_link };
    return false;
}

tn_status tni_device_memory(const tn_device *device, uint32_t memory, tnp_memory_info *out_info,
                            tn_error *err)
{
    tnp_memory_info info = { .size = sizeof info };
    tnp_error said = tni_plugin_error();
    char who[TNI_DEVICE_NAME_BYTES + 40];
    *out_info = info;
    snprintf(who, sizeof who, "%s: memory_info: memory %u", device->name, memory);
    if (device->opened && device->info.memory_count == 0)
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: a fault of the plugin, the device is said to have no memory", who);
    if (!device->opened || memory >= device->info.memory_count)
        return tni_fail(err, TN_E_ARG, "%s: the device is not open, or has only %u memories", who,
                        device->info.memory_count);
    tnp_status status = device->table->memory_info(device->opened, memory, &info, &said);
    if (status != TNP_OK)
        return tni_device_fail(device, "memory_info", status, &said, err);
    if (!tni_is_power_of_two(info.alignment_bytes) ||
        (info.import_alignment_bytes && !tni_is_power_of_two(info.import_alignment_bytes)))
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: a fault of the plugin, alignments %" PRIu64 " and %" PRIu64 " bytes",
                        who, info.alignment_bytes, info.import_alignment_bytes);
    info.size = sizeof info;
    info.free_bytes = at_most(info.free_bytes, info.total_bytes);
    info.max_buffer_bytes = at_most(info.max_buffer_bytes, info.total_bytes);
    info.max_binding_bytes = at_most(info.max_binding_bytes, info.total_bytes);
    *out_info = info;
    return TN_OK;
}

uint64_t tni_memory_free(const tnp_memory_info *memory)
{
    return memory->free_bytes || memory->total_bytes ? memory->free_bytes : UINT64_MAX;
}

const char *tni_device_plugin_version(const tn_device *device)
{
    return device->owner->loaded.version;
}

const char *tni_device_plugin_hash(const tn_device *device)
{
    return device->owner->kept.sha256;
}
