// compile.c: makes a program of the units chosen, and the pipelines that it needs. Nothing of the
// caller's is kept.
#include "program.h"
#include "unit.h"

void vulkan_program_destroy(tnp_program *program)
{
    if (!program)
        return;
    tnp_instance *instance = program->device->instance;
    for (uint32_t i = 0; i < program->step_count && program->steps; i++)
        vulkan_free(instance, (void *)(uintptr_t)program->steps[i].unit.nodes[0].name);
    vulkan_free(instance, program->steps);
    vulkan_free(instance, program->storages);
    vulkan_free(instance, program->lengths);
    vulkan_free(instance, program);
}

// A step looks at this value, and at the lengths of its dims. False: one of these is none.
static bool mark_needed(tnp_program *program, const tnp_slice *slice, const tnh_value *value,
                        bool is_written)
{
    vulkan_storage *storage = &program->storages[value->storage];
    storage->is_needed = true;
    storage->is_written |= is_written;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (value->extent[d] == 0)
            continue;
        tnh_value *length = &program->lengths[value->extent[d] - 1];
        if (tnh_value_read_length(slice, value->extent[d] - 1, length))
            return false;
        program->storages[length->storage].is_needed = true;
    }
    return true;
}

// A result that no node but its own looks at, and that does not leave, gets no bytes.
static bool is_for_nobody(const tnh_users *users, const tnh_value *result)
{
    return !(result->storage_flags & TNH_SEEN_OUTSIDE) && users[result->storage].count == 1;
}

static tnp_status add_step(tnp_program *program, const tnp_slice *slice, const tnh_users *users,
                           const tnp_claim *claim, uint32_t index, tnp_error *err)
{
    tnp_device *device = program->device;
    vulkan_step *step = &program->steps[program->step_count];
    vulkan_unit *unit = &step->unit;
    const char *reason = vulkan_unit_read(device, slice, claim->nodes, claim->node_count, unit);
    if (reason)
        return tnh_fail(err, TNP_E_ARG, "compile: unit %u was not claimed: %s", index, reason);
    if (claim->pack_count > 0)
        return tnh_fail(err, TNP_E_ARG, "compile: unit %u has packs, none was claimed", index);
    const tnh_node *last = vulkan_unit_last(unit);
    if (is_for_nobody(users, &last->out))
        return TNP_OK;
    step->index = index;
    step->scratch_bytes = vulkan_unit_scratch(device, unit);
    char *name = vulkan_alloc(device->instance, strlen(unit->nodes[0].name) + 1);
    if (!name)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for a name");
    unit->nodes[0].name = strcpy(name, unit->nodes[0].name);
    program->step_count++;
    vulkan_operand operands[VULKAN_MAX_UNIT_OPERANDS];
    const uint32_t count = vulkan_unit_operands(unit, operands);
    bool is_known = mark_needed(program, slice, &last->out, true);
    for (uint32_t i = 0; i < count && is_known; i++)
        is_known = mark_needed(program, slice, operands[i].value, false);
    if (!is_known)
        return tnh_fail(err, TNP_E_ARG, "compile: unit %u has an extent that is none", index);
    return TNP_OK;
}

static tnp_status add_steps(tnp_program *program, const tnp_compile *what, const tnp_slice *slice,
                            tnp_error *err)
{
    tnp_instance *instance = program->device->instance;
    tnh_users *users = vulkan_alloc(instance, (slice->storage_count + 1u) * sizeof *users);
    tnp_status status = TNP_OK;
    if (!users)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory to count users");
    tnh_count_all_users(slice, users, sizeof *users);
    for (uint32_t i = 0; i < what->unit_count && status == TNP_OK; i++) {
        tnp_claim claim;
        if (!TNP_TAKE(&claim, what->units[i]) || TNP_ALIEN(claim.flags, 0))
            status = tnh_fail_unknown(err, "compile");
        else
            status = add_step(program, slice, users, &claim, i, err);
    }
    vulkan_free(instance, users);
    return status;
}

tnp_status vulkan_compile(tnp_device *device, const tnp_compile *from, tnp_program **out,
                          tnp_error *err)
{
    tnp_compile what;
    tnp_slice slice;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return tnh_fail_unknown(err, "compile");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_instance *instance = device->instance;
    tnp_program *program = vulkan_alloc(instance, sizeof *program);
    if (!program)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for a program");
    program->device = device;
    program->unit_count = what.unit_count;
    program->storage_count = slice.storage_count;
    program->storages = vulkan_alloc(instance, (slice.storage_count + 1u) * sizeof(vulkan_storage));
    program->lengths = vulkan_alloc(instance, (slice.value_count + 1u) * sizeof(tnh_value));
    program->steps = vulkan_alloc(instance, (what.unit_count + 1u) * sizeof(vulkan_step));
    tnp_status status = TNP_OK;
    if (!program->storages || !program->lengths || !program->steps)
        status = tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for a program of %u units",
                          what.unit_count);
    for (uint32_t i = 0; i < slice.storage_count && status == TNP_OK; i++)
        program->storages[i].bytes = slice.storages[i]->bytes;
    if (status == TNP_OK)
        status = add_steps(program, &what, &slice, err);
    if (status == TNP_OK)
        status = vulkan_emit_program(program, NULL, err);
    if (status == TNP_OK)
        status = vulkan_told(instance, err);
    if (status != TNP_OK) {
        vulkan_program_destroy(program);
        return status;
    }
    vulkan_pipelines_keep(device);
    *out = program;
    return TNP_OK;
}
