// solver_test.c: see solver_test.h.
#include "solver_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

tni_problem circle_problem(void)
{
    static const uint32_t nodes[] = { 0, 3, 1, 2 }, alone[] = { 0, 1, 2, 3 };
    static const uint32_t first[] = { 0, 0, 0, 1, 2 }, before[] = { 0, 1 };
    static const uint64_t places[] = { 1, 1, 1, 1 }, bytes[] = { 1, 1, 1, 1 };
    static double no_ns[1];
    static const tni_links links = {
        .place_count = 1, .latency_ns = no_ns, .ns_per_byte = no_ns, .measured_submit_ns = no_ns
    };
    static tni_problem_claim claims[6];
    for (uint32_t c = 0; c < 2; c++)
        claims[c] = (tni_problem_claim){ .node_count = 2, .nodes = nodes + 2 * c, .cost_ns = 1 };
    for (uint32_t n = 0; n < 4; n++)
        claims[2 + n] = (tni_problem_claim){ .node_count = 1, .nodes = &alone[n], .cost_ns = 10 };
    return (tni_problem){ .place_count = 1,
                          .node_count = 4,
                          .claim_count = 6,
                          .claims = claims,
                          .places = places,
                          .first_operand = first,
                          .operands = before,
                          .first_before = first,
                          .before = before,
                          .value_bytes = bytes,
                          .links = &links };
}

bool plain_has_order(const tni_problem *problem, const uint32_t *chosen)
{
    uint32_t done = 0, node_done[PLAIN_MOST_NODES] = { 0 };
    for (bool moves = true; moves;) {
        moves = false;
        for (uint32_t n = 0; n < problem->node_count; n++) {
            const tni_problem_claim *claim = &problem->claims[chosen[n]];
            bool is_ready = claim->nodes[0] == n && !node_done[n];
            for (uint32_t i = 0; i < claim->node_count && is_ready; i++)
                for (uint32_t e = problem->first_before[claim->nodes[i]];
                     e < problem->first_before[claim->nodes[i] + 1]; e++)
                    is_ready &= node_done[problem->before[e]] ||
                                chosen[problem->before[e]] == chosen[n];
            for (uint32_t i = 0; i < claim->node_count && is_ready; i++, done++)
                node_done[claim->nodes[i]] = 1;
            moves |= is_ready;
        }
    }
    return done == problem->node_count;
}

bool plain_fits(const tni_problem *problem, const uint32_t *chosen)
{
    uint32_t place_of_group[PLAIN_MOST_NODES];
    memset(place_of_group, 0xff, sizeof place_of_group);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint32_t place = problem->claims[chosen[n]].place,
                 group = problem->groups ? problem->groups[n] : TNP_NONE;
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
            const tni_problem_claim *claim = &problem->claims[chosen[n]];
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

double plain_cost_ns(const tni_problem *problem, const uint32_t *chosen)
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

typedef struct all {
    const tni_problem *problem;
    uint32_t chosen[PLAIN_MOST_NODES];
    double best_ns;   // INFINITY: none
} all;

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
        double ns = plain_cost_ns(a->problem, a->chosen);
        if (ns < a->best_ns && plain_fits(a->problem, a->chosen) &&
            plain_has_order(a->problem, a->chosen))
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

double plain_best_ns(const tni_problem *problem)
{
    all a = { .problem = problem, .best_ns = INFINITY };
    memset(a.chosen, 0xff, sizeof a.chosen);
    try_all(&a, 0);
    return a.best_ns;
}

// ----------------------------------------------------------------------------------- an assignment

void solver_begin(solver *v, const tni_problem *problem)
{
    uint32_t nodes = problem->node_count;
    *v = (solver){ .problem = problem };
    tni_arena *arena = &v->arena;
    tni_arena_init(arena, NULL);
    assert_true(tni_problem_index_make(problem, arena, &v->index));
    v->s = (tni_solving){
        .index = &v->index,
        .problem = problem,
        .arena = arena,
        .best = tni_arena_take_indices(arena, nodes),
        .best_ns = INFINITY,
        .best_above = UINT64_MAX,
        .bound_ns = -INFINITY,
        .stuck_node = TNP_NONE,
        .greedy_ns = INFINITY,
        .chosen = tni_arena_take_indices(arena, nodes),
        .cycle = tni_arena_take_indices(arena, nodes),
        .used = tni_arena_take_array(arena, problem->place_count, sizeof *v->s.used),
        .is_out = tni_arena_take_array(arena, problem->claim_count, sizeof *v->s.is_out),
        .claim_ns = tni_arena_take_array(arena, problem->claim_count, sizeof *v->s.claim_ns),
    };
    assert_true(v->s.best && v->s.chosen && v->s.cycle && v->s.used && v->s.is_out &&
                v->s.claim_ns);
    for (uint32_t c = 0; c < problem->claim_count; c++)
        v->s.claim_ns[c] = problem->claims[c].cost_ns;
}

bool solver_begin_greedily(solver *v, const tni_problem *problem)
{
    bool has_memory;
    uint32_t count;
    solver_begin(v, problem);
    tni_solving *s = &v->s;
    for (int alone = 0; alone < 2 && !s->method; alone++)
        if (tni_solve_greedily(&v->index, alone, &v->arena, s->chosen, &has_memory) ==
                problem->node_count &&
            tni_problem_has_order(&v->index, s->chosen, s->cycle, &count))
            tni_solving_consider(s, s->chosen, "greedy");
    return s->method != NULL;
}

void solver_check(solver *v)
{
    const tni_problem *problem = v->problem;
    uint32_t covered = 0;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[v->s.best[n]];
        for (uint32_t i = 0; i < claim->node_count && claim->nodes[0] == n; i++, covered++)
            assert_int_equal(v->s.best[claim->nodes[i]], v->s.best[n]);
        assert_true(problem->places[n] >> claim->place & 1);
    }
    assert_int_equal(covered, problem->node_count);
    assert_true(plain_has_order(problem, v->s.best));
    assert_int_equal(v->s.best_above == 0, plain_fits(problem, v->s.best));
    assert_true(fabs(plain_cost_ns(problem, v->s.best) - v->s.best_ns) <= 1e-9 * v->s.best_ns);
}

void solver_finish(solver *v)
{
    tni_arena_finish(&v->arena);
}
