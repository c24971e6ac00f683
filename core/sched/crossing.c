// crossing.c: crossover of assignments, at one point: one up to a node, another from there on. That
// is how a model is divided between devices layer by layer. What is crossed may be crossed again.
#include <string.h>

#include <tenon/plugin.h>

#include "sched/limits.h"

typedef struct crossing {
    uint64_t above;
    double ns;
    uint32_t end;   // the second one begins here; TNP_NONE: nothing was found
} crossing;

// From `to` alone, node by node, to `from` alone. A cut that no claim crosses is looked at. Whether
// one was better than the best.
static bool cross(tni_limited *l, const uint32_t *from, const uint32_t *to, crossing *best,
                  uint32_t stop)
{
    tni_changes *changes = &l->changes;
    const tni_problem *problem = l->problem;
    bool is_better = false;
    tni_changes_set(changes, to);
    for (uint32_t n = 0; n < problem->node_count && n < stop; n++) {
        const tni_problem_claim *claim = &problem->claims[from[n]];
        if (changes->chosen[n] == from[n])
            continue;
        if (changes->chosen[n] != TNP_NONE)
            tni_changes_remove(changes, changes->chosen[n]);
        if (claim->nodes[claim->node_count - 1] == n)
            tni_changes_add(changes, from[n]);
        if (changes->bare_count || changes->torn_count)
            continue;
        uint64_t above = tni_changes_above(changes);
        if (above > best->above ||
            (above == best->above && changes->ns >= best->ns * (1 - TNI_ROUNDING)))
            continue;
        *best = (crossing){ above, changes->ns, n + 1 };
        is_better = true;
    }
    return is_better;
}

// Crosses one assignment with the parents, on either side, as long as that makes it better.
static bool climb(tni_limited *l, const uint32_t *base, uint32_t *climbed)
{
    size_t bytes = l->problem->node_count * sizeof *climbed;
    uint32_t cycles;
    memcpy(climbed, base, bytes);
    tni_changes_set(&l->changes, base);
    crossing best = { tni_changes_above(&l->changes), l->changes.ns, 0 };
    // A run of nodes for each place, with two ends.
    uint32_t most_rounds = 2 * l->problem->place_count;
    for (uint32_t round = 0; round < most_rounds && best.end != TNP_NONE; round++) {
        const uint32_t *from = NULL, *to = NULL;
        best.end = TNP_NONE;
        for (uint32_t i = 0; i < l->parent_count; i++) {
            if (cross(l, l->parents[i], climbed, &best, TNP_NONE)) {
                from = l->parents[i];
                to = climbed;
            }
            if (cross(l, climbed, l->parents[i], &best, TNP_NONE)) {
                from = climbed;
                to = l->parents[i];
            }
        }
        if (best.end == TNP_NONE)
            break;
        cross(l, from, to, &(crossing){ 0 }, best.end);
        if (!tni_problem_has_order(l->s->index, l->changes.chosen, l->s->cycle, &cycles))
            break;
        memcpy(climbed, l->changes.chosen, bytes);
    }
    return tni_solving_consider(l->s, climbed, "crossing");
}

bool tni_limited_cross_all(tni_limited *l)
{
    // The latest of the parents, half of them. All take an eighth more time, for a gap that is
    // smaller by a hundredth of a percent.
    enum { MOST_BASES = TNI_MOST_PARENTS / 2 };
    uint32_t *climbed = tni_arena_take_array(l->arena, l->problem->node_count, sizeof *climbed);
    uint32_t *base = tni_arena_take_array(l->arena, l->problem->node_count, sizeof *base);
    if (!climbed || !base)
        return false;
    for (uint32_t i = l->parent_count; i-- > 0 && i + MOST_BASES >= l->parent_count;)
        climb(l, l->parents[i], climbed);
    memcpy(base, l->s->best, l->problem->node_count * sizeof *base);
    if (climb(l, base, climbed))
        tni_limited_add_parent(l, climbed);
    return true;
}
