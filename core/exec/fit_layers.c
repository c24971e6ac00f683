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
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = tni_layers_place(&session->placement, session->devices, session->lane_count,
                                        session->fit.free_bytes, offloaded, &scratch,
                                        &session->layers, err);
    tni_arena_finish(&scratch);
    return status;
}

// What layers may take of a place, by the placement at hand without limits. Of a device that uses
// weights where they lie, what layers have is not what they take.
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

// The devices of the split share what is offloaded as they are asked to, or, where that is more
// than one has room for, within what each has.
static tn_status try_layers(tn_session *session, uint32_t offloaded, tn_error *err)
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
    for (uint32_t tries = 0; status == TN_E_DEVICE_MEMORY && is_divided && tries < MOST_TRIES &&
                             learn_room(session, tries);
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

uint32_t tni_fit_count_layers(const tn_session *session, uint32_t *counts)
{
    const tni_compiled *c = session->graphs[0];
    uint32_t divided = 0;
    memset(counts, 0, session->lane_count * sizeof *counts);
    for (uint32_t i = 0; i < session->layers.count; i++) {
        uint32_t nodes[TNI_MAX_PLACES] = { 0 }, most = 0;
        uint64_t parts = 0;   // places of them
        for (uint32_t n = 0; n < c->graph->node_count; n++) {
            tni_mark mark = c->graph->nodes[n].mark;
            if (mark.layer != session->layers.marks[i])
                continue;
            if (mark.part != TN_NO_PART)
                parts |= UINT64_C(1) << c->schedule.places[n];
            if (++nodes[c->schedule.places[n]] > nodes[most])
                most = c->schedule.places[n];
        }
        bool is_divided = (parts & (parts - 1)) != 0;
        divided += is_divided;
        counts[most] += !is_divided && nodes[most] > 0;
    }
    return divided;
}

uint32_t tni_fit_count_offloaded(const tn_session *session)
{
    uint32_t counts[TNI_MAX_PLACES], sum = tni_fit_count_layers(session, counts);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (session->devices[p]->info.kind != TNP_KIND_CPU)
            sum += counts[p];
    return sum;
}

// The most layers below what was asked that fit. err: of what is no lack of memory.
static tn_status fit_fewer(tn_session *session, tn_error *err)
{
    uint32_t low = 0, high = session->fit.asked_layers, tried = high;   // fits perhaps; does not
    tn_error last;
    tn_status status = TN_E_DEVICE_MEMORY;
    bool is_any = false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        tried = middle;
        status = try_layers(session, middle, &last);
        if (status == TN_OK) {
            is_any = true;
            low = middle + 1;
        } else if (status == TN_E_DEVICE_MEMORY) {
            high = middle;
        } else {
            if (err)
                *err = last;
            return status;
        }
    }
    if (!is_any)
        return TN_E_DEVICE_MEMORY;
    return tried == low - 1 ? TN_OK : try_layers(session, low - 1, err);
}

static tn_status find_layers(tn_session *session, tn_error *err)
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
    tn_status status = find_layers(session, err);
    uint32_t asked = session->layers.count;
    if (p->layer_rule == TN_LAYERS_COUNT && p->gpu_layers < asked)
        asked = p->gpu_layers;
    session->fit.asked_layers = asked;
    if (status == TN_OK)
        status = tni_fit_warn_of_pins(session, err);
    if (status == TN_OK)
        status = try_layers(session, asked, err);
    if (status == TN_E_DEVICE_MEMORY && session->layers.rest_places)
        status = fit_fewer(session, err);   // where none fits, err says what was needed at first
    return status;
}

// ---------------------------------------------------------------------------------- beside rounds

static const struct {
    uint32_t split_mode, layer_rule;
} strategies[TNI_FIT_STRATEGIES] = {
    [TNI_FIT_NODES] = { TN_SPLIT_FREE, TN_LAYERS_AUTO },
    [TNI_FIT_OFFLOADED] = { TN_SPLIT_FREE, TN_LAYERS_ALL },
    [TNI_FIT_CUT] = { TN_SPLIT_LAYER, TN_LAYERS_ALL },
};

// How many times as long the graphs take, on average over them.
static double compare(const double *costs, const double *others, uint32_t count)
{
    double sum = 0;
    for (uint32_t g = 0; g < count; g++)
        sum += others[g] > 0 ? costs[g] / others[g] : 1;
    return sum / count;
}

static tn_status note_costs(tn_session *session, tni_fit_try *to, tn_error *err)
{
    to->costs_ns = tni_arena_take_array(&session->arena, session->graph_count,
                                        sizeof *to->costs_ns);
    for (uint32_t g = 0; g < session->graph_count && to->costs_ns; g++)
        to->costs_ns[g] = session->graphs[g]->schedule.cost_ns;
    to->offloaded = session->layers.offloaded;
    return to->costs_ns
               ? TN_OK
               : tni_fail_memory(err, "a session", session->graph_count * sizeof *to->costs_ns);
}

// What later graphs are placed by, too.
static void take_strategy(tn_session *session, tni_fit_strategy strategy)
{
    session->placement.split_mode = strategies[strategy].split_mode;
    session->placement.layer_rule = strategies[strategy].layer_rule;
    session->fit.asked_layers = strategy == TNI_FIT_NODES ? 0 : session->layers.count;
    session->fit.strategy = strategy;
}

static tn_status try_strategy(tn_session *session, tni_fit_strategy strategy, tn_error *err)
{
    take_strategy(session, strategy);
    tn_status status = TN_E_DEVICE_MEMORY;
    if (strategy == TNI_FIT_CUT)   // all of them: the rounds have not tried that
        status = try_layers(session, session->layers.count, err);
    return status == TN_E_DEVICE_MEMORY ? fit_fewer(session, err) : status;
}

// Makes it again as it was tried.
static tn_status do_again(tn_session *session, tni_fit_strategy strategy, tn_error *err)
{
    take_strategy(session, strategy);
    if (strategy != TNI_FIT_NODES)
        return try_layers(session, session->fit.tries[strategy].offloaded, err);
    session->layers.count = session->layers.offloaded = 0;
    return tni_fit_in_rounds(session, err);
}

// CPUs that layers can be left on, and other devices.
static void count_devices(const tn_session *session, uint32_t *cpus, uint32_t *others)
{
    *cpus = *others = 0;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        bool is_cpu = session->devices[i]->info.kind == TNP_KIND_CPU;
        *cpus += is_cpu;
        *others += !is_cpu;
    }
}

tn_status tni_fit_layers_beside(tn_session *session, tn_status rounds, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tni_fit_strategy best = TNI_FIT_NODES, last = TNI_FIT_NODES;
    uint32_t cpus, others;
    tn_status status = find_layers(session, err);
    fit->tries[TNI_FIT_NODES].status = rounds;
    if (status == TN_OK && rounds == TN_OK)
        status = note_costs(session, &fit->tries[TNI_FIT_NODES], err);
    count_devices(session, &cpus, &others);
    if (status != TN_OK || session->layers.count == 0 || !cpus || !others)
        return status == TN_OK ? rounds : status;
    fit->has_tried = true;
    for (tni_fit_strategy strategy = TNI_FIT_OFFLOADED; strategy < TNI_FIT_STRATEGIES; strategy++) {
        tni_fit_try *now = &fit->tries[strategy];
        tn_error why;
        now->status = TN_E_UNSUPPORTED;   // with one device there is nothing to cut
        if (strategy == TNI_FIT_CUT && others == 1)
            continue;
        last = strategy;
        now->status = try_strategy(session, strategy, &why);
        if (now->status == TN_E_HOST_MEMORY)
            return tn_error_set(err, now->status, why.text);
        if (now->status == TN_OK)
            status = note_costs(session, now, err);
        if (status != TN_OK)
            return status;
        if (now->status == TN_OK &&
            (fit->tries[best].status != TN_OK ||
             compare(now->costs_ns, fit->tries[best].costs_ns, session->graph_count) < 1))
            best = strategy;
    }
    for (tni_fit_strategy strategy = TNI_FIT_NODES; strategy < TNI_FIT_STRATEGIES; strategy++)
        if (fit->tries[strategy].status == TN_OK)
            fit->tries[strategy].times = compare(fit->tries[strategy].costs_ns,
                                                 fit->tries[best].costs_ns, session->graph_count);
    if (fit->tries[best].status != TN_OK) {
        take_strategy(session, TNI_FIT_NODES);
        session->layers.count = session->layers.offloaded = 0;
        return rounds;
    }
    return best == last ? TN_OK : do_again(session, best, err);
}
