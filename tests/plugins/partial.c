// partial.c: the CPU plugin, to which every call is passed on, so that results have the same bits;
// it can be told to be less: to refuse ops, to hide its memory from the host, to have little of it,
// to fail at one call.
//
//   plugin.partial.refuse            ops, by number, with commas between: "35,37"
//   plugin.partial.most_rows         set_rows of more rows than these is refused too
//   plugin.partial.hidden            1: the host cannot map its buffers
//   plugin.partial.memory            bytes that are free
//   plugin.partial.largest           bytes of the largest buffer
//   plugin.partial.import_alignment  what memory_info says
//   plugin.partial.update_bytes      what device_info says
//   plugin.partial.kind              of its device, as device_info says it; 1 (CPU) without
//   plugin.partial.cost              a factor on the cost of every claim
//   plugin.partial.link_ns           a copy between it and the host takes so long, of any bytes
//   plugin.partial.pack              the weight of each product is wanted packed, in groups of so
//                                    many rows, and used from there; "baked": kept by compile, and
//                                    compared with what is bound
//   plugin.partial.tell              1: a line in the log for each buffer that is allocated
//   plugin.partial.fail_at           the call that fails, counted from 1 over all that can
//
// What it handed out and did not get back it logs when it is stopped. One instance at a time: the
// objects of the CPU plugin go through as they are, so what is counted is of this file.
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapped_cpu.h"

#if defined(__x86_64__)
#define MACHINE 62
#else
#define MACHINE 183
#endif
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "partial", "1.0", "Tenon tests",
             "Apache-2.0");

static struct {
    const tnp_host *host;
    const tnp_plugin *cpu;
    atomic_ulong calls;
    atomic_long alive;
} it;

static const char *setting(const char *key)
{
    return it.host->setting(it.host->context, key);
}

static uint64_t number(const char *key, uint64_t otherwise)
{
    const char *text = setting(key);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static tnp_status fail(tnp_error *err, tnp_status status, const char *text)
{
    tnp_error said = { .size = sizeof said, .status = status };
    strncpy(said.text, text, sizeof said.text - 1);
    TNP_GIVE(err, &said);
    return status;
}

// Whether the call at hand is the one that fails.
static int fails(void)
{
    uint64_t at = number("fail_at", 0);
    if (!at || atomic_fetch_add(&it.calls, 1) + 1 != at)
        return 0;
    it.host->log(it.host->context, 1, "a call fails now");
    return 1;
}

#define FAIL fail(err, TNP_E_DEVICE_MEMORY, "told to fail")

// A call that makes something: counted when it went well.
static tnp_status made(tnp_status status)
{
    it.alive += status == TNP_OK;
    return status;
}

static void gone(const void *object)
{
    it.alive -= object != NULL;
}

// -------------------------------------------------------------------------------- instance, device

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    it.cpu = wrapped_cpu(TN_CPU_PLUGIN, TNP_ABI_CURRENT, err);
    it.host = host;
    it.calls = 0;
    it.alive = 0;
    return it.cpu ? it.cpu->start(host, out, err) : fail(err, TNP_E_IO, "no CPU plugin");
}

static void stop(tnp_instance *instance)
{
    char text[80];
    it.cpu->stop(instance);
    if (it.alive) {
        snprintf(text, sizeof text, "%ld objects were not given back", (long)it.alive);
        it.host->log(it.host->context, 0, text);
    }
}

static tnp_status device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    return it.cpu->device_count(instance, count, err);
}

static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    tnp_device_info own = { .size = sizeof own };
    tnp_status status = it.cpu->device_info(instance, index, &own, err);
    own.update_bytes = number("update_bytes", own.update_bytes);
    own.kind = (uint32_t)number("kind", own.kind);
    TNP_GIVE(info, &own);
    return status;
}

static tnp_status open_device(tnp_instance *instance, const tnp_open *what, tnp_device **out,
                              tnp_error *err)
{
    // Asked for here as well, as a plugin should: the host warns of settings that nobody asks for.
    static const char *const keys[] = { "refuse", "cost",      "hidden",
                                        "memory", "largest",   "import_alignment",
                                        "tell",   "most_rows", "link_ns",
                                        "pack" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        (void)setting(keys[i]);
    return fails() ? FAIL : made(it.cpu->open(instance, what, out, err));
}

static void close_device(tnp_device *device)
{
    gone(device);
    it.cpu->close(device);
}

static void abandon(tnp_device *device)
{
    it.cpu->abandon(device);
}

static tnp_status memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                              tnp_error *err)
{
    tnp_memory_info own = { .size = sizeof own };
    if (fails())
        return FAIL;
    tnp_status status = it.cpu->memory_info(device, memory, &own, err);
    if (number("hidden", 0))
        own.flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND;
    own.free_bytes = number("memory", own.free_bytes);
    own.max_buffer_bytes = number("largest", own.max_buffer_bytes);
    own.import_alignment_bytes = number("import_alignment", own.import_alignment_bytes);
    TNP_GIVE(info, &own);
    return status;
}

static tnp_status link_devices(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    tnp_link own = { .size = sizeof own };
    uint64_t link_ns = number("link_ns", UINT64_MAX);
    tnp_status status = it.cpu->link(from, to, &own, err);
    if (link_ns != UINT64_MAX) {
        own.latency_ns = link_ns;
        own.bytes_per_s = UINT64_C(1) << 50;
    }
    TNP_GIVE(link, &own);
    return status;
}

// ----------------------------------------------------------------------------------------- objects

static tnp_status buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                               tnp_error *err)
{
    if (number("tell", 0))
        it.host->log(it.host->context, 1, "a buffer is allocated");
    return fails() ? FAIL : made(it.cpu->buffer_alloc(device, what, out, err));
}

static tnp_status buffer_import(tnp_device *device, const tnp_import *what, tnp_buffer **out,
                                tnp_error *err)
{
    return fails() ? FAIL : made(it.cpu->buffer_import(device, what, out, err));
}

static tnp_status buffer_map(tnp_buffer *buffer, void **out, tnp_error *err)
{
    if (number("hidden", 0))
        return fail(err, TNP_E_UNSUPPORTED, "it is hidden");
    return fails() ? FAIL : it.cpu->buffer_map(buffer, out, err);
}

static void buffer_free(tnp_buffer *buffer)
{
    gone(buffer);
    it.cpu->buffer_free(buffer);
}

static tnp_status semaphore_create(tnp_device *device, const tnp_semaphore_options *how,
                                   tnp_semaphore **out, tnp_error *err)
{
    return fails() ? FAIL : made(it.cpu->semaphore_create(device, how, out, err));
}

static void semaphore_destroy(tnp_semaphore *semaphore)
{
    gone(semaphore);
    it.cpu->semaphore_destroy(semaphore);
}

static tnp_status semaphore_read(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err)
{
    return it.cpu->semaphore_read(semaphore, value, err);
}

static tnp_status semaphore_signal(tnp_semaphore *semaphore, uint64_t value, tnp_error *err)
{
    return it.cpu->semaphore_signal(semaphore, value, err);
}

static tnp_status semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                                 tnp_error *err)
{
    return it.cpu->semaphore_fail(semaphore, why, text, err);
}

static tnp_status semaphore_wait(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns,
                                 tnp_error *err)
{
    return it.cpu->semaphore_wait(semaphore, value, timeout_ns, err);
}

static tnp_status queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                               tnp_error *err)
{
    return fails() ? FAIL : made(it.cpu->queue_create(device, how, out, err));
}

static void queue_destroy(tnp_queue *queue)
{
    gone(queue);
    it.cpu->queue_destroy(queue);
}

static tnp_status queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                             const tnp_sync *sync, tnp_error *err)
{
    return fails() ? FAIL : it.cpu->queue_copy(queue, copies, count, sync, err);
}

static tnp_status queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                               tnp_error *err)
{
    return fails() ? FAIL : it.cpu->queue_submit(queue, submits, count, err);
}

// ------------------------------------------------------------------------------------------ claims

typedef struct passing {
    const tnp_slice *slice;
    const tnp_claim_sink *sink;
    double factor;
} passing;

static int is_refused(const tnp_slice *slice, uint32_t node)
{
    const char *at = setting("refuse");
    tnp_op op = slice->nodes[node]->op;
    if (op == TNP_OP_SET_ROWS && (uint64_t)slice->values[slice->nodes[node]->inputs[1]]->dims[1] >
                                     number("most_rows", UINT64_MAX))
        return 1;
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strtoul(at, NULL, 10) == op)
            return 1;
    return 0;
}

// A pack has the rows one after the other, the last group filled up with zeros.
static bool wants_pack(const passing *p, const tnp_claim *claim, tnp_pack *pack)
{
    const tnp_node *node = p->slice->nodes[claim->nodes[0]];
    const char *how = setting("pack");
    if (!how || claim->node_count != 1 || node->op != TNP_OP_MATMUL)
        return false;
    const tnp_value *weight = p->slice->values[node->inputs[1]];
    if (!(p->slice->storages[weight->storage]->flags & TNP_STORAGE_CONSTANT))
        return false;
    *pack = (tnp_pack){ .size = sizeof *pack,
                        .flags = strcmp(how, "baked") == 0 ? TNP_PACK_BAKED : 0,
                        .value = node->inputs[1],
                        .layout = 7,
                        .group_rows = number("pack", 1) };
    pack->group_bytes = pack->group_rows * (uint64_t)weight->strides[1];
    return true;
}

static void take(void *context, const tnp_claim *claim)
{
    const passing *p = context;
    tnp_claim own = *claim;
    tnp_pack pack;
    const tnp_pack *packs[] = { &pack };
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (is_refused(p->slice, claim->nodes[i]))
            return;
    own.cost_ns *= p->factor;
    own.pack_count = 0;   // of the CPU plugin: those here are of their own layout
    if (wants_pack(p, claim, &pack)) {
        own.pack_count = 1;
        own.packs = packs;
    }
    p->sink->take(p->sink->context, &own);
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    const passing *p = context;
    p->sink->refuse(p->sink->context, node, reason);
}

static tnp_status claim_nodes(tnp_device *device, const tnp_slice *slice,
                              const tnp_claim_sink *sink, tnp_error *err)
{
    const char *factor = setting("cost");
    passing p = { slice, sink, factor ? strtod(factor, NULL) : 1 };
    tnp_claim_sink own = { .size = sizeof own, .context = &p, .take = take, .refuse = refuse };
    if (fails())
        return FAIL;
    for (uint32_t i = 0; i < slice->node_count; i++)
        if (is_refused(slice, i))
            sink->refuse(sink->context, i, "it is told to refuse this op");
    return it.cpu->claim(device, slice, &own, err);
}

static tnp_status pack_rows(tnp_device *device, const tnp_value *value, uint32_t layout,
                            const void *source, uint64_t begin, uint64_t end, void *to,
                            tnp_error *err)
{
    uint64_t group_rows = number("pack", 1), rows = (uint64_t)value->dims[1],
             row_bytes = (uint64_t)value->strides[1];
    (void)device, (void)err;
    if (layout != 7)
        return fail(err, TNP_E_ARG, "another layout");
    memset(to, 0, (end - begin) * group_rows * row_bytes);
    for (uint64_t r = begin * group_rows; r < end * group_rows && r < rows; r++)
        memcpy((char *)to + (r - begin * group_rows) * row_bytes,
               (const char *)source + r * row_bytes, row_bytes);
    return TNP_OK;
}

// The packs of programs that are there: the CPU plugin knows none, it gets the pack's bytes as the
// weight's.
enum { MOST_PACKS = 64 };
static struct packed {
    const tnp_program *program;
    uint32_t unit, storage;
    void *baked;
    uint64_t bytes;
} packed[MOST_PACKS];

static struct packed *find_packed(const tnp_program *program, const tnp_binding *binding)
{
    for (struct packed *p = packed; p < packed + MOST_PACKS; p++) {
        bool is_it = binding->kind == TNP_BIND_PACKED ? p->unit == binding->index
                                                      : p->storage == binding->index;
        if (p->program == program && program && is_it)
            return p;
    }
    return NULL;
}

static void forget_packs(const tnp_program *program)
{
    for (struct packed *p = packed; p < packed + MOST_PACKS; p++)
        if (p->program == program) {
            free(p->baked);
            *p = (struct packed){ .program = NULL };
        }
}

static bool note_pack(const tnp_compile *what, uint32_t unit, const tnp_program *program)
{
    const tnp_pack *pack = what->units[unit]->packs[0];
    const tnp_value *value = what->slice->values[pack->value];
    const tnp_storage *storage = what->slice->storages[value->storage];
    for (struct packed *p = packed; p < packed + MOST_PACKS; p++) {
        if (p->program)
            continue;
        *p = (struct packed){ program, unit, value->storage, NULL, storage->bytes };
        if (!(pack->flags & TNP_PACK_BAKED))
            return true;
        p->baked = malloc(storage->bytes);
        if (p->baked && storage->data)
            memcpy(p->baked, storage->data, storage->bytes);
        return p->baked && storage->data;
    }
    return false;
}

static tnp_status compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                          tnp_error *err)
{
    if (fails())
        return FAIL;
    tnp_compile own = *what;
    tnp_claim *claims = calloc(what->unit_count, sizeof *claims);
    const tnp_claim **units = calloc(what->unit_count, sizeof *units);
    tnp_status status = claims && units ? TNP_OK : FAIL;
    for (uint32_t u = 0; u < what->unit_count && status == TNP_OK; u++) {
        claims[u] = *what->units[u];
        claims[u].pack_count = 0;
        units[u] = &claims[u];
    }
    own.units = units;
    if (status == TNP_OK)
        status = made(it.cpu->compile(device, &own, out, err));
    for (uint32_t u = 0; u < what->unit_count && status == TNP_OK; u++)
        if (what->units[u]->pack_count && !note_pack(what, u, *out))
            status = fail(err, TNP_E_INTERNAL, "a pack without bytes, or one too many");
    free(claims);
    free(units);
    return status;
}

static void program_destroy(tnp_program *program)
{
    gone(program);
    forget_packs(program);
    it.cpu->program_destroy(program);
}

// What was baked are the bytes that are bound.
static tnp_status check_baked(const struct packed *p, const tnp_binding *binding, tnp_error *err)
{
    void *map = NULL;
    tnp_status status = it.cpu->buffer_map(binding->buffer, &map, err);
    if (status != TNP_OK)
        return status;
    return memcmp((const char *)map + binding->offset, p->baked, p->bytes) == 0
               ? TNP_OK
               : fail(err, TNP_E_INTERNAL, "other bytes were baked than are bound");
}

static tnp_status bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    if (fails())
        return FAIL;
    tnp_bind own = *what;
    tnp_binding *bindings = calloc(what->binding_count + 1, sizeof *bindings);
    const tnp_binding **pointers = calloc(what->binding_count + 1, sizeof *pointers);
    tnp_status status = bindings && pointers ? TNP_OK : FAIL;
    own.binding_count = 0;
    own.bindings = pointers;
    for (uint32_t i = 0; i < what->binding_count && status == TNP_OK; i++) {
        tnp_binding *to = &bindings[own.binding_count];
        const struct packed *p = find_packed(program, what->bindings[i]);
        *to = *what->bindings[i];
        if (to->kind == TNP_BIND_PACKED && p) {
            to->kind = TNP_BIND_STORAGE;
            to->index = p->storage;
            to->part = 0;
            to->bytes = p->bytes;
        } else if (to->kind == TNP_BIND_STORAGE && p && p->baked) {
            status = check_baked(p, to, err);
        } else if (to->kind == TNP_BIND_STORAGE && p) {
            continue;   // its pack stands for it
        }
        pointers[own.binding_count++] = to;
    }
    if (status == TNP_OK)
        status = made(it.cpu->bind(program, &own, out, err));
    free(bindings);
    free(pointers);
    return status;
}

static void unbind(tnp_bound *bound)
{
    gone(bound);
    it.cpu->unbind(bound);
}

static const void *extension(tnp_instance *instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

static const tnp_plugin table = {
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = start,
    .stop = stop,
    .device_count = device_count,
    .device_info = device_info,
    .open = open_device,
    .close = close_device,
    .abandon = abandon,
    .memory_info = memory_info,
    .link = link_devices,
    .buffer_alloc = buffer_alloc,
    .buffer_import = buffer_import,
    .buffer_map = buffer_map,
    .buffer_free = buffer_free,
    .semaphore_create = semaphore_create,
    .semaphore_destroy = semaphore_destroy,
    .semaphore_read = semaphore_read,
    .semaphore_signal = semaphore_signal,
    .semaphore_fail = semaphore_fail,
    .semaphore_wait = semaphore_wait,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_copy = queue_copy,
    .queue_submit = queue_submit,
    .claim = claim_nodes,
    .pack = pack_rows,
    .compile = compile,
    .program_destroy = program_destroy,
    .bind = bind,
    .unbind = unbind,
    .extension = extension,
};

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    (void)host_abi, (void)err;
    return &table;
}
