// packing.c: the CPU plugin, except that it wants F32 weights of products packed: in groups of rows
// one after another, which is how they lie anyway, so that the CPU plugin can read them. The
// conformance kit has nobody else to pack for. PACKING_PAST: bytes written behind a group.
#include <stdlib.h>
#include <tenon/plugin.h>

#include "wrapped_cpu.h"

#ifndef PACKING_PAST
#define PACKING_PAST 0
#endif
#if defined(__x86_64__)
enum { MACHINE = 62 };
#else
enum { MACHINE = 183 };
#endif
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "packing", "1.0", "Tenon tests",
             "Apache-2.0");

enum { LAYOUT = 7, GROUP_ROWS = 4, MOST = 64 };

static const tnp_plugin *cpu;
static tnp_plugin table;

typedef struct packed_program {
    tnp_program *own;
    uint32_t weight_of[MOST];   // by unit: storage that its pack stands for; TNP_NONE: no pack
} packed_program;

typedef struct asked {
    const tnp_slice *slice;
    const tnp_claim_sink *sink;
} asked;

// A whole matrix at the start of its storage, row behind row.
static int is_packable(const tnp_slice *slice, uint32_t index)
{
    const tnp_value *v = slice->values[index];
    return v->dtype == TNP_DTYPE_F32 && v->offset == 0 && v->layout == 0 && v->dims[2] == 1 &&
           v->dims[3] == 1 && v->strides[0] == 4 && v->strides[1] == 4 * v->dims[0] &&
           v->extent[0] == 0 && v->extent[1] == 0 &&
           (slice->storages[v->storage]->flags & TNP_STORAGE_CONSTANT);
}

// Beside the claim as it is, which comes second.
static void take(void *context, const tnp_claim *claim)
{
    const asked *a = context;
    const tnp_node *node = a->slice->nodes[claim->nodes[0]];
    if (node->op == TNP_OP_MATMUL && is_packable(a->slice, node->inputs[1])) {
        const tnp_value *v = a->slice->values[node->inputs[1]];
        tnp_pack pack = { .size = sizeof pack,
                          .value = node->inputs[1],
                          .layout = LAYOUT,
                          .group_rows = GROUP_ROWS,
                          .group_bytes = GROUP_ROWS * 4 * (uint64_t)v->dims[0] };
        const tnp_pack *packs[] = { &pack };
        tnp_claim packed = *claim;
        packed.pack_count = 1;
        packed.packs = packs;
        a->sink->take(a->sink->context, &packed);
    }
    a->sink->take(a->sink->context, claim);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const asked *a = context;
    a->sink->refuse(a->sink->context, node, reason);
}
static tnp_status claim_packed(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    asked a = { slice, sink };
    tnp_claim_sink own = { sizeof own, 0, &a, take, refuse };
    return cpu->claim(device, slice, &own, err);
}

static tnp_status pack(tnp_device *device, const tnp_value *value, uint32_t layout,
                       const void *source, uint64_t begin, uint64_t end, void *to, tnp_error *err)
{
    uint64_t row = 4 * (uint64_t)value->dims[0], rows = (uint64_t)value->dims[1];
    (void)device, (void)layout, (void)err;
    memset(to, 0, (end - begin) * GROUP_ROWS * row + PACKING_PAST);
    uint64_t last = end * GROUP_ROWS < rows ? end * GROUP_ROWS : rows;
    memcpy(to, (const char *)source + begin * GROUP_ROWS * row, (last - begin * GROUP_ROWS) * row);
    return TNP_OK;
}

static tnp_status compile_packed(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    tnp_claim claims[MOST];
    const tnp_claim *units[MOST];
    tnp_compile plain = *what;
    packed_program *program = malloc(sizeof *program);
    tnp_error full = { sizeof full, TNP_E_HOST_MEMORY, "packing: no memory, or too many units" };
    if (!program || what->unit_count > MOST || what->size != sizeof *what) {
        free(program);
        TNP_GIVE(err, &full);
        return TNP_E_HOST_MEMORY;
    }
    for (uint32_t u = 0; u < what->unit_count; u++) {
        claims[u] = *what->units[u];
        program->weight_of[u] = claims[u].pack_count > 0
                                    ? what->slice->values[claims[u].packs[0]->value]->storage
                                    : TNP_NONE;
        claims[u].pack_count = 0;
        units[u] = &claims[u];
    }
    plain.units = units;
    tnp_status status = cpu->compile(device, &plain, &program->own, err);
    if (status == TNP_OK)
        *out = (tnp_program *)program;
    else
        free(program);
    return status;
}

static void destroy_packed(tnp_program *handle)
{
    packed_program *program = (packed_program *)handle;
    cpu->program_destroy(program->own);
    free(program);
}

static int stands_for(const packed_program *program, const tnp_bind *what, uint32_t storage)
{
    for (uint32_t i = 0; i < what->binding_count; i++)
        if (what->bindings[i]->kind == TNP_BIND_PACKED &&
            program->weight_of[what->bindings[i]->index] == storage)
            return 1;
    return 0;
}

// The pack takes the place of the storage.
static tnp_status bind_packed(tnp_program *handle, const tnp_bind *what, tnp_bound **out,
                              tnp_error *err)
{
    const packed_program *program = (const packed_program *)handle;
    tnp_binding own[2 * MOST];
    const tnp_binding *pointers[2 * MOST];
    tnp_bind plain = *what;
    plain.binding_count = 0;
    plain.bindings = pointers;
    for (uint32_t i = 0; i < what->binding_count && i < 2 * MOST; i++) {
        tnp_binding b = *what->bindings[i];
        if (b.kind == TNP_BIND_STORAGE && stands_for(program, what, b.index))
            continue;
        if (b.kind == TNP_BIND_PACKED) {
            b.kind = TNP_BIND_STORAGE;
            b.index = program->weight_of[b.index];
        }
        own[plain.binding_count] = b;
        pointers[plain.binding_count] = &own[plain.binding_count];
        plain.binding_count++;
    }
    return cpu->bind(program->own, &plain, out, err);
}

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    cpu = wrapped_cpu(TN_CPU_PLUGIN, host_abi, err);
    if (!cpu)
        return NULL;
    table = *cpu;
    table.note = &tnp_note_;
    table.claim = claim_packed;
    table.pack = pack;
    table.compile = compile_packed;
    table.program_destroy = destroy_packed;
    table.bind = bind_packed;
    return &table;
}
