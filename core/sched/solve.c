// solve.c: the best of several methods.
//
//   greedy ──► elimination ──► is there an order? ─ yes ─► done, when within the limits
//                  ▲                │ no: units wait for each other in a circle
//                  └─ branch: without one of them, each in turn, the lowest bound first
//
// An assignment with an order lacks one claim of each circle at least, so the least of the branches
// is exact. What costs no more than the bound is proven to be the best; what is not gets prices on
// bytes where memory is short, minimum cuts where tables were split, and small changes.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"
#include "sched/solve_internal.h"

// Budgets, counted so that a machine's speed changes nothing. They are where chains, graphs that
// are series and parallel, and language models stay exact on a few devices, and 100,000 nodes take
// seconds. Fusions get more: labels of nodes in one claim are many, and few go together.
enum {
    MOST_ENTRIES = 4096,         // of a table
    FUSED_ENTRIES = 1 << 14,     // where claims have several nodes
    WORK_A_NODE = 1500,          // sums of elimination
    FUSED_WORK_A_NODE = 20000,   // where claims have several nodes
    LEAST_WORK = 1 << 20,        // sums, however few the nodes: about a millisecond
    MOST_TOLD = 1024,            // entries that copies to a few readers may add to one table
    MOST_COPIES = 16,            // labels of one claim: sets of 4 other places
    MOST_BRANCHES = 64,          // circles are rare, and one or two branches end most of them
    LEAST_BRANCHES = 4,          // however many the nodes
    BRANCH_NODES = 1 << 16,      // of all branches together: of 1,000 nodes all 64 are affordable
};

// Costs no more than the bound, but for what sums lose.
static bool is_proved_optimal(const tni_solving *s)
{
    return s->best_ns <= s->bound_ns + TNI_ROUNDING * fabs(s->bound_ns);
}

bool tni_solving_is_done(const tni_solving *s)
{
    return s->best_above == 0 && is_proved_optimal(s);
}

bool tni_solving_consider(tni_solving *s, const uint32_t *chosen, const char *method)
{
    double ns = tni_problem_cost_ns(s->index, chosen);
    uint64_t above = s->problem->limits ? tni_problem_used(s->index, chosen, s->used) : 0;
    bool is_better = above < s->best_above ||
                     (above == s->best_above && ns < s->best_ns * (1 - TNI_LEAST_ROUNDING));
    if (s->method && !is_better)
        return false;
    memcpy(s->best, chosen, s->problem->node_count * sizeof *chosen);
    s->best_ns = ns;
    s->best_above = above;
    s->method = method;
    return true;
}

// ---------------------------------------------------------------------------------------- branches

// Without the claims of this branch and of those it comes from.
typedef struct branch {
    uint32_t parent, claim;   // TNP_NONE: the first one
    double bound_ns;
    bool is_open;
} branch;

typedef struct branching {
    branch *branches;
    uint32_t count, capacity;
} branching;

static uint32_t lowest_open(const branching *b)
{
    uint32_t best = TNP_NONE;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->branches[i].is_open &&
            (best == TNP_NONE || b->branches[i].bound_ns < b->branches[best].bound_ns))
            best = i;
    return best;
}

static void mark_out(const branching *b, uint32_t at, bool *is_out, bool is)
{
    for (; at != TNP_NONE && b->branches[at].claim != TNP_NONE; at = b->branches[at].parent)
        is_out[b->branches[at].claim] = is;
}

static bool add_branch(const tni_solving *s, branching *b, branch added)
{
    if (!tni_grow(&s->arena->allocator, &b->branches, &b->capacity, b->count + 1,
                  sizeof *b->branches))
        return false;
    b->branches[b->count++] = added;
    return true;
}

// What is minimised, without the prices of groups: to compare what two branches found.
static double priced_ns(const tni_solving *s, const tni_ordered *how, const uint32_t *chosen)
{
    const tni_problem *problem = s->problem;
    double ns = tni_problem_cost_ns(s->index, chosen);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[chosen[n]];
        if (claim->nodes[0] == n)
            ns += how->claim_ns[chosen[n]] - claim->cost_ns;
    }
    return ns;
}

static bool solve_branches(tni_solving *s, tni_ordered *how, branching *b, uint32_t *chosen)
{
    const tni_problem *problem = s->problem;
    uint64_t work = (uint64_t)(s->index->has_fusions ? FUSED_WORK_A_NODE : WORK_A_NODE) *
                    problem->node_count;
    double closed_ns = INFINITY, found_ns = INFINITY;
    if (!add_branch(s, b, (branch){ TNP_NONE, TNP_NONE, -INFINITY, true }))
        return false;
    for (uint32_t i = 0, at; i < how->most_branches && (at = lowest_open(b)) != TNP_NONE &&
                             b->branches[at].bound_ns < closed_ns;
         i++) {
        tni_elimination one = { .is_out = s->is_out,
                                .claim_ns = how->claim_ns,
                                .group_ns = how->group_ns,
                                .most_entries = s->index->has_fusions ? FUSED_ENTRIES
                                                                      : MOST_ENTRIES,
                                .most_work = work < LEAST_WORK ? LEAST_WORK : work,
                                .most_told = MOST_TOLD,
                                .most_copies = MOST_COPIES };
        uint32_t count = 0;
        mark_out(b, at, s->is_out, true);
        bool has_memory = tni_solve_by_elimination(s->index, &one, &s->arena->allocator, s->chosen);
        mark_out(b, at, s->is_out, false);
        s->work += one.work;
        if (!has_memory)
            return false;
        b->branches[at].is_open = false;
        if (one.bound_ns == INFINITY)
            continue;
        bool has_order = !one.is_found ||
                         tni_problem_has_order(s->index, s->chosen, s->cycle, &count);
        if (one.is_found && has_order) {
            double ns = priced_ns(s, how, s->chosen);
            how->is_found = true;
            if (ns < found_ns)
                memcpy(chosen, s->chosen, problem->node_count * sizeof *chosen);
            found_ns = ns < found_ns ? ns : found_ns;
        }
        if (has_order)
            closed_ns = one.bound_ns < closed_ns ? one.bound_ns : closed_ns;
        for (uint32_t k = 0; k < count; k++)
            if (!add_branch(s, b, (branch){ at, s->cycle[k], one.bound_ns, true }))
                return false;
    }
    uint32_t open = lowest_open(b);
    double open_ns = open == TNP_NONE ? INFINITY : b->branches[open].bound_ns;
    how->bound_ns = open_ns < closed_ns ? open_ns : closed_ns;
    return true;
}

bool tni_solve_ordered(tni_solving *s, tni_ordered *how, uint32_t *chosen)
{
    branching b = { 0 };
    how->is_found = false;
    bool has_memory = solve_branches(s, how, &b, chosen);
    tni_free(&s->arena->allocator, b.branches);
    return has_memory;
}

// ----------------------------------------------------------------------------------------- methods

static bool solve_greedily(tni_solving *s)
{
    bool has_memory = true;
    for (int alone = 0; alone < 2; alone++) {
        uint32_t count = tni_solve_greedily(s->index, alone, s->arena, s->chosen, &has_memory), on;
        if (!has_memory)
            return false;
        if (count == s->problem->node_count &&
            tni_problem_has_order(s->index, s->chosen, s->cycle, &on)) {
            tni_solving_consider(s, s->chosen, "greedy");
            s->greedy_ns = s->best_ns;
            s->greedy_fits = s->best_above == 0;
            return true;
        }
        if (count < s->problem->node_count && s->stuck_node == TNP_NONE)
            s->stuck_node = count;
    }
    return true;
}

static bool solve_by_elimination(tni_solving *s)
{
    uint32_t nodes = s->problem->node_count;
    uint32_t branches = BRANCH_NODES / (nodes ? nodes : 1);
    tni_ordered how = { .claim_ns = s->claim_ns,
                        .most_branches = branches > MOST_BRANCHES    ? MOST_BRANCHES
                                         : branches < LEAST_BRANCHES ? LEAST_BRANCHES
                                                                     : branches };
    uint32_t *chosen = tni_arena_take_array(s->arena, nodes, sizeof *chosen);
    if (!chosen || !tni_solve_ordered(s, &how, chosen))
        return false;
    s->bound_ns = how.bound_ns > s->bound_ns ? how.bound_ns : s->bound_ns;
    if (how.is_found)
        tni_solving_consider(s, chosen, "elimination");
    return true;
}

// Without fusions: what no assignment is below, at a glance.
static double sum_of_least_ns(const tni_solving *s)
{
    double sum = 0;
    for (uint32_t n = 0; n < s->problem->node_count; n++) {
        double least = INFINITY;
        for (uint32_t i = s->index->first_claim[n]; i < s->index->first_claim[n + 1]; i++) {
            double ns = s->problem->claims[s->index->claims[i]].cost_ns;
            least = ns < least ? ns : least;
        }
        sum += least;
    }
    return sum;
}

static bool solve(tni_solving *s)
{
    if (!s->index->has_fusions)
        s->bound_ns = sum_of_least_ns(s);
    if (!solve_greedily(s))
        return false;
    if (tni_solving_is_done(s))
        return true;
    if (!solve_by_elimination(s))
        return false;
    if (!s->index->has_fusions && !is_proved_optimal(s) && !tni_solve_by_cuts(s))
        return false;
    if (s->problem->limits && s->best_above && s->bound_ns < INFINITY &&
        !tni_solve_within_limits(s))
        return false;
    if (!tni_solving_is_done(s) && !tni_improve(s))
        return false;
    return tni_solving_is_done(s) || tni_search_all(s);
}

static void report(const tni_solving *s, tni_solution *out)
{
    out->is_covered = s->method != NULL;
    out->stuck_node = s->stuck_node;
    out->is_found = s->method && s->best_above == 0;
    out->is_proved_optimal = out->is_found ? tni_solving_is_done(s) : s->bound_ns == INFINITY;
    out->method = s->method;
    out->greedy_ns = s->greedy_ns;
    out->greedy_fits = s->greedy_fits;
    out->cost_ns = s->method ? s->best_ns : INFINITY;
    out->bound_ns = out->is_found && s->best_ns < s->bound_ns ? s->best_ns : s->bound_ns;
    out->work = s->work + s->problem->claim_count;
    out->full_place = TNP_NONE;
    if (!out->is_covered)
        return;
    tni_problem_used(s->index, s->best, out->used);
    for (uint32_t p = 0; s->problem->limits && p < s->problem->place_count; p++) {
        uint64_t limit = s->problem->limits[p], used = out->used[p];
        if (used <= limit || used - limit <= out->lacking_bytes)
            continue;
        out->full_place = p;
        out->lacking_bytes = used - limit;
    }
}

bool tni_solve(const tni_problem *problem, tni_arena *arena, uint32_t *chosen, tni_solution *out)
{
    tni_problem_index index;
    *out = (tni_solution){ 0 };
    if (!tni_problem_index_make(problem, arena, &index))
        return false;
    tni_solving s = {
        .index = &index,
        .problem = problem,
        .arena = arena,
        .best = chosen,
        .best_ns = INFINITY,
        .best_above = UINT64_MAX,
        .bound_ns = -INFINITY,
        .stuck_node = TNP_NONE,
        .greedy_ns = INFINITY,
        .chosen = tni_arena_take_array(arena, problem->node_count, sizeof *s.chosen),
        .cycle = tni_arena_take_array(arena, problem->node_count, sizeof *s.cycle),
        .used = tni_arena_take_array(arena, problem->place_count, sizeof *s.used),
        .is_out = tni_arena_take_array(arena, problem->claim_count, sizeof *s.is_out),
        .claim_ns = tni_arena_take_array(arena, problem->claim_count, sizeof *s.claim_ns),
    };
    out->chosen = chosen;
    out->used = tni_arena_take_array(arena, problem->place_count, sizeof *out->used);
    if (!s.chosen || !s.cycle || !s.used || !s.is_out || !s.claim_ns || !out->used)
        return false;
    for (uint32_t c = 0; c < problem->claim_count; c++)
        s.claim_ns[c] = problem->claims[c].cost_ns;
    if (!solve(&s))
        return false;
    report(&s, out);
    return true;
}
