// fit.c: tries placements until one fits what is free.
//
//   as asked ─ without limits ─► fits? ─ yes ─► done
//                                  │ no
//                within limits, the arenas set aside as the layout before had them, a few rounds
//                                  │ no
//                layers go from devices of a split to others that have room
//                                  │ no
//                fewer layers: the most that fit
//
// Where the placement is of layers, only these are left. Where it is free, other strategies are
// tried beside what the rounds found (fit_beside.c). What fits without limits needs no such trial:
// the solver's answer is the cheapest.
//
// Schedules tell their work, and what is tried beside has a budget of it: a fit ends soon however
// many devices are short. Whether something fits is known with the first placement that does.
//
// Graphs of one session share weights and states. Where these are is decided for all of them
// (fit_lead.c): while memory is short a graph wants a weight where that has it.
#include <string.h>

#include "base/error.h"
#include "exec/fit_internal.h"

enum {
    MOST_ROUNDS = 8,
    FREE_ROUNDS = 5   // from here on what is set aside for arenas only grows; or from this work on
};
#define FREE_WORK UINT64_C(1000000000)   // sums of schedules, about a second

tn_status tni_fit_start_again(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    atomic_store(&session->blamed, TNP_NONE);   // it was of a plan that is dropped
    tn_status status = TN_OK;
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        tni_compiled *c = session->graphs[g];
        if (c->schedule.given) {
            c->graph = c->schedule.given;
            c->answers = c->schedule.given_answers;
            c->schedule.given_answers = (tni_answers){ 0 };
            c->is_asked = true;
        }
        tni_schedule_finish(&c->schedule);
        tni_arena_finish(&c->arena);
        tni_arena_init(&c->arena, &session->arena.allocator);
        c->rules = NULL;
        c->mapped = NULL;
        c->way = (tni_way){ 0 };
        status = tni_states_collect(session, c, err);
    }
    for (uint32_t i = 0; i < session->state_count; i++) {
        session->states[i].place = TNP_NONE;
        session->states[i].may_be = session->states[i].wished = UINT64_MAX;
    }
    for (uint32_t i = 0; i < session->lane_count; i++) {
        session->lanes[i].arena_bytes = 0;
        session->lanes[i].plan = (tni_plan){ 0 };
        fit->weights[i] = fit->program_bytes[i] = fit->needed[i] = 0;
    }
    fit->resident_count = 0;
    fit->has_failed_claim = fit->is_dearer = false;
    return status;
}

static tn_status plan_all(tn_session *session, tn_error *err)
{
    tn_status status = tni_fit_start_again(session, err);
    if (status == TN_OK)
        status = tni_session_agree(session, err);
    if (status == TN_OK)
        status = tni_fit_lead(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        tni_compiled *c = session->graphs[g];
        if (session->fit.is_dearer)
            return TN_E_DEVICE_MEMORY;
        status = tni_session_schedule(session, c, err);
        if (status == TN_OK && session->graph_count == 1)
            tni_fit_note_bound(session, c->given.runs * c->schedule.bound_ns);
        if (status == TN_OK)
            status = tni_arrange(session, c, err);
    }
    if (status == TN_OK)
        status = tni_fit_count_again(session, NULL, err);
    if (status == TN_OK)
        tni_fit_place_idle_states(session);
    return status;
}

// What the next round sets aside. Whether that differs.
static bool set_arenas_aside(tn_session *session, uint32_t round)
{
    tni_fit *fit = &session->fit;
    bool differs = false;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        uint64_t had = fit->arena[i], has = tni_fit_arena_bytes(session, i);
        bool only_grows = round >= FREE_ROUNDS || fit->work > FREE_WORK;
        uint64_t next = round == 0 ? 0 : only_grows && had > has ? had : has;
        differs |= round == 0 || next != had;
        fit->arena[i] = next;
    }
    return differs;
}

static void note_unlimited(tn_session *session)
{
    tni_fit *fit = &session->fit;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        fit->unlimited[i] = fit->needed[i];
        fit->unlimited_beside[i] = tni_fit_arena_bytes(session, i) + fit->program_bytes[i];
    }
}

// Where the nodes are before anything had to give way, of the first placement that is tried.
static tn_status note_wanted(tn_session *session, tn_error *err)
{
    for (uint32_t g = 0; g < session->graph_count; g++) {
        tni_compiled *c = session->graphs[g];
        const tni_schedule *s = &c->schedule;
        if (c->wanted)
            continue;
        c->wanted = tni_arena_take_indices(&session->arena, s->given->node_count);
        if (!c->wanted)
            return tni_fail_memory(err, "a placement", s->given->node_count * sizeof *c->wanted);
        for (uint32_t n = s->graph->node_count; n-- > 0;)
            c->wanted[tni_given_node(s, n)] = s->places[n];
    }
    return TN_OK;
}

tn_status tni_fit_in_rounds(tn_session *session, tn_error *err)
{
    tn_error last;
    session->fit.is_short = false;
    tn_status status = plan_all(session, err);
    if (status == TN_OK)
        status = note_wanted(session, err);
    if (status == TN_OK) {
        status = tni_fit_check_memory(session, err);
        note_unlimited(session);
    }
    for (uint32_t round = 0;
         round < MOST_ROUNDS && status == TN_E_DEVICE_MEMORY && !session->fit.is_dearer &&
         session->lane_count > 1 && set_arenas_aside(session, round);
         round++) {
        session->fit.is_short = true;
        status = plan_all(session, &last);
        if (status == TN_OK)
            status = tni_fit_check_memory(session, &last);
        else if (status == TN_E_DEVICE_MEMORY)
            break;
        if (status != TN_OK && status != TN_E_DEVICE_MEMORY && err)
            *err = last;
    }
    return status;
}

tn_status tni_fit_repeat(tn_session *session, bool is_short, const uint64_t *arena, tn_error *err)
{
    session->fit.is_short = is_short;
    memcpy(session->fit.arena, arena, session->lane_count * sizeof *arena);
    tn_status status = plan_all(session, err);
    return status == TN_OK ? tni_fit_check_memory(session, err) : status;
}

// What is elsewhere than it was wanted is there because of memory.
static void mark_moved(tn_session *session)
{
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tni_compiled *c = session->graphs[g];
        const tni_schedule *s = &c->schedule;
        for (uint32_t n = 0; n < s->graph->node_count && c->wanted; n++) {
            uint32_t wanted = c->wanted[tni_given_node(s, n)];
            if (wanted != s->places[n] &&
                (s->bars.why[n] == TNI_WHY_COST || s->bars.why[n] == TNI_WHY_LAYER))
                s->bars.roomless[n] |= UINT64_C(1) << wanted;
        }
    }
}

static tn_status fit(tn_session *session, tn_error *err)
{
    if (tni_placement_is_of_layers(&session->placement))
        return tni_fit_layers(session, err);
    tn_status status = tni_fit_warn_of_pins(session, err);
    if (status == TN_OK)
        status = tni_fit_in_rounds(session, err);
    if (status == TN_E_DEVICE_MEMORY && tni_fit_demands_too_much(session))
        return status;
    bool is_short = (status == TN_OK && session->fit.is_short) || status == TN_E_DEVICE_MEMORY;
    bool is_enough = session->is_plan_only && status == TN_OK;   // what is cheapest is not asked
    return is_short && !is_enough && session->lane_count > 1 ? tni_fit_beside(session, status, err)
                                                             : status;
}

tn_status tni_session_fit(tn_session *session, tn_error *err)
{
    tn_status status = tni_fit_begin(session, err);
    if (status == TN_OK)
        status = fit(session, err);
    if (status == TN_OK && session->layers.count == 0)   // only to tell of them
        status = tni_fit_find_layers(session, err);
    if (status == TN_OK)
        mark_moved(session);
    session->fit.lacks_memory = status == TN_E_DEVICE_MEMORY && !session->fit.has_failed_claim;
    if (session->fit.lacks_memory && tni_fit_start_again(session, NULL) == TN_OK)
        tni_fit_tell_demands(session, err);
    if (session->fit.lacks_memory && session->fit.short_place != TNP_NONE)
        return tni_lane_blame(&session->lanes[session->fit.short_place], status);
    return status;
}
