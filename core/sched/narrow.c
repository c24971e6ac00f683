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

// Not taken where it is preferred to be, it may still be decomposed.
static bool is_open_question(const narrowing *w, uint32_t node)
{
    const tn_graph *graph = w->request->graph;
    return !(tni_takers_of(&w->takers, node) & tni_preferred_for(w->request, w->preferred, node)) &&
           tni_composites_of(graph, &graph->nodes[node]) &&
           tni_ties_touched(graph, w->ties.is_tied, node) != TNP_NONE;
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
    tni_asked asked;
    const tni_ruling ruling = { .graph = graph,
                                .device_count = request->device_count,
                                .takers = &w.takers,
                                .ties = &w.ties,
                                .rules = request->rules,
                                .memories = &request->memories };
    if (!w.instead || !tni_ties_find(graph, scratch, &w.ties) ||
        !tni_find_takers(graph, request->answers, request, scratch, &w.takers))
        return tni_fail_memory(err, "a schedule", (uint64_t)graph->node_count * sizeof *w.instead);
    bool is_any_open = false;
    for (uint32_t n = 0; n < graph->node_count; n++)
        is_any_open |= is_open_question(&w, n);
    tn_status status = is_any_open ? ask_instead(&w, storage_places, out_failed, err) : TN_OK;
    if (status != TN_OK)
        return status;
    if (!tni_asked_make(&ruling, scratch, storage_places, wishes, graph->storage_count, &asked))
        return tni_fail_memory(err, "a schedule", graph->storage_count * sizeof *asked.holds);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint64_t taken = tni_takers_of(&w.takers, n);
        // What no place takes whole has to be decomposed, wherever that may be.
        bool is_open = !taken && tni_composites_of(graph, &graph->nodes[n]);
        tni_asked_of_node(&ruling, n, is_open ? UINT64_MAX : taken | w.instead[n],
                          tni_rule_of(&ruling, n).wish, &asked);
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (w.ties.is_tied[s]) {
            storage_places[s] = tni_asked_places(&asked, w.ties.tied_to[s]);
            wishes[s] = asked.wished[w.ties.tied_to[s]];
        }
    return TN_OK;
}
