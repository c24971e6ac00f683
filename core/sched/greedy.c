// greedy.c: node by node, each to the claim that is cheapest given where its operands are. What
// every other method is measured against, and what is taken when nothing better is found.
#include <math.h>

#include <tenon/plugin.h>

#include "sched/problem.h"

typedef struct greedy {
    const tni_problem_index *index;
    const tni_problem *problem;
    bool single_nodes_only;
    double *single_ns;       // by node: cheapest claim on it alone
    uint64_t *holds;         // by node: places where what it makes is
    uint64_t *group_place;   // by group: where it is, as a set of one; all while that is open
    uint32_t *chosen;
} greedy;

// A group is where each of its nodes has a claim alone, if it has any: whether a claim on several
// can be chosen depends on its other nodes.
static void find_singles(greedy *g)
{
    for (uint32_t i = 0; i < g->problem->group_count; i++)
        g->group_place[i] = UINT64_MAX;
    for (uint32_t n = 0; n < g->problem->node_count; n++) {
        uint64_t alone = 0;
        g->single_ns[n] = INFINITY;
        g->chosen[n] = TNP_NONE;
        for (uint32_t i = g->index->first_claim[n]; i < g->index->first_claim[n + 1]; i++) {
            const tni_problem_claim *claim = &g->problem->claims[g->index->claims[i]];
            if (claim->node_count > 1)
                continue;
            alone |= UINT64_C(1) << claim->place;
            if (claim->cost_ns < g->single_ns[n])
                g->single_ns[n] = claim->cost_ns;
        }
        if (alone && g->problem->groups && g->problem->groups[n] != TNP_NONE)
            g->group_place[g->problem->groups[n]] &= alone;
    }
}

// Whether the claim can be chosen now, and what that adds: its cost, what must be copied to it,
// less the single claims.
static bool weigh(const greedy *g, const tni_problem_claim *claim, double *out_ns)
{
    const tni_problem *problem = g->problem;
    double ns = claim->cost_ns;
    uint64_t here = UINT64_C(1) << claim->place;
    bool is_single = claim->node_count == 1;
    if (!is_single && g->single_nodes_only)
        return false;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t n = claim->nodes[i], group = problem->groups ? problem->groups[n] : TNP_NONE;
        if (g->chosen[n] != TNP_NONE || (group != TNP_NONE && !(g->group_place[group] & here)))
            return false;
        ns -= is_single ? 0 : g->single_ns[n];
        const uint32_t *operand = &problem->operands[problem->first_operand[n]];
        const uint32_t *end = &problem->operands[problem->first_operand[n + 1]];
        for (; operand < end; operand++) {
            uint32_t maker = *operand;
            if (!(g->holds[maker] & here) && g->chosen[maker] != TNP_NONE)
                ns += tni_links_cost_ns(problem->links, problem->claims[g->chosen[maker]].place,
                                        claim->place, problem->value_bytes[maker]);
        }
    }
    *out_ns = ns;
    return true;
}

// What is read is here from now on, what is made is only here; a group has found its place.
static void choose(greedy *g, uint32_t c)
{
    const tni_problem *problem = g->problem;
    const tni_problem_claim *claim = &problem->claims[c];
    uint64_t here = UINT64_C(1) << claim->place;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t n = claim->nodes[i], group = problem->groups ? problem->groups[n] : TNP_NONE;
        g->chosen[n] = c;
        g->holds[n] |= here;
        if (group != TNP_NONE)
            g->group_place[group] = here;
        for (uint32_t e = problem->first_operand[n]; e < problem->first_operand[n + 1]; e++)
            g->holds[problem->operands[e]] |= here;
    }
}

uint32_t tni_solve_greedily(const tni_problem_index *index, bool single_nodes_only,
                            tni_arena *arena, uint32_t *chosen, bool *out_has_memory)
{
    const tni_problem *problem = index->problem;
    greedy g = {
        .index = index,
        .problem = problem,
        .single_nodes_only = single_nodes_only,
        .single_ns = tni_arena_take_array(arena, problem->node_count, sizeof *g.single_ns),
        .holds = tni_arena_take_array(arena, problem->node_count, sizeof *g.holds),
        .group_place = tni_arena_take_array(arena, problem->group_count, sizeof *g.group_place),
        .chosen = chosen,
    };
    *out_has_memory = g.single_ns && g.holds && g.group_place;
    if (!*out_has_memory)
        return 0;
    find_singles(&g);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint32_t best = TNP_NONE;
        double best_ns = INFINITY, ns;
        for (uint32_t i = index->first_claim[n];
             i < index->first_claim[n + 1] && chosen[n] == TNP_NONE; i++) {
            uint32_t c = index->claims[i];
            const tni_problem_claim *claim = &problem->claims[c];
            if (claim->nodes[0] != n || !weigh(&g, claim, &ns))
                continue;
            if (claim->node_count > 1)   // comparable with a claim on this node alone
                ns += isfinite(g.single_ns[n]) ? g.single_ns[n] : 0;
            if (best == TNP_NONE || ns < best_ns) {
                best = c;
                best_ns = ns;
            }
        }
        if (best != TNP_NONE)
            choose(&g, best);
        else if (chosen[n] == TNP_NONE)
            return n;
    }
    return problem->node_count;
}
