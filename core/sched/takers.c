// takers.c: which places have a claim on each node.
#include "sched/sched_internal.h"

bool tni_find_takers(const tn_graph *graph, const tni_answers *answers, uint64_t places,
                     tni_arena *arena, tni_takers *out)
{
    out->any = tni_arena_take_array(arena, graph->node_count, sizeof *out->any);
    out->alone = tni_arena_take_array(arena, graph->node_count, sizeof *out->alone);
    if (!out->any || !out->alone)
        return false;
    for (uint32_t c = 0; c < answers->claim_count; c++) {
        const tni_claim *claim = &answers->claims[c];
        uint64_t here = UINT64_C(1) << claim->place & places;
        for (uint32_t i = 0; i < claim->node_count; i++)
            out->any[claim->nodes[i]] |= here;
        if (claim->node_count == 1)
            out->alone[claim->nodes[0]] |= here;
    }
    return true;
}
