// What an assignment costs and needs, against plain sums; which claims are of no use.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "base/macros.h"
#include "random_problem.h"
#include "solver_test.h"

// Claims at random until all nodes are covered; false: nothing was left for one.
static bool choose(const tni_problem_index *index, uint32_t *chosen, uint64_t *seed)
{
    const tni_problem *problem = index->problem;
    memset(chosen, 0xff, problem->node_count * sizeof *chosen);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint32_t found = TNP_NONE, seen = 0;
        for (uint32_t i = index->first_claim[n];
             i < index->first_claim[n + 1] && chosen[n] == TNP_NONE; i++) {
            const tni_problem_claim *claim = &problem->claims[index->claims[i]];
            bool is_bare = claim->nodes[0] == n;
            for (uint32_t k = 0; k < claim->node_count; k++)
                is_bare &= chosen[claim->nodes[k]] == TNP_NONE;
            if (is_bare && next_random(seed) % ++seen == 0)
                found = index->claims[i];
        }
        if (chosen[n] == TNP_NONE && found == TNP_NONE)
            return false;
        for (uint32_t k = 0; found != TNP_NONE && k < problem->claims[found].node_count; k++)
            chosen[problem->claims[found].nodes[k]] = found;
    }
    return true;
}

// A group on two places is for the methods to rule out: what is used is told of groups on one.
static bool has_torn_group(const tni_problem *problem, const uint32_t *chosen)
{
    for (uint32_t n = 0; n < problem->node_count; n++)
        for (uint32_t m = 0; m < n; m++)
            if (problem->groups[n] != TNP_NONE && problem->groups[n] == problem->groups[m] &&
                problem->claims[chosen[n]].place != problem->claims[chosen[m]].place)
                return true;
    return false;
}

static void costs_bytes_and_orders_are_as_plain_sums_say(void **state)
{
    (void)state;
    uint64_t seed = 11;
    uint32_t chosen[PLAIN_MOST_NODES], cycle[PLAIN_MOST_NODES];
    uint32_t fitting = 0, times = 0;
    for (uint32_t i = 0; i < 800; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = 1 + next_random(&seed) % PLAIN_MOST_NODES,
                                   .places = 2 + i % 3,
                                   .has_fusions = i & 1,
                                   .has_odd_fusions = i & 2,
                                   .has_groups = i & 4,
                                   .has_limits = i & 8,
                                   .has_uneven_links = i & 16 };
        random_problem_make(&r, &options, &seed);
        tni_problem_index index;
        uint64_t used[4];
        assert_true(tni_problem_index_make(&r.problem, &r.arena, &index));
        for (int k = 0; k < 4; k++) {
            if (!choose(&index, chosen, &seed))
                continue;
            double ns = plain_cost_ns(&r.problem, chosen);
            assert_true(fabs(tni_problem_cost_ns(&index, chosen) - ns) <= 1e-9 * ns);
            uint32_t count;
            bool has_order = tni_problem_has_order(&index, chosen, cycle, &count);
            assert_int_equal(has_order, plain_has_order(&r.problem, chosen));
            assert_int_equal(has_order, count == 0);
            times++;
            if (has_torn_group(&r.problem, chosen))
                continue;
            bool fits = tni_problem_used(&index, chosen, used) == 0;
            assert_int_equal(fits, plain_fits(&r.problem, chosen));
            fitting += fits && r.problem.limits;
        }
        random_problem_finish(&r);
    }
    assert_true(times > 2000 && fitting > 50);   // else nothing was tested
}

static void claims_that_wait_for_each_other_are_a_circle(void **state)
{
    (void)state;
    const tni_problem problem = circle_problem();
    static const struct {
        uint32_t chosen[4], count;
    } cases[] = {
        { { 0, 1, 1, 0 }, 2 },
        { { 0, 3, 4, 0 }, 0 },
        { { 2, 1, 1, 5 }, 0 },
        { { 2, 3, 4, 5 }, 0 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_arena arena;
        tni_problem_index index;
        uint32_t cycle[4], count;
        tni_arena_init(&arena, NULL);
        assert_true(tni_problem_index_make(&problem, &arena, &index));
        bool has_order = tni_problem_has_order(&index, cases[i].chosen, cycle, &count);
        assert_int_equal(has_order, cases[i].count == 0);
        assert_int_equal(has_order, plain_has_order(&problem, cases[i].chosen));
        assert_int_equal(count, cases[i].count);
        for (uint32_t c = 0; c < count; c++)
            assert_true(cycle[c] < 2 && cycle[c] != cycle[!c]);
        tni_arena_finish(&arena);
    }
}

// Claims on the node of a chain of one: place, cost, bytes.
static void claims_that_another_replaces_are_of_no_use(void **state)
{
    (void)state;
    static const uint32_t node[] = { 0 }, first[] = { 0, 0 };
    static const uint64_t bytes[] = { 1 };
    static const struct {
        const char *says;
        tni_problem_claim claims[3];
        uint64_t places, limit;
        bool is_useless[3];
    } cases[] = {
        { "each place has one",
          { { .place = 0, .cost_ns = 2 }, { .place = 1, .cost_ns = 3 } },
          3,
          0,
          { false, false } },
        { "the dearer one", { { .cost_ns = 2 }, { .cost_ns = 3 } }, 3, 0, { false, true } },
        { "the second of two alike",
          { { .cost_ns = 2 }, { .cost_ns = 2 } },
          3,
          0,
          { false, true } },
        { "cheaper, with more bytes",
          { { .cost_ns = 2, .bytes = 9 }, { .cost_ns = 3 } },
          3,
          10,
          { false, false } },
        { "dearer, with more bytes",
          { { .cost_ns = 2 }, { .cost_ns = 3, .bytes = 9 } },
          3,
          10,
          { false, true } },
        { "on a place that is not allowed",
          { { .cost_ns = 2 }, { .place = 1, .cost_ns = 3 } },
          2,
          0,
          { true, false } },
        { "not to be chosen",
          { { .cost_ns = 2, .is_out = true }, { .cost_ns = 3 } },
          3,
          0,
          { true, false } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_problem_claim claims[2];
        uint64_t limits[] = { cases[i].limit, cases[i].limit };
        for (int c = 0; c < 2; c++) {
            claims[c] = cases[i].claims[c];
            claims[c].nodes = node;
            claims[c].node_count = 1;
        }
        tni_problem problem = { .place_count = 2,
                                .node_count = 1,
                                .claim_count = 2,
                                .claims = claims,
                                .places = &cases[i].places,
                                .first_operand = first,
                                .operands = node,
                                .first_before = first,
                                .before = node,
                                .value_bytes = bytes,
                                .limits = cases[i].limit ? limits : NULL };
        tni_arena arena;
        tni_problem_index index;
        tni_arena_init(&arena, NULL);
        assert_true(tni_problem_index_make(&problem, &arena, &index));
        uint32_t useful = 0;
        for (uint32_t c = 0; c < 2; c++) {
            if (index.is_useless[c] != cases[i].is_useless[c])
                fail_msg("%s: claim %u", cases[i].says, c);
            useful += !index.is_useless[c];
        }
        assert_int_equal(index.first_claim[1] - index.first_claim[0], useful);
        tni_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_bytes_and_orders_are_as_plain_sums_say),
        cmocka_unit_test(claims_that_wait_for_each_other_are_a_circle),
        cmocka_unit_test(claims_that_another_replaces_are_of_no_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
