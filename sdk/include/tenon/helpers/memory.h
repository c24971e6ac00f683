// helpers/memory.h: memory of a device that lies in the host's, and what is bound to it.
//
// No part of the contract: code that a plugin compiles into itself to begin with, and leaves when
// it has its driver's memory. The host sees none of it: it copies in and out through a queue.
//
//   yours                                                 in the table of calls
//     struct tnp_device begins with a tnh_memory            TNH_MEMORY_CALLS
//     bind: by tnh_bind, and checks that all is there
//     tnh_calls: .bound_has = tnh_bound_has, .copy = tnh_copy
#ifndef TENON_HELPERS_MEMORY_H
#define TENON_HELPERS_MEMORY_H

#include "queue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNH_ALIGNMENT = 64 };

typedef struct tnh_memory {
    tnh_device queues;
    uint64_t total_bytes, used_bytes;   // used: under the lock
} tnh_memory;

struct tnp_buffer {
    tnh_buffer head;
    unsigned char *data;
};

typedef struct tnh_place {
    unsigned char *data;   // NULL: no binding
    uint64_t bytes;
} tnh_place;

struct tnp_bound {
    tnp_device *device;
    const tnp_program *program;
    uint32_t flags, place_count;
    tnh_place *places;   // by storage of the slice
};

// Neither HOST_VISIBLE nor IMPORT: buffer_map and buffer_import are left out of the table.
#define TNH_MEMORY_CALLS                                                                           \
    .memory_info = tnh_memory_info, .buffer_alloc = tnh_buffer_alloc,                              \
    .buffer_free = tnh_buffer_free, .unbind = tnh_unbind

static inline void tnh_free(tnp_device *device, void *memory)
{
    const tnp_host *host = tnh_of(device)->host;
    host->free(host->context, memory);
}

static inline tnp_status tnh_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                                         tnp_error *err)
{
    const tnh_memory *of = (const tnh_memory *)device;
    if (memory > 0)
        return tnh_fail(err, TNP_E_ARG, "memory_info: no memory %u", memory);
    tnp_memory_info own;
    memset(&own, 0, sizeof own);
    own.size = (uint32_t)sizeof own;
    own.flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND;
    own.alignment_bytes = TNH_ALIGNMENT;
    own.total_bytes = own.max_buffer_bytes = own.max_binding_bytes = of->total_bytes;
    pthread_mutex_lock(&tnh_of(device)->lock);
    own.free_bytes = of->total_bytes - of->used_bytes;
    pthread_mutex_unlock(&tnh_of(device)->lock);
    TNP_GIVE(info, &own);
    return TNP_OK;
}

// Counts bytes as used, or answers how few are free. Counted first, so that two threads cannot both
// have the last ones.
static inline int tnh_reserve(tnp_device *device, uint64_t bytes, uint64_t *out_room)
{
    tnh_memory *of = (tnh_memory *)device;
    pthread_mutex_lock(&of->queues.lock);
    *out_room = of->total_bytes - of->used_bytes;
    int has_room = bytes <= *out_room;
    of->used_bytes += has_room ? bytes : 0;
    pthread_mutex_unlock(&of->queues.lock);
    return has_room;
}
static inline void tnh_unreserve(tnp_device *device, uint64_t bytes)
{
    tnh_memory *of = (tnh_memory *)device;
    pthread_mutex_lock(&of->queues.lock);
    of->used_bytes -= bytes;
    pthread_mutex_unlock(&of->queues.lock);
}

static inline tnp_status tnh_buffer_alloc(tnp_device *device, const tnp_alloc *from,
                                          tnp_buffer **out, tnp_error *err)
{
    const tnp_host *host = tnh_of(device)->host;
    tnp_alloc what;
    uint64_t room;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "buffer_alloc");
    if (what.memory != 0 || what.bytes == 0)
        return tnh_fail(err, TNP_E_ARG,
                        "buffer_alloc: %llu bytes of memory %u; at least 1, of memory 0",
                        (unsigned long long)what.bytes, what.memory);
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    if (!tnh_reserve(device, what.bytes, &room))
        return tnh_fail(err, TNP_E_DEVICE_MEMORY,
                        "buffer_alloc: %llu bytes are asked for, %llu are free",
                        (unsigned long long)what.bytes, (unsigned long long)room);
    tnp_buffer *buffer = (tnp_buffer *)tnh_make(host, sizeof *buffer);
    if (buffer)   // not cleared: who needs zeros copies them
        buffer->data = (unsigned char *)host->alloc(host->context, what.bytes, TNH_ALIGNMENT);
    if (!buffer || !buffer->data) {
        tnh_free(device, buffer);
        tnh_unreserve(device, what.bytes);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: the host has no %llu bytes",
                        (unsigned long long)what.bytes);
    }
    buffer->head.device = device;
    buffer->head.bytes = what.bytes;
    *out = buffer;
    return TNP_OK;
}
static inline void tnh_buffer_free(tnp_buffer *buffer)
{
    if (!buffer)
        return;
    tnp_device *device = buffer->head.device;
    tnh_unreserve(device, buffer->head.bytes);
    tnh_free(device, buffer->data);
    tnh_free(device, buffer);
}

static inline void tnh_copy_rows(const tnp_copy *c)
{
    const unsigned char *from = c->from_buffer ? c->from_buffer->data + c->from_offset
                                               : (const unsigned char *)c->from_host;
    unsigned char *to = c->to_buffer ? c->to_buffer->data + c->to_offset
                                     : (unsigned char *)c->to_host;
    for (uint64_t r = 0; r < c->rows; r++) {
        if (from)
            memmove(to + r * c->to_pitch, from + r * c->from_pitch, c->bytes);
        else
            memset(to + r * c->to_pitch, 0, c->bytes);
    }
}
static inline tnp_status tnh_copy(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                                  tnp_error *err)
{
    (void)queue, (void)err;   // a driver has something to say
    for (uint32_t i = 0; i < count; i++)
        tnh_copy_rows(&copies[i]);
    return TNP_OK;
}

// ------------------------------------------------------------------------------------------- bound

// Where these bytes of a storage are; NULL: it has no binding, or one that is too small.
static inline unsigned char *tnh_at(const tnp_bound *bound, uint32_t storage, uint64_t offset,
                                    uint64_t bytes)
{
    if (storage >= bound->place_count)
        return NULL;
    const tnh_place *place = &bound->places[storage];
    return place->data && bytes <= place->bytes && offset <= place->bytes - bytes
               ? place->data + offset
               : NULL;
}
static inline int tnh_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset,
                                uint64_t bytes)
{
    return tnh_at(bound, storage, offset, bytes) != NULL;
}
static inline void tnh_update(const tnp_bound *bound, const tnp_update *updates, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(bound->places[updates[i].storage].data + updates[i].offset, updates[i].data,
               updates[i].bytes);
}

// Around each unit that runs: a span for the host, where it asked for them.
static inline uint64_t tnh_trace_begin(const tnp_bound *bound)
{
    const tnp_host *host = tnh_of(bound->device)->host;
    return bound->flags & TNP_BIND_TRACE ? host->now_ns(host->context) : 0;
}
static inline void tnh_trace_end(const tnp_bound *bound, const tnp_queue *queue, uint64_t run,
                                 uint32_t unit, uint64_t begin_ns)
{
    const tnp_host *host = tnh_of(bound->device)->host;
    tnp_span span;
    if (!(bound->flags & TNP_BIND_TRACE))
        return;
    memset(&span, 0, sizeof span);
    span.size = (uint32_t)sizeof span;
    span.unit = unit;
    span.run = run;
    span.begin_ns = begin_ns;
    span.end_ns = host->now_ns(host->context);
    host->trace(host->context, queue, &span);
}

static inline void tnh_unbind(tnp_bound *bound)
{
    tnh_free(bound->device, bound);
}

static inline tnp_status tnh_read_binding(tnp_bound *bound, const tnp_binding *from, tnp_error *err)
{
    tnp_binding b;
    if (!TNP_TAKE(&b, from))
        return tnh_fail_unknown(err, "bind");
    if (b.kind != TNP_BIND_STORAGE || b.index >= bound->place_count)
        return tnh_fail(err, TNP_E_ARG, "bind: kind %u, index %u", b.kind, b.index);
    if (!b.buffer || !tnh_is_inside(bound->device, b.buffer, b.offset, b.bytes) ||
        b.offset % TNH_ALIGNMENT != 0)
        return tnh_fail(err, TNP_E_ARG,
                        "bind: storage %u is not at a place in a buffer of this device", b.index);
    bound->places[b.index].data = b.buffer->data + b.offset;
    bound->places[b.index].bytes = b.bytes;
    return TNP_OK;
}

// Notes the place of each storage, for programs that asked for no pack and no scratch.
static inline tnp_status tnh_bind(tnp_device *device, tnp_program *program, uint32_t storage_count,
                                  const tnp_bind *from, tnp_bound **out, tnp_error *err)
{
    tnp_bind what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "bind");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_bound *bound = (tnp_bound *)tnh_make(tnh_of(device)->host,
                                             sizeof *bound + storage_count * sizeof(tnh_place));
    if (!bound)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "bind: no memory for %u storages", storage_count);
    bound->device = device;
    bound->program = program;
    bound->flags = what.flags;
    bound->place_count = storage_count;
    bound->places = (tnh_place *)(bound + 1);
    for (uint32_t i = 0; i < what.binding_count; i++) {
        tnp_status status = tnh_read_binding(bound, what.bindings[i], err);
        if (status != TNP_OK) {
            tnh_unbind(bound);
            return status;
        }
    }
    *out = bound;
    return TNP_OK;
}

#ifdef __cplusplus
}
#endif
#endif
