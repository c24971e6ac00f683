// narrow.c: what the nodes of a graph ask of the bytes that stay on one place, before any of them
// is placed. With it several graphs agree on a place for bytes that they share.
#include "base/error.h"
#include "sched/sched_internal.h"

tn_status tni_schedule_narrow(const tni_schedule_request *request, tni_arena *scratch,
                              uint64_t *storage_places, uint64_t *wishes, tn_error *err)
{
    const tn_graph *graph = request->graph;
    uint64_t preferred = tni_preferred_places(request);
    uint64_t *holds = tni_arena_take_array(scratch, graph->storage_count, sizeof *holds);
    uint64_t *wished = tni_arena_take_array(scratch, graph->storage_count, sizeof *wished);
    tni_kept kept;
    tni_takers takers;
    if (!holds || !wished || !tni_find_kept(graph, scratch, &kept) ||
        !tni_find_takers(graph, request->answers, tni_places_of(request), scratch, &takers))
        return tni_fail_memory(err, "a schedule", (uint64_t)graph->node_count * sizeof *takers.any);
    tni_kept_begin(graph, &kept, storage_places, graph->storage_count, holds);
    tni_kept_begin(graph, &kept, wishes, graph->storage_count, wished);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint64_t places = tni_takers_of(&takers, n);
        // A node that may still be decomposed asks for nothing but what it was ordered.
        if (places & tni_preferred_for(request, preferred, n) ||
            !tni_composites_of(graph, &graph->nodes[n]))
            tni_kept_narrow(graph, &kept, n, places, holds);
        if (request->rules) {
            tni_kept_narrow(graph, &kept, n, request->rules[n].demand, holds);
            tni_kept_narrow(graph, &kept, n, request->rules[n].wish, wished);
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (kept.is_kept[s]) {
            storage_places[s] = holds[kept.groups[s]];
            wishes[s] = wished[kept.groups[s]];
        }
    return TN_OK;
}
