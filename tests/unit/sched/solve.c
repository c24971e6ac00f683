// The solver on random problems: against all assignments there are, and against greedy.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "random_problem.h"
#include "solver_test.h"

static uint32_t rounds = 20;   // of each kind

// ----------------------------------------------------------------------------------------- checks

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

// Each node is covered by one claim, which its place allows; cost and bound are as told.
static void check_solution(const tni_problem *problem, const tni_solution *s, const char *says)
{
    uint32_t covered = 0;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[s->chosen[n]];
        bool is_member = claim->nodes[0] <= n;
        for (uint32_t i = 0; i < claim->node_count && claim->nodes[0] == n; i++)
            if (s->chosen[claim->nodes[i]] != s->chosen[n])
                fail_msg("%s: a claim has only some of its nodes", says);
        covered += claim->nodes[0] == n ? claim->node_count : 0;
        if (!is_member || !(problem->places[n] >> claim->place & 1))
            fail_msg("%s: node %u has a claim that it cannot have", says, n);
    }
    assert_int_equal(covered, problem->node_count);
    if (s->bound_ns > s->cost_ns * (1 + 1e-9))
        fail_msg("%s: cost %.3f is below the bound %.3f", says, s->cost_ns, s->bound_ns);
}

// INFINITY: it finds nothing. chosen: by node.
static double greedy_ns(const tni_problem *problem, uint32_t *chosen)
{
    tni_arena arena;
    tni_problem_index index;
    tni_arena_init(&arena, NULL);
    uint32_t *cycle = tni_arena_take_array(&arena, problem->node_count, sizeof *cycle), count;
    double ns = INFINITY;
    bool has_memory = true;
    assert_true(tni_problem_index_make(problem, &arena, &index));
    for (int alone = 0; alone < 2 && ns == INFINITY; alone++)
        if (tni_solve_greedily(&index, alone, &arena, chosen, &has_memory) == problem->node_count &&
            tni_problem_has_order(&index, chosen, cycle, &count))
            ns = plain_cost_ns(problem, chosen);
    assert_true(has_memory);
    tni_arena_finish(&arena);
    return ns;
}

typedef struct tally {
    uint32_t problems, found, proved, best, better_than_greedy;
} tally;

static void check_against_all(const random_options *options, uint64_t *seed, tally *t)
{
    random_problem r;
    tni_solution s;
    char says[96];
    uint32_t chosen[PLAIN_MOST_NODES], greedily[PLAIN_MOST_NODES];
    snprintf(says, sizeof says, "%s of %u nodes, %u places, seed %llu", shape_names[options->shape],
             options->nodes, options->places, (unsigned long long)*seed);
    random_problem_make(&r, options, seed);
    double best_ns = plain_best_ns(&r.problem);
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    t->problems++;
    if (s.bound_ns > best_ns * (1 + 1e-9))
        fail_msg("%s: the bound %.3f is above the best, %.3f", says, s.bound_ns, best_ns);
    if (s.is_found != (best_ns < INFINITY))
        fail_msg("%s: found %d, the best is %.3f", says, s.is_found, best_ns);
    if (s.is_proved_optimal && s.is_found && !is_near(s.cost_ns, best_ns))
        fail_msg("%s: %.3f is not the best, %.3f", says, s.cost_ns, best_ns);
    if (s.is_found) {
        check_solution(&r.problem, &s, says);
        bool fits = plain_fits(&r.problem, chosen), has_order = plain_has_order(&r.problem, chosen);
        if (!fits || !has_order)
            fail_msg("%s: no assignment: fits %d, has an order %d", says, fits, has_order);
        if (!is_near(s.cost_ns, plain_cost_ns(&r.problem, chosen)))
            fail_msg("%s: another cost is told", says);
        t->found++;
        t->best += is_near(s.cost_ns, best_ns);
        t->better_than_greedy += s.cost_ns < greedy_ns(&r.problem, greedily) * (1 - 1e-9);
        if (s.greedy_ns < INFINITY && s.greedy_fits != plain_fits(&r.problem, greedily))
            fail_msg("%s: greedy fits: %d is told", says, s.greedy_fits);
    } else if (s.is_covered) {
        assert_int_not_equal(s.full_place, TNP_NONE);
        assert_true(s.lacking_bytes > 0);
    }
    t->proved += s.is_proved_optimal;
    random_problem_finish(&r);
}

// Options from the bits of a number.
static random_options options_of(uint32_t kind, uint32_t nodes, uint32_t places)
{
    return (random_options){ .nodes = nodes,
                             .places = places,
                             .has_fusions = kind & 1,
                             .has_odd_fusions = kind >> 5 & 1,
                             .has_refusals = kind >> 1 & 1,
                             .has_groups = kind >> 2 & 1,
                             .has_uneven_links = kind >> 3 & 1,
                             .has_heavy_nodes = kind >> 4 & 1 };
}

// Every kind of problem in every shape, `rounds` times each.
static tally check_kinds(uint32_t kinds, bool has_limits, uint64_t seed)
{
    tally t = { 0 };
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t kind = 0; kind < kinds; kind++)
            for (shape which = 0; which < SHAPES; which++) {
                uint32_t places = 2 + next_random(&seed) % 2;
                uint32_t most = places == 2 ? PLAIN_MOST_NODES : 10;
                random_options options = options_of(kind, 1 + next_random(&seed) % most, places);
                options.has_limits = has_limits;
                options.shape = which;
                check_against_all(&options, &seed, &t);
            }
    return t;
}

static void few_nodes_get_the_best_assignment_there_is(void **state)
{
    (void)state;
    tally t = check_kinds(64, false, 1);
    print_message("%u problems, %u proved, %u best, %u better than greedy\n", t.problems, t.proved,
                  t.best, t.better_than_greedy);
    assert_int_equal(t.best, t.problems);
    assert_int_equal(t.proved, t.problems);
}

static void few_nodes_get_the_best_assignment_that_fits(void **state)
{
    (void)state;
    tally t = check_kinds(32, true, 2);
    print_message("%u problems, %u found, %u proved, %u best\n", t.problems, t.found, t.proved,
                  t.best);
    assert_true(t.found > t.problems / 4 && t.found < t.problems);
    assert_int_equal(t.best, t.found);
}

// ----------------------------------------------------------------------------------- larger graphs

static void many_nodes_never_cost_more_than_greedy(void **state)
{
    (void)state;
    uint64_t seed = 3;
    uint32_t problems = 0, better = 0;
    static uint32_t chosen[200];
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t kind = 0; kind < 64; kind++)
            for (shape which = 0; which < SHAPES; which++, problems++) {
                random_problem r;
                tni_solution s;
                uint32_t greedily[256];
                random_options options = options_of(kind, 15 + next_random(&seed) % 100,
                                                    1 + next_random(&seed) % 6);
                options.shape = which;
                random_problem_make(&r, &options, &seed);
                assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
                double greedy = greedy_ns(&r.problem, greedily);
                if (!s.is_found)
                    fail_msg("%s, kind %u: nothing found", shape_names[which], kind);
                check_solution(&r.problem, &s, shape_names[which]);
                assert_true(is_near(s.cost_ns, plain_cost_ns(&r.problem, chosen)));
                assert_true(s.cost_ns <= greedy);
                assert_true(s.greedy_ns == greedy || is_near(s.greedy_ns, greedy));
                better += s.cost_ns < greedy * (1 - 1e-9);
                random_problem_finish(&r);
            }
    print_message("%u problems, %u better than greedy\n", problems, better);
    assert_true(better > problems / 2);
}

// Without limits and fusions: of any graph by a minimum cut.
static void two_places_get_the_best_assignment_there_is(void **state)
{
    (void)state;
    uint64_t seed = 4;
    uint32_t cuts = 0;
    static uint32_t chosen[300];
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t kind = 0; kind < 32; kind += 2) {
            random_problem r;
            tni_solution s;
            random_options options = options_of(kind, 200 + next_random(&seed) % 100, 2);
            options.shape = kind & 4 ? LAYERED : ANY;
            random_problem_make(&r, &options, &seed);
            assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
            check_solution(&r.problem, &s, shape_names[options.shape]);
            if (!s.is_proved_optimal)
                fail_msg("kind %u: %.3f, bound %.3f by %s", kind, s.cost_ns, s.bound_ns, s.method);
            cuts += strcmp(s.method, "cut") == 0;
            random_problem_finish(&r);
        }
    print_message("%u by a cut\n", cuts);
    assert_true(cuts > 0);
}

static void chains_and_blocks_are_solved_exactly_whatever_their_length(void **state)
{
    (void)state;
    uint64_t seed = 5;
    static uint32_t chosen[5000];
    static const shape shapes[] = { CHAIN, SERIES_PARALLEL, TRANSFORMER };
    for (uint32_t i = 0; i < rounds; i++)
        for (size_t k = 0; k < TN_COUNT_OF(shapes); k++)
            for (int fused = 0; fused < 2; fused++) {
                random_problem r;
                tni_solution s;
                random_options options = { .shape = shapes[k],
                                           .nodes = fused ? 200 : 1000,
                                           .places = 3,
                                           .has_refusals = true,
                                           .has_fusions = fused && shapes[k] != TRANSFORMER };
                random_problem_make(&r, &options, &seed);
                assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
                check_solution(&r.problem, &s, shape_names[options.shape]);
                if (!s.is_proved_optimal)
                    fail_msg("%s: %.3f, bound %.3f by %s", shape_names[options.shape], s.cost_ns,
                             s.bound_ns, s.method);
                random_problem_finish(&r);
            }
}

// ----------------------------------------------------------------------------------------- by hand

enum { LAYERS = 32, LAYER_NODES = 5, HAND_NODES = LAYERS * LAYER_NODES, HAND_PLACES = 3 };

// A problem made by hand: a chain, or layers with a residual, of single claims.
typedef struct by_hand {
    tni_arena arena;
    tni_problem problem;
    tni_links links;
    uint32_t numbers[HAND_NODES];
    tni_problem_claim claims[HAND_NODES * HAND_PLACES];
    uint32_t items[HAND_NODES * HAND_PLACES];
    uint64_t item_bytes[HAND_NODES * HAND_PLACES];
    uint64_t places[HAND_NODES], value_bytes[HAND_NODES];
    uint32_t groups[HAND_NODES];
    uint32_t first[HAND_NODES + 1], operands[2 * HAND_NODES];
    uint64_t limits[HAND_PLACES];
    uint32_t chosen[HAND_NODES];
} by_hand;

static void begin_by_hand(by_hand *h, uint32_t places)
{
    memset(h, 0, sizeof *h);
    tni_arena_init(&h->arena, NULL);
    assert_true(tni_links_default(places, &h->arena, &h->links));
    h->problem = (tni_problem){ .place_count = places,
                                .claims = h->claims,
                                .places = h->places,
                                .groups = h->groups,
                                .first_operand = h->first,
                                .operands = h->operands,
                                .first_before = h->first,
                                .before = h->operands,
                                .value_bytes = h->value_bytes,
                                .links = &h->links,
                                .claim_items = h->items,
                                .item_bytes = h->item_bytes };
}

// costs: by place, 0 = refused. operands end with TNP_NONE.
static uint32_t add_by_hand(by_hand *h, const double *costs, uint64_t weight_bytes,
                            const uint32_t *operands)
{
    tni_problem *problem = &h->problem;
    uint32_t n = problem->node_count++;
    h->numbers[n] = n;
    h->places[n] = UINT64_MAX;
    h->groups[n] = TNP_NONE;
    h->value_bytes[n] = 1000;
    h->first[n + 1] = h->first[n];
    for (; *operands != TNP_NONE; operands++)
        h->operands[h->first[n + 1]++] = *operands;
    for (uint32_t p = 0; p < problem->place_count; p++) {
        uint32_t item = problem->item_count++;
        h->items[item] = item;
        h->item_bytes[item] = weight_bytes;
        if (costs[p] > 0)
            h->claims[problem->claim_count++] = (tni_problem_claim){ .place = p,
                                                                     .node_count = 1,
                                                                     .nodes = &h->numbers[n],
                                                                     .cost_ns = costs[p],
                                                                     .first_item = item,
                                                                     .item_count = 1 };
    }
    return n;
}

// Both keep the same bytes, as a first and a last node that read one matrix do.
static void share_by_hand(by_hand *h, uint32_t a, uint32_t b)
{
    for (uint32_t c = 0; c < h->problem.claim_count; c++)
        if (h->claims[c].nodes[0] == b)
            h->claims[c].first_item = a * h->problem.place_count + h->claims[c].place;
}

static uint32_t place_by_hand(const by_hand *h, uint32_t node)
{
    return h->claims[h->chosen[node]].place;
}

static tni_solution solve_by_hand(by_hand *h)
{
    tni_solution s;
    assert_true(tni_solve(&h->problem, &h->arena, h->chosen, &s));
    return s;
}

// A chain whose first and last node read one large matrix; the last is dear on the second place.
// What both keep is paid for by the one that needs it: else half of its price would seem to be
// saved where the first one goes.
static void the_bound_knows_what_nodes_keep_together(void **state)
{
    (void)state;
    enum { MATRIX_BYTES = 60000, BYTES = 1000 };
    by_hand h;
    begin_by_hand(&h, 2);
    uint32_t first = add_by_hand(&h, (double[]){ 100, 110 }, MATRIX_BYTES,
                                 (uint32_t[]){ TNP_NONE });
    for (uint32_t x = first; h.problem.node_count + 1 < HAND_NODES;)
        x = add_by_hand(&h, (double[]){ 1000, 5000 }, BYTES, (uint32_t[]){ x, TNP_NONE });
    uint32_t before = h.problem.node_count - 1;
    share_by_hand(&h, first,
                  add_by_hand(&h, (double[]){ 1000, 900000 }, 0, (uint32_t[]){ before, TNP_NONE }));
    h.limits[0] = MATRIX_BYTES + HAND_NODES / 2 * BYTES;
    h.limits[1] = TNI_NO_LIMIT;
    h.problem.limits = h.limits;
    tni_solution s = solve_by_hand(&h);
    assert_true(s.is_found);
    print_message("%s: %.0f, bound %.0f\n", s.method, s.cost_ns, s.bound_ns);
    assert_true(s.bound_ns > 0.94 * s.cost_ns);
    tni_arena_finish(&h.arena);
}

// What is alike is divided where a place is full, and only there.
static void layers_that_do_not_fit_one_place_are_divided_between_places(void **state)
{
    (void)state;
    by_hand h;
    begin_by_hand(&h, HAND_PLACES);
    static const double costs[HAND_PLACES] = { 1000, 1500, 20000 };
    static const double little[HAND_PLACES] = { 100, 150, 2000 };
    uint32_t x = add_by_hand(&h, little, 0, (uint32_t[]){ TNP_NONE });
    for (int layer = 0; h.problem.node_count + 4 < HAND_NODES; layer++) {
        uint32_t norm = add_by_hand(&h, little, 10, (uint32_t[]){ x, TNP_NONE });
        uint32_t a = add_by_hand(&h, costs, 1000, (uint32_t[]){ norm, TNP_NONE });
        uint32_t b = add_by_hand(&h, costs, 1000, (uint32_t[]){ norm, TNP_NONE });
        x = add_by_hand(&h, costs, 500, (uint32_t[]){ a, b, TNP_NONE });
        x = add_by_hand(&h, little, 0, (uint32_t[]){ norm, x, TNP_NONE });
    }
    h.limits[0] = 10 * 2510;
    h.limits[1] = 12 * 2510;
    h.limits[2] = TNI_NO_LIMIT;
    h.problem.limits = h.limits;
    tni_solution s = solve_by_hand(&h);
    uint32_t changes = 0;
    for (uint32_t n = 1; n < h.problem.node_count; n++)
        changes += place_by_hand(&h, n) != place_by_hand(&h, n - 1);
    assert_true(s.is_found);
    assert_true(s.used[0] > h.limits[0] * 9 / 10 && s.used[0] <= h.limits[0]);
    assert_true(s.used[1] > h.limits[1] * 9 / 10 && s.used[1] <= h.limits[1]);
    print_message("%s: %.0f, bound %.0f, %u changes of place\n", s.method, s.cost_ns, s.bound_ns,
                  changes);
    assert_in_range(changes, 2, 3);
    assert_true(s.bound_ns > 0.9 * s.cost_ns);
    h.limits[2] = 2510;   // now it cannot fit, and what lacks is told
    s = solve_by_hand(&h);
    assert_false(s.is_found);
    assert_true(s.is_covered);
    assert_int_not_equal(s.full_place, TNP_NONE);
    assert_true(s.lacking_bytes == s.used[s.full_place] - h.limits[s.full_place]);
    tni_arena_finish(&h.arena);
}

// Row 25, at the level of the solver.
static void cheap_nodes_between_two_that_must_move_stay(void **state)
{
    (void)state;
    static const double heavy[] = { 100, 1e6 }, unsupported[] = { 0, 1e6 }, cheap[] = { 100, 200 };
    for (int count = 1; count <= 4; count++) {
        by_hand h;
        begin_by_hand(&h, 2);
        uint32_t x = add_by_hand(&h, heavy, 0, (uint32_t[]){ TNP_NONE });
        x = add_by_hand(&h, unsupported, 0, (uint32_t[]){ x, TNP_NONE });
        for (int i = 0; i < count; i++)
            x = add_by_hand(&h, cheap, 0, (uint32_t[]){ x, TNP_NONE });
        x = add_by_hand(&h, unsupported, 0, (uint32_t[]){ x, TNP_NONE });
        x = add_by_hand(&h, heavy, 0, (uint32_t[]){ x, TNP_NONE });
        tni_solution s = solve_by_hand(&h);
        assert_true(s.is_proved_optimal);
        for (uint32_t n = 0; n <= x; n++)
            assert_int_equal(place_by_hand(&h, n), n > 0 && n < x);
        tni_arena_finish(&h.arena);
    }
}

// Row 17: a batch goes to the faster place as soon as the link is worth it, and not before.
static void the_link_decides_where_a_batch_runs(void **state)
{
    (void)state;
    for (uint32_t batch = 1; batch <= 64; batch++)
        for (int gbps = 1; gbps <= 64; gbps *= 8) {
            by_hand h;
            begin_by_hand(&h, 2);
            for (int i = 0; i < 4; i++) {
                h.links.latency_ns[i] = 5000;
                h.links.ns_per_byte[i] = 1.0 / gbps;
            }
            double ns = 1000.0 * batch, fast = ns / 10;
            uint32_t x = add_by_hand(&h, (double[]){ 0, 10 }, 0, (uint32_t[]){ TNP_NONE });
            uint32_t y = add_by_hand(&h, (double[]){ fast, ns }, 0, (uint32_t[]){ x, TNP_NONE });
            add_by_hand(&h, (double[]){ 0, 10 }, 0, (uint32_t[]){ y, TNP_NONE });
            h.value_bytes[x] = h.value_bytes[y] = 4096 * batch;
            double copies = 2 * (5000 + 4096.0 * batch / gbps);
            tni_solution s = solve_by_hand(&h);
            assert_int_equal(place_by_hand(&h, y), fast + copies < ns ? 0 : 1);
            assert_true(s.is_proved_optimal);
            tni_arena_finish(&h.arena);
        }
}

// Row 26: a value that many read on a place is paid once there, so all of them go.
static void a_copy_is_paid_once_for_all_its_readers(void **state)
{
    (void)state;
    by_hand h;
    begin_by_hand(&h, 3);
    uint32_t x = add_by_hand(&h, (double[]){ 0, 0, 10 }, 0, (uint32_t[]){ TNP_NONE });
    double copy = tni_links_cost_ns(&h.links, 2, 0, h.value_bytes[x]);
    for (int i = 0; i < 8; i++)   // each saves a third of a copy
        add_by_hand(&h, (double[]){ 100, 0, 100 + copy / 3 }, 0, (uint32_t[]){ x, TNP_NONE });
    tni_solution s = solve_by_hand(&h);
    for (uint32_t n = 1; n <= 8; n++)
        assert_int_equal(place_by_hand(&h, n), 0);
    assert_true(is_near(s.cost_ns, 10 + 800 + copy));
    assert_true(s.is_proved_optimal);
    tni_arena_finish(&h.arena);
}

// A device may take the whole of a large graph, or half of it, as one unit.
static void one_claim_may_have_the_whole_graph(void **state)
{
    (void)state;
    uint64_t seed = 6;
    enum { NODES = 20000 };
    static uint32_t numbers[NODES], chosen[NODES];
    random_problem r;
    tni_solution s;
    random_options options = { .shape = TRANSFORMER, .nodes = NODES, .places = 2 };
    random_problem_make(&r, &options, &seed);
    tni_problem_claim *claims = tni_arena_take_array(&r.arena, (size_t)r.problem.claim_count + 2,
                                                     sizeof *claims);
    assert_non_null(claims);
    memcpy(claims, r.problem.claims, r.problem.claim_count * sizeof *claims);
    for (uint32_t n = 0; n < NODES; n++)
        numbers[n] = n;
    for (uint32_t i = 1; i <= 2; i++)
        claims[r.problem.claim_count++] = (tni_problem_claim){ .node_count = NODES / i,
                                                               .nodes = numbers,
                                                               .cost_ns = 1e9 / i };
    r.problem.claims = claims;
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    check_solution(&r.problem, &s, "large claims");
    claims[r.problem.claim_count - 2].cost_ns = 1;   // all
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    assert_true(s.cost_ns == 1 && s.is_proved_optimal);
    tni_problem_claim half = claims[r.problem.claim_count - 1];
    half.cost_ns = 1;
    r.problem.claim_count--;
    claims[r.problem.claim_count - 1] = half;
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    assert_int_equal(chosen[0], r.problem.claim_count - 1);
    random_problem_finish(&r);
}

// --------------------------------------------------------------------------------------- no memory

static tn_status solve_with(const tn_allocator *allocator, void *context)
{
    const random_problem *r = context;
    tni_arena arena;
    tni_solution s;
    tni_arena_init(&arena, allocator);
    uint32_t *chosen = tni_arena_take_array(&arena, r->problem.node_count, sizeof *chosen);
    bool has_memory = chosen && tni_solve(&r->problem, &arena, chosen, &s);
    tni_arena_finish(&arena);
    return has_memory ? TN_OK : TN_E_HOST_MEMORY;
}

static uint64_t work_of(uint32_t places)
{
    uint64_t seed = 11;
    random_problem r;
    random_options options = options_of(0, 60, places);
    uint32_t chosen[60];
    tni_solution s;
    options.shape = TRANSFORMER;
    random_problem_make(&r, &options, &seed);
    assert_true(tni_solve(&r.problem, &r.arena, chosen, &s));
    random_problem_finish(&r);
    return s.work;
}

// What sessions have a budget of: the same each time, and more with more places.
static void work_is_counted(void **state)
{
    (void)state;
    uint64_t few = work_of(3), many = work_of(6);
    assert_true(few > 60 && many > 2 * few);
    assert_int_equal(work_of(3), few);
}

static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (uint32_t kind = 0; kind < 4; kind++) {
        random_problem r;
        random_options options = options_of(kind & 1 ? 63 : 0, kind < 2 ? 30 : 10, 3);
        options.shape = kind & 1 ? ANY : LAYERED;
        options.has_limits = kind > 0;
        random_problem_make(&r, &options, &seed);
        for_each_failing_allocation(solve_with, &r);
        random_problem_finish(&r);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_nodes_get_the_best_assignment_there_is),
        cmocka_unit_test(few_nodes_get_the_best_assignment_that_fits),
        cmocka_unit_test(many_nodes_never_cost_more_than_greedy),
        cmocka_unit_test(two_places_get_the_best_assignment_there_is),
        cmocka_unit_test(chains_and_blocks_are_solved_exactly_whatever_their_length),
        cmocka_unit_test(layers_that_do_not_fit_one_place_are_divided_between_places),
        cmocka_unit_test(the_bound_knows_what_nodes_keep_together),
        cmocka_unit_test(cheap_nodes_between_two_that_must_move_stay),
        cmocka_unit_test(the_link_decides_where_a_batch_runs),
        cmocka_unit_test(a_copy_is_paid_once_for_all_its_readers),
        cmocka_unit_test(one_claim_may_have_the_whole_graph),
        cmocka_unit_test(work_is_counted),
        cmocka_unit_test(memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
