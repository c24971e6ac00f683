// lane.c: one device of a session.
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/integer.h"
#include "exec/hang.h"
#include "exec/session.h"

enum { HOST_POOL = 1 };   // tnp_memory_info.pool of the host's own memory

tn_status tni_lane_fail(const tni_lane *lane, const char *call, tnp_status status,
                        const tnp_error *plugin_error, tn_error *err)
{
    return tni_lane_blame(lane, tni_device_fail(lane->device, call, status, plugin_error, err));
}

tn_status tni_lane_fail_work(const tni_lane *lane, const char *call, tnp_status status,
                             const tnp_error *plugin_error, tn_error *err)
{
    return tni_lane_blame(lane,
                          tni_device_fail_work(lane->device, call, status, plugin_error, err));
}

// Perhaps on the thread of a device's notice.
tn_status tni_lane_blame(const tni_lane *lane, tn_status status)
{
    unsigned nobody = TNP_NONE;
    atomic_compare_exchange_strong(lane->blamed, &nobody, lane->place);
    return status;
}

tn_status tni_lane_made(const tni_lane *lane, const char *call, tnp_status status, const void *made,
                        const tnp_error *plugin_error, tn_error *err)
{
    if (status != TNP_OK)
        return tni_lane_fail(lane, call, status, plugin_error, err);
    if (!made)
        return tni_lane_blame(lane, tni_fail(err, TN_E_INTERNAL,
                                             "%s: %s: the plugin answered success and made nothing",
                                             lane->device->name, call));
    return TN_OK;
}

// What a failing call wrote into its output is not looked at.
static tn_status make_semaphore(const tni_lane *lane, uint32_t flags, uint64_t value,
                                tnp_semaphore **out, tn_error *err)
{
    tnp_error plugin_error = tni_plugin_error();
    tnp_semaphore_options how = { .size = sizeof how, .flags = flags, .value = value };
    tnp_semaphore *made = NULL;
    tnp_status answer = lane->table->semaphore_create(lane->opened, &how, &made, &plugin_error);
    tn_status status = tni_lane_made(lane, "semaphore_create", answer, made, &plugin_error, err);
    if (status == TN_OK)
        *out = made;
    return status;
}

// What is free and what is resident, both at once: what comes to be resident meanwhile would count
// twice, or not at all.
static tn_status look(tni_lane *lane, tni_arena *tables, tn_error *err)
{
    tni_residents_begin(lane->device);
    tn_status status = tni_device_memory(lane->device, 0, &lane->memory, err);
    uint32_t most = tni_residents_list(lane->device, NULL, 0);
    if (status == TN_OK && most) {
        lane->there = tni_arena_take_array(tables, most, sizeof *lane->there);
        if (lane->there)   // some may have gone
            lane->there_count = tni_residents_list(lane->device, lane->there, most);
        else
            status = tni_fail_memory(err, "a table of weights", most * sizeof *lane->there);
    }
    tni_residents_end(lane->device);
    return status;
}

tn_status tni_lane_open(tni_lane *lane, tn_device *device, tni_arena *tables, tn_error *err)
{
    tn_status status = tni_device_open(device, err);
    if (status != TN_OK)
        return status;
    *lane = (tni_lane){ .device = device,
                        .table = device->table,
                        .opened = device->opened,
                        .was_abandoned = atomic_load(&device->is_abandoned) };
    status = look(lane, tables, err);
    uint64_t alignment = lane->memory.alignment_bytes, most = lane->memory.max_buffer_bytes;
    const uint32_t readable = TNP_MEMORY_HOST_VISIBLE | TNP_MEMORY_HOST_CACHED;
    lane->is_inline = tni_is_cpu(device);
    lane->is_host = lane->is_inline && lane->memory.pool == HOST_POOL &&
                    (lane->memory.flags & readable) == readable && lane->table->buffer_map;
    if (status == TN_OK && most)   // below the alignment: the allocation will be refused
        lane->chunk_bytes = most < alignment ? alignment : most / alignment * alignment;
    return status;
}

tn_status tni_lane_make_queue(tni_lane *lane, uint32_t role, const tnp_queue_options *options,
                              tn_error *err)
{
    tni_queue *queue = &lane->queues[role];
    const tnp_queue_options *has = &queue->options;
    tnp_queue_options how = *options;
    how.size = sizeof how;
    how.kind = role == TNI_COMPUTE ? TNP_QUEUE_COMPUTE : TNP_QUEUE_COPY;
    how.pending = tni_larger_u32(how.pending, has->pending);
    how.points = tni_larger_u32(how.points, has->points);
    how.copies = tni_larger_u32(how.copies, has->copies);
    how.update_bytes = tni_larger_u32(how.update_bytes, has->update_bytes);
    how.updates = tni_larger_u32(how.updates, has->updates);
    if (queue->queue && how.pending == has->pending && how.points == has->points &&
        how.copies == has->copies && how.update_bytes == has->update_bytes &&
        how.updates == has->updates)
        return TN_OK;
    tnp_error plugin_error = tni_plugin_error();
    tnp_queue *made = NULL;
    tnp_status answer = lane->table->queue_create(lane->opened, &how, &made, &plugin_error);
    tn_status status = tni_lane_made(lane, "queue_create", answer, made, &plugin_error, err);
    if (status != TN_OK)
        return status;
    if (queue->queue)
        lane->table->queue_destroy(queue->queue);
    queue->queue = made;
    queue->options = how;
    return queue->semaphore ? TN_OK : make_semaphore(lane, 0, 0, &queue->semaphore, err);
}

tn_status tni_lane_make_mirror(tni_lane *lane, uint32_t queue, tn_error *err)
{
    return lane->mirrors[queue]
               ? TN_OK
               : make_semaphore(lane, TNP_SEMAPHORE_HOST, 0, &lane->mirrors[queue], err);
}

void tni_lane_close(tni_lane *lane, bool keeps_arena)
{
    for (uint32_t r = 0; r < TNI_QUEUES; r++) {
        if (lane->queues[r].queue)
            lane->table->queue_destroy(lane->queues[r].queue);
        if (lane->queues[r].semaphore)
            lane->table->semaphore_destroy(lane->queues[r].semaphore);
    }
    for (uint32_t i = 0; i < lane->mirror_count; i++)
        if (lane->mirrors[i])
            lane->table->semaphore_destroy(lane->mirrors[i]);
    for (uint32_t i = 0; i < lane->chunk_count && !keeps_arena; i++)
        if (lane->chunks[i].buffer)
            lane->table->buffer_free(lane->chunks[i].buffer);
    *lane = (tni_lane){ 0 };
}

// Free is what is free now: the lane was opened before its other buffers were made. That is told
// where memory is what failed.
static tn_status fail_allocation(const tni_lane *lane, uint64_t bytes, const char *what,
                                 tnp_status answer, const tnp_error *plugin_error, tn_error *err)
{
    char call[200], room[40] = "";
    tnp_memory_info now;
    if (answer == TNP_E_DEVICE_MEMORY || answer == TNP_E_HOST_MEMORY) {
        bool is_told = tni_device_memory(lane->device, 0, &now, NULL) == TN_OK;
        tni_format_text(room, sizeof room, ", %" PRIu64 " were free",
                        is_told ? now.free_bytes : lane->memory.free_bytes);
    }
    tni_format_text(call, sizeof call, "%" PRIu64 " bytes for %s%s: buffer_alloc", bytes, what,
                    room);
    return tni_lane_made(lane, call, answer, NULL, plugin_error, err);
}

uint64_t tni_lane_align(const tni_lane *lane, uint64_t bytes)
{
    uint64_t whole;
    return tni_align_u64(bytes, lane->memory.alignment_bytes, &whole) ? whole : bytes;
}

tn_status tni_lane_allocate(tni_lane *lane, uint64_t bytes, const char *what,
                            tnp_buffer **out_buffer, void **out_map, tn_error *err)
{
    tnp_error plugin_error = tni_plugin_error();
    tnp_alloc ask = { .size = sizeof ask, .bytes = bytes ? bytes : 1 };
    *out_buffer = NULL;
    *out_map = NULL;
    if (lane->memory.max_buffer_bytes && bytes > lane->memory.max_buffer_bytes)
        return tni_lane_blame(
            lane, tni_fail(err, TN_E_DEVICE_MEMORY,
                           "%s: %s needs %" PRIu64
                           " bytes in one buffer, the largest possible has %" PRIu64,
                           lane->device->name, what, bytes, lane->memory.max_buffer_bytes));
    tnp_buffer *made = NULL;
    tnp_status answer = lane->table->buffer_alloc(lane->opened, &ask, &made, &plugin_error);
    if (answer != TNP_OK || !made)
        return fail_allocation(lane, bytes, what, answer, &plugin_error, err);
    *out_buffer = made;
    void *map = NULL;
    bool is_visible = (lane->memory.flags & TNP_MEMORY_HOST_VISIBLE) &&
                      (lane->memory.flags & TNP_MEMORY_HOST_CACHED);
    if (is_visible && lane->table->buffer_map &&
        lane->table->buffer_map(made, &map, &plugin_error) == TNP_OK)
        *out_map = map;   // without a map copies do as well
    return TN_OK;
}

// Copies of other devices lead there.
static tn_status need_map(const tni_lane *lane, tni_chunk *chunk, tn_error *err)
{
    tnp_error plugin_error = tni_plugin_error();
    void *map = NULL;
    if (!lane->is_host || chunk->map)
        return TN_OK;
    tnp_status answer = lane->table->buffer_map(chunk->buffer, &map, &plugin_error);
    tn_status status = tni_lane_made(lane, "buffer_map", answer, map, &plugin_error, err);
    chunk->map = status == TN_OK ? map : NULL;
    return status;
}

tn_status tni_lane_allocate_arena(tni_lane *lane, tni_arena *tables, tn_error *err)
{
    uint64_t chunk = lane->chunk_bytes ? lane->chunk_bytes : lane->arena_bytes;
    if (lane->arena_bytes == 0)
        return TN_OK;
    uint64_t count = lane->arena_bytes / chunk + (lane->arena_bytes % chunk != 0);
    if (count < UINT32_MAX)
        lane->chunks = tni_arena_take_array(tables, count, sizeof *lane->chunks);
    if (!lane->chunks)
        return tni_fail_memory(err, "the list of an arena's buffers", count * sizeof(tni_chunk));
    tn_status status = TN_OK;
    for (uint64_t at = 0; at < lane->arena_bytes && status == TN_OK; at += chunk) {
        uint64_t left = lane->arena_bytes - at;
        tni_chunk *made = &lane->chunks[lane->chunk_count];
        status = tni_lane_allocate(lane, left < chunk ? left : chunk, "the arena", &made->buffer,
                                   &made->map, err);
        lane->chunk_count += status == TN_OK;
        if (status == TN_OK)
            status = need_map(lane, made, err);
    }
    return status;
}

const tni_chunk *tni_lane_chunk(const tni_lane *lane, uint64_t *offset)
{
    if (!lane->chunk_bytes)
        return &lane->chunks[0];
    const tni_chunk *chunk = &lane->chunks[*offset / lane->chunk_bytes];
    *offset %= lane->chunk_bytes;
    return chunk;
}

bool tni_lane_may_import(const tnp_memory_info *memory, const void *data, uint64_t bytes)
{
    uintptr_t address = (uintptr_t)data;
    uint64_t alignment = memory->import_alignment_bytes ? memory->import_alignment_bytes
                                                        : 1;   // 0 = not told
    return (memory->flags & TNP_MEMORY_IMPORT) && (memory->flags & TNP_MEMORY_BIND) &&
           address % memory->alignment_bytes == 0 && address % alignment == 0 &&
           bytes % alignment == 0;
}

bool tni_lane_import(tni_lane *lane, uint32_t memory, uint32_t flags, const void *data,
                     uint64_t bytes, tnp_buffer **out_buffer)
{
    tnp_memory_info info = { .size = sizeof info };
    if (!lane->table->buffer_import ||
        tni_device_memory(lane->device, memory, &info, NULL) != TN_OK)
        return false;
    if (!tni_lane_may_import(&info, data, bytes))
        return false;
    tnp_error ignored = tni_plugin_error();
    tnp_import ask = { .size = sizeof ask,
                       .flags = flags,
                       .memory = memory,
                       .kind = TNP_IMPORT_HOST,
                       .handle = (uintptr_t)data,
                       .bytes = bytes };
    tnp_buffer *made = NULL;
    if (lane->table->buffer_import(lane->opened, &ask, &made, &ignored) != TNP_OK || !made)
        return false;
    *out_buffer = made;
    return true;
}

static tnp_status wait_for(const tni_lane *lane, uint32_t role, uint64_t value, tnp_error *err)
{
    tnp_semaphore *semaphore = lane->queues[role].semaphore;
    *err = tni_plugin_error();
    return semaphore ? tni_hang_wait(lane, semaphore, value, err)
                     : TNP_OK;   // no work is ever given to this queue
}

tn_status tni_lane_wait(const tni_lane *lane, uint32_t role, uint64_t value, tn_error *err)
{
    tnp_error plugin_error;
    tnp_status answer = wait_for(lane, role, value, &plugin_error);
    if (answer != TNP_OK && lane->is_given_up)
        return tni_lane_blame(lane, tni_hang_fail(lane, "run", err));
    return answer == TNP_OK ? TN_OK : tni_lane_fail_work(lane, "run", answer, &plugin_error, err);
}

tn_status tni_lane_copy(tni_lane *lane, const tnp_copy *copy, tn_error *err)
{
    tni_queue *queue = &lane->queues[TNI_COMPUTE];
    tn_status status = tni_lane_mend(lane, err);
    if (status != TN_OK)
        return status;
    tnp_error plugin_error = tni_plugin_error();
    tnp_point point = { queue->semaphore, queue->signal + 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    tnp_status answer = lane->table->queue_copy(queue->queue, &copy, 1, &sync, &plugin_error);
    if (answer == TNP_E_BUSY && tni_lane_wait(lane, TNI_COMPUTE, queue->signal, err) ==
                                    TN_OK)   // what was taken before ends first
        answer = lane->table->queue_copy(queue->queue, &copy, 1, &sync, &plugin_error);
    if (answer != TNP_OK)
        return tni_lane_fail(lane, "copy", answer, &plugin_error, err);
    queue->signal++;
    answer = wait_for(lane, TNI_COMPUTE, queue->signal, &plugin_error);
    if (answer == TNP_OK)
        return TN_OK;
    status = lane->is_given_up ? tni_lane_blame(lane, tni_hang_fail(lane, "copy", err))
                               : tni_lane_fail(lane, "copy", answer, &plugin_error, err);
    tni_lane_recover(lane);
    return status;
}

// A semaphore in the place of one that has failed, from the value on that was submitted last.
static tn_status replace(const tni_lane *lane, uint32_t flags, uint64_t value,
                         tnp_semaphore **semaphore, tn_error *err)
{
    tnp_semaphore *made = NULL;
    if (!*semaphore)
        return TN_OK;
    tn_status status = make_semaphore(lane, flags, value, &made, err);
    if (status == TN_OK) {
        lane->table->semaphore_destroy(*semaphore);
        *semaphore = made;
    }
    return status;
}

tn_status tni_lane_mend(tni_lane *lane, tn_error *err)
{
    tn_status status = TN_OK;
    if (!lane->needs_semaphores)
        return TN_OK;
    for (uint32_t r = 0; r < TNI_QUEUES && status == TN_OK; r++)
        status = replace(lane, 0, lane->queues[r].signal, &lane->queues[r].semaphore, err);
    for (uint32_t i = 0; i < lane->mirror_count && status == TN_OK; i++)
        status = replace(lane, TNP_SEMAPHORE_HOST, 0, &lane->mirrors[i], err);
    lane->needs_semaphores = status != TN_OK;
    return status;
}

void tni_lane_recover(tni_lane *lane)
{
    for (uint32_t r = 0; r < TNI_QUEUES; r++)   // again: the first may have failed for itself
        if (tni_lane_wait(lane, r, lane->queues[r].signal, NULL) != TN_OK)
            (void)tni_lane_wait(lane, r, lane->queues[r].signal, NULL);
    // Of a lost device none can be made: the failed ones stay, and every later call answers so.
    lane->needs_semaphores = true;
    (void)tni_lane_mend(lane, NULL);
}
