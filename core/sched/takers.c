// takers.c: which places have a claim on each node.
#include "sched/sched_internal.h"

bool tni_claim_is_cramped(const tni_memories *memories, const tni_claim *claim)
{
    uint64_t most = claim->scratch_bytes;
    for (uint32_t p = 0; p < claim->pack_count; p++) {
        bool is_kept = !(claim->packs[p].flags & TNP_PACK_BAKED);
        most = is_kept && claim->packs[p].bytes > most ? claim->packs[p].bytes : most;
    }
    return memories->largest && most > memories->largest[claim->place];
}

static void add(const tni_takers *takers, const tni_claim *claim, uint64_t here)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        takers->any[claim->nodes[i]] |= here;
    if (claim->node_count == 1)
        takers->alone[claim->nodes[0]] |= here;
}

bool tni_find_takers(const tn_graph *graph, const tni_answers *answers,
                     const tni_schedule_request *request, tni_arena *arena, tni_takers *out)
{
    tni_takers roomy = {
        .any = tni_arena_take_array(arena, graph->node_count, sizeof *roomy.any),
        .alone = tni_arena_take_array(arena, graph->node_count, sizeof *roomy.alone),
    };
    out->any = tni_arena_take_array(arena, graph->node_count, sizeof *out->any);
    out->alone = tni_arena_take_array(arena, graph->node_count, sizeof *out->alone);
    out->cramped = tni_arena_take_array(arena, graph->node_count, sizeof *out->cramped);
    if (!out->any || !out->alone || !out->cramped || !roomy.any || !roomy.alone)
        return false;
    for (uint32_t c = 0; c < answers->claim_count; c++) {
        const tni_claim *claim = &answers->claims[c];
        uint64_t here = UINT64_C(1) << claim->place & tni_places_of(request);
        add(out, claim, here);
        if (!tni_claim_is_cramped(&request->memories, claim))
            add(&roomy, claim, here);
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        out->cramped[n] = out->alone[n] ? out->alone[n] & ~roomy.alone[n]
                                        : out->any[n] & ~roomy.any[n];
    return true;
}
