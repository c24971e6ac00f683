// memory.c: buffers, and copies between them and the host.
//
// Where the host is not to see a device's memory, its bytes are kept xored with a pattern. What
// reads or writes them past the device's calls gets, or leaves, rubbish.
#include "sim.h"

#define WORD UINT64_C(0x9e3779b97f4a7c15)
static const uint64_t pattern[8] = { WORD * 1, WORD * 3,  WORD * 5,  WORD * 7,
                                     WORD * 9, WORD * 11, WORD * 13, WORD * 15 };

// bytes[i] ^= pattern[offset + i], the pattern being repeated.
static void xor_pattern(unsigned char *bytes, uint64_t offset, uint64_t count)
{
    unsigned char turned[2 * sizeof pattern];
    memcpy(turned, pattern, sizeof pattern);
    memcpy(turned + sizeof pattern, pattern, sizeof pattern);
    const unsigned char *at = turned + offset % sizeof pattern;
    for (; count >= sizeof pattern; bytes += sizeof pattern, count -= sizeof pattern)
        for (size_t i = 0; i < sizeof pattern; i++)
            bytes[i] ^= at[i];
    for (size_t i = 0; i < count; i++)
        bytes[i] ^= at[i];
}

static bool is_scrambled_now(const tnp_buffer *buffer)
{
    return buffer && buffer->is_scrambled && buffer->readers == 0;
}

void sim_scramble(tnp_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    if (is_scrambled_now(buffer))
        xor_pattern(buffer->data + offset, offset, bytes);
}

void sim_buffer_read(tnp_buffer *buffer, int32_t change)
{
    if (change > 0)
        sim_scramble(buffer, 0, buffer->bytes);   // the first one decodes, the last one encodes
    buffer->readers += (uint32_t)change;
    if (change < 0)
        sim_scramble(buffer, 0, buffer->bytes);
}

// ----------------------------------------------------------------------------------------- buffers

tnp_status sim_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err)
{
    const sim_spec *spec = &device->chip->spec;
    tnp_status status = sim_enter(device->instance, device->chip, device, SIM_CALL_memory_info,
                                  err);
    if (status != TNP_OK)
        return status;
    if (memory > 0)
        return sim_fail(err, TNP_E_ARG, "memory_info: memory %u, there is only memory 0", memory);
    tnp_memory_info own = {
        .size = sizeof own,
        .flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND,
        .alignment_bytes = spec->alignment,
        .total_bytes = spec->memory_bytes,
        .max_buffer_bytes = spec->max_alloc_bytes,
        .max_binding_bytes = spec->max_alloc_bytes,
        .bytes_per_s = spec->gbps < 1e9 ? (uint64_t)(spec->gbps * 1e9) : UINT64_MAX,
    };
    if (spec->is_host_visible)
        own.flags |= TNP_MEMORY_HOST_VISIBLE | TNP_MEMORY_HOST_CACHED;
    if (spec->can_import) {
        own.flags |= TNP_MEMORY_IMPORT;
        own.import_alignment_bytes = 1;
    }
    pthread_mutex_lock(&device->instance->lock);
    own.free_bytes = spec->memory_bytes - device->chip->used_bytes;
    pthread_mutex_unlock(&device->instance->lock);
    TNP_GIVE(info, &own);
    return TNP_OK;
}

// Takes room of the device's memory, in whole multiples of its alignment.
static tnp_status charge(tnp_device *device, uint64_t bytes, uint64_t *charged, tnp_error *err)
{
    sim_chip *chip = device->chip;
    const sim_spec *spec = &chip->spec;
    if (bytes > spec->max_alloc_bytes)
        return sim_fail(err, TNP_E_DEVICE_MEMORY,
                        "buffer_alloc: %llu bytes are needed in one buffer, at most %llu are "
                        "possible",
                        (unsigned long long)bytes, (unsigned long long)spec->max_alloc_bytes);
    *charged = (bytes + spec->alignment - 1) / spec->alignment * spec->alignment;
    pthread_mutex_lock(&device->instance->lock);
    uint64_t room = spec->memory_bytes - chip->used_bytes;
    if (*charged > room && bytes <= room)
        *charged = room;   // the end of the memory is not aligned
    bool fits = *charged <= room;
    chip->used_bytes += fits ? *charged : 0;
    pthread_mutex_unlock(&device->instance->lock);
    return fits ? TNP_OK
                : sim_fail(err, TNP_E_DEVICE_MEMORY,
                           "buffer_alloc: %llu bytes are needed, %llu of %llu are free",
                           (unsigned long long)bytes, (unsigned long long)room,
                           (unsigned long long)spec->memory_bytes);
}

static void give_back(tnp_device *device, uint64_t charged)
{
    pthread_mutex_lock(&device->instance->lock);
    device->chip->used_bytes -= charged;
    pthread_mutex_unlock(&device->instance->lock);
}

// The buffer around its bytes, with one of the CPU plugin over the same. After an error the bytes
// are the caller's still.
static tnp_status wrap(tnp_device *device, unsigned char *data, uint64_t bytes, uint32_t flags,
                       tnp_buffer **out, tnp_error *err)
{
    tnp_instance *instance = device->instance;
    tnp_import what = { .size = sizeof what,
                        .flags = flags,
                        .kind = TNP_IMPORT_HOST,
                        .handle = (uintptr_t)data,
                        .bytes = bytes };
    tnp_buffer *buffer = sim_make(instance, sizeof *buffer);
    if (!buffer)
        return sim_fail(err, TNP_E_HOST_MEMORY, "no memory for %zu bytes", sizeof *buffer);
    *buffer = (tnp_buffer){ .device = device, .data = data, .bytes = bytes };
    tnp_status status = instance->cpu->buffer_import(device->cpu, &what, &buffer->cpu, err);
    if (status != TNP_OK) {
        sim_free(instance, buffer);
        return status;
    }
    sim_count_object(instance, 1);
    *out = buffer;
    return TNP_OK;
}

tnp_status sim_buffer_alloc(tnp_device *device, const tnp_alloc *from, tnp_buffer **out,
                            tnp_error *err)
{
    tnp_alloc what;
    uint64_t charged = 0;
    tnp_instance *instance = device->instance;
    const sim_spec *spec = &device->chip->spec;
    tnp_status status = sim_enter(instance, device->chip, device, SIM_CALL_buffer_alloc, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return sim_fail_unknown(err, "buffer_alloc");
    if (what.memory != 0 || what.bytes == 0)
        return sim_fail(err, TNP_E_ARG,
                        "buffer_alloc: %llu bytes of memory %u; at least 1, of memory 0",
                        (unsigned long long)what.bytes, what.memory);
    status = charge(device, what.bytes, &charged, err);
    if (status != TNP_OK)
        return status;
    uint64_t alignment = spec->alignment > SIM_ALIGNMENT ? spec->alignment : SIM_ALIGNMENT;
    unsigned char *data = instance->host.alloc(instance->host.context, what.bytes, alignment);
    tnp_buffer *buffer = NULL;
    status = data ? wrap(device, data, what.bytes, 0, &buffer, err)
                  : sim_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: the host has no %llu bytes",
                             (unsigned long long)what.bytes);
    if (status != TNP_OK) {
        sim_free(instance, data);
        give_back(device, charged);
        return status;
    }
    memset(data, 0xff, what.bytes);   // not cleared: floats are NaN, lengths are none
    buffer->charged_bytes = charged;
    buffer->is_scrambled = !spec->is_host_visible;
    *out = buffer;
    return TNP_OK;
}

tnp_status sim_buffer_import(tnp_device *device, const tnp_import *from, tnp_buffer **out,
                             tnp_error *err)
{
    tnp_import what;
    tnp_status status = sim_enter(device->instance, device->chip, device, SIM_CALL_buffer_import,
                                  err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, TNP_IMPORT_READ_ONLY) ||
        what.kind != TNP_IMPORT_HOST || !device->chip->spec.can_import)
        return sim_fail(err, TNP_E_UNSUPPORTED, "buffer_import: this device takes %s",
                        device->chip->spec.can_import ? "host memory only" : "no memory of others");
    if (what.memory != 0 || what.handle == 0 || what.bytes == 0 ||
        what.bytes > UINT64_MAX - what.handle || what.handle % device->chip->spec.alignment != 0)
        return sim_fail(err, TNP_E_ARG,
                        "buffer_import: %llu bytes at 0x%llx of memory %u; of memory 0, at "
                        "multiples of %llu",
                        (unsigned long long)what.bytes, (unsigned long long)what.handle,
                        what.memory, (unsigned long long)device->chip->spec.alignment);
    tnp_buffer *buffer = NULL;
    status = wrap(device, (unsigned char *)(uintptr_t)what.handle, what.bytes, what.flags, &buffer,
                  err);
    if (status != TNP_OK)
        return status;
    buffer->is_imported = true;
    buffer->is_read_only = (what.flags & TNP_IMPORT_READ_ONLY) != 0;
    *out = buffer;
    return TNP_OK;
}

tnp_status sim_buffer_map(tnp_buffer *buffer, void **out, tnp_error *err)
{
    tnp_device *device = buffer->device;
    tnp_status status = sim_enter(device->instance, device->chip, device, SIM_CALL_buffer_map, err);
    if (status != TNP_OK)
        return status;
    if (buffer->is_scrambled)
        return sim_fail(err, TNP_E_UNSUPPORTED,
                        "buffer_map: the memory of this device is not visible to the host");
    *out = buffer->data;
    return TNP_OK;
}

void sim_buffer_free(tnp_buffer *buffer)
{
    if (!buffer)
        return;
    sim_enter_end(buffer->device, SIM_CALL_buffer_free);
    tnp_instance *instance = buffer->device->instance;
    instance->cpu->buffer_free(buffer->cpu);
    give_back(buffer->device, buffer->charged_bytes);
    if (!buffer->is_imported)
        sim_free(instance, buffer->data);
    sim_free(instance, buffer);
    sim_count_object(instance, -1);
}

bool sim_is_inside(const tnp_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    return bytes <= buffer->bytes && offset <= buffer->bytes - bytes;
}

// ------------------------------------------------------------------------------------------ copies

// All rows lie in the buffer. Written so that no product can overflow.
static bool has_rows(const tnp_buffer *buffer, uint64_t offset, uint64_t pitch, const tnp_copy *c)
{
    return sim_is_inside(buffer, offset, c->bytes) &&
           (c->rows == 1 || pitch <= (buffer->bytes - c->bytes - offset) / (c->rows - 1));
}

static bool may_copy(const tnp_device *device, const tnp_buffer *buffer)
{
    return buffer->device == device ||
           (buffer->device->instance == device->instance && device->chip->spec.is_peer &&
            buffer->device->chip->spec.is_peer);
}

tnp_status sim_copy_read(const tnp_device *device, const tnp_copy *from, tnp_copy *out,
                         tnp_error *err)
{
    if (!TNP_TAKE(out, from) || TNP_ALIEN(out->flags, 0))
        return sim_fail_unknown(err, "queue_copy");
    const tnp_buffer *source = out->from_buffer, *target = out->to_buffer;
    if (out->bytes == 0 || out->rows == 0 || (!target && !out->to_host))
        return sim_fail(err, TNP_E_ARG,
                        "queue_copy: no bytes, no rows, or nowhere to copy them to");
    if (out->rows > 1 && (out->from_pitch < out->bytes || out->to_pitch < out->bytes))
        return sim_fail(err, TNP_E_ARG, "queue_copy: rows of %llu bytes overlap",
                        (unsigned long long)out->bytes);
    if ((source && !may_copy(device, source)) || (target && !may_copy(device, target)))
        return sim_fail(err, TNP_E_ARG,
                        "queue_copy: a buffer of a device that there is no link to");
    if (source && !has_rows(source, out->from_offset, out->from_pitch, out))
        return sim_fail(err, TNP_E_ARG, "queue_copy: the source ends outside its buffer");
    if (target && !has_rows(target, out->to_offset, out->to_pitch, out))
        return sim_fail(err, TNP_E_ARG, "queue_copy: the target ends outside its buffer");
    if (target && target->is_read_only)
        return sim_fail(err, TNP_E_ARG, "queue_copy: the target was imported to be read only");
    return TNP_OK;
}

void sim_copy_run(const tnp_copy *c)
{
    const unsigned char *from = c->from_buffer ? c->from_buffer->data + c->from_offset
                                               : c->from_host;
    unsigned char *to = c->to_buffer ? c->to_buffer->data + c->to_offset : c->to_host;
    for (uint64_t r = 0; r < c->rows; r++) {
        unsigned char *row = to + r * c->to_pitch;
        if (from)
            memmove(row, from + r * c->from_pitch, c->bytes);
        else
            memset(row, 0, c->bytes);
        if (from && is_scrambled_now(c->from_buffer))
            xor_pattern(row, c->from_offset + r * c->from_pitch, c->bytes);
        if (is_scrambled_now(c->to_buffer))
            xor_pattern(row, c->to_offset + r * c->to_pitch, c->bytes);
    }
}
