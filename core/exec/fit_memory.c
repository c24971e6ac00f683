// fit_memory.c: what memory there is on each lane, and what weights, states, programs and arenas
// take of it.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "exec/fit_internal.h"

static tn_status take_tables(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    uint64_t **tables[] = { &fit->free_bytes,  &fit->alignments, &fit->largest,
                            &fit->arena,       &fit->weights,    &fit->program_bytes,
                            &fit->needed,      &fit->unlimited,  &fit->unlimited_beside,
                            &fit->asked_bytes, &fit->best_arena, &fit->there };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        *tables[i] = tni_arena_take_array(&session->arena, session->lane_count, sizeof **tables[i]);
        if (!*tables[i])
            return tni_fail_memory(err, "a session", session->lane_count * sizeof **tables[i]);
    }
    return TN_OK;
}

// Of whole multiples of the alignment; of what is there already, as of what is free.
static uint64_t largest_buffer(const tnp_memory_info *memory, uint64_t free_bytes)
{
    uint64_t most = memory->max_buffer_bytes ? memory->max_buffer_bytes : UINT64_MAX;
    most = free_bytes < most ? free_bytes : most;
    most -= most == UINT64_MAX ? 0 : most % memory->alignment_bytes;
    return memory->max_binding_bytes && memory->max_binding_bytes < most ? memory->max_binding_bytes
                                                                         : most;
}

static void note_memory(tn_session *session)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tnp_memory_info *memory = &session->lanes[i].memory;
        uint64_t most_bytes = session->lanes[i].most_bytes;
        uint64_t free_bytes = tni_memory_free(memory);
        session->fit.free_bytes[i] = most_bytes < free_bytes ? most_bytes : free_bytes;
        session->fit.alignments[i] = memory->alignment_bytes;
        session->fit.largest[i] = largest_buffer(memory, tni_fit_reach(session, i));
    }
}

tn_status tni_fit_begin(tn_session *session, tn_error *err)
{
    tn_status status = take_tables(session, err);
    if (status == TN_OK)
        status = tni_fit_find_shared(session, err);
    if (status == TN_OK)
        note_memory(session);
    session->fit.most_ns = INFINITY;
    session->fit.short_place = session->fit.held_place = TNP_NONE;
    return status;
}

// --------------------------------------------------------------------------------------- constants

static void add_up(tn_session *session)
{
    tni_fit *fit = &session->fit;
    memset(fit->weights, 0, session->lane_count * sizeof *fit->weights);
    for (uint32_t i = 0; i < fit->resident_count; i++)
        if (!tni_fit_is_shared(session, &fit->resident[i]))
            fit->weights[fit->resident[i].place] += fit->resident[i].bytes;
}

tn_status tni_fit_note_resident(tn_session *session, const tni_compiled *compiled,
                                const tni_schedule *schedule, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tni_memories how = { .mapped = compiled->mapped,
                         .mapped_count = schedule->given->storage_count,
                         .alignments = fit->alignments };
    for (uint32_t u = 0; u < schedule->unit_count; u++) {
        const tni_claim *unit = schedule->units[u];
        uint32_t count = tni_resident_bytes_of(schedule->graph, unit, &how, NULL);
        if (!tni_grow(&session->arena.allocator, &fit->resident, &fit->resident_capacity,
                      fit->resident_count + count, sizeof *fit->resident))
            return tni_fail_memory(err, "a table of weights",
                                   (fit->resident_count + count) * sizeof *fit->resident);
        fit->resident_count += tni_resident_bytes_of(schedule->graph, unit, &how,
                                                     fit->resident + fit->resident_count);
        fit->program_bytes[unit->place] += unit->resident_bytes;
    }
    fit->resident_count = tni_resident_bytes_sort(fit->resident, fit->resident_count);
    add_up(session);
    return TN_OK;
}

tn_status tni_fit_count_again(tn_session *session, const tni_compiled *without, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tn_status status = TN_OK;
    memset(fit->program_bytes, 0, session->lane_count * sizeof *fit->program_bytes);
    fit->resident_count = 0;
    add_up(session);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        if (session->graphs[g] != without)
            status = tni_fit_note_resident(session, session->graphs[g],
                                           &session->graphs[g]->schedule, err);
    return status;
}

// ---------------------------------------------------------------------------- against what is free

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

uint64_t tni_fit_arena_bytes(const tn_session *session, uint32_t place)
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

static bool has_room(const tn_session *session, uint32_t place, const tni_state *state)
{
    uint64_t taken = tni_fit_arena_bytes(session, place), room = tni_fit_room(session, place, NULL);
    return state->bytes <= session->fit.largest[place] && taken <= room &&
           state->bytes <= room - taken;
}

// A CPU first: of those with room the first one, else the first.
void tni_fit_place_idle_states(tn_session *session)
{
    for (uint32_t s = 0; s < session->state_count; s++) {
        tni_state *state = &session->states[s];
        uint32_t best = 0;
        if (state->place != TNP_NONE)
            continue;
        for (uint32_t p = 1; p < session->lane_count; p++) {
            bool is_roomier = has_room(session, p, state) && !has_room(session, best, state);
            bool is_as_roomy = has_room(session, p, state) == has_room(session, best, state);
            if (is_roomier || (is_as_roomy && tni_is_cpu(session->devices[p]) &&
                               !tni_is_cpu(session->devices[best])))
                best = p;
        }
        state->place = best;
    }
}

// A buffer that a device is to make.
typedef struct piece {
    const char *kind, *name;
    uint64_t bytes;
} piece;

// Of the weight as the application has it. A pack has the bytes of its own. The first part of a
// weight begins where the whole does, which has more bytes than are resident.
static piece piece_of(const tn_session *session, const tni_resident_bytes *resident)
{
    piece found = { "weight", "", 0 };
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tn_graph *graph = session->graphs[g]->graph;
        for (uint32_t s = 0; s < graph->storage_count; s++) {
            const tni_value *owner = &graph->values[graph->storages[s].owner];
            uint64_t bytes = graph->storages[s].bytes;
            if (owner->source != TNI_WEIGHT || owner->data != resident->data ||
                owner->run_bytes != resident->run_bytes)
                continue;
            if (resident->layout)
                return (piece){ "pack of weight", owner->name, resident->bytes };
            if (bytes <= resident->bytes && bytes > found.bytes)
                found = (piece){ "weight", owner->name, bytes };
        }
    }
    return found.bytes ? found : (piece){ "weight", "", resident->bytes };
}

// Of what lies on a place in one piece the largest: a part of the arena is a multiple of the
// alignment at least.
static piece largest_piece(const tn_session *session, uint32_t place)
{
    const tni_fit *fit = &session->fit;
    piece largest = { "arena", "", session->lanes[place].arena_bytes ? fit->alignments[place] : 0 };
    for (uint32_t i = 0; i < fit->resident_count; i++)
        if (fit->resident[i].place == place && fit->resident[i].bytes > largest.bytes) {
            piece weight = piece_of(session, &fit->resident[i]);
            largest = weight.bytes > largest.bytes ? weight : largest;
        }
    for (uint32_t s = 0; s < session->state_count; s++) {
        const tni_state *state = &session->states[s];
        if (state->place == place && state->bytes > largest.bytes)
            largest = (piece){ "state", state->name, state->bytes };
    }
    return largest;
}

static tn_status check_buffers(const tn_session *session, uint32_t place, tn_error *err)
{
    const tni_lane *lane = &session->lanes[place];
    uint64_t most = lane->memory.max_buffer_bytes;
    piece largest = most ? largest_piece(session, place) : (piece){ 0 };
    return largest.bytes <= most
               ? TN_OK
               : tni_fail(err, TN_E_DEVICE_MEMORY,
                          "%s: %s '%s' needs %" PRIu64
                          " bytes in one buffer, the largest possible has %" PRIu64,
                          lane->device->name, largest.kind, largest.name, largest.bytes, most);
}

void tni_fit_note_short(tn_session *session, uint32_t place)
{
    if (session->fit.short_place == TNP_NONE)
        session->fit.short_place = place;
}

tn_status tni_fit_check_memory(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        uint64_t states = tni_fit_state_bytes(session, i, NULL),
                 arena = tni_fit_arena_bytes(session, i);
        uint64_t weights = fit->weights[i] + fit->program_bytes[i], needed = 0;
        bool fits = tni_add_u64(arena, states, &needed) && tni_add_u64(needed, weights, &needed);
        fit->needed[i] = fits ? needed : UINT64_MAX;
        bool is_short = !fits || (fit->free_bytes[i] != UINT64_MAX && needed > fit->free_bytes[i]);
        if (status != TN_OK)
            continue;
        if (is_short)
            status = tni_fail(err, TN_E_DEVICE_MEMORY,
                              "%s: %" PRIu64
                              " bytes are needed for weights, states and the arena (%" PRIu64
                              ", %" PRIu64 " and %" PRIu64 "), %" PRIu64 " are free",
                              session->lanes[i].device->name, fit->needed[i], weights, states,
                              arena, fit->free_bytes[i]);
        else
            status = check_buffers(session, i, err);
        if (status != TN_OK)
            tni_fit_note_short(session, i);
    }
    return status;
}
