// weights.c: constants on each lane: imported where the application has them when the device can,
// else copied into memory of the device; packed when a claim asked for it. Each is made once per
// lane and shared by all graphs of the session. With the last graph that uses it, it goes: its
// bytes need not outlive that graph, and others may come to lie where they were.
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/map_guard.h"
#include "exec/session.h"

// The same bytes may be two constants: a pack is also told by what the value makes of them.
static tni_resident *find_resident(tn_session *session, const tni_resident *wanted)
{
    for (uint32_t i = 0; i < session->resident_count; i++) {
        tni_resident *r = &session->residents[i];
        if (r->buffer && r->place == wanted->place && r->data == wanted->data &&
            r->bytes == wanted->bytes && r->run_bytes == wanted->run_bytes &&
            r->run_stride == wanted->run_stride && r->layout == wanted->layout &&
            r->dtype == wanted->dtype && !memcmp(r->dims, wanted->dims, sizeof r->dims) &&
            !memcmp(r->strides, wanted->strides, sizeof r->strides))
            return r;
    }
    return NULL;
}

// A free entry; NULL and an error when there is no memory.
static tni_resident *add_resident(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->resident_count; i++)
        if (!session->residents[i].buffer)
            return &session->residents[i];
    if (!tni_grow(&session->arena.allocator, &session->residents, &session->resident_capacity,
                  session->resident_count + 1, sizeof *session->residents)) {
        tni_fail_memory(err, "a table of weights",
                        (session->resident_count + 1) * sizeof *session->residents);
        return NULL;
    }
    return &session->residents[session->resident_count++];
}

static uint64_t *counter_of(tn_session *session, const tni_resident *r)
{
    return r->is_mapped ? &session->weight_mapped_bytes : &session->weight_copied_bytes;
}

static tn_status keep_resident(tn_session *session, const tni_resident *made,
                               tni_resident **out_resident, tn_error *err)
{
    tni_resident *r = add_resident(session, err);
    if (!r)
        return TN_E_HOST_MEMORY;
    *r = *made;
    *counter_of(session, r) += r->bytes;
    *out_resident = r;
    return TN_OK;
}

// Frees a buffer that no constant is in any more.
static void release_buffer(tn_session *session, uint32_t place, tnp_buffer *buffer)
{
    for (uint32_t i = 0; i < session->resident_count; i++)
        if (session->residents[i].buffer == buffer)
            return;
    session->lanes[place].table->buffer_free(buffer);
}

static void release_resident(tn_session *session, tni_resident *r)
{
    tnp_buffer *buffer = r->buffer;
    uint32_t place = r->place;
    *counter_of(session, r) -= r->bytes;
    *r = (tni_resident){ .buffer = NULL };
    release_buffer(session, place, buffer);
}

// Room for one use more, before anything is made for it.
static tn_status make_room(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    return tni_grow(&session->arena.allocator, &compiled->uses, &compiled->use_capacity,
                    compiled->use_count + 1, sizeof *compiled->uses)
               ? TN_OK
               : tni_fail_memory(err, "a table of weights",
                                 (compiled->use_count + 1) * sizeof *compiled->uses);
}

static void use(tn_session *session, tni_compiled *compiled, tni_resident *r)
{
    compiled->uses[compiled->use_count++] = (uint32_t)(r - session->residents);
    r->uses++;
}

void tni_weights_release(tn_session *session, tni_compiled *compiled)
{
    for (uint32_t i = 0; i < compiled->use_count; i++) {
        tni_resident *r = &session->residents[compiled->uses[i]];
        if (--r->uses == 0)
            release_resident(session, r);
    }
    compiled->use_count = 0;
    tni_free(&session->arena.allocator, compiled->uses);
    compiled->uses = NULL;
}

// The first memory that takes host memory as it is.
static bool try_import(tni_lane *lane, const void *data, uint64_t bytes, tnp_buffer **out_buffer)
{
    for (uint32_t m = 0; m < lane->device->info.memory_count; m++)
        if (tni_lane_import(lane, m, TNP_IMPORT_READ_ONLY, data, bytes, out_buffer))
            return true;
    return false;
}

static tn_status copy_in(tni_lane *lane, const tni_value *value, uint64_t bytes,
                         tnp_buffer **out_buffer, tn_error *err)
{
    void *map;
    char what[200];
    tni_format_text(what, sizeof what, "weight '%s'", value->name);
    tn_status status = tni_lane_allocate(lane, bytes, what, out_buffer, &map, err);
    if (status != TN_OK)
        return status;
    if (map) {
        tni_weight_gather(value, 0, bytes, map);
        return TN_OK;
    }
    uint64_t run = value->run_bytes ? value->run_bytes : bytes;
    tnp_copy copy = { .size = sizeof copy,
                      .to_buffer = *out_buffer,
                      .from_host = value->data,
                      .bytes = run,
                      .rows = bytes / run,
                      .from_pitch = value->run_stride,
                      .to_pitch = run };
    status = tni_lane_copy(lane, &copy, err);
    if (status != TN_OK) {
        lane->table->buffer_free(*out_buffer);
        *out_buffer = NULL;
    }
    return status;
}

static tn_status make_resident(tn_session *session, const tni_value *value, tni_resident *made,
                               tni_resident **out_resident, tn_error *err)
{
    tni_lane *lane = &session->lanes[made->place];
    made->is_mapped = !value->run_bytes &&
                      try_import(lane, value->data, made->bytes, &made->buffer);
    tn_status status = made->is_mapped ? TN_OK
                                       : copy_in(lane, value, made->bytes, &made->buffer, err);
    if (status == TN_OK)
        status = keep_resident(session, made, out_resident, err);
    if (status != TN_OK && made->buffer)
        lane->table->buffer_free(made->buffer);
    return status;
}

tn_status tni_weight_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    const tni_value *value = &graph->values[graph->storages[storage].owner];
    tni_resident wanted = { .place = place,
                            .data = value->data,
                            .bytes = graph->storages[storage].bytes,
                            .run_bytes = value->run_bytes,
                            .run_stride = value->run_stride };
    tn_status status = make_room(session, compiled, err);
    tni_resident *r = find_resident(session, &wanted);
    if (status == TN_OK && !r)
        status = make_resident(session, value, &wanted, &r, err);
    if (status != TN_OK)
        return status;
    use(session, compiled, r);
    *out_buffer = r->buffer;
    return TN_OK;
}

// ------------------------------------------------------------------------------------------- packs

enum { MOST_ROOM_BYTES = 1 << 30 };   // of one buffer: large pages need no more

static uint64_t aligned(const tni_lane *lane, uint64_t bytes)
{
    uint64_t whole;
    return tni_align_u64(bytes, lane->memory.alignment_bytes, &whole) ? whole : bytes;
}

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
    tni_pack_room next = { .left_bytes = room->left_bytes, .bytes = ask > bytes ? ask : bytes };
    tn_status status = tni_lane_allocate(lane, next.bytes, "packed weights", &next.buffer,
                                         &next.map, err);
    if (status == TN_OK && next.map)
        tni_alloc_will_fill(next.map, next.bytes);
    if (status == TN_OK)
        *room = next;   // packs hold the buffer before
    return status;
}

typedef struct packing {
    tni_lane *lane;
    const tnp_value *value;
    const tni_pack *pack;
    const unsigned char *source;
    unsigned char *to;
    uint64_t groups;         // of all matrices
    uint64_t source_bytes;   // of a group; 0 = they do not lie one after another in a mapped file
    atomic_int status;       // the first failure
    tnp_error error;         // of the worker that failed first
} packing;

// Each worker packs a part of the groups, counted through all matrices, some MiB at a time: the
// pages of a mapped file that these were made of are given back, so that a weight is in memory
// once.
static void pack_part(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    enum { PIECE_BYTES = 2 << 20 };
    packing *p = argument;
    (void)team;
    const uint64_t end = p->groups * (worker + 1) / workers, each = p->pack->group_bytes,
                   piece = PIECE_BYTES / each + 1;
    for (uint64_t at = p->groups * worker / workers; at < end; at += piece) {
        uint64_t next = at_most(at + piece, end);
        if (atomic_load(&p->status) != TNP_OK)
            return;
        tnp_error error = tni_plugin_error();
        tnp_status status = p->lane->table->pack(p->lane->opened, p->value, p->pack->layout,
                                                 p->source, at, next, p->to + at * each, &error);
        int expected = TNP_OK;
        if (status != TNP_OK && atomic_compare_exchange_strong(&p->status, &expected, status))
            p->error = error;
        tni_map_guard_drop_pages(p->source + at * p->source_bytes, (next - at) * p->source_bytes);
    }
}

static tn_status pack_into(tn_session *session, packing *p, const char *name, tni_pack_room *room,
                           tni_resident *made, tn_error *err)
{
    unsigned char *staging = NULL;
    uint64_t bytes = aligned(p->lane, p->pack->bytes);
    tn_status status = find_room(p->lane, bytes, room, err);
    if (status != TN_OK)
        return status;
    made->buffer = room->buffer;
    made->offset = room->used;
    if (!room->map && !(staging = tni_alloc(&session->arena.allocator, p->pack->bytes)))
        status = tni_fail_memory(err, name, p->pack->bytes);
    if (status == TN_OK) {
        p->to = room->map ? (unsigned char *)room->map + room->used : staging;
        tni_pool_run(tni_runtime_pool(session->runtime), UINT32_MAX, pack_part, p);
        if (atomic_load(&p->status) != TNP_OK)
            status = tni_lane_fail(p->lane, "pack", atomic_load(&p->status), &p->error, err);
    }
    if (status == TN_OK && staging) {
        tnp_copy copy = { .size = sizeof copy,
                          .to_buffer = made->buffer,
                          .to_offset = made->offset,
                          .from_host = staging,
                          .bytes = p->pack->bytes,
                          .rows = 1 };
        status = tni_lane_copy(p->lane, &copy, err);
    }
    tni_free(&session->arena.allocator, staging);
    return status;
}

// A pack is made of bytes that lie together: what does not is gathered while it is made.
static tn_status make_packed(tn_session *session, const tni_compiled *compiled,
                             const tni_pack *pack, tni_pack_room *room, tni_resident *made,
                             tni_resident **out_resident, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    const tni_value *value = &graph->values[pack->value];
    const tni_storage *storage = &graph->storages[value->storage];
    const tni_value *owner = &graph->values[storage->owner];
    const tn_allocator *allocator = &session->arena.allocator;
    tnp_value described = {
        .size = sizeof described, .dtype = value->dtype, .rank = value->rank, .name = value->name
    };
    memcpy(described.dims, value->dims, sizeof described.dims);
    memcpy(described.strides, value->strides, sizeof described.strides);
    unsigned char *gathered = NULL;
    if (owner->run_bytes) {
        gathered = tni_alloc(allocator, storage->bytes);
        if (!gathered)
            return tni_fail_memory(err, value->name, storage->bytes);
        tni_weight_gather(owner, 0, storage->bytes, gathered);
    }
    packing p = { .lane = &session->lanes[made->place],
                  .value = &described,
                  .pack = pack,
                  .source = (gathered ? gathered : (const unsigned char *)owner->data) +
                            value->offset,
                  .groups = pack->bytes / pack->group_bytes };
    if (!gathered && value->rank <= 2)
        p.source_bytes = pack->group_rows * (uint64_t)value->strides[1];
    tn_status status = pack_into(session, &p, value->name, room, made, err);
    tni_free(allocator, gathered);
    if (status == TN_OK)
        status = keep_resident(session, made, out_resident, err);
    if (status == TN_OK) {
        uint64_t bytes = aligned(p.lane, pack->bytes);
        room->used += bytes;
        room->left_bytes -= at_most(bytes, room->left_bytes);
    }
    return status;
}

static tni_resident packed_resident(const tni_compiled *compiled, uint32_t place,
                                    const tni_pack *pack)
{
    const tn_graph *graph = compiled->graph;
    const tni_value *value = &graph->values[pack->value];
    const tni_value *owner = &graph->values[graph->storages[value->storage].owner];
    tni_resident wanted = { .place = place,
                            .layout = pack->layout,
                            .data = (const unsigned char *)owner->data + value->offset,
                            .bytes = pack->bytes,
                            .run_bytes = owner->run_bytes,
                            .run_stride = owner->run_stride,
                            .dtype = value->dtype };
    memcpy(wanted.dims, value->dims, sizeof wanted.dims);
    memcpy(wanted.strides, value->strides, sizeof wanted.strides);
    return wanted;
}

void tni_pack_room_add(tn_session *session, tni_compiled *compiled, uint32_t place,
                       const tni_pack *pack, tni_pack_room *room)
{
    const tni_resident wanted = packed_resident(compiled, place, pack);
    if (!find_resident(session, &wanted))
        room->left_bytes += aligned(&session->lanes[place], pack->bytes);
}

void tni_pack_room_close(tn_session *session, uint32_t place, tni_pack_room *room)
{
    if (room->buffer)
        release_buffer(session, place, room->buffer);
    *room = (tni_pack_room){ .buffer = NULL };
}

tn_status tni_weight_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tnp_buffer **out_buffer,
                            uint64_t *out_offset, tn_error *err)
{
    tni_resident wanted = packed_resident(compiled, place, pack);
    tn_status status = make_room(session, compiled, err);
    tni_resident *r = find_resident(session, &wanted);
    if (status == TN_OK && !r)
        status = make_packed(session, compiled, pack, room, &wanted, &r, err);
    if (status != TN_OK)
        return status;
    use(session, compiled, r);
    *out_buffer = r->buffer;
    *out_offset = r->offset;
    return TN_OK;
}
