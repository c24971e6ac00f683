// owner.c: one physical device, one owner. Several plugins may offer the same GPU: it is listed
// once, as a device of the plugin that is better for it.
//
// Better is, in this order: what `order` of the configurations names earlier; what tells clearly
// more operations a second, where both tell them; what comes earlier in the search.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

// The rule of the contract: compared only between equal hosts, never between two devices of one
// plugin, never for software.
static bool is_same_physical(const tn_device *a, const tn_device *b)
{
    static const uint8_t none[sizeof a->info.uuid];
    if (a->owner == b->owner || a->info.kind == TNP_KIND_SOFTWARE ||
        b->info.kind == TNP_KIND_SOFTWARE || strcmp(a->info.host, b->info.host) != 0)
        return false;
    return (b->info.pci[0] && strcmp(a->info.pci, b->info.pci) == 0) ||
           (memcmp(b->info.uuid, none, sizeof none) != 0 &&
            memcmp(a->info.uuid, b->info.uuid, sizeof b->info.uuid) == 0);
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

static tn_status shadow(tn_device *device, tn_device *by, const char *why, tn_error *err)
{
    tn_runtime *runtime = device->runtime;
    tni_plugin *plugin = device->owner;
    if (!tni_grow(&runtime->allocator, &runtime->shadowed, &runtime->shadowed_capacity,
                  runtime->shadowed_count + 1, sizeof *runtime->shadowed))
        return tni_fail_memory(err, "the list of devices", sizeof *runtime->shadowed);
    runtime->shadowed[runtime->shadowed_count++] = (tni_shadowed){ device, by, why };
    char before[sizeof plugin->why.text];
    tni_copy_text(before, sizeof before, plugin->why.text);
    (void)tni_fail(&plugin->why, TN_E_PLUGIN,
                   "%s%sdevice %u is left out: '%s' is offered by plugin %s, %s", before,
                   before[0] ? "; " : "", device->index, device->info.name, by->plugin, why);
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
