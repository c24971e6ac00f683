// claim.c: which nodes of a slice this plugin takes: each alone, and some together (unit.h).
#include "machine.h"
#include "node.h"
#include "pack.h"
#include "program.h"
#include "unit.h"

#define PHASE_NS 1500.0   // of one phase: a barrier and the first touch of the operands
#define PACKED   0.9      // of the time, where a weight is read packed

// Puts the likely lengths in the place of the full dims.
static void use_likely_dims(const tnp_slice *slice, const tnh_value *value, cpu_tensor *tensor)
{
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (value->extent[d] == 0)
            continue;
        const tnp_value *length = slice->values[value->extent[d] - 1];
        if (TNP_HAS(tnp_value, length, likely) && length->likely > 0 &&
            length->likely < tensor->dims[d])
            tensor->dims[d] = length->likely;
    }
}

static double cost_of(const cpu_device *device, const tnp_slice *slice, const cpu_node *node)
{
    const uint32_t workers = device->instance->workers;
    cpu_job likely = node->job;
    for (uint32_t i = 0; i < node->output_count; i++)
        use_likely_dims(slice, &node->outs[i], &likely.outs[i]);
    for (uint32_t i = 0; i < likely.input_count; i++)
        use_likely_dims(slice, &node->in[i], &likely.in[i]);
    double compute_s = cpu_job_flops(&likely) / (workers * CPU_CORE_FLOPS_PER_S);
    double move_s = cpu_job_bytes(&likely) / cpu_machine_bytes_per_s(workers);
    if (node->packed)
        compute_s *= PACKED, move_s *= PACKED;
    return node->op->phases * PHASE_NS + 1e9 * (compute_s > move_s ? compute_s : move_s);
}

// Tells the sink that the nodes are taken, which were read as one.
static const char *take(const cpu_device *device, const tnp_slice *slice, const uint32_t *nodes,
                        uint32_t node_count, const cpu_node *node, const tnp_claim_sink *sink)
{
    tnp_in_place in_place[CPU_MAX_INPUTS];
    uint32_t in_place_count = 0;
    for (uint32_t i = 0; i < node->job.input_count; i++)
        if (cpu_node_may_reuse(node, i))
            in_place[in_place_count++] = (tnp_in_place){ node->outputs[0], node->inputs[i] };

    uint64_t scratch = 0;
    if (node->op->scratch_bytes)
        scratch = node->op->scratch_bytes(&node->job, device->instance->workers);
    if (scratch > 0 && !cpu_add(scratch, CPU_SCRATCH_ALIGNMENT, &scratch))
        return "the op needs more scratch than there can be";

    tnp_pack own[CPU_MAX_INPUTS];
    const tnp_pack *packs[CPU_MAX_INPUTS];
    uint32_t pack_count = 0;
    for (uint32_t i = 0; i < node->job.input_count; i++) {
        if (!(node->packed >> i & 1u))
            continue;
        own[pack_count] = cpu_pack_of(node, i);
        packs[pack_count] = &own[pack_count];
        pack_count++;
    }

    tnp_claim claim = {
        .size = sizeof claim,
        .node_count = node_count,
        .in_place_count = in_place_count,
        .pack_count = pack_count,
        .packs = packs,
        .nodes = nodes,
        .in_place = in_place,
        .name = node->rule.name,
        .cost_ns = cost_of(device, slice, node),
        .scratch_bytes = scratch,
    };
    sink->take(sink->context, &claim);
    return NULL;
}

static void take_units_at(const cpu_device *device, const tnp_slice *slice, const tnh_users *users,
                          uint32_t index, const tnp_claim_sink *sink)
{
    cpu_unit units[2];
    const uint32_t count = cpu_unit_find(slice, users, index, units);
    for (uint32_t i = 0; i < count; i++) {
        cpu_node node;
        if (!cpu_unit_read(device, slice, units[i].nodes, units[i].node_count, &node))
            (void)take(device, slice, units[i].nodes, units[i].node_count, &node, sink);
    }
}

static tnp_status take_units(const cpu_device *device, const tnp_slice *slice,
                             const tnp_claim_sink *sink, tnp_error *err)
{
    uint64_t bytes;
    tnh_users *users = NULL;
    if (cpu_mul(slice->storage_count, sizeof *users, &bytes))
        users = cpu_alloc(device->instance, bytes);
    if (!users)
        return cpu_error(err, TNP_E_HOST_MEMORY, "claim: no memory to count %u storages",
                         slice->storage_count);
    tnh_count_all_users(slice, users, sizeof *users);
    for (uint32_t i = 0; i < slice->node_count; i++)
        take_units_at(device, slice, users, i, sink);
    cpu_free(device->instance, users);
    return TNP_OK;
}

tnp_status cpu_claim(tnp_device *handle, const tnp_slice *what, const tnp_claim_sink *sink,
                     tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_slice slice;
    if (!device)
        return cpu_error(err, TNP_E_ARG, "claim: not a device of this plugin");
    if (!TNP_TAKE(&slice, what))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "claim: the slice has a property that this plugin does not know");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        cpu_node node;
        const char *reason = cpu_node_read(device, &slice, i, &node);
        if (!reason)
            reason = take(device, &slice, &i, 1, &node, sink);
        if (reason)
            sink->refuse(sink->context, i, reason);
    }
    return device->instance->options.fuse ? take_units(device, &slice, sink, err) : TNP_OK;
}
