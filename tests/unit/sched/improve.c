// Small changes: what is left is an assignment that no one claim makes better.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "random_problem.h"
#include "solver_test.h"

// Whether a claim on one node, in place of the one that it has alone, costs less.
static bool is_any_better(solver *v)
{
    const tni_problem *problem = v->problem;
    for (uint32_t n = 0; n < problem->node_count; n++)
        for (uint32_t i = v->index.first_claim[n]; i < v->index.first_claim[n + 1]; i++) {
            uint32_t was = v->s.best[n], claim = v->index.claims[i];
            v->s.best[n] = claim;
            double ns = plain_cost_ns(problem, v->s.best);
            v->s.best[n] = was;
            if (ns < v->s.best_ns * (1 - 1e-6))
                return true;
        }
    return false;
}

static void no_claim_alone_makes_it_better(void **state)
{
    (void)state;
    uint64_t seed = 31;
    uint32_t improved = 0;
    for (uint32_t i = 0; i < 400; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = PLAIN_MOST_NODES,
                                   .places = 2 + i % 3,
                                   .has_refusals = i & 1,
                                   .has_uneven_links = i & 2 };
        random_problem_make(&r, &options, &seed);
        solver v;
        assert_true(solver_begin_greedily(&v, &r.problem));
        double before = v.s.best_ns;
        assert_true(tni_improve(&v.s));
        solver_check(&v);
        assert_true(v.s.best_ns <= before);
        assert_false(is_any_better(&v));
        improved += v.s.best_ns < before;
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(improved > 100);   // else nothing was tested
}

static void with_fusions_groups_and_limits_it_is_an_assignment_and_no_worse(void **state)
{
    (void)state;
    uint64_t seed = 32;
    uint32_t improved = 0;
    for (uint32_t i = 0; i < 400; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = PLAIN_MOST_NODES,
                                   .places = 2 + i % 2,
                                   .has_fusions = i & 1,
                                   .has_odd_fusions = i & 2,
                                   .has_groups = i & 4,
                                   .has_limits = i & 8 };
        random_problem_make(&r, &options, &seed);
        solver v;
        if (solver_begin_greedily(&v, &r.problem)) {
            double before = v.s.best_ns;
            uint64_t above = v.s.best_above;
            assert_true(tni_improve(&v.s));
            solver_check(&v);
            assert_true(v.s.best_above < above ||
                        (v.s.best_above == above && v.s.best_ns <= before));
            improved += v.s.best_above < above || v.s.best_ns < before;
        }
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(improved > 100);
}

static void claims_that_wait_for_each_other_do_not_come_together(void **state)
{
    (void)state;
    const tni_problem problem = circle_problem();
    solver v;
    solver_begin(&v, &problem);
    assert_true(tni_solving_consider(&v.s, (uint32_t[]){ 2, 3, 4, 5 }, "alone"));
    assert_true(tni_improve(&v.s));
    solver_check(&v);
    assert_true(v.s.best_ns == 1 + 10 + 10);
    solver_finish(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_that_wait_for_each_other_do_not_come_together),
        cmocka_unit_test(no_claim_alone_makes_it_better),
        cmocka_unit_test(with_fusions_groups_and_limits_it_is_an_assignment_and_no_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
