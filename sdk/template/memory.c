// memory.c: the device's own memory. The host sees none of it: it copies in and out through a
// queue.
#include "template.h"

// Neither HOST_VISIBLE nor IMPORT, so buffer_map and buffer_import are left out of the table.
tnp_status tpl_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err)
{
    if (memory > 0)
        return tpl_fail(err, TNP_E_ARG, "memory_info: no memory %u", memory);
    pthread_mutex_lock(&device->lock);
    tnp_memory_info own = {
        .size = sizeof own,
        .flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND,
        .alignment_bytes = TPL_ALIGNMENT,
        .total_bytes = TPL_MEMORY_BYTES,
        .free_bytes = TPL_MEMORY_BYTES - device->used_bytes,
        .max_buffer_bytes = TPL_MEMORY_BYTES,
        .max_binding_bytes = TPL_MEMORY_BYTES,
    };
    pthread_mutex_unlock(&device->lock);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *from, tnp_buffer **out,
                            tnp_error *err)
{
    tnp_alloc what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tpl_fail_unknown(err, "buffer_alloc");
    if (what.memory != 0 || what.bytes == 0)
        return tpl_fail(err, TNP_E_ARG,
                        "buffer_alloc: %llu bytes of memory %u; at least 1, of memory 0",
                        (unsigned long long)what.bytes, what.memory);
    if (device->is_lost)
        return tpl_fail_lost(err);
    // Counted first, so that two threads cannot both have the last bytes.
    pthread_mutex_lock(&device->lock);
    uint64_t room = TPL_MEMORY_BYTES - device->used_bytes;
    device->used_bytes += what.bytes <= room ? what.bytes : 0;
    pthread_mutex_unlock(&device->lock);
    if (what.bytes > room)
        return tpl_fail(err, TNP_E_DEVICE_MEMORY,
                        "buffer_alloc: %llu bytes are asked for, %llu are free",
                        (unsigned long long)what.bytes, (unsigned long long)room);
    tnp_buffer *buffer = tpl_make(device->host, sizeof *buffer);
    unsigned char *data = NULL;
    if (buffer)   // not cleared: who needs zeros copies them
        data = device->host->alloc(device->host->context, what.bytes, TPL_ALIGNMENT);
    if (!data) {
        tpl_free(device->host, buffer);
        pthread_mutex_lock(&device->lock);
        device->used_bytes -= what.bytes;
        pthread_mutex_unlock(&device->lock);
        return tpl_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: the host has no %llu bytes",
                        (unsigned long long)what.bytes);
    }
    *buffer = (tnp_buffer){ device, what.bytes, data };
    *out = buffer;
    return TNP_OK;
}
void tpl_buffer_free(tnp_buffer *buffer)
{
    if (!buffer)
        return;
    tnp_device *device = buffer->device;
    pthread_mutex_lock(&device->lock);
    device->used_bytes -= buffer->bytes;
    pthread_mutex_unlock(&device->lock);
    tpl_free(device->host, buffer->data);
    tpl_free(device->host, buffer);
}

int tpl_is_inside(const tnp_device *device, const tnp_buffer *buffer, uint64_t offset,
                  uint64_t bytes)
{
    return buffer->device == device && bytes <= buffer->bytes && offset <= buffer->bytes - bytes;
}

// All rows lie in the buffer. Written so that no product can overflow.
static int has_rows(const tnp_device *device, const tnp_buffer *buffer, uint64_t offset,
                    uint64_t pitch, const tnp_copy *c)
{
    return tpl_is_inside(device, buffer, offset, c->bytes) &&
           (c->rows == 1 || pitch <= (buffer->bytes - c->bytes - offset) / (c->rows - 1));
}
tnp_status tpl_copy_read(const tnp_device *device, const tnp_copy *from, tnp_copy *out,
                         tnp_error *err)
{
    if (!TNP_TAKE(out, from) || TNP_ALIEN(out->flags, 0))
        return tpl_fail_unknown(err, "copy");
    if (out->bytes == 0 || out->rows == 0 || (!out->to_buffer && !out->to_host))
        return tpl_fail(err, TNP_E_ARG, "copy: no bytes, no rows, or nowhere to copy them to");
    if (out->from_buffer &&
        !has_rows(device, out->from_buffer, out->from_offset, out->from_pitch, out))
        return tpl_fail(err, TNP_E_ARG, "copy: the source is not in a buffer of this device");
    if (out->to_buffer && !has_rows(device, out->to_buffer, out->to_offset, out->to_pitch, out))
        return tpl_fail(err, TNP_E_ARG, "copy: the target is not in a buffer of this device");
    return TNP_OK;
}
void tpl_copy_run(const tnp_copy *c)
{
    const unsigned char *from = c->from_buffer ? c->from_buffer->data + c->from_offset
                                               : c->from_host;
    unsigned char *to = c->to_buffer ? c->to_buffer->data + c->to_offset : c->to_host;
    for (uint64_t r = 0; r < c->rows; r++) {
        if (from)
            memmove(to + r * c->to_pitch, from + r * c->from_pitch, c->bytes);
        else
            memset(to + r * c->to_pitch, 0, c->bytes);
    }
}
