// weights.c: constants on each lane: imported where the application has them when the device can,
// else copied into memory of the device.
#include "base/error.h"
#include "exec/session.h"

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

static tn_status make_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                               const tni_value *value, tni_resident *made,
                               tni_resident **out_resident, tn_error *err)
{
    tni_lane *lane = &session->lanes[place];
    uint64_t bytes = made->key.bytes;
    made->is_mapped = !value->run_bytes && try_import(lane, value->data, bytes, &made->buffer);
    tn_status status = made->is_mapped ? TN_OK : copy_in(lane, value, bytes, &made->buffer, err);
    if (status == TN_OK)
        status = tni_resident_keep(session, compiled, place, made, out_resident, err);
    if (status != TN_OK && made->buffer)
        lane->table->buffer_free(made->buffer);
    return status;
}

tn_status tni_weight_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    const tni_value *value = &graph->values[graph->storages[storage].owner];
    tni_resident made = { .key = { .data = value->data,
                                   .bytes = graph->storages[storage].bytes,
                                   .run_bytes = value->run_bytes,
                                   .run_stride = value->run_stride } };
    tni_resident *r;
    tn_status status = tni_resident_use(session, compiled, place, &made.key, &r, err);
    if (status == TN_OK && !r)
        status = make_resident(session, compiled, place, value, &made, &r, err);
    if (status == TN_OK)
        *out_buffer = r->buffer;
    return status;
}
