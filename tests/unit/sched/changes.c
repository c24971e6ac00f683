// An assignment that is changed claim by claim: what it tells is what sums from scratch say.
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

enum { NODES = 12, MOVES = 60 };

static void check(tni_changes *c, tni_problem_index *index)
{
    uint64_t used[4];
    double ns = tni_problem_cost_ns(index, c->chosen);
    assert_int_equal(c->bare_count, 0);
    assert_true(fabs(c->ns - ns) <= 1e-9 * ns);
    if (!c->torn_count)
        assert_true(tni_changes_above(c) == tni_problem_used(index, c->chosen, used));
    uint32_t torn = 0;
    for (uint32_t g = 0; g < index->problem->group_count; g++) {
        uint64_t places = 0;
        for (uint32_t n = 0; n < index->problem->node_count; n++)
            if (index->problem->groups[n] == g)
                places |= UINT64_C(1) << index->problem->claims[c->chosen[n]].place;
        torn += places ? (uint32_t)__builtin_popcountll(places) - 1 : 0;
    }
    assert_int_equal(c->torn_count, torn);
}

static uint32_t random_alone(const tni_problem_index *index, uint32_t node, uint64_t *seed)
{
    uint32_t found = TNP_NONE, seen = 0;
    for (uint32_t i = index->first_claim[node]; i < index->first_claim[node + 1]; i++)
        if (index->problem->claims[index->claims[i]].node_count == 1 &&
            next_random(seed) % ++seen == 0)
            found = index->claims[i];
    return found;
}

// Takes a claim at random in place of those that its nodes have; the rest of these alone.
static void change(tni_changes *c, const tni_problem_index *index, uint64_t *seed)
{
    uint32_t node = next_random(seed) % index->problem->node_count;
    uint32_t count = index->first_claim[node + 1] - index->first_claim[node];
    uint32_t claim = index->claims[index->first_claim[node] + next_random(seed) % count];
    const tni_problem_claim *added = &index->problem->claims[claim];
    for (uint32_t i = 0; i < added->node_count; i++)
        if (c->chosen[added->nodes[i]] != TNP_NONE)
            tni_changes_remove(c, c->chosen[added->nodes[i]]);
    assert_true(tni_changes_are_bare(c, added));
    tni_changes_add(c, claim);
    assert_false(tni_changes_are_bare(c, added));
    for (uint32_t n = 0; n < index->problem->node_count; n++)
        if (c->chosen[n] == TNP_NONE)
            tni_changes_add(c, random_alone(index, n, seed));
}

static void sums_follow_every_change(void **state)
{
    (void)state;
    uint64_t seed = 21;
    for (uint32_t i = 0; i < 200; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = NODES,
                                   .places = 2 + i % 3,
                                   .has_fusions = i & 1,
                                   .has_groups = i & 2,
                                   .has_limits = i & 4,
                                   .has_uneven_links = i & 8 };
        random_problem_make(&r, &options, &seed);
        tni_problem_index index;
        tni_changes c;
        uint32_t chosen[NODES];
        assert_true(tni_problem_index_make(&r.problem, &r.arena, &index));
        assert_true(tni_changes_make(&index, &r.arena, &c));
        assert_int_equal(c.bare_count, r.problem.node_count);
        for (uint32_t n = 0; n < r.problem.node_count; n++)
            chosen[n] = random_alone(&index, n, &seed);
        tni_changes_set(&c, chosen);
        check(&c, &index);
        for (int k = 0; k < MOVES; k++) {
            change(&c, &index, &seed);
            check(&c, &index);
        }
        tni_changes_set(&c, chosen);
        assert_memory_equal(c.chosen, chosen, r.problem.node_count * sizeof *chosen);
        check(&c, &index);
        random_problem_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_follow_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
