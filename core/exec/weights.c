// weights.c: constants on each lane: imported where the application has them when the device can,
// else copied into memory of the device; packed when a claim asked for it. Each is made once per
// lane and shared by all graphs of the session.
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/exec_internal.h"

// The same bytes may be two constants: a pack is also told by what the value makes of them.
static tni_resident *find_resident(tn_session *session, uint32_t place, const void *data,
                                   uint64_t bytes, uint32_t layout, const tni_value *packed)
{
    for (uint32_t i = 0; i < session->resident_count; i++) {
        tni_resident *r = &session->residents[i];
        bool is_same_view = !packed || (r->dtype == packed->dtype &&
                                        !memcmp(r->dims, packed->dims, sizeof r->dims) &&
                                        !memcmp(r->strides, packed->strides, sizeof r->strides));
        if (r->place == place && r->data == data && r->bytes == bytes && r->layout == layout &&
            is_same_view)
            return r;
    }
    return NULL;
}

static tni_resident *add_resident(tn_session *session, uint32_t place, const void *data,
                                  uint64_t bytes, uint32_t layout, tn_error *err)
{
    if (!tni_grow(&session->arena.allocator, &session->residents, &session->resident_capacity,
                  session->resident_count + 1, sizeof *session->residents)) {
        tni_fail_memory(err, "a table of weights",
                        (session->resident_count + 1) * sizeof *session->residents);
        return NULL;
    }
    tni_resident *r = &session->residents[session->resident_count++];
    *r = (tni_resident){ .place = place, .layout = layout, .data = data, .bytes = bytes };
    return r;
}

// The first memory that takes host memory as it is.
static bool try_import(tni_lane *lane, const void *data, uint64_t bytes, tnp_buffer **out_buffer)
{
    for (uint32_t m = 0; m < lane->device->info.memory_count; m++)
        if (tni_lane_import(lane, m, TNP_IMPORT_READ_ONLY, data, bytes, out_buffer))
            return true;
    return false;
}

static tn_status copy_in(tni_lane *lane, const void *data, uint64_t bytes, const char *name,
                         tnp_buffer **out_buffer, tn_error *err)
{
    void *map;
    char what[200];
    tni_format_text(what, sizeof what, "weight '%s'", name);
    tn_status status = tni_lane_allocate(lane, bytes, what, out_buffer, &map, err);
    if (status != TN_OK)
        return status;
    if (map) {
        memcpy(map, data, bytes);
        return TN_OK;
    }
    tnp_copy copy = {
        .size = sizeof copy, .to_buffer = *out_buffer, .from_host = data, .bytes = bytes, .rows = 1
    };
    status = tni_lane_copy(lane, &copy, err);
    if (status != TN_OK) {
        lane->table->buffer_free(*out_buffer);
        *out_buffer = NULL;
    }
    return status;
}

tn_status tni_weight_resident(tn_session *session, uint32_t place, const tn_graph *graph,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err)
{
    const tni_value *value = &graph->values[graph->storages[storage].owner];
    uint64_t bytes = graph->storages[storage].bytes;
    tni_lane *lane = &session->lanes[place];
    tni_resident *r = find_resident(session, place, value->data, bytes, 0, NULL);
    if (!r) {
        tnp_buffer *buffer;
        bool is_imported = try_import(lane, value->data, bytes, &buffer);
        tn_status status = is_imported
                               ? TN_OK
                               : copy_in(lane, value->data, bytes, value->name, &buffer, err);
        if (status != TN_OK)
            return status;
        r = add_resident(session, place, value->data, bytes, 0, err);
        if (!r) {
            lane->table->buffer_free(buffer);
            return TN_E_HOST_MEMORY;
        }
        r->buffer = buffer;
        r->is_mapped = is_imported;
        *(is_imported ? &session->weight_mapped_bytes : &session->weight_copied_bytes) += bytes;
    }
    *out_buffer = r->buffer;
    return TN_OK;
}

// ------------------------------------------------------------------------------------------- packs

typedef struct packing {
    tni_lane *lane;
    const tnp_value *value;
    const tni_pack *pack;
    const unsigned char *source;
    unsigned char *to;
    uint64_t groups;     // of all matrices
    atomic_int status;   // the first failure
    tnp_error error;     // of the worker that failed first
} packing;

// Each worker packs a part of the groups, counted through all matrices.
static void pack_part(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    packing *p = argument;
    (void)team;
    uint64_t begin = p->groups * worker / workers, end = p->groups * (worker + 1) / workers;
    if (begin == end || atomic_load(&p->status) != TNP_OK)
        return;
    tnp_error error = tni_plugin_error();
    tnp_status status = p->lane->table->pack(p->lane->opened, p->value, p->pack->layout, p->source,
                                             begin, end, p->to + begin * p->pack->group_bytes,
                                             &error);
    int expected = TNP_OK;
    if (status != TNP_OK && atomic_compare_exchange_strong(&p->status, &expected, status))
        p->error = error;
}

static tn_status pack_into(tn_session *session, packing *p, const char *name,
                           tnp_buffer **out_buffer, tn_error *err)
{
    void *map;
    unsigned char *staging = NULL;
    tn_status status = tni_lane_allocate(p->lane, p->pack->bytes, name, out_buffer, &map, err);
    if (status != TN_OK)
        return status;
    if (!map && !(staging = tni_alloc(&session->arena.allocator, p->pack->bytes)))
        status = tni_fail_memory(err, name, p->pack->bytes);
    if (status == TN_OK) {
        p->to = map ? map : staging;
        tni_pool_run(tni_runtime_pool(session->runtime), UINT32_MAX, pack_part, p);
        if (atomic_load(&p->status) != TNP_OK)
            status = tni_lane_fail(p->lane, "pack", atomic_load(&p->status), &p->error, err);
    }
    if (status == TN_OK && staging) {
        tnp_copy copy = { .size = sizeof copy,
                          .to_buffer = *out_buffer,
                          .from_host = staging,
                          .bytes = p->pack->bytes,
                          .rows = 1 };
        status = tni_lane_copy(p->lane, &copy, err);
    }
    tni_free(&session->arena.allocator, staging);
    if (status != TN_OK) {
        p->lane->table->buffer_free(*out_buffer);
        *out_buffer = NULL;
    }
    return status;
}

tn_status tni_weight_packed(tn_session *session, uint32_t place, const tn_graph *graph,
                            const tni_pack *pack, tnp_buffer **out_buffer, tn_error *err)
{
    const tni_value *value = &graph->values[pack->value];
    const unsigned char
        *source = (const unsigned char *)graph->values[graph->storages[value->storage].owner].data +
                  value->offset;
    tni_lane *lane = &session->lanes[place];
    tni_resident *r = find_resident(session, place, source, pack->bytes, pack->layout, value);
    if (r) {
        *out_buffer = r->buffer;
        return TN_OK;
    }
    tnp_value described = {
        .size = sizeof described, .dtype = value->dtype, .rank = value->rank, .name = value->name
    };
    memcpy(described.dims, value->dims, sizeof described.dims);
    memcpy(described.strides, value->strides, sizeof described.strides);
    packing p = { .lane = lane,
                  .value = &described,
                  .pack = pack,
                  .source = source,
                  .groups = pack->bytes / pack->group_bytes };
    tnp_buffer *buffer;
    tn_status status = pack_into(session, &p, value->name, &buffer, err);
    if (status != TN_OK)
        return status;
    r = add_resident(session, place, source, pack->bytes, pack->layout, err);
    if (!r) {
        lane->table->buffer_free(buffer);
        return TN_E_HOST_MEMORY;
    }
    r->buffer = buffer;
    r->dtype = value->dtype;
    memcpy(r->dims, value->dims, sizeof r->dims);
    memcpy(r->strides, value->strides, sizeof r->strides);
    session->weight_copied_bytes += pack->bytes;
    *out_buffer = buffer;
    return TN_OK;
}

void tni_weights_release(tn_session *session)
{
    for (uint32_t i = 0; i < session->resident_count; i++)
        session->lanes[session->residents[i].place].table->buffer_free(
            session->residents[i].buffer);
    tni_free(&session->arena.allocator, session->residents);
    session->residents = NULL;
    session->resident_count = session->resident_capacity = 0;
}
