// fit_beside.c: where nothing is asked and memory is short: several strategies, of which the one
// stays whose likely runs cost least.
//
// The solver within limits is not exact: arenas that are set aside leave no room for what would
// need smaller ones, prices on bytes do not see what a copy costs, and a weight as large as half of
// a device has no place between them. So what people would order by hand is tried too: the largest
// weight (of a model, the embedding) on each place, each device left out or alone, whole layers off
// the CPU, and the same cut between devices. Where the rounds came near to the least there is,
// there is nothing to win.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "exec/fit_internal.h"

enum {
    MOST_PLACES = 4,   // of a strategy that names one
    MOST_TRIES = 1 + (MOST_PLACES + 1) + 2 * (2 + MOST_PLACES) + MOST_PLACES + 2 * MOST_PLACES,
    SMALLEST_PART = 16,   // of all weights: a smaller one is not held
};

// Sums of schedules, about 1,000,000,000 a second, where something fits: once these are spent no
// strategy is tried in which the solver places each node, which are the dear ones, or none at all.
#define MOST_WORK_OF_NODES UINT64_C(1500000000)
#define MOST_WORK          UINT64_C(3000000000)

// Of a device beside one that is to be filled.
#define SMALL_SHARE 1e-6

static tni_fit_try *add_try(tni_fit *fit, tni_fit_strategy strategy)
{
    fit->tries[fit->try_count] = (tni_fit_try){ .strategy = strategy,
                                                .one = TNP_NONE,
                                                .held = TNP_NONE,
                                                .without = TNP_NONE,
                                                .status = TN_E_DEVICE_MEMORY };
    return &fit->tries[fit->try_count++];
}

// The largest weight, where it is so large that it decides over what else has room: its bytes. Of
// the graph as it was given: one in simpler ops goes with each try.
static uint64_t find_largest(tn_session *session, const tni_value **out)
{
    const tn_graph *graph = session->graphs[0]->given.graph;
    uint64_t largest = 0, sum = 0;
    *out = NULL;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_value *owner = &graph->values[graph->storages[s].owner];
        uint64_t bytes = owner->source == TNI_WEIGHT ? graph->storages[s].bytes : 0;
        sum += bytes;
        if (bytes > largest) {
            largest = bytes;
            *out = owner;
        }
    }
    if (largest < sum / SMALLEST_PART)
        *out = NULL;
    return largest;
}

// The places that a strategy is tried with: of devices that are no CPUs the first few, and of CPUs
// that many.
static uint64_t list_places(const tn_session *session, uint32_t most_cpus, uint64_t bytes)
{
    uint64_t places = 0;
    uint32_t others = 0, cpus = 0;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        bool is_cpu = tni_is_cpu(session->devices[p]);
        uint32_t *count = is_cpu ? &cpus : &others;
        if (tni_fit_reach(session, p) < bytes || *count >= (is_cpu ? most_cpus : MOST_PLACES))
            continue;
        places |= UINT64_C(1) << p;
        ++*count;
    }
    return places;
}

// What needs layers, and a CPU that some of them can be left on.
static void list_tries_of_layers(tn_session *session, uint32_t held)
{
    tni_fit *fit = &session->fit;
    uint64_t others = list_places(session, 0, 0);
    add_try(fit, TNI_FIT_OFFLOADED)->held = held;
    if ((others & (others - 1)) == 0)   // there is nothing to cut
        return;
    add_try(fit, TNI_FIT_CUT)->held = held;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (!(others >> p & 1))
            continue;
        tni_fit_try *filled = add_try(fit, TNI_FIT_FILLED);
        filled->one = p;
        filled->held = held;
    }
}

// The CPU comes early: where the largest weight is there, others are soon seen to be dearer.
static void list_tries(tn_session *session)
{
    tni_fit *fit = &session->fit;
    uint64_t largest = find_largest(session, &fit->held), bytes = 0;
    uint64_t others = list_places(session, 0, 0), cpus = list_places(session, 1, 0) & ~others;
    uint64_t held = fit->held ? list_places(session, 1, largest) : 0;
    bool is_of_layers = session->layers.count && cpus && others;
    add_try(fit, TNI_FIT_NODES);
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (!((held & cpus) >> p & 1))
            continue;
        add_try(fit, TNI_FIT_NODES)->held = p;
        if (is_of_layers)
            list_tries_of_layers(session, p);
    }
    if (is_of_layers)
        list_tries_of_layers(session, TNP_NONE);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if ((held & others) >> p & 1)
            add_try(fit, TNI_FIT_NODES)->held = p;
    for (uint32_t i = 0; i < session->layers.count; i++)
        bytes += session->layers.bytes[i];
    for (uint32_t p = 0; p < session->lane_count && is_of_layers; p++)
        if (others >> p & 1 && others != UINT64_C(1) << p && tni_fit_reach(session, p) >= bytes)
            add_try(fit, TNI_FIT_ONE)->one = p;
}

// With nothing on one of the devices, and the largest weight where the best so far has it.
static void list_tries_without(tn_session *session, uint32_t held)
{
    tni_fit *fit = &session->fit;
    uint64_t others = list_places(session, 0, 0);
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (!(others >> p & 1) || others == UINT64_C(1) << p || p == held)
            continue;
        tni_fit_try *nodes = add_try(fit, TNI_FIT_NODES);
        nodes->held = held;
        nodes->without = p;
        if (!session->layers.count || others == (UINT64_C(1) << session->lane_count) - 1)
            continue;
        tni_fit_try *offloaded = add_try(fit, TNI_FIT_OFFLOADED);
        offloaded->held = held;
        offloaded->without = p;
    }
}

// What all runs of the graphs take that are likely.
static void note_cost(const tn_session *session, tni_fit_try *to)
{
    to->cost_ns = 0;
    for (uint32_t g = 0; g < session->graph_count; g++)
        to->cost_ns += session->graphs[g]->given.runs * session->graphs[g]->schedule.cost_ns;
    to->offloaded = session->layers.offloaded;
    to->is_short = session->fit.is_short;
}

void tni_fit_note_bound(tn_session *session, double bound_ns)
{
    tni_fit *fit = &session->fit;
    if (fit->is_short && fit->least_ns == 0)
        fit->least_ns = bound_ns;
    fit->is_dearer = bound_ns >= fit->most_ns;
    if (fit->is_dearer)
        fit->dearer_ns = bound_ns;
}

static bool is_near_the_least(const tn_session *session, const tni_fit_try *t)
{
    const double near = 1.001;
    return t->status == TN_OK && t->cost_ns <= near * session->fit.least_ns;
}

// What graphs are placed by from now on, those too that are added later.
static void take_strategy(tn_session *session, const tni_fit_try *t)
{
    tni_placement *placement = &session->placement;
    tni_fit *fit = &session->fit;
    bool is_of_nodes = t->strategy == TNI_FIT_NODES;
    bool is_cut = t->strategy == TNI_FIT_CUT || t->strategy == TNI_FIT_FILLED;
    placement->split_mode = is_cut                       ? TN_SPLIT_LAYER
                            : t->strategy == TNI_FIT_ONE ? TN_SPLIT_NONE
                                                         : TN_SPLIT_FREE;
    for (uint32_t i = 0; i < placement->split_count; i++)
        fit->shares[i] = t->one != TNP_NONE && placement->split[i] == session->devices[t->one]
                             ? 1
                             : SMALL_SHARE;
    placement->shares = t->strategy == TNI_FIT_FILLED ? fit->shares : NULL;
    placement->layer_rule = is_of_nodes ? TN_LAYERS_AUTO : TN_LAYERS_ALL;
    placement->main_device = t->strategy == TNI_FIT_ONE ? session->devices[t->one] : NULL;
    fit->without = t->without == TNP_NONE ? 0 : UINT64_C(1) << t->without;
    fit->held_place = t->held;
    fit->is_spread = false;
    fit->asked_layers = is_of_nodes ? 0 : session->layers.count;
    if (is_of_nodes)
        session->layers.offloaded = 0;
}

static tn_status try_strategy(tn_session *session, const tni_fit_try *t, tn_error *err)
{
    take_strategy(session, t);
    if (t->strategy == TNI_FIT_NODES)
        return tni_fit_in_rounds(session, err);
    tn_status status = TN_E_DEVICE_MEMORY;
    if (t->strategy != TNI_FIT_OFFLOADED || t->held != TNP_NONE)
        status = tni_fit_try_layers(session, session->layers.count, err);
    else   // all of them: the rounds have tried that
        session->fit.is_dearer = false;
    return status == TN_E_DEVICE_MEMORY && !session->fit.is_dearer && t->strategy != TNI_FIT_ONE
               ? tni_fit_fewer(session, err)
               : status;
}

// Where the rounds found nothing: whether that is all there is to say, and *status.
static bool is_settled_by_least(tn_session *session, tn_status *status)
{
    static const tni_fit_try offloaded = {
        .strategy = TNI_FIT_OFFLOADED, .one = TNP_NONE, .held = TNP_NONE, .without = TNP_NONE
    };
    bool is_hopeless;
    take_strategy(session, &offloaded);
    tn_status least = tni_fit_least(session, &is_hopeless);
    if (is_hopeless)
        take_strategy(session, session->fit.tries);
    else if (session->is_plan_only && least == TN_OK)   // what is cheapest is not asked
        *status = TN_OK;
    return is_hopeless || *status == TN_OK;
}

// Makes it again as it was tried.
static tn_status do_again(tn_session *session, const tni_fit_try *t, tn_error *err)
{
    take_strategy(session, t);
    return t->strategy == TNI_FIT_NODES
               ? tni_fit_repeat(session, t->is_short, session->fit.best_arena, err)
               : tni_fit_try_layers(session, t->offloaded, err);
}

static bool has_work_left(const tni_fit *fit, const tni_fit_try *t)
{
    return fit->work < (t->strategy == TNI_FIT_NODES ? MOST_WORK_OF_NODES : MOST_WORK);
}

// What is set aside for arenas by the best so far.
static void note_arena(tn_session *session)
{
    memcpy(session->fit.best_arena, session->fit.arena,
           session->lane_count * sizeof *session->fit.arena);
}

// Those from `first` on; *best: the cheapest so far. last: the one that the session is left with.
static tn_status try_from(tn_session *session, uint32_t first, tni_fit_try **best,
                          tni_fit_try **last, tn_error *err)
{
    tni_fit *fit = &session->fit;
    for (uint32_t i = first; i < fit->try_count && !is_near_the_least(session, *best); i++) {
        tni_fit_try *now = &fit->tries[i];
        bool has_any = (*best)->status == TN_OK;
        tn_error why;
        if (has_any && session->is_plan_only)   // what is cheapest is not asked
            break;
        if (has_any && !has_work_left(fit, now)) {
            fit->untried_count++;
            continue;
        }
        *last = now;
        fit->most_ns = has_any ? (*best)->cost_ns : INFINITY;
        now->is_tried = true;
        now->status = try_strategy(session, now, &why);
        if (now->status == TN_E_HOST_MEMORY)
            return tn_error_set(err, now->status, why.text);
        now->is_dearer = now->status == TN_E_DEVICE_MEMORY && fit->is_dearer;
        if (now->is_dearer)
            now->cost_ns = fit->dearer_ns;
        if (now->status == TN_OK)
            note_cost(session, now);
        if (now->status == TN_OK && (!has_any || now->cost_ns < (*best)->cost_ns)) {
            *best = now;
            note_arena(session);
        }
    }
    fit->most_ns = INFINITY;
    return TN_OK;
}

tn_status tni_fit_beside(tn_session *session, tn_status rounds, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tn_status status = tni_fit_find_layers(session, err);
    fit->tries = tni_arena_take_array(&session->arena, MOST_TRIES, sizeof *fit->tries);
    fit->shares = tni_arena_take_array(&session->arena, session->placement.split_count,
                                       sizeof *fit->shares);
    if (status == TN_OK && (!fit->tries || !fit->shares))
        status = tni_fail_memory(err, "a placement", MOST_TRIES * sizeof *fit->tries);
    if (status != TN_OK)
        return status;
    list_tries(session);
    if (rounds == TN_E_DEVICE_MEMORY && session->layers.count &&
        is_settled_by_least(session, &rounds))
        return rounds;
    tni_fit_try *best = fit->tries, *last = best;
    best->is_tried = true;
    best->status = rounds;
    if (rounds == TN_OK) {
        note_cost(session, best);
        note_arena(session);
    }
    status = try_from(session, 1, &best, &last, err);
    uint32_t count = fit->try_count;
    if (status == TN_OK) {
        list_tries_without(session, best->held);
        status = try_from(session, count, &best, &last, err);
    }
    if (status != TN_OK)
        return status;
    fit->chosen = (uint32_t)(best - fit->tries);
    if (best->status != TN_OK) {
        take_strategy(session, fit->tries);
        return rounds;
    }
    return best == last ? TN_OK : do_again(session, best, err);
}

// Whether what is free is better for somebody who wants all layers off the CPU.
static bool is_better_than(const tn_session *session, uint32_t offloaded, const tni_fit_try *asked)
{
    tni_fit_try now;
    uint32_t count = tni_fit_count_offloaded(session);
    note_cost(session, &now);
    return count > offloaded || (count == offloaded && now.cost_ns < asked->cost_ns);
}

tn_status tni_fit_beside_all(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    const tni_placement as_asked = session->placement;
    uint32_t asked_layers = fit->asked_layers, offloaded = tni_fit_count_offloaded(session);
    tni_fit_try asked = { .offloaded = 0 };
    tn_error why;
    if (offloaded >= asked_layers)
        return TN_OK;
    uint64_t split_places = session->layers.split_places;
    uint64_t *asked_bytes = fit->asked_bytes;   // these are told, whatever is tried now
    fit->asked_bytes = tni_arena_take_array(&session->arena, session->lane_count,
                                            sizeof *fit->asked_bytes);
    if (!fit->asked_bytes)
        return tni_fail_memory(err, "a placement", session->lane_count * sizeof *asked_bytes);
    note_cost(session, &asked);
    session->placement.layer_rule = TN_LAYERS_AUTO;
    session->layers.offloaded = 0;
    tn_status status = tni_fit_in_rounds(session, &why);
    if (status == TN_OK || status == TN_E_DEVICE_MEMORY)
        status = tni_fit_beside(session, status, &why);
    bool is_better = status == TN_OK && is_better_than(session, offloaded, &asked);
    fit->asked_layers = asked_layers;
    if (status == TN_E_HOST_MEMORY)
        return tn_error_set(err, status, why.text);
    if (is_better) {
        fit->asked_bytes = asked_bytes;
        session->layers.split_places = split_places;
        fit->is_spread = tni_fit_count_offloaded(session) < asked_layers;
        return TN_OK;
    }
    session->placement = as_asked;
    fit->try_count = fit->untried_count = fit->chosen = 0;
    fit->without = 0;
    fit->held_place = TNP_NONE;
    fit->is_spread = false;
    status = tni_fit_try_layers(session, asked.offloaded, err);
    fit->asked_bytes = asked_bytes;
    return status;
}
