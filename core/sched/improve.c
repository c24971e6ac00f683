// improve.c: small changes to the best assignment, and a search through all of few nodes.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/lists.h"
#include "sched/solve_internal.h"

enum {
    MOST_ROUNDS = 8,
    SEARCH_NODES = 24,
    SEARCH_STEPS = 1 << 17,
};

// ---------------------------------------------------------------------------------- small changes

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

// The cheapest claim on a node alone, on a place or anywhere (TNP_NONE); TNP_NONE: there is none.
static uint32_t cheapest_alone(const improving *m, uint32_t node, uint32_t place)
{
    const tni_problem_index *index = m->s->index;
    uint32_t best = TNP_NONE;
    for (uint32_t i = index->first_claim[node]; i < index->first_claim[node + 1]; i++) {
        const tni_problem_claim *claim = &index->problem->claims[index->claims[i]];
        if (claim->node_count == 1 && (place == TNP_NONE || claim->place == place) &&
            (best == TNP_NONE || claim->cost_ns < index->problem->claims[best].cost_ns))
            best = index->claims[i];
    }
    return best;
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
            uint32_t alone = cheapest_alone(m, node, claim->place);
            if (alone == TNP_NONE)
                alone = cheapest_alone(m, node, TNP_NONE);
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
                     (above == before_above && m->changes.ns < before_ns * (1 - 1e-9));
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
        uint32_t alone = cheapest_alone(m, nodes[i], place);
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

// ------------------------------------------------------------------------------------- all of few

// One choice: the claim that the first bare node got, as an index into the node's list.
typedef struct choice {
    uint32_t node, at, claim;
} choice;

typedef struct search {
    tni_solving *s;
    tni_changes changes;
    double *rest_ns;   // by node: what this node and those after it cost at least, by their claims
    choice stack[SEARCH_NODES];
    uint32_t depth;
    bool is_short;   // of steps
} search;

// A claim's cost is divided among its nodes.
static void find_rest(search *f)
{
    const tni_problem_index *index = f->s->index;
    for (uint32_t n = f->s->problem->node_count; n-- > 0;) {
        double least = INFINITY;
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++) {
            const tni_problem_claim *claim = &f->s->problem->claims[index->claims[i]];
            double ns = claim->cost_ns / claim->node_count;
            least = ns < least ? ns : least;
        }
        f->rest_ns[n] = f->rest_ns[n + 1] + least;
    }
}

static bool can_be_better(const search *f)
{
    double ns = f->changes.ns;
    for (uint32_t n = 0; n < f->s->problem->node_count; n++)
        if (f->changes.chosen[n] == TNP_NONE)
            ns += f->rest_ns[n] - f->rest_ns[n + 1];
    uint64_t above = tni_changes_above(&f->changes);
    return !f->changes.torn_count && above == 0 &&
           (f->s->best_above > 0 || ns < f->s->best_ns * (1 - 1e-12));
}

static void enter(search *f)
{
    uint32_t node = 0;
    while (node < f->s->problem->node_count && f->changes.chosen[node] != TNP_NONE)
        node++;
    if (node < f->s->problem->node_count) {
        f->stack[f->depth++] = (choice){ node, f->s->index->first_claim[node], TNP_NONE };
        return;
    }
    uint32_t count;
    if (tni_problem_has_order(f->s->index, f->changes.chosen, f->s->cycle, &count))
        tni_solving_consider(f->s, f->changes.chosen, "search");
}

static bool is_free(const search *f, const tni_problem_claim *claim)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (f->changes.chosen[claim->nodes[i]] != TNP_NONE)
            return false;
    return true;
}

// The next claim for the node on top; false: there is none.
static bool advance(search *f)
{
    const tni_problem_index *index = f->s->index;
    choice *top = &f->stack[f->depth - 1];
    if (top->claim != TNP_NONE)
        tni_changes_remove(&f->changes, top->claim);
    top->claim = TNP_NONE;
    for (; top->at < index->first_claim[top->node + 1]; top->at++) {
        uint32_t c = index->claims[top->at];
        const tni_problem_claim *claim = &f->s->problem->claims[c];
        if (claim->nodes[0] != top->node || !is_free(f, claim))
            continue;
        top->at++;
        top->claim = c;
        tni_changes_add(&f->changes, c);
        return true;
    }
    return false;
}

static void search_all(search *f)
{
    uint32_t steps = 0;
    enter(f);
    while (f->depth && steps++ < SEARCH_STEPS) {
        if (!advance(f))
            f->depth--;
        else if (can_be_better(f))
            enter(f);
    }
    f->is_short = f->depth > 0;
}

bool tni_search_all(tni_solving *s)
{
    tni_arena arena;
    search f = { .s = s };
    if (s->problem->node_count > SEARCH_NODES)
        return true;
    tni_arena_init(&arena, &s->arena->allocator);
    f.rest_ns = tni_arena_take_array(&arena, (size_t)s->problem->node_count + 1, sizeof *f.rest_ns);
    bool has_memory = f.rest_ns && tni_changes_make(s->index, &arena, &f.changes);
    if (has_memory) {
        find_rest(&f);
        search_all(&f);
        if (!f.is_short)   // nothing is better than the best
            s->bound_ns = s->method && s->best_above == 0 ? s->best_ns : INFINITY;
    }
    tni_arena_finish(&arena);
    return has_memory;
}
