// Runs of nodes that move to another place as a whole: what is found is better, within limits, and
// has an order; of a chain it is the best run that fits.
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

enum { MOST_NODES = 24, MOST_PLACES = 4, MOST_CLAIMS = 400 };

// What the files of limits.h work with, for one problem.
typedef struct moving {
    const tni_problem *problem;
    tni_arena arena;
    tni_problem_index index;
    tni_solving s;
    tni_limited l;
    uint32_t best[MOST_NODES], cycle[MOST_NODES];
    uint64_t used[MOST_PLACES];
    double prices[MOST_PLACES];
    uint32_t parents[TNI_MOST_PARENTS][MOST_NODES];
} moving;

// The claim on the node alone at that place, or TNP_NONE.
static uint32_t claim_at(const tni_problem *problem, uint32_t node, uint32_t place)
{
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        const tni_problem_claim *claim = &problem->claims[c];
        if (claim->node_count == 1 && claim->nodes[0] == node && claim->place == place)
            return c;
    }
    return TNP_NONE;
}

// All nodes at a place, each alone; where one cannot be there, at the last place.
static void put_all(const tni_problem *problem, uint32_t place, uint32_t *chosen)
{
    for (uint32_t n = 0; n < problem->node_count; n++) {
        chosen[n] = claim_at(problem, n, place);
        if (chosen[n] == TNP_NONE)
            chosen[n] = claim_at(problem, n, problem->place_count - 1);
    }
}

// With everything on the last place, and all on each place in turn to take runs from.
static void begin(moving *m, const tni_problem *problem)
{
    *m = (moving){ .problem = problem };
    assert_true(problem->node_count <= MOST_NODES && problem->place_count <= MOST_PLACES);
    tni_arena_init(&m->arena, NULL);
    assert_true(tni_problem_index_make(problem, &m->arena, &m->index));
    m->s = (tni_solving){ .index = &m->index,
                          .problem = problem,
                          .arena = &m->arena,
                          .best = m->best,
                          .cycle = m->cycle,
                          .used = m->used };
    m->l = (tni_limited){ .s = &m->s,
                          .problem = problem,
                          .arena = &m->arena,
                          .best_price = m->prices,
                          .on_place_count = problem->place_count,
                          .parent_count = problem->place_count };
    for (uint32_t p = 0; p < problem->place_count; p++) {
        m->l.parents[p] = m->parents[p];
        put_all(problem, p, m->parents[p]);
    }
    assert_true(tni_changes_make(&m->index, &m->arena, &m->l.changes));
    assert_true(tni_solving_consider(&m->s, m->parents[problem->place_count - 1], "first"));
}

static void finish(moving *m)
{
    tni_arena_finish(&m->arena);
}

// ------------------------------------------------------------------------------------------ chains

// A chain on a fast place with room for some of its nodes, and a slow one with room for all. What
// is on the fast place costs there what `fast` says.
static void make_chain(random_problem *r, uint32_t count, uint32_t room, const double *fast,
                       tni_links *links, tni_problem_claim *claims)
{
    static uint32_t nodes[MOST_NODES], first[MOST_NODES + 1], operands[MOST_NODES];
    static uint64_t places[MOST_NODES], bytes[MOST_NODES], limits[2];
    static uint32_t before[1];
    memset(places, 0xff, sizeof places);
    for (uint32_t n = 0; n < count; n++) {
        nodes[n] = n;
        bytes[n] = 1;
        first[n + 1] = n;
        operands[n] = n;
        for (uint32_t p = 0; p < 2; p++)
            claims[2 * n + p] = (tni_problem_claim){ .place = p,
                                                     .node_count = 1,
                                                     .nodes = &nodes[n],
                                                     .cost_ns = p ? 100 : fast[n],
                                                     .bytes = 10 };
    }
    static const uint32_t no_before[MOST_NODES + 1];
    limits[0] = 10 * room;
    limits[1] = UINT64_MAX / 4;
    r->problem = (tni_problem){ .place_count = 2,
                                .node_count = count,
                                .claim_count = 2 * count,
                                .claims = claims,
                                .places = places,
                                .first_operand = first,
                                .operands = operands,
                                .first_before = no_before,
                                .before = before,
                                .value_bytes = bytes,
                                .links = links,
                                .limits = limits };
}

// The least that any one run of `room` nodes on the fast place costs, or none at all.
static double best_run_ns(const tni_problem_index *index, uint32_t room)
{
    const tni_problem *problem = index->problem;
    uint32_t chosen[MOST_NODES];
    double best = INFINITY;
    for (uint32_t begin = 0; begin < problem->node_count; begin++)
        for (uint32_t end = begin; end <= problem->node_count && end - begin <= room; end++) {
            for (uint32_t n = 0; n < problem->node_count; n++)
                chosen[n] = claim_at(problem, n, n >= begin && n < end ? 0 : 1);
            best = fmin(best, tni_problem_cost_ns(index, chosen));
        }
    return best;
}

static void of_a_chain_the_best_run_that_fits_moves(void **state)
{
    (void)state;
    uint64_t seed = 7;
    uint32_t moved = 0;
    for (uint32_t i = 0; i < 300; i++) {
        random_problem r;
        tni_problem_claim claims[2 * MOST_NODES];
        double fast[MOST_NODES], latency[4] = { 0, 40, 40, 0 }, per_byte[4] = { 0, 1, 1, 0 };
        double submits[2] = { 0 };
        uint32_t count = 2 + next_random(&seed) % (MOST_NODES - 2);
        uint32_t room = next_random(&seed) % (count + 1);
        for (uint32_t n = 0; n < count; n++)
            fast[n] = 1 + next_random(&seed) % 60;
        tni_links links = { .place_count = 2,
                            .latency_ns = latency,
                            .ns_per_byte = per_byte,
                            .measured_submit_ns = submits };
        make_chain(&r, count, room, fast, &links, claims);
        moving m;
        begin(&m, &r.problem);
        double least = best_run_ns(&m.index, room);
        assert_true(tni_limited_move_windows(&m.l));
        assert_int_equal(m.s.best_above, 0);
        if (m.s.best_ns > least * (1 + 1e-9))
            fail_msg("chain %u of %u nodes, room for %u: %g, a run costs %g", i, count, room,
                     m.s.best_ns, least);
        moved += strcmp(m.s.method, "windows") == 0;
        finish(&m);
    }
    assert_true(moved > 200);   // else nothing was tested
}

// ------------------------------------------------------------------------------------------ random

static void what_moves_is_better_and_has_an_order(void **state)
{
    (void)state;
    uint64_t seed = 3;
    uint32_t moved = 0;
    for (uint32_t i = 0; i < 200; i++) {
        random_problem r;
        random_options options = { .shape = (shape)(i % SHAPES),
                                   .nodes = 16,
                                   .places = 2 + i % 3,
                                   .has_groups = i % 4 == 1,
                                   .has_fusions = i & 1,
                                   .has_limits = true };
        random_problem_make(&r, &options, &seed);
        moving m;
        begin(&m, &r.problem);
        double first_ns = m.s.best_ns;
        uint64_t first_above = m.s.best_above;
        uint32_t cycles;
        assert_true(tni_limited_move_windows(&m.l));
        assert_true(m.s.best_above < first_above ||
                    (m.s.best_above == first_above && m.s.best_ns <= first_ns));
        assert_true(tni_problem_has_order(&m.index, m.best, m.cycle, &cycles));
        assert_int_equal(tni_problem_used(&m.index, m.best, m.used), m.s.best_above);
        assert_true(fabs(tni_problem_cost_ns(&m.index, m.best) - m.s.best_ns) < 1e-6);
        moved += strcmp(m.s.method, "windows") == 0;
        finish(&m);
        random_problem_finish(&r);
    }
    assert_true(moved > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_chain_the_best_run_that_fits_moves),
        cmocka_unit_test(what_moves_is_better_and_has_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
