// far.c: a plugin as one for a chip with memory of its own is built: written against plugin.h and
// the helpers for queues and slices, but not that for memory. No pointer reaches the memory: it is
// files in RAM, read and written through a call, as a driver does it, which may fail. What is bound
// is recorded once, and handed to the driver as a list. It takes relu of contiguous F32.
#include <tenon/helpers/queue.h>
#include <tenon/helpers/slice.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

TNP_MANIFEST(TNP_MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "far", "1.0.0", "Tenon", "Apache-2.0");

enum { ALIGNMENT = 256, UPDATE_BYTES = 1024, PIECE = 1024 };
#define MEMORY_BYTES (UINT64_C(1) << 28)

// ----------------------------------------------------------------------------------------- objects

struct tnp_instance {
    const tnp_host *host;
};
struct tnp_device {
    tnh_device queues;
    uint64_t used_bytes;   // under the lock
};
struct tnp_buffer {
    tnh_buffer head;
    int file;
};
typedef struct place {
    int file;   // -1: no binding
    uint64_t offset, bytes;
} place;
typedef struct command {   // of the driver: relu of `count` floats
    uint32_t unit;
    place from, to;
    uint64_t count;
} command;
typedef struct step {
    uint32_t in, out;
    uint64_t in_offset, out_offset, count;
} step;
struct tnp_program {
    tnp_device *device;
    uint32_t step_count, storage_count;
    step steps[];
};
struct tnp_bound {
    tnp_device *device;
    uint32_t place_count, command_count, flags;
    place *places;   // by storage
    command commands[];
};

static void give_back(tnp_device *device, void *memory)
{
    const tnp_host *host = tnh_of(device)->host;
    host->free(host->context, memory);
}

// ------------------------------------------------------------------------------------------ driver

static tnp_status fail_driver(tnp_error *err, const char *what)
{
    return tnh_fail(err, TNP_E_IO, "%s: %d", what, errno);
}
static tnp_status driver_write(int file, uint64_t offset, const void *from, uint64_t bytes,
                               tnp_error *err)
{
    if (pwrite(file, from, bytes, (off_t)offset) == (ssize_t)bytes)
        return TNP_OK;
    return fail_driver(err, "the device does not take what is written");
}
static tnp_status driver_read(int file, uint64_t offset, void *to, uint64_t bytes, tnp_error *err)
{
    if (pread(file, to, bytes, (off_t)offset) == (ssize_t)bytes)
        return TNP_OK;
    return fail_driver(err, "the device does not give what is read");
}

static tnp_status driver_run(tnp_device *device, const command *c, tnp_error *err)
{
    float x[PIECE];
    tnp_status status = TNP_OK;
    for (uint64_t at = 0; at < c->count && status == TNP_OK; at += PIECE) {
        uint64_t count = c->count - at < PIECE ? c->count - at : PIECE, bytes = count * sizeof *x;
        if (tnh_is_lost(device))
            return tnh_fail_lost(err);
        status = driver_read(c->from.file, c->from.offset + at * sizeof *x, x, bytes, err);
        for (uint64_t i = 0; i < count; i++)
            x[i] = x[i] < 0 ? 0 : x[i];   // a NaN stays one
        if (status == TNP_OK)
            status = driver_write(c->to.file, c->to.offset + at * sizeof *x, x, bytes, err);
    }
    return status;
}

// ------------------------------------------------------------------------------------------ memory

static tnp_status memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                              tnp_error *err)
{
    if (memory > 0)
        return tnh_fail(err, TNP_E_ARG, "memory_info: no memory %u", memory);
    tnp_memory_info own = { .size = sizeof own, .flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND };
    own.alignment_bytes = ALIGNMENT;
    own.total_bytes = own.max_buffer_bytes = own.max_binding_bytes = MEMORY_BYTES;
    pthread_mutex_lock(&device->queues.lock);
    own.free_bytes = MEMORY_BYTES - device->used_bytes;
    pthread_mutex_unlock(&device->queues.lock);
    TNP_GIVE(info, &own);
    return TNP_OK;
}

// Counts more bytes as used, where they are there.
static int use(tnp_device *device, uint64_t bytes)
{
    pthread_mutex_lock(&device->queues.lock);
    int is_there = bytes <= MEMORY_BYTES - device->used_bytes;
    device->used_bytes += is_there ? bytes : 0;
    pthread_mutex_unlock(&device->queues.lock);
    return is_there;
}
static void unuse(tnp_device *device, uint64_t bytes)
{
    pthread_mutex_lock(&device->queues.lock);
    device->used_bytes -= bytes;
    pthread_mutex_unlock(&device->queues.lock);
}

static tnp_status buffer_alloc(tnp_device *device, const tnp_alloc *from, tnp_buffer **out,
                               tnp_error *err)
{
    tnp_alloc what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "buffer_alloc");
    if (what.memory > 0 || what.bytes == 0)
        return tnh_fail(err, TNP_E_ARG, "buffer_alloc: %llu bytes of memory %u",
                        (unsigned long long)what.bytes, what.memory);
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    if (!use(device, what.bytes))
        return tnh_fail(err, TNP_E_DEVICE_MEMORY, "buffer_alloc: %llu bytes are not free",
                        (unsigned long long)what.bytes);
    tnp_buffer *buffer = tnh_make(tnh_of(device)->host, sizeof *buffer);
    int file = buffer ? memfd_create("far", MFD_CLOEXEC) : -1;
    if (file < 0 || ftruncate(file, (off_t)what.bytes) != 0) {
        if (file >= 0)
            close(file);
        give_back(device, buffer);
        unuse(device, what.bytes);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: no handle for a buffer");
    }
    *buffer = (tnp_buffer){ { device, what.bytes }, file };
    *out = buffer;
    return TNP_OK;
}
static void buffer_free(tnp_buffer *buffer)
{
    if (!buffer)
        return;
    unuse(buffer->head.device, buffer->head.bytes);
    close(buffer->file);
    give_back(buffer->head.device, buffer);
}

// By way of a piece of the host's memory. Between buffers a driver needs none.
static tnp_status copy_bytes(const tnp_copy *c, uint64_t row, uint64_t at, uint64_t bytes,
                             tnp_error *err)
{
    unsigned char piece[PIECE] = { 0 };
    const uint64_t from = row * c->from_pitch + at, to = row * c->to_pitch + at;
    tnp_status status = TNP_OK;
    if (c->from_buffer)
        status = driver_read(c->from_buffer->file, c->from_offset + from, piece, bytes, err);
    else if (c->from_host)
        memcpy(piece, (const unsigned char *)c->from_host + from, bytes);
    if (status == TNP_OK && c->to_buffer)
        status = driver_write(c->to_buffer->file, c->to_offset + to, piece, bytes, err);
    else if (status == TNP_OK)
        memcpy((unsigned char *)c->to_host + to, piece, bytes);
    return status;
}
static tnp_status copy_rows(const tnp_copy *c, tnp_error *err)
{
    tnp_status status = TNP_OK;
    for (uint64_t row = 0; row < c->rows; row++)
        for (uint64_t at = 0; at < c->bytes && status == TNP_OK; at += PIECE)
            status = copy_bytes(c, row, at, c->bytes - at < PIECE ? c->bytes - at : PIECE, err);
    return status;
}

static tnp_status copy(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                       tnp_error *err)
{
    tnp_status status = TNP_OK;
    (void)queue;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = copy_rows(&copies[i], err);
    return status;
}

// ---------------------------------------------------------------------------------------- programs

static const char *read_node(const tnp_slice *slice, uint32_t index, step *out)
{
    tnp_node node;
    tnp_value x, y;
    if (slice->nodes[index]->op != TNP_OP_RELU)
        return "this device computes relu only";
    const char *reason = tnh_read_node(slice, index, 1, 1, NULL, 0, &node);
    if (!reason)
        reason = tnh_read_value(slice, node.inputs[0], &x);
    if (!reason)
        reason = tnh_read_value(slice, node.outputs[0], &y);
    if (reason)
        return reason;
    if (!tnh_is_packed(&x, TNP_DTYPE_F32, 4) || !tnh_is_packed(&y, TNP_DTYPE_F32, 4))
        return "this device needs contiguous F32";
    *out = (step){ x.storage, y.storage, x.offset, y.offset, 1 };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        out->count *= (uint64_t)y.dims[d];
    return NULL;
}

static tnp_status claim(tnp_device *device, const tnp_slice *from, const tnp_claim_sink *sink,
                        tnp_error *err)
{
    tnp_slice slice;
    (void)device;
    if (!TNP_TAKE(&slice, from))
        return tnh_fail_unknown(err, "claim");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        step s;
        tnp_claim taken = { .size = sizeof taken, .node_count = 1, .nodes = &i, .name = "relu" };
        const char *reason = read_node(&slice, i, &s);
        taken.cost_ns = 5000;
        if (reason)
            sink->refuse(sink->context, i, reason);
        else
            sink->take(sink->context, &taken);
    }
    return TNP_OK;
}

static tnp_status compile(tnp_device *device, const tnp_compile *from, tnp_program **out,
                          tnp_error *err)
{
    tnp_compile what;
    tnp_slice slice;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return tnh_fail_unknown(err, "compile");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_program *program = tnh_make(tnh_of(device)->host,
                                    sizeof *program + what.unit_count * sizeof(step));
    if (!program)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory");
    *program = (tnp_program){ device, what.unit_count, slice.storage_count };
    for (uint32_t u = 0; u < what.unit_count; u++) {
        tnp_claim unit;
        const char *reason = "it is not one node";
        int is_known = TNP_TAKE(&unit, what.units[u]) && !TNP_ALIEN(unit.flags, 0);
        if (is_known && unit.node_count == 1 && unit.nodes[0] < slice.node_count)
            reason = read_node(&slice, unit.nodes[0], &program->steps[u]);
        if (!reason)
            continue;
        give_back(device, program);
        return is_known ? tnh_fail(err, TNP_E_ARG, "compile: unit %u: %s", u, reason)
                        : tnh_fail_unknown(err, "compile");
    }
    *out = program;
    return TNP_OK;
}
static void program_destroy(tnp_program *program)
{
    give_back(program->device, program);
}

// ------------------------------------------------------------------------------------ bind and run

static int bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes)
{
    if (storage >= bound->place_count)
        return 0;
    const place *p = &bound->places[storage];
    return p->file >= 0 && bytes <= p->bytes && offset <= p->bytes - bytes;
}

static tnp_status read_binding(tnp_bound *bound, const tnp_binding *from, tnp_error *err)
{
    tnp_binding b;
    if (!TNP_TAKE(&b, from))
        return tnh_fail_unknown(err, "bind");
    if (b.kind != TNP_BIND_STORAGE || b.index >= bound->place_count || !b.buffer ||
        !tnh_is_inside(bound->device, b.buffer, b.offset, b.bytes) || b.offset % ALIGNMENT != 0)
        return tnh_fail(err, TNP_E_ARG, "bind: kind %u, index %u cannot be bound there", b.kind,
                        b.index);
    bound->places[b.index] = (place){ b.buffer->file, b.offset, b.bytes };
    return TNP_OK;
}

// Recorded once: what has no result is not recorded at all.
static tnp_status record(tnp_bound *bound, const tnp_program *program, tnp_error *err)
{
    for (uint32_t u = 0; u < program->step_count; u++) {
        const step *s = &program->steps[u];
        const uint64_t bytes = s->count * sizeof(float);
        place from = bound->places[s->in], to = bound->places[s->out];
        if (to.file < 0 && from.file >= 0)
            continue;
        if (!bound_has(bound, s->in, s->in_offset, bytes) ||
            !bound_has(bound, s->out, s->out_offset, bytes))
            return tnh_fail(err, TNP_E_ARG, "bind: unit %u has too few bytes bound", u);
        from.offset += s->in_offset;
        to.offset += s->out_offset;
        bound->commands[bound->command_count++] = (command){ u, from, to, s->count };
    }
    return TNP_OK;
}

static void unbind(tnp_bound *bound)
{
    give_back(bound->device, bound);
}

static tnp_status bind(tnp_program *program, const tnp_bind *from, tnp_bound **out, tnp_error *err)
{
    tnp_bind what;
    tnp_device *device = program->device;
    tnp_status status = TNP_OK;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "bind");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_bound *bound = tnh_make(tnh_of(device)->host, sizeof *bound +
                                                          program->step_count * sizeof(command) +
                                                          program->storage_count * sizeof(place));
    if (!bound)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "bind: no memory");
    bound->device = device;
    bound->flags = what.flags;
    bound->place_count = program->storage_count;
    bound->places = (place *)(void *)(bound->commands + program->step_count);
    for (uint32_t i = 0; i < bound->place_count; i++)
        bound->places[i].file = -1;
    for (uint32_t i = 0; i < what.binding_count && status == TNP_OK; i++)
        status = read_binding(bound, what.bindings[i], err);
    if (status == TNP_OK)
        status = record(bound, program, err);
    if (status == TNP_OK)
        *out = bound;
    else
        unbind(bound);
    return status;
}

static void trace(const tnp_bound *bound, const tnp_queue *queue, tnp_span *span)
{
    const tnp_host *host = tnh_of(bound->device)->host;
    span->end_ns = host->now_ns(host->context);
    host->trace(host->context, queue, span);
}

static tnp_status run(const tnp_bound *bound, const tnp_update *updates, uint32_t update_count,
                      const tnp_queue *queue, uint64_t number, tnp_error *err)
{
    const tnp_host *host = tnh_of(bound->device)->host;
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < update_count && status == TNP_OK; i++) {
        const place *p = &bound->places[updates[i].storage];
        status = driver_write(p->file, p->offset + updates[i].offset, updates[i].data,
                              updates[i].bytes, err);
    }
    for (uint32_t i = 0; i < bound->command_count && status == TNP_OK; i++) {
        tnp_span span = { .size = sizeof span, .unit = bound->commands[i].unit, .run = number };
        span.begin_ns = host->now_ns(host->context);
        status = driver_run(bound->device, &bound->commands[i], err);
        if (bound->flags & TNP_BIND_TRACE)
            trace(bound, queue, &span);
    }
    return status;
}

// ----------------------------------------------------------------------------- instance and device

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_instance *instance = tnh_make(host, sizeof *instance);
    if (!instance)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "start: no memory");
    instance->host = host;
    *out = instance;
    return TNP_OK;
}
static void stop(tnp_instance *instance)
{
    instance->host->free(instance->host->context, instance);
}
static tnp_status device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 1;
    return TNP_OK;
}
static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    (void)instance;
    if (index > 0)
        return tnh_fail(err, TNP_E_ARG, "device_info: no device %u", index);
    tnp_device_info own = { .size = sizeof own, .id = 7, .name = "Far device", .driver = "files" };
    own.kind = TNP_KIND_GPU;
    own.memory_count = own.queue_count = 1;
    own.update_bytes = UPDATE_BYTES;
    own.memory_bytes = MEMORY_BYTES;
    TNP_GIVE(info, &own);
    return TNP_OK;
}

static const tnh_calls calls = { bound_has, copy, run };

static tnp_status open_device(tnp_instance *instance, const tnp_open *from, tnp_device **out,
                              tnp_error *err)
{
    tnp_open what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "open");
    if (what.id != 7)
        return tnh_fail(err, TNP_E_ARG, "open: no device has the id %llu",
                        (unsigned long long)what.id);
    tnp_device *device = tnh_make(instance->host, sizeof *device);
    if (!device || !tnh_open(device, instance->host, &calls, UPDATE_BYTES)) {
        instance->host->free(instance->host->context, device);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no memory for a device");
    }
    *out = device;
    return TNP_OK;
}
static void close_device(tnp_device *device)
{
    tnh_close(device);
    give_back(device, device);
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
    .memory_info = memory_info,
    .link = tnh_no_link,
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    TNH_QUEUE_CALLS,
    .claim = claim,
    .compile = compile,
    .program_destroy = program_destroy,
    .bind = bind,
    .unbind = unbind,
    .extension = tnh_no_extension,
};

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    return tnh_query(&table, host_abi, err);
}
