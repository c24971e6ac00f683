// Minimum cuts: of two places the best there is, and its bound; of more never worse than before.
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

static random_options options_of(uint32_t i, uint32_t places)
{
    return (random_options){ .shape = (shape)(i % SHAPES),
                             .nodes = PLAIN_MOST_NODES,
                             .places = places,
                             .has_refusals = i & 1,
                             .has_groups = i & 2,
                             .has_uneven_links = i & 4,
                             .has_heavy_nodes = i & 8 };
}

static void of_two_places_the_best_is_a_cut(void **state)
{
    (void)state;
    uint64_t seed = 51;
    for (uint32_t i = 0; i < 300; i++) {
        random_problem r;
        random_options options = options_of(i, 2);
        random_problem_make(&r, &options, &seed);
        solver v;
        solver_begin(&v, &r.problem);
        double best_ns = plain_best_ns(&r.problem);
        assert_true(tni_solve_by_cuts(&v.s));
        assert_string_equal(v.s.method, "cut");
        solver_check(&v);
        assert_true(fabs(v.s.best_ns - best_ns) <= 1e-9 * best_ns);
        assert_true(fabs(v.s.bound_ns - best_ns) <= 1e-9 * best_ns);
        solver_finish(&v);
        random_problem_finish(&r);
    }
}

static void of_more_places_moves_make_it_better(void **state)
{
    (void)state;
    uint64_t seed = 52;
    uint32_t better = 0;
    for (uint32_t i = 0; i < 300; i++) {
        random_problem r;
        random_options options = options_of(i, 3 + i % 2);
        random_problem_make(&r, &options, &seed);
        solver v;
        assert_true(solver_begin_greedily(&v, &r.problem));
        double before = v.s.best_ns;
        v.s.bound_ns = 0;   // far from it
        assert_true(tni_solve_by_cuts(&v.s));
        solver_check(&v);
        assert_true(v.s.best_ns <= before);
        better += v.s.best_ns < before;
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(better > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_places_the_best_is_a_cut),
        cmocka_unit_test(of_more_places_moves_make_it_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
