// improve.c: small changes to the best assignment, while they make it better.
#include <string.h>

#include <tenon/plugin.h>

#include "base/lists.h"
#include "sched/solve_internal.h"

// Over all claims. Half of them find a little less, and four times as many nothing more.
enum { MOST_ROUNDS = 8 };

typedef struct improving {
    tni_solving *s;
    tni_changes changes;
    uint32_t *removed, removed_count;   // claims, of the change at hand
    uint32_t *added, added_count;
} improving;

static void undo(improving *m)
{
    while (m->added_count)
        tni_changes_remove(&m->changes, m->added[--m->added_count]);
    while (m->removed_count)
        tni_changes_add(&m->changes, m->removed[--m->removed_count]);
}

static void add(improving *m, uint32_t claim)
{
    m->added[m->added_count++] = claim;
    tni_changes_add(&m->changes, claim);
}

static void remove_from(improving *m, uint32_t node)
{
    uint32_t claim = m->changes.chosen[node];
    if (claim == TNP_NONE)
        return;
    m->removed[m->removed_count++] = claim;
    tni_changes_remove(&m->changes, claim);
}

// Nodes that the removed claims had and no added one has get one each alone, where they were if
// that can be. Whether all did.
static bool cover_the_rest(improving *m)
{
    const tni_problem *problem = m->s->problem;
    for (uint32_t r = 0; r < m->removed_count; r++) {
        const tni_problem_claim *claim = &problem->claims[m->removed[r]];
        for (uint32_t i = 0; i < claim->node_count; i++) {
            uint32_t node = claim->nodes[i];
            if (m->changes.chosen[node] != TNP_NONE)
                continue;
            uint32_t alone = tni_problem_cheapest_alone(m->s->index, node, claim->place);
            if (alone == TNP_NONE)
                alone = tni_problem_cheapest_alone(m->s->index, node, TNP_NONE);
            if (alone == TNP_NONE)
                return false;
            add(m, alone);
        }
    }
    return true;
}

static bool has_order(improving *m)
{
    bool is_alone = true;
    uint32_t count;
    for (uint32_t i = 0; i < m->added_count; i++)
        is_alone &= m->s->problem->claims[m->added[i]].node_count == 1;
    return is_alone || tni_problem_has_order(m->s->index, m->changes.chosen, m->s->cycle, &count);
}

// Keeps the change if it makes the assignment better, else takes it back. Whether it was kept.
static bool keep_if_better(improving *m, bool is_possible, double before_ns, uint64_t before_above)
{
    uint64_t above = tni_changes_above(&m->changes);
    bool is_better = above < before_above ||
                     (above == before_above && m->changes.ns < before_ns * (1 - TNI_ROUNDING));
    if (!is_possible || m->changes.torn_count || !is_better || !has_order(m)) {
        undo(m);
        m->changes.ns = before_ns;   // as it was to the bit
        return false;
    }
    m->added_count = m->removed_count = 0;
    return true;
}

static bool try_claim(improving *m, uint32_t claim)
{
    const tni_problem_claim *wanted = &m->s->problem->claims[claim];
    double before_ns = m->changes.ns;
    uint64_t before_above = tni_changes_above(&m->changes);
    for (uint32_t i = 0; i < wanted->node_count; i++)
        remove_from(m, wanted->nodes[i]);
    add(m, claim);
    return keep_if_better(m, cover_the_rest(m), before_ns, before_above);
}

// A group, and all that its claims have, goes to a place.
static bool try_group(improving *m, const uint32_t *nodes, uint32_t count, uint32_t place)
{
    double before_ns = m->changes.ns;
    uint64_t before_above = tni_changes_above(&m->changes);
    bool is_possible = true;
    for (uint32_t i = 0; i < count; i++)
        remove_from(m, nodes[i]);
    for (uint32_t i = 0; i < count && is_possible; i++) {
        uint32_t alone = tni_problem_cheapest_alone(m->s->index, nodes[i], place);
        is_possible = alone != TNP_NONE;
        if (is_possible)
            add(m, alone);
    }
    return keep_if_better(m, is_possible && cover_the_rest(m), before_ns, before_above);
}

static bool improve_groups(improving *m, tni_arena *arena, bool *out_has_changed)
{
    const tni_problem *problem = m->s->problem;
    uint32_t *first = tni_lists_begin(arena, problem->group_count);
    uint32_t *nodes = tni_arena_take_array(arena, problem->node_count, sizeof *nodes);
    if (!first || !nodes)
        return false;
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (problem->groups[n] != TNP_NONE)
            tni_lists_count(first, problem->groups[n]);
    tni_lists_sum(first, problem->group_count);
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (problem->groups[n] != TNP_NONE)
            nodes[tni_lists_next(first, problem->groups[n])] = n;
    for (uint32_t g = 0; g < problem->group_count; g++)
        for (uint32_t p = 0; p < problem->place_count && first[g] < first[g + 1]; p++)
            if (problem->claims[m->changes.chosen[nodes[first[g]]]].place != p)
                *out_has_changed |= try_group(m, &nodes[first[g]], first[g + 1] - first[g], p);
    return true;
}

static void improve_nodes(improving *m, bool *out_has_changed)
{
    const tni_problem_index *index = m->s->index;
    for (uint32_t n = 0; n < m->s->problem->node_count; n++)
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++) {
            uint32_t c = index->claims[i];
            if (m->s->problem->claims[c].nodes[0] == n && m->changes.chosen[n] != c)
                *out_has_changed |= try_claim(m, c);
        }
}

static bool improve(improving *m, tni_arena *arena)
{
    uint32_t nodes = m->s->problem->node_count;
    m->removed = tni_arena_take_array(arena, nodes, sizeof *m->removed);
    m->added = tni_arena_take_array(arena, nodes, sizeof *m->added);
    if (!m->removed || !m->added || !tni_changes_make(m->s->index, arena, &m->changes))
        return false;
    tni_changes_set(&m->changes, m->s->best);
    bool has_changed = true;
    for (int round = 0; round < MOST_ROUNDS && has_changed; round++) {
        has_changed = false;
        improve_nodes(m, &has_changed);
        if (m->s->problem->groups && !improve_groups(m, arena, &has_changed))
            return false;
    }
    tni_solving_consider(m->s, m->changes.chosen, "changes");
    return true;
}

bool tni_improve(tni_solving *s)
{
    improving m = { .s = s };
    tni_arena arena;
    if (!s->method)
        return true;
    tni_arena_init(&arena, &s->arena->allocator);
    bool has_memory = improve(&m, &arena);
    tni_arena_finish(&arena);
    return has_memory;
}
