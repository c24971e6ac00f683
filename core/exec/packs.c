// packs.c: constants in the layout that a claim asked for, made by the plugin on all threads.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map_guard.h"
#include "exec/hang.h"
#include "exec/session.h"

enum { MOST_ROOM_BYTES = 1 << 30 };   // of one buffer: large pages need no more

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static tn_status find_room(tni_lane *lane, uint64_t bytes, tni_pack_room *room, tn_error *err)
{
    if (room->buffer && bytes <= room->bytes - room->used)
        return TN_OK;
    uint64_t most = lane->memory.max_buffer_bytes ? lane->memory.max_buffer_bytes : UINT64_MAX;
    uint64_t ask = at_most(at_most(room->left_bytes, most), MOST_ROOM_BYTES);
    tni_pack_room next = { .left_bytes = room->left_bytes,
                           .bytes = ask > bytes ? ask : bytes,
                           .kept = room->kept };
    tn_status status = tni_lane_allocate(lane, next.bytes, "packed weights", &next.buffer,
                                         &next.map, err);
    if (status == TN_OK && next.map)
        tni_alloc_will_fill(next.map, next.bytes);
    if (status == TN_OK)
        *room = next;   // packs hold the buffer before
    return status;
}

// Each worker packs a part of the groups, counted through all matrices, some MiB at a time: the
// pages of a mapped file that these were made of are given back, so that a weight is in memory
// once.
static void pack_part(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    enum { PIECE_BYTES = 2 << 20 };
    tni_packing *p = argument;
    (void)team;
    const uint64_t first = p->first, end = first + p->groups * (worker + 1) / workers,
                   each = p->pack->group_bytes, piece = PIECE_BYTES / each + 1;
    for (uint64_t at = first + p->groups * worker / workers; at < end; at += piece) {
        uint64_t next = at_most(at + piece, end);
        if (atomic_load(&p->status) != TNP_OK)
            return;
        tnp_error error = tni_plugin_error();
        tnp_status status = p->lane->table->pack(p->lane->opened, &p->value, p->pack->layout,
                                                 p->source, at, next, p->to + (at - first) * each,
                                                 &error);
        int expected = TNP_OK;
        if (status != TNP_OK && atomic_compare_exchange_strong(&p->status, &expected, status))
            p->error = error;
        tni_map_guard_drop_pages(p->source + at * p->source_bytes, (next - at) * p->source_bytes);
    }
}

void tni_packing_init(tni_packing *packing, tni_lane *lane, const tn_graph *graph,
                      const tni_pack *pack, const unsigned char *storage)
{
    const tni_value *value = &graph->values[pack->value];
    *packing = (tni_packing){ .lane = lane,
                              .value = { .size = sizeof packing->value,
                                         .dtype = value->dtype,
                                         .rank = value->rank,
                                         .name = value->name },
                              .pack = pack,
                              .source = storage + value->offset,
                              .groups = pack->bytes / pack->group_bytes };
    memcpy(packing->value.dims, value->dims, sizeof value->dims);
    memcpy(packing->value.strides, value->strides, sizeof value->strides);
    if (value->rank <= 2)
        packing->source_bytes = pack->group_rows * (uint64_t)value->strides[1];
}

tnp_status tni_packing_run(tni_packing *packing)
{
    tni_pool_run(tni_runtime_pool(packing->lane->session->runtime), UINT32_MAX, pack_part, packing);
    return atomic_load(&packing->status);
}

// ready: the pack, where it is made already, in the host's memory; NULL: it is not.
static tn_status pack_into(tn_session *session, tni_packing *p, const unsigned char *ready,
                           tni_pack_room *room, tni_resident *made, tn_error *err)
{
    unsigned char *staging = NULL;
    uint64_t bytes = tni_lane_align(p->lane, p->pack->bytes);
    tn_status status = find_room(p->lane, bytes, room, err);
    if (status != TN_OK)
        return status;
    made->buffer = room->buffer;
    made->offset = room->used;
    unsigned char *there = room->map ? (unsigned char *)room->map + room->used : NULL;
    if (!there && !ready && !(staging = tni_alloc(&session->arena.allocator, p->pack->bytes)))
        status = tni_fail_memory(err, p->value.name, p->pack->bytes);
    p->to = there ? there : staging;
    if (status == TN_OK && !ready && tni_packing_run(p) != TNP_OK)
        status = tni_lane_fail(p->lane, "pack", atomic_load(&p->status), &p->error, err);
    if (status == TN_OK && there && ready)
        memcpy(there, ready, p->pack->bytes);
    if (status == TN_OK && !there) {
        tnp_copy copy = { .size = sizeof copy,
                          .to_buffer = made->buffer,
                          .to_offset = made->offset,
                          .from_host = ready ? ready : staging,
                          .bytes = p->pack->bytes,
                          .rows = 1 };
        status = tni_lane_copy(p->lane, &copy, err);
    }
    if (!tni_hang_has(p->lane))   // else the copy may still read it
        tni_free(&session->arena.allocator, staging);
    return status;
}

// What the room has taken.
static void take_room(tni_lane *lane, const tni_pack *pack, tni_pack_room *room)
{
    uint64_t bytes = tni_lane_align(lane, pack->bytes);
    room->used += bytes;
    room->left_bytes -= at_most(bytes, room->left_bytes);
}

// A pack is made of bytes that lie together: what does not is gathered while it is made.
static tn_status make_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                             const tni_pack *pack, tni_pack_room *room, tni_resident *made,
                             tni_resident **out_resident, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    const tni_storage *storage = &graph->storages[graph->values[pack->value].storage];
    const tni_value *owner = &graph->values[storage->owner];
    const tn_allocator *allocator = &session->arena.allocator;
    const tni_kept_pack *kept = tni_kept_packs_find(&room->kept, &made->key);
    unsigned char *gathered = NULL;
    tni_packing p;
    if (kept && room->kept.buffer) {
        made->buffer = room->kept.buffer;
        made->offset = kept->offset;
        made->packs = room->kept.file;
        return tni_resident_keep(session, compiled, place, made, out_resident, err);
    }
    if (owner->run_bytes) {
        gathered = tni_alloc(allocator, storage->bytes);
        if (!gathered)
            return tni_fail_memory(err, graph->values[pack->value].name, storage->bytes);
        tni_weight_gather(owner, 0, storage->bytes, gathered);
    }
    tni_packing_init(&p, &session->lanes[place], graph, pack, gathered ? gathered : owner->data);
    if (gathered)
        p.source_bytes = 0;
    tn_status status = pack_into(session, &p, kept ? tni_kept_packs_at(&room->kept, kept) : NULL,
                                 room, made, err);
    tni_free(allocator, gathered);
    if (status == TN_OK)
        status = tni_resident_keep(session, compiled, place, made, out_resident, err);
    if (status == TN_OK)
        take_room(p.lane, pack, room);
    return status;
}

tni_resident_key tni_pack_key(const tni_compiled *compiled, const tni_pack *pack)
{
    const tn_graph *graph = compiled->graph;
    const tni_value *value = &graph->values[pack->value];
    const tni_value *owner = &graph->values[graph->storages[value->storage].owner];
    tni_resident_key key = { .layout = pack->layout,
                             .dtype = value->dtype,
                             .data = (const unsigned char *)owner->data + value->offset,
                             .bytes = pack->bytes,
                             .run_bytes = owner->run_bytes,
                             .run_stride = owner->run_stride,
                             .group_rows = pack->group_rows };
    memcpy(key.dims, value->dims, sizeof key.dims);
    memcpy(key.strides, value->strides, sizeof key.strides);
    return key;
}

tn_status tni_pack_room_add(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tn_error *err)
{
    const tni_resident_key key = tni_pack_key(compiled, pack);
    tni_resident *r;
    tn_status status = tni_resident_use(session, compiled, place, &key, &r, err);
    if (status != TN_OK || r)
        return status;
    bool may_be_kept = tni_kept_packs_add(session, compiled->graph, &key, pack, &room->kept);
    *(may_be_kept ? &room->kept.left_bytes
                  : &room->left_bytes) += tni_lane_align(&session->lanes[place], pack->bytes);
    return TN_OK;
}

void tni_pack_room_open(tn_session *session, tni_compiled *compiled, uint32_t place,
                        tni_pack_room *room)
{
    tni_kept_packs_open(session, compiled->graph, place, &room->kept);
    if (!room->kept.buffer)
        room->left_bytes += room->kept.left_bytes;
}

void tni_pack_room_close(tn_session *session, uint32_t place, tni_pack_room *room)
{
    if (room->buffer)
        tni_resident_close_buffer(session->lanes[place].device, room->buffer, NULL);
    tni_kept_packs_close(session, place, &room->kept);
    *room = (tni_pack_room){ .buffer = NULL };
}

tn_status tni_weight_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tnp_buffer **out_buffer,
                            uint64_t *out_offset, tn_error *err)
{
    tni_resident made = { .key = tni_pack_key(compiled, pack) };
    tni_resident *r;
    tn_status status = tni_resident_use(session, compiled, place, &made.key, &r, err);
    if (status == TN_OK && !r)
        status = make_packed(session, compiled, place, pack, room, &made, &r, err);
    if (status != TN_OK)
        return status;
    *out_buffer = r->buffer;
    *out_offset = r->offset;
    return TN_OK;
}
