// schedule.c: a graph's schedule, with the states where graphs before it have put them. The first
// graph that touches a state decides where it lives, within what suits all of them.
#include <string.h>

#include "base/error.h"
#include "exec/session.h"

void tni_session_note_places(tn_session *session, const tni_compiled *compiled,
                             const tni_schedule *schedule)
{
    const tn_graph *graph = schedule->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_node *node = &graph->nodes[n];
        uint32_t values[TNI_MAX_READS + 1], count = tni_node_touches(graph, node, values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            uint32_t state = storage < schedule->given->storage_count ? compiled->state_of[storage]
                                                                      : TNP_NONE;
            if (state != TNP_NONE)
                session->states[state].place = schedule->places[n];
        }
    }
}

// From here on the graph is the one that was scheduled: where nodes were decomposed it has more
// storages, none of them a state.
static tn_status follow_schedule(tni_compiled *compiled, tn_error *err)
{
    const tn_graph *given = compiled->graph, *graph = compiled->schedule.graph;
    if (graph == given)
        return TN_OK;
    uint32_t *state_of = tni_arena_take_indices(&compiled->arena, graph->storage_count);
    if (!state_of)
        return tni_fail_memory(err, "a table of states", graph->storage_count * sizeof *state_of);
    memcpy(state_of, compiled->state_of, given->storage_count * sizeof *state_of);
    compiled->state_of = state_of;
    compiled->graph = graph;
    return TN_OK;
}

// By storage: where it may be. NULL when there is no memory.
static uint64_t *take_places(const tn_session *session, const tni_compiled *compiled,
                             tni_arena *arena)
{
    uint32_t count = compiled->graph->storage_count;
    uint64_t *places = tni_arena_take_array(arena, count, sizeof *places);
    for (uint32_t s = 0; s < count && places; s++) {
        uint32_t index = compiled->state_of[s];
        const tni_state *state = index == TNP_NONE ? NULL : &session->states[index];
        places[s] = !state                     ? UINT64_MAX
                    : state->place == TNP_NONE ? state->may_be
                                               : UINT64_C(1) << state->place;
    }
    return places;
}

static tni_schedule_request request_of(const tn_session *session, tni_compiled *compiled)
{
    const tni_fit *fit = &session->fit;
    return (tni_schedule_request){
        .graph = compiled->graph,
        .devices = session->devices,
        .device_count = session->lane_count,
        .links = &session->links,
        .rules = compiled->rules,
        .memories = { .mapped = compiled->mapped,
                      .mapped_count = compiled->graph->storage_count,
                      .alignments = fit->alignments,
                      .largest = fit->largest,
                      .there = fit->resident,
                      .shared = fit->shared,
                      .there_count = fit->resident_count,
                      .shared_count = fit->shared_count },
        .answers = compiled->is_asked ? &compiled->answers : NULL,
    };
}

tn_status tni_session_check_answers(tn_session *session, const tni_answers *answers,
                                    tn_status status, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++)
        if (answers->failed_places >> i & 1) {
            session->fit.has_failed_claim = true;
            tni_lane_blame(&session->lanes[i], status);
            return status == TN_OK
                       ? tn_error_set(err, answers->failure.status, answers->failure.text)
                       : status;
        }
    return status;
}

// Takes away the places that do not suit this graph, and wishes that it does not share.
// *out_has_changed: there were some.
static tn_status narrow(tn_session *session, tni_compiled *compiled, bool *out_has_changed,
                        tn_error *err)
{
    tni_arena scratch;
    uint32_t count = compiled->graph->storage_count;
    tni_arena_init(&scratch, &session->arena.allocator);
    tni_schedule_request request = request_of(session, compiled);
    uint64_t *places = take_places(session, compiled, &scratch);
    uint64_t *wishes = tni_arena_take_array(&scratch, count, sizeof *wishes);
    for (uint32_t s = 0; s < count && wishes; s++)
        wishes[s] = compiled->state_of[s] == TNP_NONE
                        ? UINT64_MAX
                        : session->states[compiled->state_of[s]].wished;
    tni_answers failed = { 0 };
    tn_status status = places && wishes
                           ? tni_schedule_narrow(&request, &scratch, places, wishes, &failed, err)
                           : tni_fail_memory(err, "a table of states", count * sizeof *places);
    status = tni_session_check_answers(session, &failed, status, err);
    for (uint32_t s = 0; s < count && status == TN_OK; s++) {
        if (compiled->state_of[s] == TNP_NONE)
            continue;
        tni_state *state = &session->states[compiled->state_of[s]];
        *out_has_changed |= state->may_be != places[s] || state->wished != wishes[s];
        state->may_be = places[s];
        state->wished = wishes[s];
    }
    tni_arena_finish(&scratch);
    return status;
}

tn_status tni_session_ask(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_arena scratch;
    if (compiled->is_asked)
        return TN_OK;
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = tni_ask(compiled->graph, session->devices, session->lane_count,
                               session->is_plan_only, &scratch, &compiled->answers, err);
    compiled->is_asked = status == TN_OK;
    tni_arena_finish(&scratch);
    return tni_session_check_answers(session, &compiled->answers, status, err);
}

tn_status tni_session_agree(tn_session *session, tn_error *err)
{
    if (session->lane_count == 1 || session->graph_count == 1 || session->state_count == 0)
        return TN_OK;
    tn_status status = TN_OK;
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        status = tni_fit_begin_graph(session, session->graphs[g], err);
        if (status == TN_OK)
            status = tni_session_ask(session, session->graphs[g], err);
    }
    // What one graph takes away may take more away in another that has the same states.
    bool has_changed = true;
    while (has_changed && status == TN_OK) {
        has_changed = false;
        for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
            status = narrow(session, session->graphs[g], &has_changed, err);
    }
    for (uint32_t i = 0; i < session->state_count; i++) {
        tni_state *state = &session->states[i];
        if (state->may_be & state->wished)
            state->may_be &= state->wished;
        if (state->may_be == 0)   // the schedules will tell what is in the way
            state->may_be = UINT64_MAX;
    }
    return status;
}

// Those that may get nodes; 0 = all. Of a session that is reserved: not a device on which it has
// neither arena nor states.
static uint64_t open_places(const tn_session *session)
{
    uint64_t places = 0, without = session->fit.without;
    for (uint32_t i = 0; i < session->lane_count && session->is_reserved; i++)
        if (session->lanes[i].arena_bytes)
            places |= UINT64_C(1) << i;
    for (uint32_t i = 0; i < session->state_count && session->is_reserved; i++)
        places |= UINT64_C(1) << session->states[i].place;
    return without ? (places ? places : UINT64_MAX) & ~without : places;
}

// While memory is short: what is left of what is free for this graph. NULL when there is no memory.
static uint64_t *take_limits(const tn_session *session, const tni_compiled *compiled,
                             tni_arena *arena)
{
    uint64_t *limits = tni_arena_take_array(arena, session->lane_count, sizeof *limits);
    bool *is_own = tni_arena_take_array(arena, session->state_count, sizeof *is_own);
    if (!limits || !is_own)
        return NULL;
    for (uint32_t s = 0; s < compiled->graph->storage_count; s++)
        if (compiled->state_of[s] != TNP_NONE)
            is_own[compiled->state_of[s]] = true;
    for (uint32_t i = 0; i < session->lane_count; i++)
        limits[i] = tni_fit_room(session, i, is_own);   // not known: TNI_NO_LIMIT
    return limits;
}

tn_status tni_session_request(tn_session *session, tni_compiled *compiled, tni_arena *arena,
                              tni_schedule_request *out, tn_error *err)
{
    *out = request_of(session, compiled);
    out->storage_places = take_places(session, compiled, arena);
    out->places = open_places(session);
    out->closed_why = session->is_reserved ? "the session has reserved no memory there"
                                           : "nothing is to be there, since memory is short";
    bool has_memory = out->storage_places != NULL;
    if (session->fit.is_short) {
        out->limits = take_limits(session, compiled, arena);
        out->arena_bytes = session->fit.arena;
        has_memory = has_memory && out->limits;
    }
    return has_memory
               ? TN_OK
               : tni_fail_memory(err, "a table of states",
                                 compiled->graph->storage_count * sizeof *out->storage_places);
}

tn_status tni_session_schedule(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tn_status status = tni_fit_begin_graph(session, compiled, err);
    if (status == TN_OK && session->is_reserved)
        status = tni_fit_count_again(session, compiled, err);
    if (status == TN_OK)
        status = tni_session_ask(session, compiled, err);
    if (status == TN_OK && session->fit.is_short)
        status = tni_fit_follow_weights(session, compiled, err);
    if (status == TN_OK && compiled->avoided)
        status = tni_fit_avoid(compiled, err);
    tni_schedule_request request;
    if (status == TN_OK)
        status = tni_session_request(session, compiled, &compiled->arena, &request, err);
    if (status != TN_OK)
        return status;
    request.like = compiled->like;
    status = tni_schedule_make(&request, &compiled->arena, &compiled->schedule, err);
    session->fit.work += compiled->schedule.work;
    compiled->is_asked = false;   // the answers are the schedule's, or gone with it
    status = tni_session_check_answers(session, &compiled->schedule.own_answers, status, err);
    if (status == TN_OK)
        status = follow_schedule(compiled, err);
    if (status == TN_OK)
        tni_session_note_places(session, compiled, &compiled->schedule);
    return status == TN_OK ? tni_fit_note_resident(session, compiled, &compiled->schedule, err)
                           : status;
}
