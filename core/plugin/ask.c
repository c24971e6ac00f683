// ask.c: asks a started plugin for its devices. What it says is foreign: texts are made safe,
// numbers checked, and bytes behind its structs looked at; a device that is not in order is left
// out, and the reason is told.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plugin/plugin_internal.h"

// Room for one answer of a plugin, and bytes behind it that it must not touch.
typedef struct guarded_info {
    tnp_device_info info;
    unsigned char guard[64];
} guarded_info;

static void add_reason(tni_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_reason(tni_answer *answer, const char *format, ...)
{
    tn_error more, both;
    va_list arguments;
    va_start(arguments, format);
    (void)tni_fail_v(&more, TN_E_PLUGIN, format, arguments);
    va_end(arguments);
    (void)tni_fail(&both, TN_E_PLUGIN, "%s%s%s", answer->reason, answer->reason[0] ? "; " : "",
                   more.text);
    tni_copy_text(answer->reason, sizeof answer->reason, both.text);
}

// Whoever has the device misses it, and it may be there another time: the list is not kept, so that
// each start asks and tells again.
static void tell_left_out(tni_plugin *plugin, tni_answer *answer, const char *text)
{
    add_reason(answer, "%s", text);
    answer->is_partial = true;
    tni_log_line(&plugin->runtime->log, TN_LOG_WARNING, "plugin %s: %s", plugin->manifest.name,
                 text);
}

static void leave_out(tni_plugin *plugin, uint32_t index, tni_answer *answer, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
static void leave_out(tni_plugin *plugin, uint32_t index, tni_answer *answer, const char *format,
                      ...)
{
    tn_error why, whole;
    va_list arguments;
    va_start(arguments, format);
    (void)tni_fail_v(&why, TN_E_PLUGIN, format, arguments);
    va_end(arguments);
    (void)tni_fail(&whole, TN_E_PLUGIN, "device %u is left out: %s", index, why.text);
    tell_left_out(plugin, answer, whole.text);
}

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

// Asks for one device; false: it is left out.
static bool ask_info(tni_plugin *plugin, uint32_t index, tni_answer *answer,
                     tnp_device_info *out_info)
{
    guarded_info got = { .info = { .size = sizeof got.info } };
    tnp_device_info *info = &got.info;
    tnp_error said = tni_plugin_error();
    tnp_status status = plugin->table->device_info(plugin->instance, index, info, &said);
    if (info->kind > TNP_KIND_SOFTWARE && plugin->table->abi > TNP_ABI_CURRENT)
        info->kind = TNP_KIND_ACCELERATOR;   // a kind that came later
    if (status != TNP_OK) {
        tn_error why;
        char who[32];
        snprintf(who, sizeof who, "device %u is left out", index);
        (void)tni_fail_plugin(&why, status, who, &said);
        tell_left_out(plugin, answer, why.text);
    } else if (!is_all_zero(got.guard, sizeof got.guard) || info->size != sizeof *info) {
        leave_out(plugin, index, answer,
                  "a fault of the plugin, it wrote beyond the %zu bytes of its info", sizeof *info);
    } else if (info->kind < TNP_KIND_CPU || info->kind > TNP_KIND_SOFTWARE) {
        leave_out(plugin, index, answer, "unknown kind %u", info->kind);
    } else if (info->memory_count > TNI_MAX_MEMORIES) {
        leave_out(plugin, index, answer, "%u memories, at most %d are possible", info->memory_count,
                  TNI_MAX_MEMORIES);
    } else {
        make_text_safe(info->name, sizeof info->name);
        make_text_safe(info->driver, sizeof info->driver);
        make_text_safe(info->host, sizeof info->host);
        make_text_safe(info->pci, sizeof info->pci);
        if (!isfinite(info->flops_per_s) || info->flops_per_s < 0)
            info->flops_per_s = 0;
        if (info->memory_bytes > INT64_MAX)   // nobody has that: unknown
            info->memory_bytes = 0;
        *out_info = *info;
        return true;
    }
    return false;
}

static const tni_offer *find_id(const tni_answer *answer, uint64_t id)
{
    for (uint32_t i = 0; i < answer->count; i++)
        if (answer->offers[i].info.id == id)
            return &answer->offers[i];
    return NULL;
}

static void ask_each(tni_plugin *plugin, uint32_t count, tni_answer *answer)
{
    for (uint32_t i = 0; i < count; i++) {
        tni_offer *offer = &answer->offers[answer->count];
        *offer = (tni_offer){ .index = i };
        if (!ask_info(plugin, i, answer, &offer->info))
            continue;
        const tni_offer *first = find_id(answer, offer->info.id);
        if (first)
            leave_out(plugin, i, answer,
                      "a fault of the plugin, its id %" PRIu64 " is that of device %u, which is "
                      "used, since it comes first",
                      offer->info.id, first->index);
        else
            answer->count++;
    }
}

tn_status tni_plugin_ask_devices(tni_plugin *plugin, tni_answer *out, tn_error *err)
{
    tn_runtime *runtime = plugin->runtime;
    uint32_t count = 0;
    tnp_error said = tni_plugin_error();
    *out = (tni_answer){ 0 };
    if (runtime->at)
        runtime->at("device_count");
    tnp_status answer = plugin->table->device_count(plugin->instance, &count, &said);
    if (answer != TNP_OK) {
        tn_error why;
        (void)tni_fail_plugin(&why, answer, "device_count", &said);
        out->is_refusal = true;
        add_reason(out, "%s", why.text);
        return TN_OK;
    }
    if (count == 0 && said.text[0]) {
        char text[sizeof out->reason];
        tni_text_make_safe(text, sizeof text, said.text, sizeof said.text);
        add_reason(out, "%s", text);
    }
    if (count > TNI_MAX_DEVICES) {
        char text[80];
        snprintf(text, sizeof text, "it says %u devices, the first %d are looked at", count,
                 TNI_MAX_DEVICES);
        tell_left_out(plugin, out, text);
        count = TNI_MAX_DEVICES;
    }
    if (!count)
        return TN_OK;
    out->offers = tni_arena_take_array(&runtime->arena, count, sizeof *out->offers);
    if (!out->offers)
        return tni_fail_memory(err, "the list of devices", (uint64_t)count * sizeof *out->offers);
    if (runtime->at)
        runtime->at("device_info");
    ask_each(plugin, count, out);
    return TN_OK;
}
