// queues.c: the queues of the lanes that are given work, large enough for what a run puts there, so
// that it can be filled ahead; and the semaphores by which one device hears of another.
#include "base/error.h"
#include "base/integer.h"
#include "exec/session.h"

// Beyond MOST_PENDING the queue is full for a while.
enum { LEAST_PENDING = 16, MOST_PENDING = 256, LEAST_POINTS = 2 };

// What programs of a graph on a lane take with a submit, and what copies bring before it.
static void count_inputs(const tni_compiled *compiled, const tni_lane *lane,
                         tnp_queue_options *most)
{
    const tn_graph *graph = compiled->graph;
    uint64_t bytes = 0;
    uint32_t updates = 0, copies = 0;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        bool comes = tni_comes_at_submit(graph, s, lane->device->info.update_bytes);
        bytes += comes ? graph->storages[s].bytes : 0;
        updates += comes;
        copies += !comes && tni_storage_source(graph, s) == TNI_INPUT;
    }
    most->update_bytes = tni_larger_u32(most->update_bytes, (uint32_t)bytes);
    most->updates = tni_larger_u32(most->updates, updates);
    most->copies = tni_larger_u32(most->copies, copies);
}

// What a run of a graph puts into a queue of the session. Whether it is anything.
static bool count_works(const tni_compiled *compiled, uint32_t queue, tnp_queue_options *most)
{
    uint32_t works = 0;
    for (uint32_t w = 0; w < compiled->way.works.count; w++) {
        const tni_work *work = &compiled->way.works.list[w];
        if (work->queue != queue)
            continue;
        works += work->kind == TNI_WORK_PROGRAM ? 2 : 1;   // perhaps copies before the program
        most->points = tni_larger_u32(most->points, work->wait_count);
        most->copies = tni_larger_u32(most->copies, work->transfer_count);
    }
    most->pending = tni_larger_u32(most->pending, works < MOST_PENDING ? works : MOST_PENDING);
    return works > 0;
}

static tn_status make_queue(tn_session *session, uint32_t place, uint32_t role, tn_error *err)
{
    tni_lane *lane = &session->lanes[place];
    tnp_queue_options most = { .pending = LEAST_PENDING, .points = LEAST_POINTS, .copies = 1 };
    uint64_t bytes;
    bool has_work = role == TNI_COMPUTE && tni_states_on(session, place, &bytes);   // clear, read
    for (uint32_t g = 0; g < session->graph_count; g++) {
        has_work |= count_works(session->graphs[g], place * TNI_QUEUES + role, &most);
        if (role == TNI_COMPUTE)
            count_inputs(session->graphs[g], lane, &most);
    }
    return has_work ? tni_lane_make_queue(lane, role, &most, err) : TN_OK;
}

static tn_status make_mirrors(tn_session *session, const tni_compiled *compiled, tn_error *err)
{
    uint32_t queues = session->lane_count * TNI_QUEUES;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < compiled->way.works.relay_count && status == TN_OK; i++) {
        const tni_relay *relay = &compiled->way.works.relays[i];
        tni_lane *lane = &session->lanes[relay->place];
        if (!lane->mirrors)
            lane->mirrors = tni_arena_take_array(&session->arena, queues, sizeof *lane->mirrors);
        if (!lane->mirrors)
            return tni_fail_memory(err, "semaphores", queues * sizeof *lane->mirrors);
        lane->mirror_count = queues;
        status = tni_lane_make_mirror(lane, relay->queue, err);
    }
    return status;
}

tn_status tni_queues_make(tn_session *session, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->lane_count * TNI_QUEUES && status == TN_OK; i++)
        status = make_queue(session, i / TNI_QUEUES, i % TNI_QUEUES, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        status = make_mirrors(session, session->graphs[g], err);
    return status;
}
