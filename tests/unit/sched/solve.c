// The solver on random problems: against all assignments there are, and against greedy.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "random_problem.h"

enum { MOST_NODES = 14 };

static uint32_t rounds = 20;   // of each kind

// ------------------------------------------------------------------------ all assignments there are

typedef struct all {
    const tni_problem *problem;
    uint32_t chosen[MOST_NODES];
    double best_ns;   // INFINITY: none
} all;

static bool has_order(const all *a)
{
    const tni_problem *problem = a->problem;
    uint32_t done = 0, node_done[MOST_NODES] = { 0 };
    for (bool moves = true; moves;) {
        moves = false;
        for (uint32_t n = 0; n < problem->node_count; n++) {
            const tni_problem_claim *claim = &problem->claims[a->chosen[n]];
            bool is_ready = claim->nodes[0] == n && !node_done[n];
            for (uint32_t i = 0; i < claim->node_count && is_ready; i++)
                for (uint32_t e = problem->first_before[claim->nodes[i]];
                     e < problem->first_before[claim->nodes[i] + 1]; e++)
                    is_ready &= node_done[problem->before[e]] ||
                                a->chosen[problem->before[e]] == a->chosen[n];
            for (uint32_t i = 0; i < claim->node_count && is_ready; i++, done++)
                node_done[claim->nodes[i]] = 1;
            moves |= is_ready;
        }
    }
    return done == problem->node_count;
}

static bool fits(const all *a)
{
    const tni_problem *problem = a->problem;
    uint32_t place_of_group[MOST_NODES];
    memset(place_of_group, 0xff, sizeof place_of_group);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint32_t place = problem->claims[a->chosen[n]].place, group = problem->groups[n];
        if (group == TNP_NONE)
            continue;
        if (place_of_group[group] != TNP_NONE && place_of_group[group] != place)
            return false;
        place_of_group[group] = place;
    }
    for (uint32_t p = 0; problem->limits && p < problem->place_count; p++) {
        bool *has = calloc(problem->item_count, sizeof *has);
        uint64_t used = 0;
        bool is_used = false;
        for (uint32_t g = 0; g < problem->group_count; g++)
            used += place_of_group[g] == p ? problem->group_bytes[g] : 0;
        for (uint32_t n = 0; n < problem->node_count; n++) {
            const tni_problem_claim *claim = &problem->claims[a->chosen[n]];
            if (claim->place != p)
                continue;
            is_used = true;
            used += claim->nodes[0] == n ? claim->bytes : 0;
            for (uint32_t i = 0; i < claim->item_count; i++)
                has[problem->claim_items[claim->first_item + i]] = true;
        }
        for (uint32_t i = 0; i < problem->item_count; i++)
            used += has[i] ? problem->item_bytes[i] : 0;
        free(has);
        if (used + (is_used ? problem->fixed_bytes[p] : 0) > problem->limits[p])
            return false;
    }
    return true;
}

static double cost_of(const tni_problem *problem, const uint32_t *chosen)
{
    double ns = 0;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint64_t there = UINT64_C(1) << problem->claims[chosen[n]].place;
        ns += problem->claims[chosen[n]].nodes[0] == n ? problem->claims[chosen[n]].cost_ns : 0;
        for (uint32_t r = n + 1; r < problem->node_count; r++)
            for (uint32_t e = problem->first_operand[r]; e < problem->first_operand[r + 1]; e++) {
                uint32_t place = problem->claims[chosen[r]].place;
                if (problem->operands[e] != n || (there >> place & 1))
                    continue;
                there |= UINT64_C(1) << place;
                ns += tni_links_cost_ns(problem->links, problem->claims[chosen[n]].place, place,
                                        problem->value_bytes[n]);
            }
    }
    return ns;
}

static bool is_free(const all *a, const tni_problem_claim *claim)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (a->chosen[claim->nodes[i]] != TNP_NONE ||
            !(a->problem->places[claim->nodes[i]] >> claim->place & 1))
            return false;
    return true;
}

// claim_ns: of what is chosen so far.
static void try_all(all *a, double claim_ns)
{
    uint32_t n = 0;
    while (n < a->problem->node_count && a->chosen[n] != TNP_NONE)
        n++;
    if (claim_ns >= a->best_ns)
        return;
    if (n == a->problem->node_count) {
        double ns = cost_of(a->problem, a->chosen);
        if (ns < a->best_ns && fits(a) && has_order(a))
            a->best_ns = ns;
        return;
    }
    for (uint32_t c = 0; c < a->problem->claim_count; c++) {
        const tni_problem_claim *claim = &a->problem->claims[c];
        if (claim->nodes[0] != n || !is_free(a, claim))
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++)
            a->chosen[claim->nodes[i]] = c;
        try_all(a, claim_ns + claim->cost_ns);
        for (uint32_t i = 0; i < claim->node_count; i++)
            a->chosen[claim->nodes[i]] = TNP_NONE;
    }
}

// ------------------------------------------------------------------------------------------ checks

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

// Each node is covered by one claim, which its place allows; cost and bound are as told.
static void check_solution(const tni_problem *problem, const tni_solution *s, const char *says)
{
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[s->chosen[n]];
        bool is_member = false;
        for (uint32_t i = 0; i < claim->node_count; i++) {
            is_member |= claim->nodes[i] == n;
            if (s->chosen[claim->nodes[i]] != s->chosen[n])
                fail_msg("%s: a claim has only some of its nodes", says);
        }
        if (!is_member || !(problem->places[n] >> claim->place & 1))
            fail_msg("%s: node %u has a claim that it cannot have", says, n);
    }
    if (s->bound_ns > s->cost_ns * (1 + 1e-9))
        fail_msg("%s: cost %.3f is below the bound %.3f", says, s->cost_ns, s->bound_ns);
}

static double greedy_ns(const tni_problem *problem)
{
    tni_arena arena;
    tni_problem_index index;
    tni_arena_init(&arena, NULL);
    uint32_t *chosen = tni_arena_take_array(&arena, problem->node_count, sizeof *chosen);
    uint32_t *cycle = tni_arena_take_array(&arena, problem->node_count, sizeof *cycle), count;
    double ns = INFINITY;
    bool has_memory = true;
    assert_true(tni_problem_index_make(problem, &arena, &index));
    for (int alone = 0; alone < 2 && ns == INFINITY; alone++)
        if (tni_solve_greedily(&index, alone, &arena, chosen, &has_memory) == problem->node_count &&
            tni_problem_has_order(&index, chosen, cycle, &count))
            ns = cost_of(problem, chosen);
    assert_true(has_memory);
    tni_arena_finish(&arena);
    return ns;
}

typedef struct tally {
    uint32_t problems, found, proven, best, better_than_greedy;
} tally;

static void check_against_all(const random_options *options, uint64_t *seed, tally *t)
{
    random_problem r;
    tni_solution s;
    char says[96];
    uint32_t chosen[MOST_NODES];
    snprintf(says, sizeof says, "%s of %u nodes, %u places, seed %llu", shape_names[options->shape],
             options->nodes, options->places, (unsigned long long)*seed);
    random_problem_make(&r, options, seed);
    all a = { .problem = &r.problem, .best_ns = INFINITY };
    memset(a.chosen, 0xff, sizeof a.chosen);
    try_all(&a, 0);
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    t->problems++;
    if (s.bound_ns > a.best_ns * (1 + 1e-9))
        fail_msg("%s: the bound %.3f is above the best, %.3f", says, s.bound_ns, a.best_ns);
    if (s.is_found != (a.best_ns < INFINITY))
        fail_msg("%s: found %d, the best is %.3f", says, s.is_found, a.best_ns);
    if (s.is_proven && s.is_found && !is_near(s.cost_ns, a.best_ns))
        fail_msg("%s: %.3f is not the best, %.3f", says, s.cost_ns, a.best_ns);
    if (s.is_found) {
        memcpy(a.chosen, chosen, sizeof chosen);
        check_solution(&r.problem, &s, says);
        if (!fits(&a) || !has_order(&a))
            fail_msg("%s: no assignment: fits %d, has an order %d", says, fits(&a), has_order(&a));
        if (!is_near(s.cost_ns, cost_of(&r.problem, chosen)))
            fail_msg("%s: another cost is told", says);
        t->found++;
        t->best += is_near(s.cost_ns, a.best_ns);
        t->better_than_greedy += s.cost_ns < greedy_ns(&r.problem) * (1 - 1e-9);
    } else if (s.is_covered) {
        assert_int_not_equal(s.full_place, TNP_NONE);
        assert_true(s.lacking_bytes > 0);
    }
    t->proven += s.is_proven;
    random_problem_finish(&r);
}

// Options from the bits of a number.
static random_options options_of(uint32_t kind, uint32_t nodes, uint32_t places)
{
    return (random_options){ .nodes = nodes,
                             .places = places,
                             .has_fusions = kind & 1,
                             .has_odd_fusions = kind >> 5 & 1,
                             .has_refusals = kind >> 1 & 1,
                             .has_groups = kind >> 2 & 1,
                             .has_uneven_links = kind >> 3 & 1,
                             .has_heavy_nodes = kind >> 4 & 1 };
}

static void few_nodes_get_the_best_assignment_there_is(void **state)
{
    (void)state;
    uint64_t seed = 1;
    tally t = { 0 };
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t kind = 0; kind < 64; kind++)
            for (shape which = 0; which < SHAPES; which++) {
                uint32_t places = 2 + next_random(&seed) % 2;
                uint32_t most = places == 2 ? MOST_NODES : 10;
                random_options options = options_of(kind, 1 + next_random(&seed) % most, places);
                options.shape = which;
                check_against_all(&options, &seed, &t);
            }
    print_message("%u problems, %u proven, %u best, %u better than greedy\n", t.problems, t.proven,
                  t.best, t.better_than_greedy);
    assert_int_equal(t.best, t.problems);
    assert_int_equal(t.proven, t.problems);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_nodes_get_the_best_assignment_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
