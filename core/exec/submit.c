// submit.c: one graph from staged inputs to the last signal. Allocates, builds and plans nothing.
//
// Segments run one after another. What a segment needs from another device is copied through host
// memory before it, and the host waits for each such copy; work on one device is ordered by its
// queue, so between segments the host does not wait.
#include "base/error.h"
#include "exec/exec_internal.h"

// What a call on a lane came to; the first failure of a run is the lane's.
static tn_status on_lane(tn_session *session, uint32_t place, tn_status status)
{
    if (status != TN_OK && session->failed_lane == TNP_NONE)
        session->failed_lane = place;
    return status;
}

static tn_status transfer(tn_session *session, const tni_compiled *compiled,
                          const tni_transfer *move, tn_error *err)
{
    tni_lane *from = &session->lanes[move->from], *to = &session->lanes[move->to];
    uint64_t bytes = compiled->graph->storages[move->storage].bytes;
    uint64_t from_offset = compiled->offsets[move->from][move->storage];
    uint64_t to_offset = compiled->offsets[move->to][move->storage];
    if (bytes == 0)
        return TN_OK;
    tnp_copy out = { .size = sizeof out,
                     .from_buffer = tni_lane_chunk(from, &from_offset)->buffer,
                     .from_offset = from_offset,
                     .to_host = compiled->transfer_bytes,
                     .bytes = bytes,
                     .rows = 1 };
    tnp_copy in = { .size = sizeof in,
                    .to_buffer = tni_lane_chunk(to, &to_offset)->buffer,
                    .to_offset = to_offset,
                    .from_host = compiled->transfer_bytes,
                    .bytes = bytes,
                    .rows = 1 };
    tn_status status = on_lane(session, move->from, tni_lane_copy(from, &out, err));
    return status == TN_OK ? on_lane(session, move->to, tni_lane_copy(to, &in, err)) : status;
}

static tn_status feed_large(tn_session *session, const tni_compiled *compiled,
                            const tni_program *program, tn_error *err)
{
    tni_lane *lane = &session->lanes[program->place];
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < program->fed_count && status == TN_OK; i++) {
        uint32_t storage = program->fed[i];
        uint64_t offset = compiled->offsets[program->place][storage];
        tnp_copy in = { .size = sizeof in,
                        .to_buffer = tni_lane_chunk(lane, &offset)->buffer,
                        .to_offset = offset,
                        .from_host = compiled->staging[storage],
                        .bytes = compiled->graph->storages[storage].bytes,
                        .rows = 1 };
        status = on_lane(session, program->place, tni_lane_copy(lane, &in, err));
    }
    return status;
}

static tn_status submit(tn_session *session, const tni_program *program, tn_error *err)
{
    tni_lane *lane = &session->lanes[program->place];
    tnp_error plugin_error = tni_plugin_error();
    tnp_point point = { lane->semaphore, lane->signal + 1 };
    tnp_sync sync = {
        .size = sizeof sync, .signal_count = 1, .signals = &point, .run = session->run
    };
    tnp_submit work = { .size = sizeof work,
                        .flags = TNP_SUBMIT_INLINE,
                        .update_count = program->update_count,
                        .updates = program->updates,
                        .sync = &sync,
                        .bound = program->bound };
    const tnp_submit *works[] = { &work };
    tnp_status status = lane->table->queue_submit(lane->queue, works, 1, &plugin_error);
    if (status == TNP_E_BUSY) {   // what was taken before must end first
        tn_status waited = tni_lane_wait(lane, err);
        if (waited != TN_OK)
            return waited;
        status = lane->table->queue_submit(lane->queue, works, 1, &plugin_error);
    }
    if (status != TNP_OK)
        return tni_lane_fail(lane, "submit", status, &plugin_error, err);
    lane->signal++;
    return TN_OK;
}

static tn_status run_segment(tn_session *session, const tni_compiled *compiled,
                             const tni_program *program, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t t = 0; t < program->transfer_count && status == TN_OK; t++)
        status = transfer(session, compiled,
                          &compiled->schedule.transfers[program->first_transfer + t], err);
    if (status == TN_OK)
        status = feed_large(session, compiled, program, err);
    return status == TN_OK ? on_lane(session, program->place, submit(session, program, err))
                           : status;
}

tn_status tni_run_once(tn_session *session, const tni_compiled *compiled, tn_error *err)
{
    tn_status status = TN_OK;
    session->run++;
    session->last_graph = TNP_NONE;
    session->failed_lane = TNP_NONE;
    for (uint32_t s = 0; s < compiled->schedule.segment_count && status == TN_OK; s++)
        status = run_segment(session, compiled, &compiled->programs[s], err);
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++)
        status = on_lane(session, i, tni_lane_wait(&session->lanes[i], err));
    for (uint32_t i = 0; i < session->lane_count && status != TN_OK; i++)
        tni_lane_recover(&session->lanes[i]);
    if (status == TN_OK)
        session->last_graph = compiled->number;
    return status;
}
