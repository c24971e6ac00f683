// owner.c: one physical device, one owner. Several plugins may offer the same GPU: it is listed
// once, as a device of the plugin that is better for it.
//
// Where neither tells, two devices of one name may be one: both are used, and a line says so.
//
// Better is, in this order: what `order` of the configurations names earlier; what tells clearly
// more operations a second, where both tell them; what comes earlier in the search.
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

static bool has_uuid(const tnp_device_info *info)
{
    static const uint8_t none[sizeof info->uuid];
    return memcmp(info->uuid, none, sizeof none) != 0;
}

// The rule of the contract: compared only between equal hosts, never between two devices of one
// plugin, never for software.
static bool is_same_physical(const tn_device *a, const tn_device *b)
{
    if (a->owner == b->owner || a->info.kind == TNP_KIND_SOFTWARE ||
        b->info.kind == TNP_KIND_SOFTWARE || strcmp(a->info.host, b->info.host) != 0)
        return false;
    return (b->info.pci[0] && strcmp(a->info.pci, b->info.pci) == 0) ||
           (has_uuid(&b->info) && memcmp(a->info.uuid, b->info.uuid, sizeof b->info.uuid) == 0);
}

static uint32_t place_in_order(const tn_device *device)
{
    const tni_config_words *order = &device->runtime->config.order;
    for (uint32_t i = 0; i < order->count; i++)
        if (strcmp(order->items[i].text, device->plugin) == 0)
            return i;
    return order->count;
}

// Whether `later` is better than `earlier` of the list; *out_why says why the better one is, as
// words that go on after its name.
static bool is_better(const tn_device *later, const tn_device *earlier, const char **out_why)
{
    static const double clearly = 1.1;
    uint32_t one = place_in_order(later), other = place_in_order(earlier);
    double fast = later->info.flops_per_s, slow = earlier->info.flops_per_s;
    *out_why = "which comes first in the configured order";
    if (one != other)
        return one < other;
    *out_why = "which tells more operations a second";
    if (fast > 0 && slow > 0 && (fast > clearly * slow || slow > clearly * fast))
        return fast > slow;
    *out_why = "which comes first";
    return false;
}

static void add_reason(tni_plugin *plugin, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_reason(tni_plugin *plugin, const char *format, ...)
{
    tn_error more;
    char before[sizeof plugin->why.text];
    va_list arguments;
    va_start(arguments, format);
    (void)tni_fail_v(&more, TN_E_PLUGIN, format, arguments);
    va_end(arguments);
    tni_copy_text(before, sizeof before, plugin->why.text);
    (void)tni_fail(&plugin->why, TN_E_PLUGIN, "%s%s%s", before, before[0] ? "; " : "", more.text);
}

static tn_status shadow(tn_device *device, tn_device *by, const char *why, tn_error *err)
{
    tn_runtime *runtime = device->runtime;
    if (!tni_grow(&runtime->allocator, &runtime->shadowed, &runtime->shadowed_capacity,
                  runtime->shadowed_count + 1, sizeof *runtime->shadowed))
        return tni_fail_memory(err, "the list of devices", sizeof *runtime->shadowed);
    runtime->shadowed[runtime->shadowed_count++] = (tni_shadowed){ device, by, why };
    add_reason(device->owner, "device %u is left out: '%s' is offered by plugin %s, %s",
               device->index, device->info.name, by->plugin, why);
    return TN_OK;
}

// Whoever lost to a device that now loses itself has lost to the new one.
static void pass_on(tn_runtime *runtime, const tn_device *from, tn_device *to)
{
    for (uint32_t i = 0; i < runtime->shadowed_count; i++)
        if (runtime->shadowed[i].by == from)
            runtime->shadowed[i].by = to;
}

tn_status tni_owners_decide(tn_runtime *runtime, tn_error *err)
{
    tn_status status = TN_OK;
    uint32_t kept = 0;
    for (uint32_t i = 0; status == TN_OK && i < runtime->device_count; i++) {
        tn_device *device = runtime->devices[i];
        const char *why;
        bool is_shadowed = false;
        for (uint32_t k = 0; status == TN_OK && k < kept && !is_shadowed; k++) {
            tn_device *listed = runtime->devices[k];
            if (!is_same_physical(listed, device))
                continue;
            if (!is_better(device, listed, &why)) {
                status = shadow(device, listed, why, err);
                pass_on(runtime, device, listed);
                is_shadowed = true;
                continue;
            }
            status = shadow(listed, device, why, err);
            pass_on(runtime, listed, device);
            memmove(&runtime->devices[k], &runtime->devices[k + 1],
                    (kept - k - 1) * sizeof *runtime->devices);
            kept--;
            k--;
        }
        if (!is_shadowed)
            runtime->devices[kept++] = device;
    }
    if (status == TN_OK)
        runtime->device_count = kept;
    return status;
}

// CPUs need no address: there is one set of them, which several plugins may use.
static bool may_be_same(const tn_device *a, const tn_device *b)
{
    const tnp_device_info *x = &a->info, *y = &b->info;
    bool is_hardware = x->kind == y->kind && x->kind != TNP_KIND_SOFTWARE &&
                       x->kind != TNP_KIND_CPU;
    bool is_told = (x->pci[0] && y->pci[0]) || (has_uuid(x) && has_uuid(y));
    return is_hardware && !is_told && a->owner != b->owner && strcmp(x->host, y->host) == 0 &&
           strcmp(x->name, y->name) == 0;
}

// By another device of the plugin, which was told apart.
static bool is_known_to(const tn_device *device, const tni_plugin *plugin)
{
    const tn_runtime *runtime = device->runtime;
    for (uint32_t i = 0; i < runtime->shadowed_count; i++)
        if (runtime->shadowed[i].by == device && runtime->shadowed[i].device->owner == plugin)
            return true;
    return false;
}

void tni_owners_doubt(tn_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->device_count; i++) {
        const tn_device *device = runtime->devices[i];
        for (uint32_t k = 0; k < i; k++) {
            const tn_device *other = runtime->devices[k];
            tn_error what;
            if (!may_be_same(device, other) || is_known_to(other, device->owner))
                continue;
            (void)tni_fail(&what, TN_E_PLUGIN,
                           "may be %s of plugin %s: both are called '%s', and no PCI address or "
                           "UUID tells; both are used, unless tenon.ini disables a plugin",
                           other->name, other->plugin, device->info.name);
            add_reason(device->owner, "device %u %s", device->index, what.text);
            tni_log_line(&runtime->log, TN_LOG_WARNING, "%s %s", device->name, what.text);
            break;
        }
    }
}
