// narrow.c: what the nodes of a graph ask of the bytes that stay on one place, before any of them
// is placed. With it several graphs agree on a place for bytes that they share.
#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct narrowing {
    uint64_t *takes;   // by node: places with any claim on it
    uint64_t *alone;   // by node: places with a claim on it alone
    uint64_t *holds;   // by group of storages: places that may touch it
    tni_kept kept;
} narrowing;

static bool take_tables(narrowing *n, const tn_graph *graph, tni_arena *arena)
{
    n->takes = tni_arena_take_array(arena, graph->node_count, sizeof *n->takes);
    n->alone = tni_arena_take_array(arena, graph->node_count, sizeof *n->alone);
    n->holds = tni_arena_take_array(arena, graph->storage_count, sizeof *n->holds);
    return n->takes && n->alone && n->holds && tni_find_kept(graph, arena, &n->kept);
}

static void find_takers(narrowing *n, const tni_schedule_request *request)
{
    for (uint32_t c = 0; c < request->answers->claim_count; c++) {
        const tni_claim *claim = &request->answers->claims[c];
        uint64_t here = UINT64_C(1) << claim->place & tni_places_of(request);
        for (uint32_t i = 0; i < claim->node_count; i++)
            n->takes[claim->nodes[i]] |= here;
        if (claim->node_count == 1)
            n->alone[claim->nodes[0]] |= here;
    }
}

// A node that may still be decomposed asks for nothing.
static void narrow_by_nodes(narrowing *n, const tni_schedule_request *request)
{
    const tn_graph *graph = request->graph;
    uint64_t preferred = tni_preferred_places(request);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint64_t takers = n->alone[i] ? n->alone[i] : n->takes[i];
        uint32_t values[TNI_MAX_READS + 1];
        uint32_t count = tni_node_touches(graph, &graph->nodes[i], values);
        if (!(takers & preferred) && tni_composites_of(graph, &graph->nodes[i]))
            continue;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = graph->values[values[k]].storage;
            if (n->kept.is_kept[storage])
                n->holds[n->kept.groups[storage]] &= takers;
        }
    }
}

tn_status tni_schedule_narrow(const tni_schedule_request *request, tni_arena *scratch,
                              uint64_t *storage_places, tn_error *err)
{
    const tn_graph *graph = request->graph;
    narrowing n;
    if (!take_tables(&n, graph, scratch))
        return tni_fail_memory(err, "a schedule", (uint64_t)graph->node_count * sizeof *n.takes);
    find_takers(&n, request);
    tni_kept_narrow(graph, &n.kept, storage_places, n.holds);
    narrow_by_nodes(&n, request);
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (n.kept.is_kept[s])
            storage_places[s] = n.holds[n.kept.groups[s]];
    return TN_OK;
}
