// states.c: bytes kept between runs. Graphs of one session that have a state of the same name share
// it, so it lives on one device: the one that the first graph puts it on.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "exec/hang.h"
#include "exec/session.h"

static tni_state *find_state(tn_session *session, const char *name)
{
    for (uint32_t i = 0; i < session->state_count; i++)
        if (strcmp(session->states[i].name, name) == 0)
            return &session->states[i];
    return NULL;
}

static uint32_t count_states(const tn_graph *graph)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < graph->storage_count; s++)
        count += tni_storage_source(graph, s) == TNI_STATE;
    return count;
}

static bool is_same(const tni_state *state, const tni_value *value)
{
    return state->dtype == value->dtype && !memcmp(state->dims, value->dims, sizeof state->dims);
}

// The name is copied: the graph may go before the session does. NULL when there is no memory.
static tni_state *add(tn_session *session, const tni_value *value, uint64_t bytes)
{
    const char *name = tni_arena_take_text(&session->lasting, value->name);
    if (!name)
        return NULL;
    tni_state *state = &session->states[session->state_count++];
    *state = (tni_state){ .name = name,
                          .dtype = value->dtype,
                          .bytes = bytes,
                          .rank = value->rank,
                          .place = TNP_NONE,
                          .may_be = UINT64_MAX,
                          .wished = UINT64_MAX };
    memcpy(state->dims, value->dims, sizeof state->dims);
    return state;
}

tn_status tni_states_make_table(tn_session *session, tn_error *err)
{
    uint32_t most = 0;
    for (uint32_t g = 0; g < session->graph_count; g++)
        most += count_states(session->graphs[g]->graph);
    session->states = tni_arena_take_array(&session->lasting, most, sizeof *session->states);
    return session->states
               ? TN_OK
               : tni_fail_memory(err, "a table of states", most * sizeof *session->states);
}

tn_status tni_states_collect(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    compiled->state_of = tni_arena_take_indices(&compiled->arena, graph->storage_count);
    if (!compiled->state_of)
        return tni_fail_memory(err, "a table of states",
                               graph->storage_count * sizeof *compiled->state_of);
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_value *value = &graph->values[graph->storages[s].owner];
        if (value->source != TNI_STATE)
            continue;
        tni_state *state = find_state(session, value->name);
        if (!state && session->is_reserved)
            return tni_fail(err, TN_E_GRAPH, "the session has no state '%s'", value->name);
        if (!state && !(state = add(session, value, graph->storages[s].bytes)))
            return tni_fail_memory(err, "a state's name", strlen(value->name) + 1);
        if (!is_same(state, value))
            return tni_fail(err, TN_E_GRAPH,
                            "state '%s' differs in type or dims between the graphs of the session",
                            value->name);
        compiled->state_of[s] = (uint32_t)(state - session->states);
    }
    return TN_OK;
}

// ------------------------------------------------------------------------------------------- bytes

enum { PIECE_BYTES = 4096, ALIGNMENT = 64 };

// What is zero already is only read: pages that no run has touched stay the system's shared zero
// page and take no memory.
static void clear_host(unsigned char *at, uint64_t bytes)
{
    static const unsigned char zeros[PIECE_BYTES];
    for (uint64_t piece; bytes; at += piece, bytes -= piece) {
        piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        if (memcmp(at, zeros, piece) != 0)
            memset(at, 0, piece);
    }
}

tn_status tni_state_clear(tn_session *session, tni_state *state, uint64_t from, tn_error *err)
{
    if (from >= state->bytes)
        return TN_OK;
    if (state->map) {
        clear_host((unsigned char *)state->map + from, state->bytes - from);
        return TN_OK;
    }
    tnp_copy zeros = { .size = sizeof zeros,
                       .to_buffer = state->buffer,
                       .to_offset = from,
                       .bytes = state->bytes - from,
                       .rows = 1 };
    return tni_lane_copy(&session->lanes[state->place], &zeros, err);
}

// A device that computes in the host's memory takes zeroed pages of the host: they need no clearing
// and cost neither time nor memory until a run touches them. false: not here, or no memory.
static bool allocate_fresh(tn_session *session, tni_state *state)
{
    const uint32_t needed = TNP_MEMORY_HOST_VISIBLE | TNP_MEMORY_HOST_CACHED;
    tni_lane *lane = &session->lanes[state->place];
    uint64_t alignment = lane->memory.alignment_bytes > ALIGNMENT ? lane->memory.alignment_bytes
                                                                  : ALIGNMENT;
    size_t room;
    if (!tni_is_cpu(lane->device) || (lane->memory.flags & needed) != needed ||
        (lane->memory.max_buffer_bytes && state->bytes > lane->memory.max_buffer_bytes) ||
        !tni_add_size(state->bytes, alignment - 1, &room))
        return false;
    void *host = tni_alloc_zeroed(&session->arena.allocator, 1, room);
    if (!host)
        return false;
    void *map = (unsigned char *)host + (-(uintptr_t)host & (alignment - 1));
    if (!tni_lane_import(lane, 0, 0, map, state->bytes, &state->buffer)) {
        tni_free(&session->arena.allocator, host);
        return false;
    }
    state->host = host;
    state->map = map;
    return true;
}

static tn_status allocate(tn_session *session, tni_state *state, tn_error *err)
{
    char what[200];
    tni_format_text(what, sizeof what, "state '%s'", state->name);
    tn_status status = tni_lane_allocate(&session->lanes[state->place], state->bytes, what,
                                         &state->buffer, &state->map, err);
    return status == TN_OK ? tni_state_clear(session, state, 0, err) : status;
}

tn_status tni_states_allocate(tn_session *session, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++) {
        if (session->states[i].bytes && !allocate_fresh(session, &session->states[i]))
            status = allocate(session, &session->states[i], err);
    }
    return status;
}

tn_status tni_states_clear(tn_session *session, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++)
        status = tni_state_clear(session, &session->states[i], 0, err);
    return status;
}

uint32_t tni_states_on(const tn_session *session, uint32_t place, uint64_t *out_bytes)
{
    uint32_t count = 0;
    *out_bytes = 0;
    for (uint32_t i = 0; i < session->state_count; i++)
        if (session->states[i].place == place) {
            *out_bytes += session->states[i].bytes;
            count++;
        }
    return count;
}

void tni_states_release(tn_session *session)
{
    for (uint32_t i = 0; i < session->state_count; i++) {
        tni_state *state = &session->states[i];
        if (state->buffer)
            session->lanes[state->place].table->buffer_free(state->buffer);
        if (!tni_hang_is_any(session))
            tni_free(&session->arena.allocator, state->host);
        state->place = TNP_NONE;
        state->may_be = UINT64_MAX;
        state->buffer = NULL;
        state->map = state->host = NULL;
    }
}

tn_status tni_state_read(tn_session *session, tni_state *state, void *to, uint64_t from,
                         uint64_t bytes, tn_error *err)
{
    if (bytes && state->map)
        memcpy(to, (const unsigned char *)state->map + from, bytes);
    if (bytes == 0 || state->map)
        return TN_OK;
    tnp_copy copy = { .size = sizeof copy,
                      .from_buffer = state->buffer,
                      .from_offset = from,
                      .to_host = to,
                      .bytes = bytes,
                      .rows = 1 };
    return tni_lane_copy(&session->lanes[state->place], &copy, err);
}

tn_status tni_state_write(tn_session *session, tni_state *state, const void *data, uint64_t bytes,
                          tn_error *err)
{
    if (bytes && state->map)
        memcpy(state->map, data, bytes);
    if (bytes == 0 || state->map)
        return TN_OK;
    tnp_copy copy = { .size = sizeof copy,
                      .to_buffer = state->buffer,
                      .from_host = data,
                      .bytes = bytes,
                      .rows = 1 };
    return tni_lane_copy(&session->lanes[state->place], &copy, err);
}
