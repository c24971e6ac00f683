// compile.c: makes a program of the units chosen. All of it lies in one allocation, and nothing of
// the caller's is kept.
#include "node.h"
#include "pack.h"
#include "program.h"

//   | cpu_program | values | storages | steps | attributes | names |
typedef struct program_layout {
    uint64_t values, storages, steps, attributes, names, bytes;
} program_layout;

cpu_program *cpu_program_from(tnp_program *program)
{
    cpu_program *p = (cpu_program *)program;
    return p && p->tag == CPU_TAG_PROGRAM ? p : NULL;
}

static bool lay_out(const tnp_compile *what, const tnp_slice *slice, uint64_t name_bytes,
                    program_layout *layout)
{
    uint64_t program;
    layout->bytes = 0;
    return cpu_layout_add(1, sizeof(cpu_program), &program, &layout->bytes) &&
           cpu_layout_add(slice->value_count, sizeof(cpu_value), &layout->values, &layout->bytes) &&
           cpu_layout_add(slice->storage_count, sizeof(cpu_storage), &layout->storages,
                          &layout->bytes) &&
           cpu_layout_add(what->unit_count, sizeof(cpu_step), &layout->steps, &layout->bytes) &&
           cpu_layout_add(what->unit_count, CPU_MAX_ATTR_BYTES, &layout->attributes,
                          &layout->bytes) &&
           cpu_layout_add(name_bytes, 1, &layout->names, &layout->bytes);
}

// A unit comes with the pack that was claimed, or without one: then the weight is read as it is.
static tnp_status read_packs(const tnp_claim *claim, uint32_t unit, cpu_node *node, tnp_error *err)
{
    if (claim->pack_count == 0 && (node->packed < 0 || node->in[node->packed].layout == 0)) {
        node->packed = -1;
        return TNP_OK;
    }
    tnp_pack pack, own;
    if (claim->pack_count == 1 && node->packed >= 0) {
        own = cpu_pack_of(node, node->inputs[node->packed]);
        if (TNP_TAKE(&pack, claim->packs[0]) && pack.flags == own.flags &&
            pack.value == own.value && pack.layout == own.layout &&
            pack.group_rows == own.group_rows && pack.group_bytes == own.group_bytes)
            return TNP_OK;
    }
    return cpu_error(err, TNP_E_ARG, "compile: unit %u ('%s') has %u packs, not as claimed", unit,
                     node->name, claim->pack_count);
}

// The one node of a unit, as it was claimed.
static tnp_status read_unit(const cpu_device *device, const tnp_slice *slice, const tnp_claim *what,
                            uint32_t unit, tnp_claim *claim, cpu_node *node, tnp_error *err)
{
    if (!TNP_TAKE(claim, what) || TNP_ALIEN(claim->flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "compile: unit %u has a property that this plugin does not know", unit);
    if (claim->node_count != 1 || claim->nodes[0] >= slice->node_count)
        return cpu_error(err, TNP_E_ARG,
                         "compile: unit %u is no claim of this plugin, which are one node each",
                         unit);
    const char *reason = cpu_node_read(device, slice, claim->nodes[0], node);
    if (reason)
        return cpu_error(err, TNP_E_ARG, "compile: unit %u was not claimed: %s", unit, reason);
    return read_packs(claim, unit, node, err);
}

// Checks the units before anything is made, and adds up their names.
static tnp_status check_units(const cpu_device *device, const tnp_compile *what,
                              const tnp_slice *slice, uint64_t *name_bytes, tnp_error *err)
{
    *name_bytes = 0;
    for (uint32_t i = 0; i < what->unit_count; i++) {
        tnp_claim claim;
        cpu_node node;
        tnp_status status = read_unit(device, slice, what->units[i], i, &claim, &node, err);
        if (status != TNP_OK)
            return status;
        *name_bytes += strlen(node.name) + 1;
    }
    return TNP_OK;
}

static void count_user(cpu_program *program, uint32_t storage, uint32_t node)
{
    if (storage >= program->storage_count || program->storages[storage].last_user == node + 1)
        return;
    program->storages[storage].last_user = node + 1;
    program->storages[storage].users++;
}

static void count_users_of_value(cpu_program *program, const tnp_slice *slice, uint32_t index,
                                 uint32_t node)
{
    if (index >= slice->value_count)
        return;
    const tnp_value *value = slice->values[index];
    count_user(program, value->storage, node);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value->extent[d] != 0 && value->extent[d] <= slice->value_count)
            count_user(program, slice->values[value->extent[d] - 1]->storage, node);
}

static void count_users(cpu_program *program, const tnp_slice *slice)
{
    for (uint32_t n = 0; n < slice->node_count; n++) {
        for (uint32_t i = 0; i < slice->nodes[n]->input_count; i++)
            count_users_of_value(program, slice, slice->nodes[n]->inputs[i], n);
        for (uint32_t i = 0; i < slice->nodes[n]->output_count; i++)
            count_users_of_value(program, slice, slice->nodes[n]->outputs[i], n);
    }
}

// A result that stays inside its unit gets no bytes. Units are one node, so nobody ever sees it.
static bool is_for_nobody(const cpu_program *program, const cpu_node *node)
{
    const uint32_t seen =
        TNP_STORAGE_CONSTANT | TNP_STORAGE_STATE | TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES;
    return !(node->out.storage_flags & seen) && program->storages[node->out.storage].users == 1;
}

static void need_value(cpu_program *program, const tnp_slice *slice, uint32_t index,
                       const cpu_value *value, bool is_read_as_it_is)
{
    program->values[index] = *value;
    program->storages[value->storage].is_needed |= is_read_as_it_is;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (value->extent[d] == 0)
            continue;
        cpu_value *length = &program->values[value->extent[d] - 1];
        // Its node was read, and this checked with it.
        (void)cpu_value_read_length(slice, value->extent[d] - 1, length);
        program->storages[length->storage].is_needed = true;
    }
}

static void add_step(cpu_program *program, const tnp_slice *slice, uint32_t unit,
                     const tnp_claim *claim, const cpu_node *node, char *attributes, char **names)
{
    cpu_step *step = &program->steps[program->step_count++];
    *step = (cpu_step){
        .op = node->op,
        .name = *names,
        .op_name = node->rule.name,
        .unit = unit,
        .input_count = node->job.input_count,
        .output = node->output,
        .writes = node->rule.writes,
        .packed = node->packed,
        .scratch_bytes = claim->scratch_bytes,
    };
    if (node->packed >= 0)
        step->packed_bytes = cpu_pack_bytes(node->in[node->packed].dims[1],
                                            cpu_value_row_bytes(&node->in[node->packed]));
    memcpy(step->inputs, node->inputs, sizeof step->inputs);
    size_t name_bytes = strlen(node->name) + 1;
    memcpy(*names, node->name, name_bytes);
    *names += name_bytes;
    if (node->job.attr)
        step->attr = memcpy(attributes, node->attr, CPU_MAX_ATTR_BYTES);

    for (uint32_t i = 0; i < step->input_count; i++) {
        if (step->inputs[i] == TNP_NONE)
            continue;
        need_value(program, slice, step->inputs[i], &node->in[i], (int32_t)i != node->packed);
        if (cpu_node_may_reuse(node, i))
            step->may_reuse |= 1u << i;
    }
    need_value(program, slice, step->output, &node->out, true);
    program->storages[node->out.storage].is_written = true;
}

static void find_lengths(const cpu_program *program, cpu_step *step, const cpu_value *value)
{
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (value->extent[d] == 0)
            continue;
        uint32_t storage = program->values[value->extent[d] - 1].storage;
        if (program->storages[storage].is_written)
            step->has_late_lengths = true;
        else
            step->has_early_lengths = true;
    }
}

tnp_status cpu_compile(tnp_device *handle, const tnp_compile *how, tnp_program **out,
                       tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_compile what;
    tnp_slice slice;
    uint64_t name_bytes;
    program_layout layout;

    if (!device)
        return cpu_error(err, TNP_E_ARG, "compile: not a device of this plugin");
    if (!TNP_TAKE(&what, how) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "compile: asks for what this plugin does not know");
    if (cpu_device_is_lost(device))
        return cpu_error_lost(err);
    tnp_status status = check_units(device, &what, &slice, &name_bytes, err);
    if (status != TNP_OK)
        return status;
    char *base = lay_out(&what, &slice, name_bytes, &layout)
                     ? cpu_alloc(device->instance, layout.bytes)
                     : NULL;
    if (!base)
        return cpu_error(err, TNP_E_HOST_MEMORY, "compile: no memory for a program of %u units",
                         what.unit_count);

    cpu_program *program = (cpu_program *)base;
    *program = (cpu_program){
        .tag = CPU_TAG_PROGRAM,
        .device = device,
        .unit_count = what.unit_count,
        .value_count = slice.value_count,
        .storage_count = slice.storage_count,
        .values = (cpu_value *)(base + layout.values),
        .storages = (cpu_storage *)(base + layout.storages),
        .steps = (cpu_step *)(base + layout.steps),
    };
    for (uint32_t i = 0; i < slice.storage_count; i++)
        program->storages[i].bytes = slice.storages[i]->bytes;
    count_users(program, &slice);
    char *names = base + layout.names;
    for (uint32_t i = 0; i < what.unit_count; i++) {
        tnp_claim claim;
        cpu_node node;
        status = read_unit(device, &slice, what.units[i], i, &claim, &node, err);
        if (status != TNP_OK) {
            cpu_free(device->instance, program);
            return status;
        }
        if (!is_for_nobody(program, &node))
            add_step(program, &slice, i, &claim, &node,
                     base + layout.attributes + (uint64_t)i * CPU_MAX_ATTR_BYTES, &names);
    }
    for (uint32_t i = 0; i < program->step_count; i++) {
        cpu_step *step = &program->steps[i];
        for (uint32_t input = 0; input < step->input_count; input++)
            if (step->inputs[input] != TNP_NONE)
                find_lengths(program, step, &program->values[step->inputs[input]]);
        find_lengths(program, step, &program->values[step->output]);
    }
    *out = (tnp_program *)program;
    return TNP_OK;
}

void cpu_program_destroy(tnp_program *handle)
{
    cpu_program *program = cpu_program_from(handle);
    if (program && !cpu_must_leak(program->device->instance))
        cpu_free(program->device->instance, program);
}
