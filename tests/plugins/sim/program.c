// program.c: compile and bind, passed on to the CPU plugin with its own buffers in place of those
// here. Slices and storages are the same on both sides; units too, but for those of several nodes,
// which the CPU plugin gets in pieces (fuse.c).
#include <stdlib.h>

#include "sim.h"

// ----------------------------------------------------------------------------------------- compile

// A unit is one of the claims that were made, and costs what it cost.
static tnp_status read_units(const sim_spec *spec, const tnp_compile *what, const tnp_slice *slice,
                             double *unit_ns, tnp_error *err)
{
    char room[128];
    for (uint32_t u = 0; u < what->unit_count; u++) {
        const tnp_claim *unit = what->units[u];
        if (unit->node_count > 1 && !spec->is_fusing)
            return sim_fail(err, TNP_E_ARG, "compile: unit %u has %u nodes, claims have one", u,
                            unit->node_count);
        for (uint32_t i = 0; i < unit->node_count; i++) {
            if (unit->nodes[i] >= slice->node_count)
                return sim_fail(err, TNP_E_ARG, "compile: unit %u names node %u, there are %u", u,
                                unit->nodes[i], slice->node_count);
            const char *reason = sim_refuses(spec, slice, unit->nodes[i], room);
            if (reason)
                return sim_fail(err, TNP_E_ARG, "compile: unit %u was not claimed: %s", u, reason);
        }
        unit_ns[u] = sim_unit_ns(spec, slice, unit->nodes, unit->node_count);
    }
    return TNP_OK;
}

// One allocation:   | tnp_program | unit_ns | storage_bytes | is_constant |
static tnp_program *make_program(tnp_device *device, const tnp_compile *what,
                                 const tnp_slice *slice)
{
    tnp_program *program = sim_make(device->instance,
                                    sizeof *program + what->unit_count * sizeof(double) +
                                        slice->storage_count * (sizeof(uint64_t) + sizeof(bool)));
    if (!program)
        return NULL;
    *program = (tnp_program){ .device = device,
                              .storage_count = slice->storage_count,
                              .unit_count = what->unit_count,
                              .unit_ns = (double *)(program + 1) };
    program->storage_bytes = (uint64_t *)(program->unit_ns + what->unit_count);
    program->is_constant = (bool *)(program->storage_bytes + slice->storage_count);
    for (uint32_t i = 0; i < slice->storage_count; i++) {
        program->storage_bytes[i] = slice->storages[i]->bytes;
        program->is_constant[i] = (slice->storages[i]->flags & TNP_STORAGE_CONSTANT) != 0;
    }
    return program;
}

tnp_status sim_compile(tnp_device *device, const tnp_compile *from, tnp_program **out,
                       tnp_error *err)
{
    tnp_instance *instance = device->instance;
    tnp_compile what;
    tnp_slice slice;
    tnp_status status = sim_enter(instance, device->chip, device, SIM_CALL_compile, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return sim_fail_unknown(err, "compile");
    what.slice = &slice;
    tnp_program *program = make_program(device, &what, &slice);
    if (!program)
        return sim_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for a program of %u units",
                        what.unit_count);
    status = read_units(&device->chip->spec, &what, &slice, program->unit_ns, err);
    if (status == TNP_OK)
        status = sim_compile_units(program, &what, err);
    if (status != TNP_OK) {
        sim_free(instance, program->parts);
        sim_free(instance, program);
        return status;
    }
    sim_count_object(instance, 1);
    *out = program;
    return TNP_OK;
}

void sim_program_destroy(tnp_program *program)
{
    sim_enter_end(program->device, SIM_CALL_program_destroy);
    tnp_instance *instance = program->device->instance;
    instance->cpu->program_destroy(program->cpu);
    sim_free(instance, program->parts);
    sim_free(instance, program);
    sim_count_object(instance, -1);
}

// -------------------------------------------------------------------------------------------- bind

// What has to be decoded for a binding.
typedef struct passed {
    sim_range range;
    bool is_constant;
} passed;

typedef struct binding_up {
    tnp_bound *bound;
    passed *passed;
    uint32_t count;
    tnp_binding *given;   // as the CPU plugin gets them
    const tnp_binding **pointers;
    uint32_t given_count;
} binding_up;

static void give(binding_up *b, const tnp_binding *binding)
{
    b->given[b->given_count] = *binding;
    b->pointers[b->given_count] = &b->given[b->given_count];
    b->given_count++;
}

// The scratch of a unit is what its nodes need, each its part. A binding that is too small for them
// is passed on, for the CPU plugin to refuse.
static tnp_status give_parts(binding_up *b, const tnp_binding *scratch, tnp_error *err)
{
    const tnp_program *program = b->bound->program;
    for (uint32_t i = 0; i < program->part_count; i++) {
        const sim_part *part = &program->parts[i];
        if (part->unit != scratch->index)
            continue;
        if (part->offset > scratch->bytes || part->bytes > scratch->bytes - part->offset)
            return sim_fail(err, TNP_E_ARG, "bind: %llu bytes of scratch for unit %u are too few",
                            (unsigned long long)scratch->bytes, scratch->index);
        tnp_binding own = *scratch;
        own.kind = part->kind;
        own.index = part->index;
        own.offset += part->offset;
        own.bytes = part->bytes;
        give(b, &own);
    }
    return TNP_OK;
}

static tnp_status read_binding(binding_up *b, const tnp_binding *from, tnp_error *err)
{
    const tnp_program *program = b->bound->program;
    const sim_spec *spec = &program->device->chip->spec;
    passed *p = &b->passed[b->count];
    tnp_binding own, *binding = &own;
    if (!TNP_TAKE(&own, from))
        return sim_fail_unknown(err, "bind");
    tnp_buffer *buffer = binding->buffer;
    if (!buffer || buffer->device != program->device)
        return sim_fail(err, TNP_E_ARG, "bind: binding of %u names no buffer of this device",
                        binding->index);
    if (!sim_is_inside(buffer, binding->offset, binding->bytes))
        return sim_fail(err, TNP_E_ARG, "bind: %llu bytes from %llu, the buffer has %llu",
                        (unsigned long long)binding->bytes, (unsigned long long)binding->offset,
                        (unsigned long long)buffer->bytes);
    if (binding->offset % spec->alignment != 0)
        return sim_fail(err, TNP_E_ARG, "bind: offset %llu is no multiple of %llu",
                        (unsigned long long)binding->offset, (unsigned long long)spec->alignment);
    p->range = (sim_range){ buffer, binding->offset, binding->offset + binding->bytes };
    if (binding->kind == TNP_BIND_STORAGE && binding->index < program->storage_count) {
        b->bound->places[binding->index] = (sim_place){ buffer, binding->offset };
        p->is_constant = program->is_constant[binding->index];
    }
    binding->buffer = buffer->cpu;
    b->count++;
    if (binding->kind == TNP_BIND_SCRATCH)
        return give_parts(b, binding, err);
    give(b, binding);
    return TNP_OK;
}

static int compare(const void *a, const void *b)
{
    const sim_range *x = &((const passed *)a)->range, *y = &((const passed *)b)->range;
    if (x->buffer != y->buffer)
        return (uintptr_t)x->buffer < (uintptr_t)y->buffer ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Adds the stretch, or makes the one before longer.
static void add_range(tnp_bound *bound, const sim_range *range)
{
    sim_range *last = bound->range_count ? &bound->ranges[bound->range_count - 1] : NULL;
    if (!last || last->buffer != range->buffer || last->end < range->begin)
        bound->ranges[bound->range_count++] = *range;
    else if (last->end < range->end)
        last->end = range->end;
}

// What has to be decoded, buffer by buffer; `passed` is sorted by them.
static void find_ranges(binding_up *b)
{
    for (uint32_t i = 0, end; i < b->count; i = end) {
        tnp_buffer *buffer = b->passed[i].range.buffer;
        bool is_constant = true;
        for (end = i; end < b->count && b->passed[end].range.buffer == buffer; end++)
            is_constant &= b->passed[end].is_constant;
        if (!buffer->is_scrambled)
            continue;
        if (is_constant)
            b->bound->constants[b->bound->constant_count++] = buffer;
        for (uint32_t k = i; k < end && !is_constant; k++)
            add_range(b->bound, &b->passed[k].range);
    }
}

static void read_constants(const tnp_bound *bound, int32_t change)
{
    pthread_mutex_lock(&bound->device->instance->bytes);
    for (uint32_t i = 0; i < bound->constant_count; i++)
        sim_buffer_read(bound->constants[i], change);
    pthread_mutex_unlock(&bound->device->instance->bytes);
}

// One allocation:   | tnp_bound | places | ranges | constants |
static tnp_bound *make_bound(const tnp_program *program, const tnp_bind *what)
{
    tnp_bound *bound = sim_make(program->device->instance,
                                sizeof *bound + program->storage_count * sizeof(sim_place) +
                                    what->binding_count *
                                        (sizeof(sim_range) + sizeof(tnp_buffer *)));
    if (!bound)
        return NULL;
    *bound = (tnp_bound){ .device = program->device,
                          .program = program,
                          .is_traced = (what->flags & TNP_BIND_TRACE) != 0,
                          .places = (sim_place *)(bound + 1) };
    bound->ranges = (sim_range *)(bound->places + program->storage_count);
    bound->constants = (tnp_buffer **)(bound->ranges + what->binding_count);
    return bound;
}

static tnp_status fill(binding_up *b, const tnp_bind *what, tnp_error *err)
{
    const tnp_program *program = b->bound->program;
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < what->binding_count && status == TNP_OK; i++)
        status = read_binding(b, what->bindings[i], err);
    if (status != TNP_OK)
        return status;
    tnp_bind own = { .size = sizeof own, .binding_count = b->given_count, .bindings = b->pointers };
    status = program->device->instance->cpu->bind(program->cpu, &own, &b->bound->cpu, err);
    if (status != TNP_OK)
        return status;
    qsort(b->passed, b->count, sizeof *b->passed, compare);
    find_ranges(b);
    read_constants(b->bound, 1);
    return TNP_OK;
}

tnp_status sim_bind(tnp_program *program, const tnp_bind *from, tnp_bound **out, tnp_error *err)
{
    tnp_device *device = program->device;
    tnp_instance *instance = device->instance;
    tnp_bind what;
    tnp_status status = sim_enter(instance, device->chip, device, SIM_CALL_bind, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return sim_fail_unknown(err, "bind");
    size_t most = (size_t)what.binding_count + program->part_count + 1;
    binding_up b = { .bound = make_bound(program, &what),
                     .passed = sim_make(instance, what.binding_count * sizeof *b.passed + 1),
                     .given = sim_make(instance, most * sizeof *b.given),
                     .pointers = sim_make(instance, most * sizeof *b.pointers) };
    if (!b.bound || !b.passed || !b.given || !b.pointers)
        status = sim_fail(err, TNP_E_HOST_MEMORY, "bind: no memory for %u bindings",
                          what.binding_count);
    if (status == TNP_OK)
        status = fill(&b, &what, err);
    sim_free(instance, b.passed);
    sim_free(instance, b.given);
    sim_free(instance, b.pointers);
    if (status != TNP_OK) {
        sim_free(instance, b.bound);
        return status;
    }
    sim_count_object(instance, 1);
    *out = b.bound;
    return TNP_OK;
}

void sim_unbind(tnp_bound *bound)
{
    sim_enter_end(bound->device, SIM_CALL_unbind);
    tnp_instance *instance = bound->device->instance;
    read_constants(bound, -1);
    instance->cpu->unbind(bound->cpu);
    sim_free(instance, bound);
    sim_count_object(instance, -1);
}

bool sim_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes)
{
    if (storage >= bound->program->storage_count || !bound->places[storage].buffer)
        return false;
    uint64_t most = bound->program->storage_bytes[storage];
    return !bound->places[storage].buffer->is_read_only && !bound->program->is_constant[storage] &&
           bytes <= most && offset <= most - bytes;
}
