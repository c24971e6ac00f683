// Prices on bytes: whatever they are, the bound is below every assignment that fits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "random_problem.h"
#include "sched/limits.h"
#include "solver_test.h"

typedef struct priced {
    solver v;
    tni_limited l;
} priced;

static void begin(priced *m, const tni_problem *problem)
{
    size_t places = problem->place_count, groups = problem->group_count;
    solver_begin(&m->v, problem);
    tni_arena *arena = &m->v.arena;
    m->l = (tni_limited){
        .s = &m->v.s,
        .problem = problem,
        .arena = arena,
        .price = tni_arena_take_array(arena, places, sizeof(double)),
        .best_price = tni_arena_take_array(arena, places, sizeof(double)),
        .direction = tni_arena_take_array(arena, places, sizeof(double)),
        .claim_ns = tni_arena_take_array(arena, problem->claim_count, sizeof(double)),
        .group_ns = tni_arena_take_array(arena, groups * places, sizeof(double)),
        .group_bytes = tni_arena_take_array(arena, groups, sizeof(double)),
        .used = tni_arena_take_array(arena, places, sizeof(uint64_t)),
    };
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (problem->groups[n] != TNP_NONE)
            m->l.group_bytes[problem->groups[n]] = (double)problem->group_bytes[problem->groups[n]];
    for (int i = 0; i < TNI_MOST_PARENTS; i++)
        m->l.parents[i] = tni_arena_take_indices(arena, problem->node_count);
    assert_true(tni_limited_find_payers(&m->l));
}

static void no_assignment_that_fits_costs_less_than_the_bound(void **state)
{
    (void)state;
    uint64_t seed = 71;
    uint32_t raised = 0, problems = 0;
    for (uint32_t i = 0; i < 200; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = 2 + next_random(&seed) % 9,
                                   .places = 2 + i % 2,
                                   .has_fusions = i & 1,
                                   .has_groups = i & 2,
                                   .has_limits = true,
                                   .has_room = i & 4 };
        random_problem_make(&r, &options, &seed);
        priced m;
        begin(&m, &r.problem);
        double best_ns = plain_best_ns(&r.problem), free_ns = 0;
        for (int k = 0; k < 6 && best_ns < INFINITY; k++) {
            bool is_found;
            uint32_t chosen[PLAIN_MOST_NODES];
            double bound_ns;
            for (uint32_t p = 0; p < r.problem.place_count; p++)
                m.l.price[p] = k && r.problem.limits[p] != TNI_NO_LIMIT   // else nothing is paid
                                   ? next_random(&seed) % 1000 / 10.0 * k
                                   : 0;
            assert_true(tni_limited_solve_at_prices(&m.l, chosen, &is_found, &bound_ns));
            assert_true(bound_ns <= best_ns * (1 + 1e-9));
            free_ns = k ? free_ns : bound_ns;
        }
        if (best_ns < INFINITY) {
            solver_finish(&m.v);
            begin(&m, &r.problem);
            assert_true(tni_limited_solve_by_prices(&m.l));
            assert_true(m.v.s.bound_ns <= best_ns * (1 + 1e-9));
            assert_true(m.v.s.bound_ns >= free_ns * (1 - 1e-9));
            raised += m.v.s.bound_ns > free_ns * 1.001;
            problems++;
        }
        solver_finish(&m.v);
        random_problem_finish(&r);
    }
    assert_true(problems > 100 && raised > 30);   // else nothing was tested
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_assignment_that_fits_costs_less_than_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
