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

static tn_status open_device(tn_device *device, tn_error *err)
{
    tnp_open what = { .size = sizeof what, .id = device->info.id };
    tnp_error said = tni_plugin_error();
    tnp_device *opened = NULL;
    tnp_status status = device->table->open(device->instance, &what, &opened, &said);
    if (status != TNP_OK)
        return tni_device_fail_call(device, "open", status, &said, err);
    if (!opened)
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: open: a fault of the plugin, success without a device", device->name);
    device->opened = opened;
    return TN_OK;
}

// By now the plugin has asked for what it knows: what is left is a slip, or of another release.
static void warn_of_settings(const tn_device *device)
{
    const tn_runtime *runtime = device->runtime;
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->table == device->table)
            tni_plugin_warn_of_unasked(runtime->plugins[i]);
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
    if (is_first && status == TN_OK)   // outside the lock: the log is a call of the application's
        warn_of_settings(device);
    if (warning[0])
        tni_log_line(&device->runtime->log, TN_LOG_WARNING,
                     "%s: what was measured of it is ignored: %s", device->name, warning);
    return status;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return limit && value > limit ? limit : value;
}

bool tni_device_is_beside(const tn_device *a, const tn_device *b)
{
    return a->table == b->table && a->instance == b->instance;
}

bool tni_device_link(const tn_device *from, const tn_device *to, tnp_link *out_link)
{
    const tn_device *whose = from ? from : to;
    tnp_error ignored = tni_plugin_error();
    *out_link = (tnp_link){ .size = sizeof *out_link };
    if (whose->table->link && whose->opened &&
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
    char who[TNI_DEVICE_NAME_BYTES + 24];
    *out_info = info;
    snprintf(who, sizeof who, "%s: memory %u", device->name, memory);
    if (!device->opened || memory >= device->info.memory_count)
        return tni_fail(err, TN_E_ARG, "%s: the device is not open, or has only %u memories", who,
                        device->info.memory_count);
    tnp_status status = device->table->memory_info(device->opened, memory, &info, &said);
    if (status != TNP_OK)
        return tni_fail_plugin(err, status, who, &said);
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
