// bind.c: gives a program its addresses, and records it.
#include "allocator.h"
#include "memory.h"
#include "program.h"
#include "unit.h"

void vulkan_unbind(tnp_bound *bound)
{
    if (!bound)
        return;
    tnp_device *device = bound->device;
    tnp_instance *instance = device->instance;
    if (!vulkan_must_leak(device)) {
        device->vk.vkDestroyQueryPool(device->handle, bound->times, NULL);
        device->vk.vkDestroyDescriptorPool(device->handle, bound->descriptors, NULL);
        device->vk.vkDestroyCommandPool(device->handle, bound->pool, NULL);
        if (bound->words.block)
            vulkan_release(device, &bound->words, false);
    }
    vulkan_free(instance, bound->commands);
    vulkan_free(instance, bound->checks);
    vulkan_free(instance, bound->storages);
    vulkan_free(instance, bound->scratch);
    vulkan_free(instance, bound);
}

int vulkan_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes)
{
    if (storage >= bound->program->storage_count || !bound->storages[storage].buffer)
        return 0;
    if (bound->storages[storage].buffer->is_read_only)
        return 0;
    uint64_t room = bound->program->storages[storage].bytes;
    return bytes <= room && offset <= room - bytes;
}

// ---------------------------------------------------------------------------------------- bindings

static tnp_status place_storage(tnp_bound *bound, const tnp_binding *b, tnp_error *err)
{
    const tnp_program *program = bound->program;
    if (b->index >= program->storage_count)
        return tnh_fail(err, TNP_E_ARG, "bind: storage %u, the slice has %u", b->index,
                        program->storage_count);
    if (b->bytes < program->storages[b->index].bytes)
        return tnh_fail(err, TNP_E_ARG, "bind: %llu bytes for storage %u, which has %llu",
                        (unsigned long long)b->bytes, b->index,
                        (unsigned long long)program->storages[b->index].bytes);
    if (bound->storages[b->index].buffer)
        return tnh_fail(err, TNP_E_ARG, "bind: storage %u is bound twice", b->index);
    if (b->buffer->is_read_only && program->storages[b->index].is_written)
        return tnh_fail(err, TNP_E_ARG, "bind: storage %u is written, its buffer may only be read",
                        b->index);
    bound->storages[b->index] = (vulkan_binding){ b->buffer, b->offset };
    return TNP_OK;
}

static tnp_status place_scratch(tnp_bound *bound, const tnp_binding *b, tnp_error *err)
{
    const tnp_program *program = bound->program;
    if (b->index >= program->unit_count)
        return tnh_fail(err, TNP_E_ARG, "bind: scratch of unit %u, there are %u", b->index,
                        program->unit_count);
    for (uint32_t i = 0; i < program->step_count; i++) {
        const vulkan_step *step = &program->steps[i];
        if (step->index != b->index)
            continue;
        if (b->buffer->is_read_only)
            return tnh_fail(err, TNP_E_ARG, "bind: scratch of '%s' where nothing may be written",
                            step->unit.nodes[0].name);
        if (b->bytes < step->scratch_bytes)
            return tnh_fail(err, TNP_E_ARG, "bind: %llu bytes of scratch for '%s', which has %llu",
                            (unsigned long long)b->bytes, step->unit.nodes[0].name,
                            (unsigned long long)step->scratch_bytes);
        bound->scratch[i] = (vulkan_binding){ b->buffer, b->offset };
    }
    return TNP_OK;   // a unit that is not run, since nobody sees what it makes, needs none
}

static tnp_status take_binding(tnp_bound *bound, const tnp_binding *from, tnp_error *err)
{
    tnp_binding b;
    if (!TNP_TAKE(&b, from))
        return tnh_fail_unknown(err, "bind");
    if (!b.buffer || !tnh_is_inside(bound->device, b.buffer, b.offset, b.bytes))
        return tnh_fail(err, TNP_E_ARG, "bind: binding of %u is not inside a buffer of this device",
                        b.index);
    if (b.offset % vulkan_alignment(bound->device) != 0)
        return tnh_fail(err, TNP_E_ARG, "bind: offset %llu is no multiple of %llu bytes",
                        (unsigned long long)b.offset,
                        (unsigned long long)vulkan_alignment(bound->device));
    if (b.kind == TNP_BIND_STORAGE)
        return place_storage(bound, &b, err);
    if (b.kind == TNP_BIND_SCRATCH)
        return place_scratch(bound, &b, err);
    return tnh_fail(err, b.kind == TNP_BIND_PACKED ? TNP_E_ARG : TNP_E_UNSUPPORTED,
                    "bind: a binding of kind %u", b.kind);
}

static tnp_status check_places(const tnp_bound *bound, tnp_error *err)
{
    const tnp_program *program = bound->program;
    for (uint32_t i = 0; i < program->storage_count; i++)
        if (program->storages[i].is_needed && !bound->storages[i].buffer)
            return tnh_fail(err, TNP_E_ARG, "bind: storage %u is not bound", i);
    for (uint32_t i = 0; i < program->step_count; i++)
        if (program->steps[i].scratch_bytes > 0 && !bound->scratch[i].buffer)
            return tnh_fail(err, TNP_E_ARG, "bind: no scratch for '%s'",
                            program->steps[i].unit.nodes[0].name);
    return TNP_OK;
}

// A result may touch an operand's bytes only where the op allows it, and then element by element.
static tnp_status check_overlap(const tnp_bound *bound, const vulkan_unit *unit, tnp_error *err)
{
    const tnh_node *last = vulkan_unit_last(unit);
    const vulkan_binding *out = &bound->storages[last->out.storage];
    const uint64_t out_begin = out->offset + last->out.offset;
    vulkan_operand operands[VULKAN_MAX_UNIT_OPERANDS];
    const uint32_t count = vulkan_unit_operands(unit, operands);
    for (uint32_t i = 0; i < count; i++) {
        const tnh_value *in = operands[i].value;
        const vulkan_binding *at = &bound->storages[in->storage];
        const uint64_t begin = at->offset + in->offset;
        if (operands[i].is_written || at->buffer != out->buffer ||
            tnh_value_is_apart(in, begin, &last->out, out_begin) ||
            (begin == out_begin && operands[i].may_reuse))
            continue;
        return tnh_fail(err, TNP_E_ARG,
                        "bind: the output of '%s' (%s) overlaps operand %u, which it may not "
                        "overwrite",
                        unit->nodes[0].name, unit->nodes[0].rule.name, i);
    }
    return TNP_OK;
}

// --------------------------------------------------------------------------------------- recording

static tnp_status make_pools(tnp_bound *bound, tnp_error *err)
{
    tnp_device *device = bound->device;
    const tnp_program *program = bound->program;
    const uint32_t sets = program->dispatch_count ? program->dispatch_count : 1;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->physical.compute_family,
    };
    const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        sets * VULKAN_MAX_OPERANDS };
    const VkDescriptorPoolCreateInfo descriptors = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = sets,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    const VkQueryPoolCreateInfo times = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * program->step_count,
    };
    // What a call leaves that fails is nothing to be destroyed.
    VkResult result = device->vk.vkCreateCommandPool(device->handle, &pool, NULL, &bound->pool);
    if (result != VK_SUCCESS) {
        bound->pool = VK_NULL_HANDLE;
    } else {
        result = device->vk.vkCreateDescriptorPool(device->handle, &descriptors, NULL,
                                                   &bound->descriptors);
        if (result != VK_SUCCESS)
            bound->descriptors = VK_NULL_HANDLE;
    }
    if (result == VK_SUCCESS && bound->is_traced && times.queryCount > 0) {
        result = device->vk.vkCreateQueryPool(device->handle, &times, NULL, &bound->times);
        if (result != VK_SUCCESS)
            bound->times = VK_NULL_HANDLE;
    }
    if (result != VK_SUCCESS)
        return vulkan_error(device, err, result, "bind: pools of commands and descriptors");
    bound->word_stride = vulkan_alignment(device);
    bound->checks = vulkan_alloc(device->instance,
                                 (program->check_count + 1u) * sizeof(vulkan_check));
    if (!bound->checks)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "bind: no memory for %u checks",
                        program->check_count);
    return vulkan_allocate(device, device->host_type, sets * bound->word_stride, &bound->words,
                           err);
}

tnp_status vulkan_bind(tnp_program *program, const tnp_bind *from, tnp_bound **out, tnp_error *err)
{
    tnp_device *device = program->device;
    tnp_bind what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "bind");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_bound *bound = vulkan_alloc(device->instance, sizeof *bound);
    if (!bound)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "bind: no memory");
    bound->device = device;
    bound->program = program;
    bound->is_traced = (what.flags & TNP_BIND_TRACE) != 0;
    bound->storages = vulkan_alloc(device->instance,
                                   (program->storage_count + 1u) * sizeof(vulkan_binding));
    bound->scratch = vulkan_alloc(device->instance,
                                  (program->step_count + 1u) * sizeof(vulkan_binding));
    tnp_status status = TNP_OK;
    if (!bound->storages || !bound->scratch)
        status = tnh_fail(err, TNP_E_HOST_MEMORY, "bind: no memory for %u storages",
                          program->storage_count);
    for (uint32_t i = 0; i < what.binding_count && status == TNP_OK; i++)
        status = take_binding(bound, what.bindings[i], err);
    if (status == TNP_OK)
        status = check_places(bound, err);
    for (uint32_t i = 0; i < program->step_count && status == TNP_OK; i++)
        status = check_overlap(bound, &program->steps[i].unit, err);
    if (status == TNP_OK)
        status = make_pools(bound, err);
    if (status == TNP_OK)
        status = vulkan_emit_program(program, bound, err);
    if (status == TNP_OK)
        status = vulkan_told(device->instance, err);
    if (status != TNP_OK) {
        vulkan_unbind(bound);
        return status;
    }
    *out = bound;
    return TNP_OK;
}
