// session_partial.c: a plugin for tests. It opens the CPU plugin and passes every call on to it, so
// its results have the same bits, and can be told to be less: to refuse ops, to hide its memory
// from the host, to have little of it, to fail at one call.
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
//   plugin.partial.tell              1: a line in the log for each buffer that is allocated
//   plugin.partial.fail_at           the call that fails, counted from 1 over all that can
//
// What it handed out and did not get back it logs when it is stopped. One instance at a time: the
// objects of the CPU plugin go through as they are, so what is counted is of this file.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <tenon/plugin.h>

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
    void *library = dlopen(CPU_PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tenon_plugin_query") : NULL;
    tnp_query query;
    memcpy(&query, &symbol, sizeof query);
    it.cpu = query ? query(TNP_ABI_CURRENT, err) : NULL;
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
                                        "tell",   "most_rows", "link_ns" };
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

static void take(void *context, const tnp_claim *claim)
{
    const passing *p = context;
    tnp_claim own = *claim;
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (is_refused(p->slice, claim->nodes[i]))
            return;
    own.cost_ns *= p->factor;
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

static tnp_status compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                          tnp_error *err)
{
    return fails() ? FAIL : made(it.cpu->compile(device, what, out, err));
}

static void program_destroy(tnp_program *program)
{
    gone(program);
    it.cpu->program_destroy(program);
}

static tnp_status bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    return fails() ? FAIL : made(it.cpu->bind(program, what, out, err));
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
