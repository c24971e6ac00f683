// payers.c: who pays for what several nodes keep together.
//
// With a price on bytes a claim pays for what it keeps. An item that many claims have is kept once,
// so each may pay only a part, or what is found would be no bound. Of claims on one node only one
// is chosen: they may all pay the same part. So a few nodes that all claims with an item lie on are
// its payers. Which parts give the highest bound is found beside the prices: one that asks for an
// item while others do not should have paid more (a subgradient of the parts).
#include <tenon/plugin.h>

#include "base/integer.h"
#include "base/lists.h"
#include "sched/limits.h"

// A claim with an item, and its place in claim_items.
typedef struct asking {
    uint32_t claim, at;
} asking;

static bool is_asked_by(const tni_problem *problem, const asking *ask, uint32_t node)
{
    const tni_problem_claim *claim = &problem->claims[ask->claim];
    return tni_is_among(claim->nodes, claim->node_count, node);
}

// The node that most of these claims have. times: by node, all 0 between calls.
static uint32_t commonest_node(const tni_problem *problem, const asking *asks, uint32_t count,
                               uint32_t *times)
{
    uint32_t best = TNP_NONE;
    for (uint32_t k = 0; k < count; k++) {
        const tni_problem_claim *claim = &problem->claims[asks[k].claim];
        for (uint32_t i = 0; i < claim->node_count; i++)
            times[claim->nodes[i]]++;
    }
    for (uint32_t k = 0; k < count; k++) {
        const tni_problem_claim *claim = &problem->claims[asks[k].claim];
        for (uint32_t i = 0; i < claim->node_count; i++)
            if (best == TNP_NONE || times[claim->nodes[i]] > times[best])
                best = claim->nodes[i];
    }
    for (uint32_t k = 0; k < count; k++) {
        const tni_problem_claim *claim = &problem->claims[asks[k].claim];
        for (uint32_t i = 0; i < claim->node_count; i++)
            times[claim->nodes[i]] = 0;
    }
    return best;
}

// Payers of an item that these claims have. Answers how many there are then.
static uint32_t find_payers_of(tni_limited *l, uint32_t item, uint32_t payer_count, asking *asks,
                               uint32_t count, uint32_t *times)
{
    uint32_t first = payer_count;
    while (count) {
        uint32_t node = commonest_node(l->problem, asks, count, times), left = 0;
        for (uint32_t k = 0; k < count; k++)
            if (is_asked_by(l->problem, &asks[k], node))
                l->payer_of[asks[k].at] = payer_count;
            else
                asks[left++] = asks[k];
        l->payers[payer_count++] = (tni_payer){ .item = item, .node = node };
        count = left;
    }
    for (uint32_t p = first; p < payer_count; p++)
        l->payers[p].part = 1.0 / (payer_count - first);
    return payer_count;
}

bool tni_limited_find_payers(tni_limited *l)
{
    const tni_problem *problem = l->problem;
    uint32_t items = problem->item_count, places = 0, uses = 0, payer_count = 0;
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        uint32_t end = problem->claims[c].first_item + problem->claims[c].item_count;
        uses += problem->claims[c].item_count;
        places = problem->claims[c].item_count && end > places ? end : places;
    }
    uint32_t *first = tni_lists_begin(l->arena, items);
    uint32_t *times = tni_arena_take_array(l->arena, problem->node_count, sizeof *times);
    asking *asks = tni_arena_take_array(l->arena, uses, sizeof *asks);
    l->payer_of = tni_arena_take_array(l->arena, places, sizeof *l->payer_of);
    l->payers = tni_arena_take_array(l->arena, uses, sizeof *l->payers);
    l->first_payer = tni_arena_take_array(l->arena, (size_t)items + 1, sizeof *l->first_payer);
    if (!first || !times || !asks || !l->payer_of || !l->payers || !l->first_payer)
        return false;
    for (uint32_t c = 0; c < problem->claim_count; c++)
        for (uint32_t i = 0; i < problem->claims[c].item_count; i++)
            tni_lists_count(first, problem->claim_items[problem->claims[c].first_item + i]);
    tni_lists_sum(first, items);
    for (uint32_t c = 0; c < problem->claim_count; c++)
        for (uint32_t i = 0; i < problem->claims[c].item_count; i++) {
            uint32_t at = problem->claims[c].first_item + i;
            asks[tni_lists_next(first, problem->claim_items[at])] = (asking){ c, at };
        }
    for (uint32_t i = 0; i < items; i++) {
        l->first_payer[i] = payer_count;
        payer_count = find_payers_of(l, i, payer_count, asks + first[i], first[i + 1] - first[i],
                                     times);
    }
    l->first_payer[items] = payer_count;
    return true;
}

void tni_limited_move_parts(tni_limited *l, const uint32_t *chosen, double step)
{
    const tni_problem *problem = l->problem;
    for (uint32_t p = 0; p < l->first_payer[problem->item_count]; p++)
        l->payers[p].is_asked = false;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[chosen[n]];
        for (uint32_t i = 0; i < claim->item_count && claim->nodes[0] == n; i++)
            l->payers[l->payer_of[claim->first_item + i]].is_asked = true;
    }
    for (uint32_t i = 0; i < problem->item_count; i++) {
        tni_payer *payers = &l->payers[l->first_payer[i]];
        uint32_t count = l->first_payer[i + 1] - l->first_payer[i], asked = 0;
        double sum = 0;
        for (uint32_t p = 0; p < count; p++)
            asked += payers[p].is_asked;
        if (asked == 0 || asked == count)
            continue;
        for (uint32_t p = 0; p < count; p++) {
            double part = payers[p].part + step * (payers[p].is_asked - (double)asked / count);
            payers[p].part = part > 0 ? part : 0;
            sum += payers[p].part;
        }
        for (uint32_t p = 0; p < count; p++)
            payers[p].part /= sum;
    }
}
