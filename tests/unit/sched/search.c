// All assignments of few nodes: the best of them, against a plain search.
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

static void the_best_of_few_nodes_is_found_and_known_to_be(void **state)
{
    (void)state;
    uint64_t seed = 41;
    uint32_t found = 0, none = 0, unknown = 0;
    for (uint32_t i = 0; i < 600; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = 1 + next_random(&seed) % 9,
                                   .places = 2 + i % 2,
                                   .has_fusions = i & 1,
                                   .has_odd_fusions = i & 2,
                                   .has_groups = i & 4,
                                   .has_limits = i & 8,
                                   .has_uneven_links = i & 16 };
        random_problem_make(&r, &options, &seed);
        solver v;
        solver_begin(&v, &r.problem);
        double best_ns = plain_best_ns(&r.problem);
        assert_true(tni_search_all(&v.s));
        unknown += v.s.bound_ns == -INFINITY;   // too many steps
        found += best_ns < INFINITY;
        none += best_ns == INFINITY;
        if (v.s.bound_ns != -INFINITY && best_ns < INFINITY) {
            assert_true(fabs(v.s.best_ns - best_ns) <= 1e-9 * best_ns);
            assert_true(v.s.bound_ns == v.s.best_ns);
            solver_check(&v);
        } else if (v.s.bound_ns != -INFINITY) {
            assert_true(v.s.bound_ns == INFINITY);
        }
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(found > 400 && none > 10 && unknown < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_few_nodes_is_found_and_known_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
