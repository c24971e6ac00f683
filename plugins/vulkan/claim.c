// claim.c: which nodes of a slice this plugin takes.
#include "cost.h"
#include "fuse.h"
#include "unit.h"

static void take(tnp_device *device, const tnp_slice *slice, const vulkan_unit *unit,
                 const tnp_claim_sink *sink)
{
    const uint32_t output = vulkan_unit_last(unit)->output;
    vulkan_operand operands[VULKAN_MAX_UNIT_OPERANDS];
    tnp_in_place in_place[VULKAN_MAX_UNIT_OPERANDS];
    uint32_t in_place_count = 0;
    char name[64];
    const uint32_t count = vulkan_unit_operands(unit, operands);
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].may_reuse)
            in_place[in_place_count++] = (tnp_in_place){ output, operands[i].index };
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

// Units of several nodes, beside each node alone: the host chooses.
//   unit   room to read one
static tnp_status take_together(tnp_device *device, const tnp_slice *slice, vulkan_unit *unit,
                                const tnp_claim_sink *sink, tnp_error *err)
{
    tnh_users *users = vulkan_alloc(device->instance, (slice->storage_count + 1u) * sizeof *users);
    if (!users)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "claim: no memory to count users");
    tnh_count_all_users(slice, users, sizeof *users);
    for (uint32_t i = 0; i < slice->node_count; i++) {
        uint32_t nodes[VULKAN_MAX_UNIT_NODES];
        const uint32_t count = vulkan_fuse(slice, users, i, nodes);
        if (count > 0 && !vulkan_unit_read(device, slice, nodes, count, unit))
            take(device, slice, unit, sink);
    }
    vulkan_free(device->instance, users);
    return TNP_OK;
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
    tnp_status status = device->instance->options.fuse
                            ? take_together(device, &slice, unit, sink, err)
                            : TNP_OK;
    vulkan_free(device->instance, unit);
    return status;
}
