// search.c: all assignments of few nodes, those left out that cannot be better than the best.
#include <math.h>

#include <tenon/plugin.h>

#include "sched/solve_internal.h"

// Steps end the search of what has many claims before that of many nodes would end it: of 2 places
// all of 15 nodes are within them, and with what is left out of more.
enum {
    SEARCH_NODES = 24,        // with more the steps end it long before all is looked at
    SEARCH_STEPS = 1 << 17,   // some hundredths of a second
};

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
           (f->s->best_above > 0 || ns < f->s->best_ns * (1 - TNI_LEAST_ROUNDING));
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
        if (claim->nodes[0] != top->node || !tni_changes_are_bare(&f->changes, claim))
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
