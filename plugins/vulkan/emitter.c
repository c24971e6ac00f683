// emitter.c: binds what a dispatch looks at.
#include "emitter.h"

const vulkan_features *vulkan_emitter_features(const vulkan_emitter *to)
{
    return &to->program->device->physical.features;
}

// A descriptor begins at a multiple of what the device wants, and ends with a whole word.
static uint32_t bind_range(vulkan_emitter *to, vulkan_dispatch *d, const tnp_buffer *buffer,
                           uint64_t offset, uint64_t bytes, bool is_written, bool is_constant)
{
    const vulkan_features *features = vulkan_emitter_features(to);
    if (buffer)
        offset += buffer->place.offset;
    uint64_t before = offset & (features->storage_alignment - 1);
    uint64_t range = (before + bytes + 3) & ~(uint64_t)3;
    if (d->operand_count == VULKAN_MAX_OPERANDS || range > features->max_range_bytes) {
        if (to->status == TNP_OK)
            to->status = tnh_fail(to->err, TNP_E_INTERNAL,
                                  "'%s': %llu bytes for operand %u, a descriptor has %llu at most",
                                  to->step->unit.nodes[0].name, (unsigned long long)range,
                                  d->operand_count, (unsigned long long)features->max_range_bytes);
        return 0;
    }
    d->operands[d->operand_count++] = (vulkan_range){
        .buffer = buffer ? buffer->place.buffer : VK_NULL_HANDLE,
        .offset = offset - before,
        .bytes = range,
        .is_written = is_written,
        .is_constant = is_constant,
    };
    return (uint32_t)before;
}

uint32_t vulkan_bind_part(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                          uint64_t offset, uint64_t bytes, bool is_written)
{
    const vulkan_binding none = { 0 };
    const vulkan_binding *at = to->bound ? &to->bound->storages[value->storage] : &none;
    return bind_range(to, d, at->buffer, at->offset + value->offset + offset, bytes, is_written,
                      (value->storage_flags & TNP_STORAGE_CONSTANT) != 0);
}

uint32_t vulkan_bind_value(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                           bool is_written)
{
    return vulkan_bind_part(to, d, value, 0, value->span_bytes, is_written);
}

void vulkan_bind_nothing(vulkan_emitter *to, vulkan_dispatch *d)
{
    const tnp_buffer *unused = to->program->device->unused;
    (void)bind_range(to, d, unused, 0, 4, false, true);
}

uint32_t vulkan_bind_optional(vulkan_emitter *to, vulkan_dispatch *d, const tnh_node *node,
                              uint32_t input)
{
    if (tnh_has(node, input))
        return vulkan_bind_value(to, d, &node->in[input], false);
    vulkan_bind_nothing(to, d);
    return 0;
}

bool vulkan_bind_extent(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                        uint32_t dim, uint32_t *offset)
{
    *offset = 0;
    if (value->dtype == 0 || value->extent[dim] == 0) {
        vulkan_bind_nothing(to, d);
        return false;
    }
    *offset = vulkan_bind_value(to, d, &to->program->lengths[value->extent[dim] - 1], false);
    return true;
}

uint32_t vulkan_bind_scratch(vulkan_emitter *to, vulkan_dispatch *d, uint64_t offset,
                             uint64_t bytes, bool is_written)
{
    const vulkan_binding none = { 0 };
    const vulkan_binding *at = to->bound ? &to->bound->scratch[to->step_index] : &none;
    return bind_range(to, d, at->buffer, at->offset + offset, bytes, is_written, false);
}

void vulkan_emit(vulkan_emitter *to, const vulkan_dispatch *dispatch)
{
    if (to->status != TNP_OK)
        return;
    if (to->bound)
        vulkan_record(to, dispatch);
    else
        to->status = vulkan_pipelines_want(to->program->device, dispatch, to->err);
    to->dispatch_count++;
    to->check_count += dispatch->checks_data;
}

// For people: what a run of it takes.
static void tell(const vulkan_emitter *to)
{
    const tnp_host *host = to->program->device->instance->host;
    char line[160];
    snprintf(line, sizeof line,
             "%u units: %u dispatches, %u barriers, %u submission%s a run, %u pipelines",
             to->program->step_count, to->dispatch_count, to->barrier_count,
             to->bound->command_count, to->bound->command_count == 1 ? "" : "s",
             vulkan_pipelines_count(to->program->device));
    host->log(host->context, 3, line);
}

tnp_status vulkan_emit_program(tnp_program *program, tnp_bound *bound, tnp_error *err)
{
    vulkan_emitter *to = vulkan_alloc(program->device->instance, sizeof *to);
    if (!to)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "%s: no memory to list dispatches",
                        bound ? "bind" : "compile");
    to->program = program;
    to->bound = bound;
    to->err = err;
    if (bound)
        to->status = vulkan_record_begin(to);
    for (uint32_t i = 0; i < program->step_count && to->status == TNP_OK; i++) {
        to->step = &program->steps[i];
        to->step_index = i;
        vulkan_record_time(to, false);
        to->step->unit.op->emit(&to->step->unit, to);
        vulkan_record_time(to, true);
    }
    if (bound && to->status == TNP_OK)
        to->status = vulkan_record_end(to);
    if (!bound && to->status == TNP_OK)
        to->status = vulkan_pipelines_make(program->device, err);
    if (!bound) {
        program->dispatch_count = to->dispatch_count;
        program->check_count = to->check_count;
    } else if (to->status == TNP_OK) {
        tell(to);
    }
    tnp_status status = to->status;
    vulkan_free(program->device->instance, to);
    return status;
}
