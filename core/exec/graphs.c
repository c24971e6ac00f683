// graphs.c: the graphs of a session. Each has tables of its own, so that one can go alone, and a
// number that no other ever has.
#include "base/alloc.h"
#include "base/error.h"
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
    tni_arena_finish(&compiled->arena);
    *compiled = (tni_compiled){ .given = compiled->given, .graph = compiled->given.graph };
    tni_arena_init(&compiled->arena, &session->arena.allocator);
}

void tni_graphs_remove(tn_session *session, uint32_t at)
{
    tni_compiled *compiled = session->graphs[at];
    tni_graphs_unmake(session, compiled);
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

static tn_status make(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tn_status status = tni_states_collect(session, compiled, err);
    if (status == TN_OK)
        status = tni_session_schedule(session, compiled, err);
    if (status == TN_OK)
        status = tni_arrange(session, compiled, err);
    if (status == TN_OK)
        status = tni_queues_make(session, err);
    return status == TN_OK ? tni_programs_make(session, compiled, err) : status;
}

typedef struct adding {
    const tn_graph *graph;
    uint32_t number;
} adding;

// A graph that does not come in has changed nothing. A device that has no room for it goes on with
// what it has.
static tn_status try_add(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    adding *a = attempt->arguments;
    tni_compiled *compiled = tni_graphs_add(session, a->graph, err);
    if (!compiled)
        return TN_E_HOST_MEMORY;
    tn_status status = make(session, compiled, err);
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
