// fuse.c: claims on several nodes, and what becomes of them. A unit of several is given to the CPU
// plugin in pieces, whatever that would take together itself: what stays inside it lies in its
// scratch, behind one another with the scratch of each node.
//
//   scratch of a unit   | inner storage | inner storage | scratch of a node | …    each aligned
//
// The patterns are those of a feed-forward block; they overlap, so that the host has to choose:
//
//   rms_norm ─┬─ matmul ─┬─ swiglu, geglu, reglu
//             └─ matmul ─┘
//
// a norm with one of its products, both products with the gate, and all four.
#include "sim.h"

typedef struct single {   // the CPU plugin's claim on one node
    bool is_taken;
    uint64_t scratch_bytes;
} single;

static void take_single(void *context, const tnp_claim *claim)
{
    single *singles = context;
    if (claim->node_count == 1)
        singles[claim->nodes[0]] = (single){ true, claim->scratch_bytes };
}

static void ignore_refusal(void *context, uint32_t node, const char *reason)
{
    (void)context, (void)node, (void)reason;
}

// To be freed; NULL when there is no memory, or no answer.
static single *find_singles(const tnp_device *device, const tnp_slice *slice, tnp_error *err)
{
    single *singles = sim_make(device->instance, slice->node_count * sizeof *singles + 1);
    tnp_claim_sink sink = {
        .size = sizeof sink, .context = singles, .take = take_single, .refuse = ignore_refusal
    };
    if (!singles) {
        (void)sim_fail(err, TNP_E_HOST_MEMORY, "no memory for a list of %u claims",
                       slice->node_count);
    } else if (device->instance->cpu->claim(device->cpu, slice, &sink, err) != TNP_OK) {
        sim_free(device->instance, singles);
        singles = NULL;
    }
    return singles;
}

// ------------------------------------------------------------------------------------------ layout

static bool is_in(const uint32_t *nodes, uint32_t count, uint32_t node)
{
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool touches(const tnp_slice *slice, uint32_t node, uint32_t storage)
{
    const tnp_node *n = slice->nodes[node];
    for (uint32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] < slice->value_count && slice->values[n->inputs[i]]->storage == storage)
            return true;
    return slice->values[n->outputs[0]]->storage == storage;
}

// Whether a unit's node makes a storage that nobody else sees.
static bool is_inner(const tnp_slice *slice, const uint32_t *nodes, uint32_t count,
                     uint32_t storage)
{
    if (slice->storages[storage]->flags & (TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES))
        return false;
    for (uint32_t n = 0; n < slice->node_count; n++)
        if (!is_in(nodes, count, n) && touches(slice, n, storage))
            return false;
    return true;
}

typedef struct laying {
    sim_part *parts;   // NULL: only counts
    uint32_t count;
    uint64_t bytes;   // of the unit's scratch so far
} laying;

static void lay(laying *l, sim_part part)
{
    part.offset = (l->bytes + SIM_ALIGNMENT - 1) / SIM_ALIGNMENT * SIM_ALIGNMENT;
    l->bytes = part.offset + part.bytes;
    if (l->parts)
        l->parts[l->count] = part;
    l->count++;
}

// The parts of one unit. cpu_unit: of its first node.
static void lay_out(laying *l, const tnp_slice *slice, const uint32_t *nodes, uint32_t count,
                    const single *singles, uint32_t unit, uint32_t cpu_unit)
{
    l->bytes = 0;
    for (uint32_t i = 0; i < count && count > 1; i++) {
        uint32_t storage = slice->values[slice->nodes[nodes[i]]->outputs[0]]->storage;
        if (is_inner(slice, nodes, count, storage))
            lay(l,
                (sim_part){ unit, TNP_BIND_STORAGE, storage, 0, slice->storages[storage]->bytes });
    }
    for (uint32_t i = 0; i < count; i++)
        if (singles[nodes[i]].scratch_bytes)
            lay(l, (sim_part){ unit, TNP_BIND_SCRATCH, cpu_unit + i, 0,
                               singles[nodes[i]].scratch_bytes });
}

// ---------------------------------------------------------------------------------------- patterns

typedef struct fusing {
    const tnp_device *device;
    const tnp_slice *slice;
    const tnp_claim_sink *sink;
    const single *singles;
    const uint32_t *maker;   // by value: the node that makes it, TNP_NONE
} fusing;

static void claim(const fusing *f, const char *name, const uint32_t *nodes, uint32_t count)
{
    const sim_spec *spec = &f->device->chip->spec;
    char room[128];
    for (uint32_t i = 0; i < count; i++)
        if (!f->singles[nodes[i]].is_taken || sim_refuses(spec, f->slice, nodes[i], room))
            return;
    laying l = { NULL, 0, 0 };
    lay_out(&l, f->slice, nodes, count, f->singles, 0, 0);
    tnp_claim own = { .size = sizeof own,
                      .node_count = count,
                      .nodes = nodes,
                      .name = name,
                      .cost_ns = sim_unit_ns(spec, f->slice, nodes, count),
                      .scratch_bytes = l.bytes };
    f->sink->take(f->sink->context, &own);
}

// The node of this op that makes an operand of a node as it is, not a view of it.
static uint32_t maker_of(const fusing *f, uint32_t node, uint32_t operand, tnp_op op)
{
    const tnp_node *n = f->slice->nodes[node];
    if (operand >= n->input_count || n->inputs[operand] >= f->slice->value_count)
        return TNP_NONE;
    uint32_t maker = f->maker[n->inputs[operand]];
    return maker != TNP_NONE && f->slice->nodes[maker]->op == op ? maker : TNP_NONE;
}

static void fuse_gate(const fusing *f, uint32_t gate)
{
    uint32_t a = maker_of(f, gate, 0, TNP_OP_MATMUL), b = maker_of(f, gate, 1, TNP_OP_MATMUL);
    if (a == TNP_NONE || b == TNP_NONE || a == b)
        return;
    uint32_t first = a < b ? a : b, second = a < b ? b : a;
    claim(f, "gate+up", (uint32_t[]){ first, second, gate }, 3);
    uint32_t norm = maker_of(f, first, 0, TNP_OP_RMS_NORM);
    if (norm != TNP_NONE && norm == maker_of(f, second, 0, TNP_OP_RMS_NORM))
        claim(f, "norm+gate+up", (uint32_t[]){ norm, first, second, gate }, 4);
}

static void fuse(const fusing *f)
{
    for (uint32_t n = 0; n < f->slice->node_count; n++) {
        tnp_op op = f->slice->nodes[n]->op;
        if (op == TNP_OP_SWIGLU || op == TNP_OP_GEGLU || op == TNP_OP_REGLU)
            fuse_gate(f, n);
        uint32_t norm = op == TNP_OP_MATMUL ? maker_of(f, n, 0, TNP_OP_RMS_NORM) : TNP_NONE;
        if (norm != TNP_NONE)
            claim(f, "norm+matmul", (uint32_t[]){ norm, n }, 2);
    }
}

tnp_status sim_claim_fusions(const tnp_device *device, const tnp_slice *slice,
                             const tnp_claim_sink *sink, tnp_error *err)
{
    uint32_t *maker = sim_make(device->instance, slice->value_count * sizeof *maker + 1);
    if (!maker)
        return sim_fail(err, TNP_E_HOST_MEMORY, "claim: no memory for a list of %u values",
                        slice->value_count);
    memset(maker, 0xff, slice->value_count * sizeof *maker);
    for (uint32_t n = 0; n < slice->node_count; n++)
        maker[slice->nodes[n]->outputs[0]] = n;
    single *singles = find_singles(device, slice, err);
    if (singles)
        fuse(&(fusing){ device, slice, sink, singles, maker });
    tnp_status status = singles ? TNP_OK : err->status;
    sim_free(device->instance, singles);
    sim_free(device->instance, maker);
    return status;
}

// ----------------------------------------------------------------------------------------- compile

// Units as the CPU plugin takes them.
typedef struct splitting {
    const tnp_compile *what;
    single *singles;
    tnp_claim *units;
    const tnp_claim **pointers;
    uint32_t count;
} splitting;

static void split(splitting *s)
{
    for (uint32_t u = 0; u < s->what->unit_count; u++) {
        const tnp_claim *unit = s->what->units[u];
        for (uint32_t i = 0; i < unit->node_count; i++) {
            tnp_claim *own = &s->units[s->count];
            *own = (tnp_claim){ .size = sizeof *own,
                                .node_count = 1,
                                .nodes = &unit->nodes[i],
                                .name = "",
                                .cost_ns = 1,
                                .scratch_bytes = s->singles[unit->nodes[i]].scratch_bytes };
            s->pointers[s->count++] = unit->node_count == 1 ? unit : own;
        }
    }
}

// Counts, or fills program->parts.
static void lay_out_all(const splitting *s, tnp_program *program)
{
    laying l = { program->parts, 0, 0 };
    for (uint32_t u = 0, cpu_unit = 0; u < s->what->unit_count; u++) {
        const tnp_claim *unit = s->what->units[u];
        lay_out(&l, s->what->slice, unit->nodes, unit->node_count, s->singles, u, cpu_unit);
        cpu_unit += unit->node_count;
    }
    program->part_count = l.count;
}

static bool make_parts(const splitting *s, tnp_program *program)
{
    lay_out_all(s, program);
    program->parts = sim_make(program->device->instance,
                              program->part_count * sizeof *program->parts + 1);
    if (program->parts)
        lay_out_all(s, program);
    return program->parts != NULL;
}

tnp_status sim_compile_units(tnp_program *program, const tnp_compile *what, tnp_error *err)
{
    const tnp_instance *instance = program->device->instance;
    splitting s = { .what = what };
    size_t nodes = 1;
    for (uint32_t u = 0; u < what->unit_count; u++)
        nodes += what->units[u]->node_count;
    s.singles = find_singles(program->device, what->slice, err);
    tnp_status status = s.singles ? TNP_OK : err->status;
    s.units = sim_make(instance, nodes * sizeof *s.units);
    s.pointers = sim_make(instance, nodes * sizeof *s.pointers);
    if (status == TNP_OK && (!s.units || !s.pointers || !make_parts(&s, program)))
        status = sim_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for %zu units", nodes);
    if (status == TNP_OK) {
        split(&s);
        tnp_compile own = *what;
        own.units = s.pointers;
        own.unit_count = s.count;
        status = instance->cpu->compile(program->device->cpu, &own, &program->cpu, err);
    }
    sim_free(instance, s.singles);
    sim_free(instance, s.units);
    sim_free(instance, s.pointers);
    return status;
}
