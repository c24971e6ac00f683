// rules.c: where each node may be: by what it touches that stays somewhere, by what is demanded,
// by what was wished, and by the largest buffer that a device has.
//
// A demand holds, or the node has no place. A wish holds where one of the wished places takes the
// node with all that it touches, and is dropped where none does.
#include "sched/sched_internal.h"

tni_rule tni_rule_of(const tni_ruling *r, uint32_t node)
{
    if (!r->rules)
        return (tni_rule){ UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL };
    return r->rules[r->is_decomposed ? r->graph->nodes[node].origin : node];
}

// The places of claims on a node of which every node is demanded and wished there.
static bool find_willing(const tni_ruling *r, tni_arena *arena, uint64_t **out_willing)
{
    uint64_t *willing = tni_arena_take_array(arena, r->graph->node_count, sizeof *willing);
    for (uint32_t c = 0; c < r->answers->claim_count && willing; c++) {
        const tni_claim *claim = &r->answers->claims[c];
        uint64_t here = UINT64_C(1) << claim->place & r->places;
        if (tni_claim_is_cramped(r->memories, claim))
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++) {
            tni_rule rule = tni_rule_of(r, claim->nodes[i]);
            here &= rule.demand & rule.wish;
        }
        for (uint32_t i = 0; i < claim->node_count; i++)
            willing[claim->nodes[i]] |= here;
    }
    *out_willing = willing;
    return willing != NULL;
}

uint32_t tni_rules_too_large(const tni_ruling *r, uint32_t node, uint32_t place)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(r->graph, &r->graph->nodes[node], values);
    for (uint32_t i = 0; i < count && r->memories->largest; i++) {
        uint32_t storage = r->graph->values[values[i]].storage;
        bool is_mapped = tni_storage_source(r->graph, storage) == TNI_WEIGHT &&
                         tni_is_mapped(r->memories, storage, place);
        if (!is_mapped && r->graph->storages[storage].bytes > r->memories->largest[place])
            return storage;
    }
    return TNP_NONE;
}

// The places with no buffer for something that the node touches, or for the scratch of any claim on
// it.
static uint64_t too_small(const tni_ruling *r, uint32_t node)
{
    uint64_t places = r->takers->cramped[node], most = 0;
    if (!r->memories->largest)
        return 0;
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(r->graph, &r->graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = r->graph->storages[r->graph->values[values[i]].storage].bytes;
        most = bytes > most ? bytes : most;
    }
    for (uint32_t p = 0; p < r->device_count; p++)
        if (most > r->memories->largest[p] && tni_rules_too_large(r, node, p) != TNP_NONE)
            places |= UINT64_C(1) << p;
    return places;
}

bool tni_asked_make(const tni_ruling *r, tni_arena *arena, const uint64_t *may_be,
                    const uint64_t *wishes, uint32_t count, tni_asked *out)
{
    uint32_t storages = r->graph->storage_count;
    *out = (tni_asked){ .holds = tni_arena_take_array(arena, storages, sizeof *out->holds),
                        .wished = tni_arena_take_array(arena, storages, sizeof *out->wished),
                        .roomy = tni_arena_take_array(arena, storages, sizeof *out->roomy) };
    if (!out->holds || !out->wished || !out->roomy)
        return false;
    tni_ties_begin(r->graph, r->ties, may_be, may_be ? count : 0, out->holds);
    tni_ties_begin(r->graph, r->ties, wishes, wishes ? count : 0, out->wished);
    tni_ties_begin(r->graph, r->ties, NULL, 0, out->roomy);
    return true;
}

void tni_asked_of_node(const tni_ruling *r, uint32_t node, uint64_t taken, uint64_t wish,
                       const tni_asked *asked)
{
    uint64_t can = taken & tni_rule_of(r, node).demand;
    tni_ties_narrow(r->graph, r->ties, node, can, asked->holds);
    tni_ties_narrow(r->graph, r->ties, node, wish, asked->wished);
    tni_ties_narrow(r->graph, r->ties, node, ~too_small(r, node), asked->roomy);
}

uint64_t tni_asked_places(const tni_asked *asked, uint32_t least)
{
    uint64_t roomy = asked->holds[least] & asked->roomy[least];
    return roomy ? roomy : asked->holds[least];
}

// Chooses for what is tied, where that is left open: places with room, and those that are wished.
// torn: by least storage, set where the wishes of its nodes cannot be met together.
static void settle_ties(const tni_ruling *r, const tni_asked *asked, bool *torn)
{
    for (uint32_t s = 0; s < r->graph->storage_count; s++) {
        if (r->ties->tied_to[s] != s || !r->ties->is_tied[s])
            continue;
        asked->holds[s] = tni_asked_places(asked, s);
        if (asked->holds[s] & asked->wished[s])
            asked->holds[s] &= asked->wished[s];
        else
            torn[s] = asked->wished[s] != UINT64_MAX;
    }
}

static bool touches_torn(const tni_ruling *r, uint32_t node, const bool *torn)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(r->graph, &r->graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++)
        if (torn[r->ties->tied_to[r->graph->values[values[i]].storage]])
            return true;
    return false;
}

bool tni_rules_apply(const tni_ruling *r, tni_arena *arena, const tni_asked *asked,
                     uint64_t *places, const tni_bars *bars)
{
    const tn_graph *graph = r->graph;
    uint64_t *willing;
    bool *torn = tni_arena_take_array(arena, graph->storage_count, sizeof *torn);
    if (!torn || !find_willing(r, arena, &willing))
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint64_t wish = tni_rule_of(r, n).wish;
        tni_asked_of_node(r, n, tni_takers_of(r->takers, n),
                          wish == UINT64_MAX ? wish : wish & willing[n], asked);
    }
    settle_ties(r, asked, torn);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        tni_rule rule = tni_rule_of(r, n);
        uint64_t taken = tni_takers_of(r->takers, n);
        uint64_t may = r->places & tni_ties_places(graph, r->ties, n, asked->holds);
        tni_why reason = taken & ~may ? TNI_WHY_STATE : TNI_WHY_COST;
        uint64_t roomy = may & ~too_small(r, n), roomless = 0;
        if (roomy & taken) {
            roomless = may & taken & ~roomy;
            reason = may & taken & ~roomy ? TNI_WHY_MEMORY : reason;
            may = roomy;
        }
        if (rule.demand != UINT64_MAX) {
            may &= rule.demand;
            reason = TNI_WHY_PINNED;
        } else if (rule.wish & may & willing[n] && !touches_torn(r, n, torn)) {
            reason = taken & ~rule.wish ? rule.why : reason;
            may &= rule.wish;
        }
        places[n] = may;
        bars->why[n] = (uint8_t)reason;
        bars->roomless[n] = roomless;
        bars->barred[n] = taken & ~may & ~roomless;
    }
    return true;
}
