// Crossed assignments: no cut between two of them is better than what is found.
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

enum { NODES = 14, PARENTS = 4 };

static void no_cut_between_two_is_better(void **state)
{
    (void)state;
    uint64_t seed = 81;
    uint32_t better = 0;
    for (uint32_t i = 0; i < 300; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = NODES,
                                   .places = 2 + i % 2,
                                   .has_limits = true,
                                   .has_room = i & 1 };
        random_problem_make(&r, &options, &seed);
        solver v;
        solver_begin(&v, &r.problem);
        uint32_t parents[PARENTS][NODES];
        tni_limited l = { .s = &v.s, .problem = &r.problem, .arena = &v.arena };
        assert_true(tni_changes_make(&v.index, &v.arena, &l.changes));
        for (uint32_t k = 0; k < PARENTS; k++) {
            l.parents[k] = tni_arena_take_indices(&v.arena, NODES);
            for (uint32_t n = 0; n < NODES; n++) {
                uint32_t count = v.index.first_claim[n + 1] - v.index.first_claim[n];
                parents[k][n] = v.index.claims[v.index.first_claim[n] + next_random(&seed) % count];
            }
            tni_limited_add_parent(&l, parents[k]);
            tni_solving_consider(&v.s, parents[k], "parent");
        }
        for (uint32_t k = PARENTS; k < TNI_MOST_PARENTS; k++)
            l.parents[k] = tni_arena_take_indices(&v.arena, NODES);
        assert_true(tni_limited_cross_all(&l));
        solver_check(&v);
        better += strcmp(v.s.method, "crossing") == 0;
        for (uint32_t a = 0; a < PARENTS; a++)
            for (uint32_t b = 0; b < PARENTS; b++)
                for (uint32_t cut = 0; cut <= NODES; cut++) {
                    uint32_t chosen[NODES];
                    for (uint32_t n = 0; n < NODES; n++)
                        chosen[n] = n < cut ? parents[a][n] : parents[b][n];
                    uint64_t above = tni_problem_used(&v.index, chosen, v.s.used);
                    assert_true(above >= v.s.best_above);
                    if (above == v.s.best_above)
                        assert_true(plain_cost_ns(&r.problem, chosen) >= v.s.best_ns * (1 - 1e-6));
                }
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(better > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cut_between_two_is_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
