// compile.c: makes a program of the units chosen. All of it lies in one allocation, and nothing of
// the caller's is kept.
#include "node.h"
#include "pack.h"
#include "program.h"
#include "unit.h"

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
           cpu_layout_add(slice->value_count, sizeof(tnh_value), &layout->values, &layout->bytes) &&
           cpu_layout_add(slice->storage_count, sizeof(cpu_storage), &layout->storages,
                          &layout->bytes) &&
           cpu_layout_add(what->unit_count, sizeof(cpu_step), &layout->steps, &layout->bytes) &&
           cpu_layout_add(what->unit_count, CPU_MAX_ATTR_BYTES, &layout->attributes,
                          &layout->bytes) &&
           cpu_layout_add(name_bytes, 1, &layout->names, &layout->bytes);
}

static bool is_pack_of(const tnp_pack *claimed, const cpu_node *node, uint32_t input)
{
    tnp_pack pack, own = cpu_pack_of(node, input);
    return TNP_TAKE(&pack, claimed) && pack.flags == own.flags && pack.value == own.value &&
           pack.layout == own.layout && pack.group_rows == own.group_rows &&
           pack.group_bytes == own.group_bytes;
}

// A unit comes with the packs that were claimed, or without any: then the weights are read as they
// are.
static tnp_status read_packs(const tnp_claim *claim, uint32_t unit, cpu_node *node, tnp_error *err)
{
    bool is_as_claimed = true;
    uint32_t part = 0;
    for (uint32_t i = 0; i < node->job.input_count; i++) {
        if (!(node->packed >> i & 1u))
            continue;
        if (claim->pack_count == 0)
            is_as_claimed &= node->in[i].layout == 0;
        else
            is_as_claimed &= part < claim->pack_count && is_pack_of(claim->packs[part], node, i);
        part++;
    }
    if (claim->pack_count == 0)
        node->packed = 0;
    if (is_as_claimed && (claim->pack_count == 0 || claim->pack_count == part))
        return TNP_OK;
    return cpu_error(err, TNP_E_ARG, "compile: unit %u ('%s') has %u packs, not as claimed", unit,
                     node->name, claim->pack_count);
}

// A unit as it was claimed.
static tnp_status read_unit(const cpu_device *device, const tnp_slice *slice, const tnp_claim *what,
                            uint32_t unit, tnp_claim *claim, cpu_node *node, tnp_error *err)
{
    if (!TNP_TAKE(claim, what) || TNP_ALIEN(claim->flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "compile: unit %u has a property that this plugin does not know", unit);
    const char *reason = cpu_unit_read(device, slice, claim->nodes, claim->node_count, node);
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
        *name_bytes += strlen(node.name) + 1 + strlen(node.rule.name) + 1;
    }
    return TNP_OK;
}

// A result that no node but its own looks at, and that does not leave, gets no bytes.
static bool is_for_nobody(const cpu_program *program, const tnh_value *result)
{
    return !(result->storage_flags & TNH_SEEN_OUTSIDE) &&
           program->storages[result->storage].users.count == 1;
}

static bool is_for_somebody(const cpu_program *program, const cpu_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!is_for_nobody(program, &node->outs[i]))
            return true;
    return false;
}

static const char *keep_text(char **texts, const char *text)
{
    char *kept = *texts;
    *texts = stpcpy(kept, text) + 1;
    return kept;
}

static void need_value(cpu_program *program, const tnp_slice *slice, uint32_t index,
                       const tnh_value *value, bool is_read_as_it_is)
{
    program->values[index] = *value;
    program->storages[value->storage].is_needed |= is_read_as_it_is;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (value->extent[d] == 0)
            continue;
        tnh_value *length = &program->values[value->extent[d] - 1];
        // Its node was read, and this checked with it.
        (void)tnh_value_read_length(slice, value->extent[d] - 1, length);
        program->storages[length->storage].is_needed = true;
    }
}

static void add_step(cpu_program *program, const tnp_slice *slice, uint32_t unit,
                     const tnp_claim *claim, const cpu_node *node, char *attributes, char **texts)
{
    cpu_step *step = &program->steps[program->step_count++];
    *step = (cpu_step){
        .op = node->op,
        .name = keep_text(texts, node->name),
        .op_name = keep_text(texts, node->rule.name),
        .unit = unit,
        .input_count = node->job.input_count,
        .output_count = node->output_count,
        .writes = node->rule.writes,
        .packed = node->packed,
        .scratch_bytes = claim->scratch_bytes,
    };
    memcpy(step->inputs, node->inputs, sizeof step->inputs);
    if (node->job.attr)
        step->attr = memcpy(attributes, node->attr, CPU_MAX_ATTR_BYTES);

    for (uint32_t i = 0; i < step->input_count; i++) {
        if (step->inputs[i] == TNP_NONE)
            continue;
        need_value(program, slice, step->inputs[i], &node->in[i], !(node->packed >> i & 1u));
        if (cpu_node_may_reuse(node, i))
            step->may_reuse |= 1u << i;
    }
    for (uint32_t i = 0; i < step->output_count; i++) {
        const bool is_seen = !is_for_nobody(program, &node->outs[i]);
        step->outputs[i] = node->outputs[i];
        need_value(program, slice, step->outputs[i], &node->outs[i], is_seen);
        if (!is_seen)
            continue;
        step->seen |= 1u << i;
        program->storages[node->outs[i].storage].is_written = true;
    }
}

static void find_lengths(const cpu_program *program, cpu_step *step, const tnh_value *value)
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
        .values = (tnh_value *)(base + layout.values),
        .storages = (cpu_storage *)(base + layout.storages),
        .steps = (cpu_step *)(base + layout.steps),
    };
    for (uint32_t i = 0; i < slice.storage_count; i++)
        program->storages[i].bytes = slice.storages[i]->bytes;
    tnh_count_all_users(&slice, &program->storages->users, sizeof *program->storages);
    char *texts = base + layout.names;
    for (uint32_t i = 0; i < what.unit_count; i++) {
        tnp_claim claim;
        cpu_node node;
        status = read_unit(device, &slice, what.units[i], i, &claim, &node, err);
        if (status != TNP_OK) {
            cpu_free(device->instance, program);
            return status;
        }
        if (is_for_somebody(program, &node))
            add_step(program, &slice, i, &claim, &node,
                     base + layout.attributes + (uint64_t)i * CPU_MAX_ATTR_BYTES, &texts);
    }
    for (uint32_t i = 0; i < program->step_count; i++) {
        cpu_step *step = &program->steps[i];
        for (uint32_t input = 0; input < step->input_count; input++)
            if (step->inputs[input] != TNP_NONE)
                find_lengths(program, step, &program->values[step->inputs[input]]);
        for (uint32_t output = 0; output < step->output_count; output++)
            if (step->seen >> output & 1u)
                find_lengths(program, step, &program->values[step->outputs[output]]);
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
