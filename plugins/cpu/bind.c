// bind.c: gives a program its addresses. Every job is made here; a run only fills in lengths.
#include "order.h"
#include "pack.h"
#include "program.h"

cpu_bound *cpu_bound_from(tnp_bound *bound)
{
    cpu_bound *b = (cpu_bound *)bound;
    return b && b->tag == CPU_TAG_BOUND ? b : NULL;
}

cpu_device *cpu_bound_device(const cpu_bound *bound)
{
    return bound->program->device;
}

tnp_status cpu_bound_locate(const cpu_bound *bound, const tnp_update *update, char **out,
                            tnp_error *err)
{
    const cpu_program *program = bound->program;
    if (update->storage >= program->storage_count || !bound->places[update->storage].address)
        return cpu_error(err, TNP_E_ARG, "submit: an update of storage %u, which is not bound",
                         update->storage);
    const cpu_place *place = &bound->places[update->storage];
    uint64_t bytes = program->storages[update->storage].bytes;
    if (place->is_read_only)
        return cpu_error(err, TNP_E_ARG, "submit: an update of storage %u, which may only be read",
                         update->storage);
    if (update->offset > bytes || update->bytes > bytes - update->offset)
        return cpu_error(err, TNP_E_ARG,
                         "submit: an update of %u bytes from %llu, storage %u has %llu",
                         update->bytes, (unsigned long long)update->offset, update->storage,
                         (unsigned long long)bytes);
    *out = place->address + update->offset;
    return TNP_OK;
}

// The step of a unit that is run, or NULL.
static const cpu_step *step_of_unit(const cpu_program *program, uint32_t unit, uint32_t *index)
{
    for (*index = 0; *index < program->step_count; ++*index)
        if (program->steps[*index].unit == unit)
            return &program->steps[*index];
    return NULL;
}

static tnp_status place_storage(cpu_bound *bound, const tnp_binding *binding,
                                const cpu_buffer *buffer, tnp_error *err)
{
    const cpu_program *program = bound->program;
    if (binding->index >= program->storage_count)
        return cpu_error(err, TNP_E_ARG, "bind: storage %u, the slice has %u", binding->index,
                         program->storage_count);
    const cpu_storage *storage = &program->storages[binding->index];
    cpu_place *place = &bound->places[binding->index];
    if (binding->bytes < storage->bytes)
        return cpu_error(err, TNP_E_ARG, "bind: %llu bytes for storage %u, which has %llu",
                         (unsigned long long)binding->bytes, binding->index,
                         (unsigned long long)storage->bytes);
    if (place->address)
        return cpu_error(err, TNP_E_ARG, "bind: storage %u is bound twice", binding->index);
    if (buffer->is_read_only && storage->is_written)
        return cpu_error(err, TNP_E_ARG, "bind: storage %u is written, its buffer may only be read",
                         binding->index);
    *place = (cpu_place){ buffer->data + binding->offset, buffer->is_read_only };
    return TNP_OK;
}

static tnp_status place_scratch(cpu_bound *bound, const tnp_binding *binding,
                                const cpu_buffer *buffer, tnp_error *err)
{
    uint32_t index;
    if (binding->index >= bound->program->unit_count)
        return cpu_error(err, TNP_E_ARG, "bind: scratch of unit %u, there are %u", binding->index,
                         bound->program->unit_count);
    const cpu_step *step = step_of_unit(bound->program, binding->index, &index);
    if (!step)
        return TNP_OK;   // nobody sees what the unit makes, so it is not run
    if (binding->bytes < step->scratch_bytes)
        return cpu_error(err, TNP_E_ARG,
                         "bind: %llu bytes of scratch for '%s', which asked for %llu",
                         (unsigned long long)binding->bytes, step->name,
                         (unsigned long long)step->scratch_bytes);
    if (buffer->is_read_only)
        return cpu_error(err, TNP_E_ARG, "bind: scratch of '%s' in a buffer that may only be read",
                         step->name);
    char *address = buffer->data + binding->offset;
    uintptr_t past = (uintptr_t)address % CPU_SCRATCH_ALIGNMENT;
    bound->steps[index].job.scratch = past == 0 ? address
                                                : address + (CPU_SCRATCH_ALIGNMENT - past);
    return TNP_OK;
}

static uint64_t packed_bytes(const cpu_program *program, const cpu_step *step, uint32_t input)
{
    return cpu_pack_bytes(&program->values[step->inputs[input]]);
}

// The input that is read from pack `part` of the unit.
static uint32_t nth_packed(const cpu_step *step, uint32_t part)
{
    uint32_t inputs = step->packed;
    for (; part > 0; part--)
        inputs &= inputs - 1;
    return (uint32_t)__builtin_ctz(inputs);
}

static tnp_status place_packed(cpu_bound *bound, const tnp_binding *binding,
                               const cpu_buffer *buffer, tnp_error *err)
{
    uint32_t index;
    if (binding->index >= bound->program->unit_count)
        return cpu_error(err, TNP_E_ARG, "bind: a pack of unit %u, there are %u", binding->index,
                         bound->program->unit_count);
    const cpu_step *step = step_of_unit(bound->program, binding->index, &index);
    if (!step)
        return TNP_OK;   // nobody sees what the unit makes, so it is not run
    const uint32_t packs = (uint32_t)__builtin_popcount(step->packed);
    if (binding->part >= packs)
        return cpu_error(err, TNP_E_ARG, "bind: pack %u of '%s', which asked for %u", binding->part,
                         step->name, packs);
    const uint32_t input = nth_packed(step, binding->part);
    const uint64_t bytes = packed_bytes(bound->program, step, input);
    if (binding->bytes < bytes)
        return cpu_error(err, TNP_E_ARG, "bind: %llu bytes for the pack of '%s', which has %llu",
                         (unsigned long long)binding->bytes, step->name, (unsigned long long)bytes);
    if (bound->steps[index].packed[input])
        return cpu_error(err, TNP_E_ARG, "bind: the pack of '%s' is bound twice", step->name);
    bound->steps[index].packed[input] = buffer->data + binding->offset;
    return TNP_OK;
}

static tnp_status take_binding(cpu_bound *bound, const tnp_binding *what, tnp_error *err)
{
    tnp_binding binding;
    uint64_t end;
    if (!TNP_TAKE(&binding, what))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "bind: a binding asks for what this plugin does not know");
    const cpu_buffer *buffer = cpu_buffer_from(binding.buffer);
    if (!buffer || buffer->device->instance != bound->program->device->instance)
        return cpu_error(err, TNP_E_ARG, "bind: binding of %u names no buffer of this instance",
                         binding.index);
    if (!cpu_add(binding.offset, binding.bytes, &end) || end > buffer->bytes)
        return cpu_error(err, TNP_E_ARG, "bind: %llu bytes from %llu, the buffer has %llu",
                         (unsigned long long)binding.bytes, (unsigned long long)binding.offset,
                         (unsigned long long)buffer->bytes);
    if ((uintptr_t)(buffer->data + binding.offset) % CPU_ALIGNMENT != 0)
        return cpu_error(err, TNP_E_ARG,
                         "bind: offset %llu is at no multiple of %u bytes, as addresses are to be",
                         (unsigned long long)binding.offset, CPU_ALIGNMENT);
    switch (binding.kind) {
    case TNP_BIND_STORAGE:
        return place_storage(bound, &binding, buffer, err);
    case TNP_BIND_SCRATCH:
        return place_scratch(bound, &binding, buffer, err);
    case TNP_BIND_PACKED:
        return place_packed(bound, &binding, buffer, err);
    default:
        return cpu_error(err, TNP_E_UNSUPPORTED, "bind: a binding of kind %u", binding.kind);
    }
}

static char *address_of(const cpu_bound *bound, const tnh_value *value)
{
    return bound->places[value->storage].address + value->offset;
}

// An output may touch an operand's bytes only where the op allows it, and then element by element.
static tnp_status check_overlap(const cpu_bound *bound, const cpu_step *step, uint32_t input,
                                uint32_t output, tnp_error *err)
{
    const tnh_value *in = &bound->program->values[step->inputs[input]];
    const tnh_value *out = &bound->program->values[step->outputs[output]];
    const char *in_address = address_of(bound, in), *out_address = address_of(bound, out);
    if ((int32_t)input == step->writes)
        return TNP_OK;
    if ((step->may_reuse >> input & 1u) && in_address == out_address)
        return TNP_OK;
    if (tnh_value_is_apart(in, (uintptr_t)in_address, out, (uintptr_t)out_address))
        return TNP_OK;
    return cpu_error(err, TNP_E_ARG,
                     "bind: the output of '%s' (%s) overlaps input %u, which it may not overwrite",
                     step->name, step->op_name, input);
}

static tnp_status check_packed_overlap(const cpu_bound *bound, const cpu_step *step, uint32_t input,
                                       const char *packed, uint32_t output, tnp_error *err)
{
    const tnh_value *out = &bound->program->values[step->outputs[output]];
    uintptr_t begin = (uintptr_t)address_of(bound, out), pack = (uintptr_t)packed;
    if (begin + out->span_bytes <= pack ||
        pack + packed_bytes(bound->program, step, input) <= begin)
        return TNP_OK;
    return cpu_error(err, TNP_E_ARG, "bind: the output of '%s' (%s) overlaps its pack", step->name,
                     step->op_name);
}

static void fill_packed(const tnh_value *value, char *packed, cpu_tensor *out)
{
    cpu_tensor_fill(value, packed, out);
    out->is_packed = 1;
    out->strides[1] = (int64_t)tnh_row_bytes(value);
}

static tnp_status fill_input(cpu_bound *bound, uint32_t index, uint32_t input, tnp_error *err)
{
    const cpu_step *step = &bound->program->steps[index];
    cpu_bound_step *own = &bound->steps[index];
    const tnh_value *in = &bound->program->values[step->inputs[input]];
    const bool is_packed = step->packed >> input & 1u;
    if (is_packed && !own->packed[input])
        return cpu_error(err, TNP_E_ARG, "bind: no pack for '%s' (%s)", step->name, step->op_name);
    if (is_packed)
        fill_packed(in, own->packed[input], &own->job.in[input]);
    else
        cpu_tensor_fill(in, address_of(bound, in), &own->job.in[input]);
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (!(step->seen >> i & 1u))
            continue;
        tnp_status status = is_packed ? check_packed_overlap(bound, step, input, own->packed[input],
                                                             i, err)
                                      : check_overlap(bound, step, input, i, err);
        if (status != TNP_OK)
            return status;
    }
    return TNP_OK;
}

static tnp_status make_job(cpu_bound *bound, uint32_t index, tnp_error *err)
{
    const cpu_program *program = bound->program;
    const cpu_step *step = &program->steps[index];
    cpu_job *job = &bound->steps[index].job;

    job->op = step->op->number;
    job->input_count = step->input_count;
    job->attr = step->attr;
    job->kernels = program->device->instance->kernels;
    job->options = &program->device->instance->options;
    if (step->scratch_bytes > 0 && !job->scratch)
        return cpu_error(err, TNP_E_ARG, "bind: no scratch for '%s' (%s)", step->name,
                         step->op_name);
    for (uint32_t i = 0; i < step->input_count; i++) {
        tnp_status status = step->inputs[i] == TNP_NONE ? TNP_OK : fill_input(bound, index, i, err);
        if (status != TNP_OK)
            return status;
    }
    for (uint32_t i = 0; i < step->output_count; i++) {
        const tnh_value *out = &program->values[step->outputs[i]];
        cpu_tensor_fill(out, step->seen >> i & 1u ? address_of(bound, out) : NULL, &job->outs[i]);
    }
    return TNP_OK;
}

static tnp_status fill(cpu_bound *bound, const tnp_bind *what, tnp_error *err)
{
    const cpu_program *program = bound->program;
    for (uint32_t i = 0; i < what->binding_count; i++) {
        tnp_status status = take_binding(bound, what->bindings[i], err);
        if (status != TNP_OK)
            return status;
    }
    for (uint32_t i = 0; i < program->storage_count; i++)
        if (program->storages[i].is_needed && !bound->places[i].address)
            return cpu_error(err, TNP_E_ARG, "bind: storage %u is not bound", i);
    for (uint32_t i = 0; i < program->step_count; i++) {
        tnp_status status = make_job(bound, i, err);
        if (status != TNP_OK)
            return status;
    }
    cpu_order_steps(bound);
    return TNP_OK;
}

// One allocation:   | cpu_bound | steps | places |
tnp_status cpu_bind(tnp_program *handle, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    cpu_program *program = cpu_program_from(handle);
    tnp_bind how;
    uint64_t steps, places, bytes;
    if (!program)
        return cpu_error(err, TNP_E_ARG, "bind: not a program of this plugin");
    if (!TNP_TAKE(&how, what) || TNP_ALIEN(how.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED, "bind: asks for what this plugin does not know");
    if (cpu_device_is_lost(program->device))
        return cpu_error_lost(err);

    cpu_instance *instance = program->device->instance;
    bool does_fit = cpu_mul(program->step_count, sizeof(cpu_bound_step), &steps) &&
                    cpu_mul(program->storage_count, sizeof(cpu_place), &places) &&
                    cpu_add(steps, places, &bytes) && cpu_add(bytes, sizeof(cpu_bound), &bytes);
    cpu_bound *bound = does_fit ? cpu_alloc(instance, bytes) : NULL;
    if (!bound)
        return cpu_error(err, TNP_E_HOST_MEMORY, "bind: no memory for %u steps",
                         program->step_count);
    *bound = (cpu_bound){
        .tag = CPU_TAG_BOUND,
        .is_traced = (how.flags & TNP_BIND_TRACE) != 0,
        .program = program,
        .steps = (cpu_bound_step *)(bound + 1),
        .places = (cpu_place *)((char *)(bound + 1) + steps),
    };
    tnp_status status = fill(bound, &how, err);
    if (status != TNP_OK) {
        cpu_free(instance, bound);
        return status;
    }
    *out = (tnp_bound *)bound;
    return TNP_OK;
}

void cpu_unbind(tnp_bound *handle)
{
    cpu_bound *bound = cpu_bound_from(handle);
    if (bound && !cpu_must_leak(bound->program->device->instance))
        cpu_free(bound->program->device->instance, bound);
}
