// claim.c: which nodes of a slice this plugin takes.
#include "unit.h"

static void take(tnp_device *device, const tnp_slice *slice, const vulkan_unit *unit,
                 const tnp_claim_sink *sink)
{
    const tnh_node *last = &unit->nodes[unit->node_count - 1];
    tnp_in_place in_place[TNH_MAX_INPUTS];
    uint32_t in_place_count = 0;
    char name[64];
    for (uint32_t i = 0; i < last->input_count && unit->node_count == 1; i++)
        if (tnh_node_may_reuse(last, i))
            in_place[in_place_count++] = (tnp_in_place){ last->output, last->inputs[i] };
    const tnp_claim claim = {
        .size = sizeof claim,
        .node_count = unit->node_count,
        .nodes = unit->indices,
        .in_place_count = in_place_count,
        .in_place = in_place,
        .name = vulkan_unit_name(unit, name, sizeof name),
        .cost_ns = vulkan_unit_cost_ns(device, slice, unit),
        .scratch_bytes = vulkan_unit_scratch(device, unit),
    };
    sink->take(sink->context, &claim);
}

tnp_status vulkan_claim(tnp_device *device, const tnp_slice *what, const tnp_claim_sink *sink,
                        tnp_error *err)
{
    tnp_slice slice;
    if (!TNP_TAKE(&slice, what))
        return tnh_fail_unknown(err, "claim");
    vulkan_unit *unit = vulkan_alloc(device->instance, sizeof *unit);
    if (!unit)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "claim: no memory to read a node");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        const char *reason = vulkan_unit_read(device, &slice, &i, 1, unit);
        if (reason)
            sink->refuse(sink->context, i, reason);
        else
            take(device, &slice, unit, sink);
    }
    vulkan_free(device->instance, unit);
    return TNP_OK;
}
