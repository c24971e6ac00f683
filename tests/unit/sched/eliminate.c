// Elimination: exact where tables are whole, a bound where they are split.
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

// With tables of so many entries at most.
static tni_elimination eliminate(solver *v, uint32_t most_entries)
{
    tni_elimination how = { .claim_ns = v->s.claim_ns,
                            .most_entries = most_entries,
                            .most_work = UINT64_MAX,
                            .most_told = 1024,
                            .most_copies = 16 };
    assert_true(tni_solve_by_elimination(&v->index, &how, &v->arena.allocator, v->s.chosen));
    return how;
}

static void whole_tables_give_the_best_and_split_ones_a_bound(void **state)
{
    (void)state;
    uint64_t seed = 61;
    uint32_t exact = 0, split = 0, ordered = 0;
    for (uint32_t i = 0; i < 600; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = 1 + next_random(&seed) % PLAIN_MOST_NODES,
                                   .places = 2,
                                   .has_fusions = i & 1,
                                   .has_odd_fusions = i & 2,
                                   .has_refusals = i & 4,
                                   .has_groups = i & 8,
                                   .has_uneven_links = i & 16 };
        random_problem_make(&r, &options, &seed);
        solver v;
        solver_begin(&v, &r.problem);
        double best_ns = plain_best_ns(&r.problem);
        tni_elimination whole = eliminate(&v, 1 << 20);
        assert_true(whole.bound_ns <= best_ns * (1 + 1e-9));
        if (whole.is_exact && whole.is_found) {
            double ns = plain_cost_ns(&r.problem, v.s.chosen);
            assert_true(fabs(ns - whole.bound_ns) <= 1e-9 * ns);
            bool has_order = plain_has_order(&r.problem, v.s.chosen);
            if (has_order)
                assert_true(fabs(ns - best_ns) <= 1e-9 * ns);
            ordered += has_order;
            exact++;
        }
        tni_elimination small = eliminate(&v, 2);
        assert_true(small.bound_ns <= best_ns * (1 + 1e-9));
        split += !small.is_exact;
        if (small.is_exact && whole.is_exact)
            assert_true(fabs(small.bound_ns - whole.bound_ns) <= 1e-9 * best_ns);
        solver_finish(&v);
        random_problem_finish(&r);
    }
    assert_true(exact > 500 && ordered > 500 && split > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_tables_give_the_best_and_split_ones_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
