// fit.c: tries placements until one fits what is free.
//
//   as asked ─ without limits ─► fits? ─ yes ─► done
//                                  │ no
//                within limits, the arenas set aside as the layout before had them, a few rounds
//                                  │ no
//                fewer layers: the most that fit
//
// Where the placement is of layers, only these are left. Where it is free, they are tried beside
// what the rounds found, since arenas that are set aside leave no room for what would need smaller
// ones; the cheaper of both by the cost model stays.
//
// Graphs of one session share weights and states. While memory is short the first graph leads: the
// others want a weight where it has it.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/log.h"
#include "base/sink.h"
#include "exec/session.h"

enum {
    MOST_ROUNDS = 8,
    FREE_ROUNDS = 5,   // from here on what is set aside for arenas only grows
};

// ------------------------------------------------------------------------------------------ begins

static tn_status take_tables(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    uint64_t **tables[] = { &fit->free_bytes, &fit->alignments,    &fit->largest, &fit->arena,
                            &fit->weights,    &fit->program_bytes, &fit->needed };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        *tables[i] = tni_arena_take_array(&session->arena, session->lane_count, sizeof **tables[i]);
        if (!*tables[i])
            return tni_fail_memory(err, "a session", session->lane_count * sizeof **tables[i]);
    }
    return TN_OK;
}

static void note_memory(tn_session *session)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tnp_memory_info *memory = &session->lanes[i].memory;
        uint64_t most_bytes = session->lanes[i].most_bytes;
        uint64_t is_free = memory->free_bytes ? memory->free_bytes : UINT64_MAX;
        session->fit.free_bytes[i] = most_bytes < is_free ? most_bytes : is_free;
        session->fit.alignments[i] = memory->alignment_bytes;
        uint64_t most = memory->max_buffer_bytes ? memory->max_buffer_bytes : UINT64_MAX;
        if (memory->max_binding_bytes && memory->max_binding_bytes < most)
            most = memory->max_binding_bytes;
        session->fit.largest[i] = most;
    }
}

// As tni_lane_import looks at it, without a buffer of it.
static void find_mapped(const tn_session *session, uint32_t place, const tn_graph *graph,
                        uint64_t *mapped)
{
    const tn_device *device = session->lanes[place].device;
    for (uint32_t m = 0; m < device->info.memory_count && device->table->buffer_import; m++) {
        tnp_memory_info info = session->lanes[place].memory;
        if (m > 0 && tni_device_memory(device, m, &info, NULL) != TN_OK)
            continue;
        for (uint32_t s = 0; s < graph->storage_count; s++) {
            const tni_value *owner = &graph->values[graph->storages[s].owner];
            if (owner->source == TNI_WEIGHT && owner->run_bytes == 0 &&
                (!info.max_binding_bytes || graph->storages[s].bytes <= info.max_binding_bytes) &&
                tni_lane_may_import(&info, owner->data, graph->storages[s].bytes))
                mapped[s] |= UINT64_C(1) << place;
        }
    }
}

tn_status tni_fit_begin_graph(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    if (compiled->mapped)
        return TN_OK;
    compiled->mapped = tni_arena_take_array(&compiled->arena, graph->storage_count,
                                            sizeof *compiled->mapped);
    if (!compiled->mapped)
        return tni_fail_memory(err, "a placement", graph->storage_count * sizeof *compiled->mapped);
    for (uint32_t i = 0; i < session->lane_count; i++)
        find_mapped(session, i, graph, compiled->mapped);
    if (tni_placement_is_free(&session->placement))
        return TN_OK;
    compiled->rules = tni_arena_take_array(&compiled->arena, graph->node_count,
                                           sizeof *compiled->rules);
    if (!compiled->rules)
        return tni_fail_memory(err, "a placement", graph->node_count * sizeof *compiled->rules);
    return tni_placement_rules(&session->placement, &session->layers, session->devices,
                               session->lane_count, graph, compiled->rules, NULL, err);
}

// A pin that no graph has is most likely a slip.
static tn_status warn_of_pins(const tn_session *session, tn_error *err)
{
    const tni_placement *p = &session->placement;
    tni_arena scratch;
    tn_status status = TN_OK;
    if (p->pin_count == 0)
        return TN_OK;
    tni_arena_init(&scratch, &session->arena.allocator);
    bool *is_met = tni_arena_take_array(&scratch, p->pin_count, sizeof *is_met);
    for (uint32_t g = 0; g < session->graph_count && is_met && status == TN_OK; g++) {
        const tn_graph *graph = session->graphs[g]->graph;
        tni_rule *rules = tni_arena_take_array(&scratch, graph->node_count, sizeof *rules);
        status = rules ? tni_placement_rules(p, &session->layers, session->devices,
                                             session->lane_count, graph, rules, is_met, err)
                       : TN_E_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < p->pin_count && is_met && status == TN_OK; i++)
        if (!is_met[i] && (i == 0 || strcmp(p->pins[i].value, p->pins[i - 1].value) != 0))
            tni_log_line(tni_runtime_log(session->runtime), TN_LOG_WARNING,
                         "placement: '%s' is pinned to %s, but no graph has a value of this name",
                         p->pins[i].value, p->pins[i].device->name);
    if (!is_met || status == TN_E_HOST_MEMORY)
        status = tni_fail_memory(err, "a placement", p->pin_count * sizeof *is_met);
    tni_arena_finish(&scratch);
    return status;
}

// -------------------------------------------------------------------------------------------- kept

static void add_up(tn_session *session)
{
    tni_fit *fit = &session->fit;
    memset(fit->weights, 0, session->lane_count * sizeof *fit->weights);
    for (uint32_t i = 0; i < fit->kept_count; i++)
        fit->weights[fit->kept[i].place] += fit->kept[i].bytes;
}

tn_status tni_fit_note_kept(tn_session *session, const tni_compiled *compiled, tn_error *err)
{
    tni_fit *fit = &session->fit;
    const tni_schedule *schedule = &compiled->schedule;
    tni_keeping how = { .mapped = compiled->mapped,
                        .mapped_count = schedule->given->storage_count,
                        .alignments = fit->alignments };
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        const tni_claim *unit = schedule->units[u];
        uint32_t count = tni_claim_keeps(schedule->graph, unit, &how, NULL);
        if (!tni_grow(&session->arena.allocator, &fit->kept, &fit->kept_capacity,
                      fit->kept_count + count, sizeof *fit->kept))
            return tni_fail_memory(err, "a table of weights",
                                   (fit->kept_count + count) * sizeof *fit->kept);
        fit->kept_count += tni_claim_keeps(schedule->graph, unit, &how,
                                           fit->kept + fit->kept_count);
        fit->program_bytes[unit->place] += unit->resident_bytes;
    }
    fit->kept_count = tni_kept_bytes_sort(fit->kept, fit->kept_count);
    add_up(session);
    return TN_OK;
}

tn_status tni_fit_count_again(tn_session *session, const tni_compiled *without, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tn_status status = TN_OK;
    memset(fit->program_bytes, 0, session->lane_count * sizeof *fit->program_bytes);
    fit->kept_count = 0;
    add_up(session);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        if (session->graphs[g] != without)
            status = tni_fit_note_kept(session, session->graphs[g], err);
    return status;
}

// The places that keep a constant as it is.
static uint64_t places_of(const tni_fit *fit, uint32_t lane_count, const void *data)
{
    uint64_t places = 0;
    for (uint32_t p = 0; p < lane_count; p++) {
        uint32_t low = 0, high = fit->kept_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            const tni_kept_bytes *at = &fit->kept[middle];
            if (at->place < p || (at->place == p && (uintptr_t)at->data < (uintptr_t)data))
                low = middle + 1;
            else
                high = middle;
        }
        if (low < fit->kept_count && fit->kept[low].place == p && fit->kept[low].data == data)
            places |= UINT64_C(1) << p;
    }
    return places;
}

tn_status tni_fit_follow_weights(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    if (!compiled->rules) {
        compiled->rules = tni_arena_take_array(&compiled->arena, graph->node_count,
                                               sizeof *compiled->rules);
        for (uint32_t n = 0; n < graph->node_count && compiled->rules; n++)
            compiled->rules[n] = (tni_rule){ UINT64_MAX, UINT64_MAX, TNI_WHY_COST };
    }
    if (!compiled->rules)
        return tni_fail_memory(err, "a placement", graph->node_count * sizeof *compiled->rules);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, &graph->nodes[n], reads);
        for (uint32_t i = 0; i < count; i++) {
            const tni_storage *storage = &graph->storages[graph->values[reads[i]].storage];
            const tni_value *owner = &graph->values[storage->owner];
            uint64_t there = owner->source == TNI_WEIGHT
                                 ? places_of(&session->fit, session->lane_count, owner->data)
                                 : 0;
            if (!(there & compiled->rules[n].wish))
                continue;
            compiled->rules[n].wish &= there;
            compiled->rules[n].why = TNI_WHY_MEMORY;
        }
    }
    return TN_OK;
}

// ------------------------------------------------------------------------------------------ rounds

// Takes back what a round before has made of the graphs.
static tn_status start_again(tn_session *session, tn_error *err)
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
    fit->kept_count = 0;
    return status;
}

static tn_status plan_all(tn_session *session, tn_error *err)
{
    tn_status status = start_again(session, err);
    if (status == TN_OK)
        status = tni_session_agree(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        status = tni_session_schedule(session, session->graphs[g], err);
        if (status == TN_OK)
            status = tni_arrange(session, session->graphs[g], err);
    }
    uint32_t cpu = 0;
    while (cpu < session->lane_count && session->devices[cpu]->info.kind != TNP_KIND_CPU)
        cpu++;
    for (uint32_t i = 0; i < session->state_count; i++)
        if (session->states[i].place == TNP_NONE)   // no node touches it: any place does
            session->states[i].place = cpu < session->lane_count ? cpu : 0;
    return status;
}

uint64_t tni_fit_state_bytes(const tn_session *session, uint32_t place, const bool *without)
{
    uint64_t bytes = 0, alignment = session->fit.alignments[place];
    for (uint32_t s = 0; s < session->state_count; s++)
        if (session->states[s].place == place && !(without && without[s])) {
            uint64_t own = session->states[s].bytes, more = own % alignment;
            if (!tni_add_u64(bytes, own + (more ? alignment - more : 0), &bytes))
                return UINT64_MAX;
        }
    return bytes;
}

static uint64_t arena_bytes(const tn_session *session, uint32_t place)
{
    uint64_t bytes = session->lanes[place].arena_bytes, alignment = session->fit.alignments[place];
    return bytes % alignment ? bytes + alignment - bytes % alignment : bytes;
}

uint64_t tni_fit_room(const tn_session *session, uint32_t place, const bool *without)
{
    const tni_fit *fit = &session->fit;
    uint64_t taken = fit->weights[place] + fit->program_bytes[place];
    if (fit->free_bytes[place] == UINT64_MAX)
        return UINT64_MAX;
    if (!tni_add_u64(taken, tni_fit_state_bytes(session, place, without), &taken) ||
        taken > fit->free_bytes[place])
        return 0;
    return fit->free_bytes[place] - taken;
}

// Before anything is allocated: what is needed against what is free, so that a machine which
// promises more than it has does not find out later.
static tn_status check_memory(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        uint64_t states = tni_fit_state_bytes(session, i, NULL), arena = arena_bytes(session, i);
        uint64_t weights = fit->weights[i] + fit->program_bytes[i], needed = 0;
        bool fits = tni_add_u64(arena, states, &needed) && tni_add_u64(needed, weights, &needed);
        fit->needed[i] = fits ? needed : UINT64_MAX;
        if (fits && (fit->free_bytes[i] == UINT64_MAX || needed <= fit->free_bytes[i]))
            continue;
        fit->short_place = i;
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "%s: %" PRIu64
                        " bytes are needed for weights, states and the arena (%" PRIu64 ", %" PRIu64
                        " and %" PRIu64 "), %" PRIu64
                        " are free: a shorter context or smaller types need less",
                        session->lanes[i].device->name, fit->needed[i], weights, states, arena,
                        fit->free_bytes[i]);
    }
    return TN_OK;
}

// What the next round sets aside. Whether that differs.
static bool set_arenas_aside(tn_session *session, uint32_t round)
{
    tni_fit *fit = &session->fit;
    bool differs = false;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        uint64_t had = fit->arena[i], has = arena_bytes(session, i);
        uint64_t next = round == 0 ? 0 : round >= FREE_ROUNDS && had > has ? had : has;
        differs |= round == 0 || next != had;
        fit->arena[i] = next;
    }
    return differs;
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
            c->wanted[s->own_graph ? s->graph->nodes[n].origin : n] = s->places[n];
    }
    return TN_OK;
}

// What is elsewhere now is there because of memory.
static void mark_moved(tn_session *session)
{
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tni_compiled *c = session->graphs[g];
        const tni_schedule *s = &c->schedule;
        for (uint32_t n = 0; n < s->graph->node_count && c->wanted; n++) {
            uint32_t wanted = c->wanted[s->own_graph ? s->graph->nodes[n].origin : n];
            if (wanted != s->places[n] && (s->why[n] == TNI_WHY_COST || s->why[n] == TNI_WHY_LAYER))
                s->why[n] = TNI_WHY_MEMORY;
        }
    }
}

// err: of the first round, which knows what everything together needs, unless it was another
// failure.
static tn_status fit_in_rounds(tn_session *session, tn_error *err)
{
    tn_error last;
    session->fit.is_short = false;
    tn_status status = plan_all(session, err);
    if (status == TN_OK)
        status = note_wanted(session, err);
    if (status == TN_OK)
        status = check_memory(session, err);
    for (uint32_t round = 0; round < MOST_ROUNDS && status == TN_E_DEVICE_MEMORY &&
                             session->lane_count > 1 && set_arenas_aside(session, round);
         round++) {
        session->fit.is_short = true;
        status = plan_all(session, &last);
        if (status == TN_OK)
            status = check_memory(session, &last);
        else if (status == TN_E_DEVICE_MEMORY)
            break;
        if (status != TN_OK && status != TN_E_DEVICE_MEMORY && err)
            *err = last;
    }
    return status;
}

static tn_status try_layers(tn_session *session, uint32_t offloaded, tn_error *err)
{
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = tni_layers_place(&session->placement, session->devices, session->lane_count,
                                        session->fit.free_bytes, offloaded, &scratch,
                                        &session->layers, err);
    tni_arena_finish(&scratch);
    return status == TN_OK ? fit_in_rounds(session, err) : status;
}

// ------------------------------------------------------------------------------------------ layers

// How many layers run on each place, as the first graph has them: where most nodes of a layer are.
// Answers how many others are divided.
static uint32_t count_layers(const tn_session *session, uint32_t *counts)
{
    const tni_compiled *c = session->graphs[0];
    uint32_t divided = 0;
    memset(counts, 0, session->lane_count * sizeof *counts);
    for (uint32_t i = 0; i < session->layers.count; i++) {
        uint32_t nodes[TNI_MAX_PLACES] = { 0 }, most = 0;
        bool has_parts = false;
        for (uint32_t n = 0; n < c->graph->node_count; n++) {
            tni_mark mark = c->graph->nodes[n].mark;
            if (mark.layer != session->layers.marks[i])
                continue;
            has_parts |= mark.part != TN_NO_PART;
            if (++nodes[c->schedule.places[n]] > nodes[most])
                most = c->schedule.places[n];
        }
        divided += has_parts;
        counts[most] += !has_parts && nodes[most] > 0;
    }
    return divided;
}

// Those that are not on CPUs.
static uint32_t count_offloaded(const tn_session *session)
{
    uint32_t counts[TNI_MAX_PLACES], sum = count_layers(session, counts);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (session->devices[p]->info.kind != TNP_KIND_CPU)
            sum += counts[p];
    return sum;
}

static void tell_fewer(const tn_session *session)
{
    tni_log_line(tni_runtime_log(session->runtime), TN_LOG_WARNING,
                 "placement: %" PRIu32 " of the %" PRIu32
                 " layers fit the memory that is free, the others are on the CPU",
                 count_offloaded(session), session->fit.asked_layers);
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
    tn_status status = graphs ? tni_layers_find(graphs, session->graph_count, &session->arena,
                                                &session->layers, err)
                              : tni_fail_memory(err, "a session",
                                                session->graph_count * sizeof *graphs);
    tni_arena_finish(&scratch);
    return status;
}

static tn_status fit_layers(tn_session *session, tn_error *err)
{
    const tni_placement *p = &session->placement;
    tn_status status = find_layers(session, err);
    uint32_t asked = session->layers.count;
    if (p->layer_rule == TN_LAYERS_COUNT && p->gpu_layers < asked)
        asked = p->gpu_layers;
    session->fit.asked_layers = asked;
    if (status == TN_OK)
        status = warn_of_pins(session, err);
    if (status == TN_OK)
        status = try_layers(session, asked, err);
    if (status != TN_E_DEVICE_MEMORY || !session->layers.rest_places)
        return status;
    status = fit_fewer(session, err);   // where none fits, err says what was needed at first
    if (status == TN_OK)
        tell_fewer(session);
    return status;
}

// How long the graphs take, each compared with what it took before; 0 = equally long.
static double compare_costs(const tn_session *session, const double *before)
{
    double sum = 0;
    for (uint32_t g = 0; g < session->graph_count; g++)
        if (before[g] > 0)
            sum += session->graphs[g]->schedule.cost_ns / before[g] - 1;
    return sum;
}

// Beside what the rounds found, or did not: whole layers, as a placement would ask for them.
static tn_status fit_layers_beside(tn_session *session, tn_status rounds, tn_error *err)
{
    double *costs = tni_arena_take_array(&session->arena, session->graph_count, sizeof *costs);
    tn_status status = costs ? find_layers(session, err)
                             : tni_fail_memory(err, "a session",
                                               session->graph_count * sizeof *costs);
    if (status != TN_OK)
        return status;
    bool is_one_cpu = false, is_one_more = false;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        bool is_cpu = session->devices[i]->info.kind == TNP_KIND_CPU;
        is_one_cpu |= is_cpu;
        is_one_more |= !is_cpu;
    }
    if (session->layers.count == 0 || !is_one_cpu || !is_one_more)
        return rounds;
    for (uint32_t g = 0; g < session->graph_count; g++)
        costs[g] = session->graphs[g]->schedule.cost_ns;
    session->fit.asked_layers = session->layers.count;
    session->placement.layer_rule = TN_LAYERS_ALL;   // also for graphs that come later
    tn_error why;
    status = fit_fewer(session, &why);
    if (status == TN_OK && (rounds != TN_OK || compare_costs(session, costs) < 0))
        return TN_OK;
    session->placement.layer_rule = TN_LAYERS_AUTO;
    session->layers.count = session->layers.offloaded = session->fit.asked_layers = 0;
    if (status == TN_E_HOST_MEMORY)
        return tn_error_set(err, status, why.text);
    return rounds == TN_OK ? fit_in_rounds(session, err) : rounds;
}

static tn_status fit(tn_session *session, tn_error *err)
{
    if (tni_placement_is_of_layers(&session->placement))
        return fit_layers(session, err);
    tn_status status = warn_of_pins(session, err);
    if (status == TN_OK)
        status = fit_in_rounds(session, err);
    bool is_short = (status == TN_OK && session->fit.is_short) || status == TN_E_DEVICE_MEMORY;
    return is_short && session->lane_count > 1 ? fit_layers_beside(session, status, err) : status;
}

tn_status tni_session_fit(tn_session *session, tn_error *err)
{
    tn_status status = take_tables(session, err);
    if (status != TN_OK)
        return status;
    note_memory(session);
    session->fit.short_place = TNP_NONE;
    status = fit(session, err);
    if (status == TN_OK)
        mark_moved(session);
    if (status == TN_E_DEVICE_MEMORY && session->fit.short_place != TNP_NONE)
        return tni_lane_blame(&session->lanes[session->fit.short_place], status);
    return status;
}

// ---------------------------------------------------------------------------------------- in words

void tni_fit_explain(const tn_session *session, const tn_sink *sink)
{
    const tni_fit *fit = &session->fit;
    const tni_layers *layers = &session->layers;
    uint32_t counts[TNI_MAX_PLACES];
    uint32_t divided = session->graph_count ? count_layers(session, counts) : 0;
    for (uint32_t p = 0; p < session->lane_count && session->graph_count; p++)
        if (counts[p])
            tni_say(sink, "placement: %s gets %" PRIu32 " of %" PRIu32 " layers\n",
                    session->lanes[p].device->name, counts[p], layers->count);
    if (divided)
        tni_say(sink, "placement: %" PRIu32 " of %" PRIu32 " layers are divided over devices\n",
                divided, layers->count);
    if (layers->count && layers->offloaded < fit->asked_layers && session->graph_count)
        tni_say(sink,
                "placement: %" PRIu32 " of the %" PRIu32 " layers fit the memory that is free\n",
                count_offloaded(session), fit->asked_layers);
    if (fit->is_short)
        tni_say(sink, "placement: by memory: what is fastest does not fit what is free\n");
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (fit->needed[p] == 0)
            continue;
        tni_say(sink,
                "%s: needs %" PRIu64 " bytes: %" PRIu64 " for weights, %" PRIu64
                " for states, %" PRIu64 " for the arena; ",
                session->lanes[p].device->name, fit->needed[p],
                fit->weights[p] + fit->program_bytes[p], tni_fit_state_bytes(session, p, NULL),
                arena_bytes(session, p));
        if (fit->free_bytes[p] == UINT64_MAX)
            tni_say(sink, "how much was free is not known\n");
        else
            tni_say(sink, "%" PRIu64 " were free\n", fit->free_bytes[p]);
    }
}
