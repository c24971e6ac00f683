// queues.c: a queue for each lane that is given work, large enough for what one submit carries.
#include "exec/exec_internal.h"

static bool has_segment(const tni_compiled *compiled, uint32_t place)
{
    for (uint32_t s = 0; s < compiled->schedule.segment_count; s++)
        if (compiled->schedule.segments[s].place == place)
            return true;
    return false;
}

// Whether work is ever given to this lane: a segment, or a state to clear or read.
static bool has_work(const tn_session *session, uint32_t place)
{
    for (uint32_t g = 0; g < session->graph_count; g++)
        if (has_segment(session->graphs[g], place))
            return true;
    for (uint32_t i = 0; i < session->state_count; i++)
        if (session->states[i].place == place)
            return true;
    return false;
}

static void count_updates(const tn_graph *graph, uint64_t most_bytes, uint64_t *out_bytes,
                          uint32_t *out_count)
{
    *out_bytes = 0;
    *out_count = 0;
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (tni_comes_at_submit(graph, s, most_bytes)) {
            *out_bytes += graph->storages[s].bytes;
            ++*out_count;
        }
}

tn_status tni_queues_make(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tni_lane *lane = &session->lanes[i];
        if (!has_work(session, i))
            continue;
        uint64_t most_bytes = 0, bytes;
        uint32_t most = 0, count;
        for (uint32_t g = 0; g < session->graph_count; g++) {
            count_updates(session->graphs[g]->graph, lane->device->info.update_bytes, &bytes,
                          &count);
            most_bytes = bytes > most_bytes ? bytes : most_bytes;
            most = count > most ? count : most;
        }
        tn_status status = tni_lane_make_queue(lane, most_bytes, most, err);
        if (status != TN_OK)
            return status;
    }
    return TN_OK;
}
