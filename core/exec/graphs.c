// graphs.c: the graphs of a session. Each has tables of its own, so that one can go alone, and a
// number that no other ever has.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/hang.h"
#include "exec/session.h"

tni_compiled *tni_graphs_add(tn_session *session, const tn_graph *graph, tn_error *err)
{
    const tn_allocator *allocator = &session->arena.allocator;
    tni_compiled *compiled = NULL;
    if (tni_grow(allocator, &session->graphs, &session->graph_capacity, session->graph_count + 1,
                 sizeof *session->graphs))
        compiled = tni_alloc_zeroed(allocator, 1, sizeof *compiled);
    if (!compiled) {
        tni_fail_memory(err, "a graph of a session", sizeof *compiled);
        return NULL;
    }
    tni_arena_init(&compiled->given.arena, allocator);
    tni_arena_init(&compiled->arena, allocator);
    compiled->given.number = session->next_number++;
    compiled->given.runs = 1;
    compiled->given.graph = compiled->graph = graph;
    compiled->given.fingerprint = graph->fingerprint;
    session->graphs[session->graph_count++] = compiled;
    if (tni_feeds_make(compiled, err) == TN_OK)
        return compiled;
    tni_graphs_remove(session, session->graph_count - 1);
    session->next_number--;   // nobody has seen it
    return NULL;
}

void tni_graphs_unmake(tn_session *session, tni_compiled *compiled)
{
    tni_programs_release(session, compiled);
    tni_weights_release(session, compiled);   // some of their bytes are the schedule's own graph's
    tni_answers_finish(&compiled->answers);
    tni_schedule_finish(&compiled->schedule);
    session->has_given_up |= tni_hang_is_any(session);
    if (!tni_hang_is_any(session))
        tni_arena_finish(&compiled->arena);
    *compiled = (tni_compiled){ .given = compiled->given, .graph = compiled->given.graph };
    tni_arena_init(&compiled->arena, &session->arena.allocator);
}

void tni_graphs_remove(tn_session *session, uint32_t at)
{
    tni_compiled *compiled = session->graphs[at];
    tni_graphs_unmake(session, compiled);
    if (!session->has_given_up)
        tni_arena_finish(&compiled->given.arena);
    tni_free(&session->arena.allocator, compiled);
    session->graph_count--;
    for (uint32_t g = at; g < session->graph_count; g++)
        session->graphs[g] = session->graphs[g + 1];
}

tn_status tni_graphs_find(const tn_session *session, uint32_t number, const char *what,
                          uint32_t *out_at, tn_error *err)
{
    uint32_t low = 0, high = session->graph_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (session->graphs[middle]->given.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    *out_at = low;
    if (low < session->graph_count && session->graphs[low]->given.number == number)
        return TN_OK;
    if (number < session->next_number)
        return tni_fail(err, TN_E_ARG, "%s: graph %u was dropped", what, number);
    return tni_fail(err, TN_E_ARG, "%s: there is no graph %u, the session was given %u", what,
                    number, session->next_number);
}

// The same ops on the same operands; shapes may differ.
static bool is_alike(const tn_graph *a, const tn_graph *b)
{
    if (a->node_count != b->node_count || a->value_count != b->value_count)
        return false;
    for (uint32_t n = 0; n < a->node_count; n++) {
        const tni_node *x = &a->nodes[n], *y = &b->nodes[n];
        if (x->op != y->op || x->output != y->output || x->input_count != y->input_count ||
            memcmp(x->inputs, y->inputs, x->input_count * sizeof *x->inputs) != 0)
            return false;
    }
    return true;
}

static tn_status make(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tn_status status = tni_states_collect(session, compiled, err);
    if (status == TN_OK)
        status = tni_session_schedule(session, compiled, err);
    if (status == TN_OK)
        status = tni_arrange(session, compiled, err);
    if (status == TN_OK)
        status = tni_queues_make(session, err);
    return status == TN_OK ? tni_programs_make(session, &compiled, 1, err) : status;
}

typedef struct adding {
    const tn_graph *graph;
    uint32_t number;
} adding;

// As `make`, from the beginning. *out_short: the place without room for it; TNP_NONE.
static tn_status make_again(tn_session *session, tni_compiled *compiled, const tni_schedule *like,
                            uint64_t avoided, uint32_t *out_short, tn_error *err)
{
    tni_graphs_unmake(session, compiled);
    tni_candidates_blame_nobody(session);
    compiled->like = like;
    compiled->avoided = avoided;
    session->fit.short_place = TNP_NONE;
    tn_status status = make(session, compiled, err);
    uint32_t place = session->fit.short_place;
    *out_short = place != TNP_NONE ? place : atomic_load(&session->blamed);
    return status;
}

// Of the graphs that are there and alike: those that are the same, or the others.
static tn_status try_like(tn_session *session, tni_compiled *compiled, bool is_same,
                          uint32_t *out_short, tn_error *err)
{
    tn_status status = TN_E_DEVICE_MEMORY;
    for (uint32_t g = 0; g + 1 < session->graph_count && status == TN_E_DEVICE_MEMORY; g++) {
        const tni_compiled *other = session->graphs[g];
        bool has_same = other->given.fingerprint == compiled->given.fingerprint;
        if (has_same == is_same && is_alike(other->given.graph, compiled->given.graph))
            status = make_again(session, compiled, &other->schedule, 0, out_short, err);
    }
    return status;
}

// What is there twice lies as it does once. Another graph goes where it costs least; where that is
// more than is reserved, as a graph lies that is alike; and then without the places that lack room,
// one after the other. err: of the one that costs least.
static tn_status make_within(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    uint32_t short_place;
    uint64_t avoided = 0;
    tn_error last;
    tn_status status = try_like(session, compiled, true, &short_place, &last);
    if (status == TN_E_DEVICE_MEMORY) {
        status = make_again(session, compiled, NULL, 0, &short_place, err);
        last = *err;
    }
    const uint32_t first_short = short_place;
    if (status == TN_E_DEVICE_MEMORY && first_short != TNP_NONE)
        status = try_like(session, compiled, false, &short_place, &last);
    for (short_place = first_short; status == TN_E_DEVICE_MEMORY && short_place != TNP_NONE &&
                                    !(avoided >> short_place & 1);) {
        avoided |= UINT64_C(1) << short_place;
        status = make_again(session, compiled, NULL, avoided, &short_place, &last);
    }
    compiled->like = NULL;
    if (status != TN_OK && status != TN_E_DEVICE_MEMORY)
        *err = last;
    return status;
}

// A graph that does not come in has changed nothing. A device that has no room for it goes on with
// what it has.
static tn_status try_add(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    adding *a = attempt->arguments;
    tni_compiled *compiled = tni_graphs_add(session, a->graph, err);
    if (!compiled)
        return TN_E_HOST_MEMORY;
    tn_status status = make_within(session, compiled, err);
    if (status == TN_OK) {
        a->number = compiled->given.number;
    } else {
        tni_graphs_remove(session, session->graph_count - 1);
        session->next_number--;   // nobody has seen it
    }
    attempt->is_final = status == TN_E_DEVICE_MEMORY;
    return status;
}

tn_status tn_session_add(tn_session *session, const tn_graph *graph, uint32_t *out_number,
                         tn_error *err)
{
    adding a = { .graph = graph };
    tni_attempt attempt = { .call = try_add, .arguments = &a };
    tn_status status = tni_need(err, __func__, "session", session, "graph", graph, "out_number",
                                out_number, NULL);
    if (status != TN_OK)
        return status;
    if (!graph->is_finished)
        return tni_fail(err, TN_E_GRAPH, "tn_session_add: the graph is not finished");
    if (session->next_number == TNP_NONE)
        return tni_fail(err, TN_E_ARG, "tn_session_add: the session was given %u graphs, the most",
                        session->next_number);
    status = tni_failover_attempt(session, &attempt, err);
    if (status == TN_OK)
        *out_number = a.number;
    return status;
}

static tn_status begin_journal_here(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    (void)attempt;
    return tni_journal_begin_here(session, err);
}

tn_status tn_session_drop(tn_session *session, uint32_t number, tn_error *err)
{
    uint32_t at = 0;
    tn_status status = tni_need(err, __func__, "session", session, NULL);
    if (status == TN_OK)
        status = tni_graphs_find(session, number, __func__, &at, err);
    if (status != TN_OK)
        return status;
    // Runs of a graph that goes cannot be repeated: the states count as they are. Where that fails
    // so does the session, or the journal stops; the graph goes all the same.
    tni_attempt attempt = { .call = begin_journal_here };
    if (tni_journal_has(session, number))
        (void)tni_failover_attempt(session, &attempt, NULL);
    if (session->last_graph == number)
        session->last_graph = TNP_NONE;
    tni_graphs_remove(session, at);
    return TN_OK;
}

tn_status tni_graphs_compiled(const tn_session *session, uint32_t number, const char *what,
                              tni_compiled **out_compiled, tn_error *err)
{
    uint32_t at;
    tn_status status = tni_graphs_find(session, number, what, &at, err);
    if (status == TN_OK)
        *out_compiled = session->graphs[at];
    return status;
}

tn_status tni_graphs_planned(const tn_session *session, uint32_t number, const char *what,
                             tni_compiled **out_compiled, tn_error *err)
{
    tn_status status = tni_graphs_compiled(session, number, what, out_compiled, err);
    return status == TN_OK ? tni_failover_check(session, err) : status;
}

tn_status tni_graphs_value(const tni_compiled *compiled, tn_value value, const char *what,
                           const tni_value **out_value, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    if (tn_value_is_none(value))
        return tni_fail(err, TN_E_ARG,
                        "%s: the value is TN_NO_VALUE: graph %u has none of the name that was "
                        "looked up, or none was",
                        what, compiled->given.number);
    if (value.generation != graph->generation || value.index >= graph->value_count)
        return tni_fail(err, TN_E_ARG, "%s: not a value of graph %u of this session", what,
                        compiled->given.number);
    *out_value = &graph->values[value.index];
    return TN_OK;
}
