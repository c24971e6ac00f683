// fit_layers.c: whole layers: as many as the placement asks for, or the most that fit.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "exec/fit_internal.h"

// While layers are moved between devices.
enum { MOST_TRIES = 8 };

static tn_status place_layers(tn_session *session, uint32_t offloaded, tn_error *err)
{
    tni_arena scratch;
    uint64_t reach[TNI_MAX_PLACES];   // so that a second session divides them as the first one did
    for (uint32_t p = 0; p < session->lane_count; p++)
        reach[p] = tni_fit_reach(session, p);
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = tni_layers_place(&session->placement, session->devices, session->lane_count,
                                        reach, offloaded, &scratch, &session->layers, err);
    tni_arena_finish(&scratch);
    return status;
}

// What layers may take of a place, by the placement at hand without limits. Of a device that uses
// weights where they lie, or has them already, what layers have is not what they take.
static uint64_t room_for_layers(const tn_session *session, uint32_t place)
{
    const tni_fit *fit = &session->fit;
    uint64_t is_free = fit->free_bytes[place], needed = fit->unlimited[place];
    uint64_t beside = fit->unlimited_beside[place], given = session->layers.given_bytes[place];
    if (!(fit->mapping_places >> place & 1))
        return beside < is_free ? is_free - beside : 0;
    if (needed <= is_free)
        return given + (is_free - needed);
    return given > needed - is_free ? given - (needed - is_free) : 0;
}

// What the devices of the split may get of layers from now on. false: it is not they that lack
// memory.
static bool learn_room(tn_session *session, uint32_t tries)
{
    const tni_fit *fit = &session->fit;
    tni_layers *layers = &session->layers;
    bool is_any_short = false;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        uint64_t is_free = fit->free_bytes[p], needed = fit->unlimited[p];
        if (!(layers->split_places >> p & 1) || is_free == UINT64_MAX)
            continue;
        uint64_t lacking = needed > is_free ? needed - is_free : 0;
        is_any_short |= lacking > 0;
        if (tries == 0)
            layers->most_bytes[p] = room_for_layers(session, p);
        else if (lacking)
            layers->most_bytes[p] = layers->given_bytes[p] > lacking
                                        ? layers->given_bytes[p] - lacking
                                        : 0;
    }
    return is_any_short;
}

// Whether a place holds no buffer as large as something that it was to get.
static bool is_roomless(const tn_session *session, uint32_t place)
{
    const tni_schedule *s = &session->graphs[0]->schedule;
    for (uint32_t n = 0; n < s->graph->node_count; n++)
        if (s->bars.roomless[n] >> place & 1)
            return true;
    return false;
}

// What each device would take if all went as it is asked. status: of trying that.
static void note_asked(tn_session *session, tn_status status)
{
    tni_fit *fit = &session->fit;
    memcpy(fit->asked_bytes, fit->unlimited, session->lane_count * sizeof *fit->unlimited);
    for (uint32_t p = 0; p < session->lane_count && status == TN_OK; p++) {
        uint64_t given = session->layers.given_bytes[p];
        if (given <= fit->free_bytes[p] || (fit->mapping_places >> p & 1) ||
            !is_roomless(session, p))
            continue;
        fit->is_spread = true;
        if (given > fit->asked_bytes[p])
            fit->asked_bytes[p] = given;
    }
}

tn_status tni_fit_try_layers(tn_session *session, uint32_t offloaded, tn_error *err)
{
    tni_layers *layers = &session->layers;
    bool is_divided = session->placement.split_mode == TN_SPLIT_LAYER ||
                      tni_placement_has_parts(&session->placement);
    tn_error last;
    memset(layers->most_bytes, 0xff, sizeof layers->most_bytes);
    session->fit.is_spread = false;
    tn_status status = place_layers(session, offloaded, err);
    if (status == TN_OK) {
        status = tni_fit_in_rounds(session, err);
        if (offloaded == session->fit.asked_layers)
            note_asked(session, status);
    }
    for (uint32_t tries = 0; status == TN_E_DEVICE_MEMORY && !session->fit.is_dearer &&
                             is_divided && tries < MOST_TRIES && learn_room(session, tries);
         tries++) {
        session->fit.is_spread = true;
        status = place_layers(session, offloaded, &last);
        if (status == TN_E_DEVICE_MEMORY)
            return status;
        if (status == TN_OK)
            status = tni_fit_in_rounds(session, &last);
        if (status != TN_OK && status != TN_E_DEVICE_MEMORY && err)
            *err = last;
    }
    return status;
}

// Of the constants and states that a node touches.
static uint64_t lasting_bytes(const tn_graph *graph, uint32_t node)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t storage = graph->values[values[i]].storage;
        tni_source source = tni_storage_source(graph, storage);
        bytes += source == TNI_WEIGHT || source == TNI_STATE ? graph->storages[storage].bytes : 0;
    }
    return bytes;
}

uint32_t tni_fit_count_layers(const tn_session *session, uint32_t *counts)
{
    const tni_compiled *c = session->graphs[0];
    uint32_t divided = 0;
    memset(counts, 0, session->lane_count * sizeof *counts);
    for (uint32_t i = 0; i < session->layers.count; i++) {
        uint64_t weighs[TNI_MAX_PLACES] = { 0 }, parts = 0;   // places of these
        uint32_t most = 0;
        for (uint32_t n = 0; n < c->graph->node_count; n++) {
            tni_mark mark = c->graph->nodes[n].mark;
            if (mark.layer != session->layers.marks[i])
                continue;
            if (mark.part != TN_NO_PART)
                parts |= UINT64_C(1) << c->schedule.places[n];
            uint32_t place = c->schedule.places[n];
            weighs[place] += 1 + lasting_bytes(c->graph, n);
            if (weighs[place] > weighs[most])
                most = place;
        }
        bool is_divided = (parts & (parts - 1)) != 0;
        divided += is_divided;
        counts[most] += !is_divided && weighs[most] > 0;
    }
    return divided;
}

uint32_t tni_fit_count_offloaded(const tn_session *session)
{
    uint32_t counts[TNI_MAX_PLACES], sum = tni_fit_count_layers(session, counts);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (!tni_is_cpu(session->devices[p]))
            sum += counts[p];
    return sum;
}

tn_status tni_fit_least(tn_session *session, bool *out_is_hopeless)
{
    const tni_fit *fit = &session->fit;
    bool has_cpu_room = true;
    tn_status status = tni_fit_try_layers(session, 0, NULL);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (tni_is_cpu(session->devices[p]) && fit->unlimited[p] > fit->free_bytes[p])
            has_cpu_room = false;
    *out_is_hopeless = status == TN_E_DEVICE_MEMORY && has_cpu_room;
    return status;
}

// What is demanded may leave no room whatever else is where: that is seen at once.
static bool has_demands(const tn_session *session)
{
    return session->placement.kv_device || session->placement.pin_count;
}

tn_status tni_fit_fewer(tn_session *session, tn_error *err)
{
    bool is_hopeless = false;
    if (session->is_plan_only || has_demands(session)) {
        tn_status status = tni_fit_least(session, &is_hopeless);
        if (is_hopeless || (session->is_plan_only && status == TN_OK))
            return status;
    }
    uint32_t low = 0, high = session->fit.asked_layers, tried = high;   // perhaps; does not fit
    uint32_t found = TNP_NONE;
    bool is_any_dearer = false;
    tn_error last;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        tried = middle;
        tn_status status = tni_fit_try_layers(session, middle, &last);
        if (status == TN_OK) {
            found = middle;
            low = middle + 1;
        } else if (status == TN_E_DEVICE_MEMORY && session->fit.is_dearer) {
            is_any_dearer = true;   // and so are fewer
            low = middle + 1;
        } else if (status == TN_E_DEVICE_MEMORY) {
            high = middle;
        } else {
            if (err)
                *err = last;
            return status;
        }
    }
    session->fit.is_dearer = found == TNP_NONE && is_any_dearer;
    if (found == TNP_NONE)
        return TN_E_DEVICE_MEMORY;
    return tried == found ? TN_OK : tni_fit_try_layers(session, found, err);
}

tn_status tni_fit_find_layers(tn_session *session, tn_error *err)
{
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    const tn_graph **graphs = tni_arena_take_array(&scratch, session->graph_count, sizeof *graphs);
    for (uint32_t g = 0; g < session->graph_count && graphs; g++)
        graphs[g] = session->graphs[g]->graph;
    tn_status status = graphs ? tni_layers_find(graphs, session->graph_count, &session->placement,
                                                &session->arena, &session->layers, err)
                              : tni_fail_memory(err, "a session",
                                                session->graph_count * sizeof *graphs);
    tni_arena_finish(&scratch);
    return status;
}

tn_status tni_fit_layers(tn_session *session, tn_error *err)
{
    const tni_placement *p = &session->placement;
    tn_status status = tni_fit_find_layers(session, err);
    uint32_t asked = session->layers.count;
    if (p->layer_rule == TN_LAYERS_COUNT && p->gpu_layers < asked)
        asked = p->gpu_layers;
    session->fit.asked_layers = asked;
    if (status == TN_OK)
        status = tni_fit_warn_of_pins(session, err);
    if (status == TN_OK)
        status = tni_fit_try_layers(session, asked, err);
    if (status == TN_E_DEVICE_MEMORY && session->layers.rest_places &&
        !tni_fit_demands_too_much(session))
        status = tni_fit_fewer(session,
                               err);   // where none fits, err says what was needed at first
    bool are_all = asked == session->layers.count && p->split_mode == TN_SPLIT_FREE &&
                   session->layers.rest_places && !session->is_plan_only;
    return status == TN_OK && are_all ? tni_fit_beside_all(session, err) : status;
}
