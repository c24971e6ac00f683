// narrow.c: what the nodes of a graph ask of the bytes that stay on one place, before any of them
// is placed. With it several graphs agree on a place for bytes that they share.
#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct narrowing {
    const tni_schedule_request *request;
    tni_arena *scratch;
    uint64_t preferred;
    tni_ties ties;
    tni_takers takers;
    uint64_t *instead;   // by node: where all of what it may be decomposed into can touch them
} narrowing;

static bool touches_tied(const narrowing *w, uint32_t node)
{
    const tn_graph *graph = w->request->graph;
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    bool does = false;
    for (uint32_t i = 0; i < count; i++)
        does |= w->ties.is_tied[graph->values[values[i]].storage];
    return does;
}

// Not taken where it is preferred to be, it may still be decomposed.
static bool is_open_question(const narrowing *w, uint32_t node)
{
    const tn_graph *graph = w->request->graph;
    return !(tni_takers_of(&w->takers, node) & tni_preferred_for(w->request, w->preferred, node)) &&
           tni_composites_of(graph, &graph->nodes[node]) && touches_tied(w, node);
}

// The places that take, of what stands for each node, all that touches the given graph's storages
// which are tied.
static tn_status find_instead(narrowing *w, const tni_schedule *made, tn_error *err)
{
    const tn_graph *given = made->given, *graph = made->own_graph;
    tni_takers takers;
    if (!tni_find_takers(graph, &made->own_answers, w->request, w->scratch, &takers))
        return tni_fail_memory(err, "a schedule", graph->node_count * sizeof *takers.any);
    for (uint32_t n = 0; n < given->node_count; n++)
        w->instead[n] = made->decomposed[n] ? UINT64_MAX : 0;
    for (uint32_t m = 0; m < graph->node_count; m++) {
        uint32_t values[TNI_MAX_READS + 1];
        uint32_t count = tni_node_touches(graph, &graph->nodes[m], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            if (storage < given->storage_count && w->ties.is_tied[storage])
                w->instead[graph->nodes[m].origin] &= tni_takers_of(&takers, m);
        }
    }
    return TN_OK;
}

// By the devices' answers to the graph as it would be decomposed where the bytes may be now.
static tn_status ask_instead(narrowing *w, uint64_t *storage_places, tni_answers *out_failed,
                             tn_error *err)
{
    tni_schedule_request request = *w->request;
    tni_schedule made = { .given = request.graph,
                          .graph = request.graph,
                          .given_answers = *request.answers };   // not taken over
    request.storage_places = storage_places;
    tn_status status = tni_choose_decompositions(&request, w->scratch, &made, err);
    if (status == TN_OK && made.own_graph)
        status = find_instead(w, &made, err);
    out_failed->failed_places |= made.own_answers.failed_places;
    out_failed->failure = made.own_answers.failure;
    tni_schedule_drop_graph(&made);
    return status;
}

tn_status tni_schedule_narrow(const tni_schedule_request *request, tni_arena *scratch,
                              uint64_t *storage_places, uint64_t *wishes, tni_answers *out_failed,
                              tn_error *err)
{
    const tn_graph *graph = request->graph;
    narrowing w = { .request = request,
                    .scratch = scratch,
                    .preferred = tni_preferred_places(request),
                    .instead = tni_arena_take_array(scratch, graph->node_count,
                                                    sizeof *w.instead) };
    uint64_t *holds = tni_arena_take_array(scratch, graph->storage_count, sizeof *holds);
    uint64_t *wished = tni_arena_take_array(scratch, graph->storage_count, sizeof *wished);
    uint64_t *roomy = tni_arena_take_array(scratch, graph->storage_count, sizeof *roomy);
    if (!holds || !wished || !roomy || !w.instead || !tni_ties_find(graph, scratch, &w.ties) ||
        !tni_find_takers(graph, request->answers, request, scratch, &w.takers))
        return tni_fail_memory(err, "a schedule", (uint64_t)graph->node_count * sizeof *holds);
    bool is_any_open = false;
    for (uint32_t n = 0; n < graph->node_count; n++)
        is_any_open |= is_open_question(&w, n);
    tn_status status = is_any_open ? ask_instead(&w, storage_places, out_failed, err) : TN_OK;
    if (status != TN_OK)
        return status;
    tni_ties_begin(graph, &w.ties, storage_places, graph->storage_count, holds);
    tni_ties_begin(graph, &w.ties, wishes, graph->storage_count, wished);
    tni_ties_begin(graph, &w.ties, NULL, 0, roomy);
    const tni_ruling sizes = { .graph = graph,
                               .device_count = request->device_count,
                               .takers = &w.takers,
                               .memories = &request->memories };
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint64_t places = tni_takers_of(&w.takers, n);
        // What no place takes whole has to be decomposed, wherever that may be.
        if (places || !tni_composites_of(graph, &graph->nodes[n]))
            tni_ties_narrow(graph, &w.ties, n, places | w.instead[n], holds);
        tni_ties_narrow(graph, &w.ties, n, ~tni_rules_too_small(&sizes, n), roomy);
        if (request->rules) {
            tni_ties_narrow(graph, &w.ties, n, request->rules[n].demand, holds);
            tni_ties_narrow(graph, &w.ties, n, request->rules[n].wish, wished);
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (w.ties.is_tied[s]) {
            uint64_t held = holds[w.ties.tied_to[s]], large = held & roomy[w.ties.tied_to[s]];
            storage_places[s] = large ? large : held;
            wishes[s] = wished[w.ties.tied_to[s]];
        }
    return TN_OK;
}
