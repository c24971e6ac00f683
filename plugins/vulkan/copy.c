// copy.c: copies of one work. What the host sees is copied by the host; all else goes through the
// staging buffer, or from device memory to device memory, by the queue of the driver.
#include "staging.h"

#define MOST_REGIONS 64u

// One copy on its way through a queue.
typedef struct transfer {
    tnp_device *device;
    vulkan_queue *queue;
    const tnp_copy *what;
    uint64_t staged;   // bytes of the staging buffer in use
    uint32_t region_count;
    VkBufferCopy regions[MOST_REGIONS];
    char *to_host[MOST_REGIONS];   // where each goes when it comes back
} transfer;

static const char *readable(const tnp_copy *copy)
{
    if (!copy->from_buffer)
        return copy->from_host;
    return copy->from_buffer->is_cached && copy->from_buffer->place.mapped
               ? copy->from_buffer->place.mapped + copy->from_offset
               : NULL;
}

static char *writable(const tnp_copy *copy)
{
    if (!copy->to_buffer)
        return copy->to_host;
    return copy->to_buffer->place.mapped ? copy->to_buffer->place.mapped + copy->to_offset : NULL;
}

static bool is_zero(const tnp_copy *copy)
{
    return !copy->from_buffer && !copy->from_host;
}

// By the queue: whether the bytes lie in the staging buffer before it, or after it.
static bool comes_from_staging(const tnp_copy *copy)
{
    return is_zero(copy) || readable(copy);
}
static bool goes_to_staging(const tnp_copy *copy)
{
    return writable(copy) && !comes_from_staging(copy);
}

static void copy_by_host(const tnp_copy *copy, const char *from, char *to)
{
    for (uint64_t r = 0; r < copy->rows; r++) {
        if (from)
            memmove(to + r * copy->to_pitch, from + r * copy->from_pitch, copy->bytes);
        else
            memset(to + r * copy->to_pitch, 0, copy->bytes);
    }
}

// What is gathered runs; what comes back is handed on.
static tnp_status flush(transfer *t, tnp_error *err)
{
    if (t->region_count == 0)
        return TNP_OK;
    const vulkan_place *staging = &t->queue->staging.place;
    const bool from_staging = comes_from_staging(t->what), to_staging = goes_to_staging(t->what);
    tnp_status status = vulkan_staging_begin(t->device, t->queue, err);
    if (status != TNP_OK)
        return status;
    t->device->vk.vkCmdCopyBuffer(t->queue->staging.commands,
                                  from_staging ? staging->buffer
                                               : t->what->from_buffer->place.buffer,
                                  to_staging ? staging->buffer : t->what->to_buffer->place.buffer,
                                  t->region_count, t->regions);
    status = vulkan_staging_run(t->device, t->queue, err);
    for (uint32_t i = 0; i < t->region_count && to_staging && status == TNP_OK; i++)
        memcpy(t->to_host[i], staging->mapped + (t->regions[i].dstOffset - staging->offset),
               t->regions[i].size);
    t->region_count = 0;
    t->staged = 0;
    return status;
}

// `bytes` of row `row` from `begin` on.
static void add_piece(transfer *t, uint64_t row, uint64_t begin, uint64_t bytes)
{
    const tnp_copy *c = t->what;
    const vulkan_place *staging = &t->queue->staging.place;
    const uint64_t from_at = row * c->from_pitch + begin, to_at = row * c->to_pitch + begin;
    VkBufferCopy *region = &t->regions[t->region_count];
    region->size = bytes;
    if (comes_from_staging(c)) {
        if (is_zero(c))
            memset(staging->mapped + t->staged, 0, bytes);
        else
            memcpy(staging->mapped + t->staged, readable(c) + from_at, bytes);
        region->srcOffset = staging->offset + t->staged;
    } else {
        region->srcOffset = c->from_buffer->place.offset + c->from_offset + from_at;
    }
    if (goes_to_staging(c)) {
        t->to_host[t->region_count] = writable(c) + to_at;
        region->dstOffset = staging->offset + t->staged;
    } else {
        region->dstOffset = c->to_buffer->place.offset + c->to_offset + to_at;
    }
    t->region_count++;
    if (comes_from_staging(c) || goes_to_staging(c))
        t->staged += bytes;
}

static tnp_status copy_by_queue(transfer *t, tnp_error *err)
{
    const tnp_copy *c = t->what;
    tnp_status status = TNP_OK;
    for (uint64_t row = 0; row < c->rows && status == TNP_OK; row++)
        for (uint64_t begin = 0; begin < c->bytes && status == TNP_OK;) {
            const uint64_t room = VULKAN_STAGING_BYTES - t->staged;
            uint64_t bytes = c->bytes - begin;
            if (bytes > room && (comes_from_staging(c) || goes_to_staging(c)))
                bytes = room;
            add_piece(t, row, begin, bytes);
            begin += bytes;
            if (t->region_count == MOST_REGIONS || t->staged == VULKAN_STAGING_BYTES)
                status = flush(t, err);
        }
    return status == TNP_OK ? flush(t, err) : status;
}

tnp_status vulkan_copy(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                       tnp_error *err)
{
    transfer t = { .device = (tnp_device *)queue->device, .queue = vulkan_queue_of(queue) };
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++) {
        const tnp_copy *c = &copies[i];
        const char *from = readable(c);
        char *to = writable(c);
        if (c->to_buffer && c->to_buffer->is_read_only)
            return tnh_fail(err, TNP_E_ARG, "copy: the target may only be read");
        if (to && (from || is_zero(c))) {
            copy_by_host(c, from, to);
            continue;
        }
        t.what = c;
        pthread_mutex_lock(&t.queue->staging.lock);
        status = copy_by_queue(&t, err);
        pthread_mutex_unlock(&t.queue->staging.lock);
    }
    if (status == TNP_OK)
        status = vulkan_told(t.device->instance, err);
    return status;
}
