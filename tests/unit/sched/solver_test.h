// solver_test.h: what an assignment costs and needs, said plainly, and the best of all there are:
// references for the solver; and an assignment in the making, for its methods one by one.
#ifndef SOLVER_TEST_H
#define SOLVER_TEST_H

#include "sched/solve_internal.h"

enum { PLAIN_MOST_NODES = 14 };

// Four nodes on one place: 2 reads what 0 makes, and 3 what 1 does. Claim 0, on 0 and 3, waits for
// claim 1, on 1 and 2, and the other way round; claims 2 to 5 are on the nodes alone. A fusion
// costs 1, a node alone 10, a copy nothing.
tni_problem circle_problem(void);

double plain_cost_ns(const tni_problem *problem, const uint32_t *chosen);
// Within limits, each group on one place; of PLAIN_MOST_NODES at most, as are the next two.
bool plain_fits(const tni_problem *problem, const uint32_t *chosen);
bool plain_has_order(const tni_problem *problem, const uint32_t *chosen);
double plain_best_ns(const tni_problem *problem);   // INFINITY: there is none

typedef struct solver {
    const tni_problem *problem;
    tni_arena arena;
    tni_problem_index index;
    tni_solving s;
} solver;

void solver_begin(solver *v, const tni_problem *problem);            // nothing is found yet
bool solver_begin_greedily(solver *v, const tni_problem *problem);   // false: greedy finds nothing
// Fails the test (CMocka) unless the best is an assignment with an order, and costs what is told.
void solver_check(solver *v);
void solver_finish(solver *v);

#endif
