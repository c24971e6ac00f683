// explain.c: the plan of a session in words.
#include <inttypes.h>

#include "base/sink.h"
#include "exec/exec_internal.h"

// Why a segment begins where it does: what the device before said of its first node.
static void say_reason(const tni_schedule *schedule, uint32_t segment, const tn_sink *sink)
{
    if (segment == 0)
        return;
    uint32_t node = schedule->units[schedule->segments[segment].first_unit]->nodes[0];
    uint32_t before = schedule->segments[segment - 1].place;
    for (uint32_t r = 0; r < schedule->answers.refusal_count; r++)
        if (schedule->answers.refusals[r].node == node &&
            schedule->answers.refusals[r].place == before) {
            tni_say(sink, "      begins at '%s': the device before refused it: %s\n",
                    schedule->graph->nodes[node].name, schedule->answers.refusals[r].reason);
            return;
        }
    tni_say(sink, "      begins at '%s': cost\n", schedule->graph->nodes[node].name);
}

static void explain_graph(const tn_session *session, uint32_t index, const tn_sink *sink)
{
    const tni_schedule *schedule = &session->graphs[index].schedule;
    tni_say(sink, "graph %u: %u nodes in %u segments, %u copies, %.3f ms by the cost model\n",
            index, schedule->graph->node_count, schedule->segment_count, schedule->transfer_count,
            schedule->cost_ns / 1e6);
    for (uint32_t s = 0; s < schedule->segment_count; s++) {
        const tni_segment *segment = &schedule->segments[s];
        tni_say(sink, "  segment %u on %s: units %u to %u\n", s,
                session->lanes[segment->place].device->name, segment->first_unit,
                segment->first_unit + segment->unit_count - 1);
        say_reason(schedule, s, sink);
        for (uint32_t t = 0; t < schedule->transfer_count; t++) {
            const tni_transfer *transfer = &schedule->transfers[t];
            if (transfer->segment == s)
                tni_say(sink, "      after a copy of '%s' from %s, %" PRIu64 " bytes\n",
                        schedule->graph->values[schedule->graph->storages[transfer->storage].owner]
                            .name,
                        session->lanes[transfer->from].device->name,
                        schedule->graph->storages[transfer->storage].bytes);
        }
    }
}

void tn_session_explain(const tn_session *session, const tn_sink *sink)
{
    for (uint32_t g = 0; g < session->graph_count; g++)
        explain_graph(session, g, sink);
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tni_lane *lane = &session->lanes[i];
        tni_say(sink,
                "%s: arena of %" PRIu64 " bytes (no plan is below %" PRIu64
                "; without sharing %" PRIu64 ")\n",
                lane->device->name, lane->arena_bytes, lane->bound_bytes, lane->unshared_bytes);
    }
    for (uint32_t i = 0; i < session->state_count; i++)
        tni_say(sink, "state '%s' on %s: %" PRIu64 " bytes\n", session->states[i].name,
                session->lanes[session->states[i].place].device->name, session->states[i].bytes);
}
