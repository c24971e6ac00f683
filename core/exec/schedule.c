// schedule.c: a graph's schedule, with the states where graphs before it have put them.
#include <string.h>

#include "base/error.h"
#include "exec/exec_internal.h"

// Where the schedule has put states that were still free.
static void note_places(tn_session *session, const tni_compiled *compiled)
{
    const tn_graph *graph = compiled->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_node *node = &graph->nodes[n];
        uint32_t values[TNI_MAX_READS + 1], count = tni_node_touches(graph, node, values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t state = compiled->state_of[graph->values[values[i]].storage];
            if (state != TNP_NONE)
                session->states[state].place = compiled->schedule.places[n];
        }
    }
}

// From here on the graph is the one that was scheduled: where nodes were decomposed it has more
// storages, none of them a state.
static tn_status follow_schedule(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_graph *given = compiled->graph, *graph = compiled->schedule.graph;
    if (graph == given)
        return TN_OK;
    uint32_t *state_of = tni_arena_take_indices(&session->arena, graph->storage_count);
    if (!state_of)
        return tni_fail_memory(err, "a table of states", graph->storage_count * sizeof *state_of);
    memcpy(state_of, compiled->state_of, given->storage_count * sizeof *state_of);
    compiled->state_of = state_of;
    compiled->graph = graph;
    return TN_OK;
}

tn_status tni_session_schedule(tn_session *session, tni_compiled *compiled,
                               tn_device *const *devices, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    uint32_t *pins = tni_arena_take_array(&session->arena, graph->storage_count, sizeof *pins);
    if (!pins)
        return tni_fail_memory(err, "a table of states", graph->storage_count * sizeof *pins);
    for (uint32_t s = 0; s < graph->storage_count; s++)
        pins[s] = compiled->state_of[s] == TNP_NONE ? TNP_NONE
                                                    : session->states[compiled->state_of[s]].place;
    tni_schedule_request request = { graph, devices, session->lane_count, pins };
    tn_status status = tni_schedule_make(&request, &session->arena, &compiled->schedule, err);
    if (status == TN_OK)
        status = follow_schedule(session, compiled, err);
    if (status == TN_OK)
        note_places(session, compiled);
    return status;
}
