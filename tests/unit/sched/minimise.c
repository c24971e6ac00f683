// What is left when a variable is eliminated, against all labels there are: for each labels of the
// variables around, the least sum over its own.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tenon/plugin.h>

#include "base/alloc.h"
#include "random_problem.h"
#include "sched/minimise.h"

enum { PROBLEMS = 160, NODES = 6, MOST_TABLE = 1 << 14, MOST_COMBINATIONS = 2000 };

typedef struct bench {
    random_problem r;
    tni_problem_index index;
    tni_factors factors;
    tni_minimiser minimiser;
    uint32_t label[2 * NODES];   // by variable: of the combination at hand
} bench;

static const double *label_ns_of(const bench *b, uint32_t variable)
{
    return &b->factors.network.label_ns[b->factors.network.first_label[variable]];
}

// What a factor costs at the labels at hand.
static double factor_ns(const bench *b, uint32_t factor)
{
    static double pair[MOST_TABLE];
    const tni_factors *f = &b->factors;
    const tni_axis *axes = tni_factor_axes(f, factor);
    const double *table = &f->pool[f->factors[factor].table];
    size_t at = 0;
    if (f->factors[factor].table == TNI_NO_TABLE) {
        assert_true(tni_factor_entries(f, factor) <= MOST_TABLE);
        tni_factors_read_pair(f, factor, pair);
        table = pair;
    }
    for (uint32_t i = 0; i < f->factors[factor].axis_count; i++)
        at = at * axes[i].classes + tni_class_of(f, &axes[i], b->label[axes[i].variable]);
    return table[at];
}

static double least_ns(bench *b, const tni_piece *p)
{
    uint32_t v = p->own.variable;
    double least = INFINITY;
    for (b->label[v] = 0; b->label[v] < tni_label_count(&b->factors.network, v); b->label[v]++) {
        double ns = label_ns_of(b, v)[b->label[v]];
        for (uint32_t i = 0; i < p->factor_count; i++)
            ns += factor_ns(b, p->factors[i]);
        least = ns < least ? ns : least;
    }
    return least;
}

// The next labels of the variables around. false: these were the last.
static bool advance(bench *b, const tni_piece *p)
{
    for (uint32_t i = p->around_count; i-- > 0;) {
        uint32_t v = p->around[i].variable;
        if (++b->label[v] < tni_label_count(&b->factors.network, v))
            return true;
        b->label[v] = 0;
    }
    return false;
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

// Eliminates a variable. false: there are too many combinations to look at.
static bool eliminate(bench *b, uint32_t v)
{
    static double want[MOST_COMBINATIONS], before[MOST_COMBINATIONS];
    tni_factors *f = &b->factors;
    tni_piece p;
    size_t combinations = 1, count = 0;
    tni_piece_begin(v, true, &p);
    for (uint32_t at = f->first_link[v]; at != TNP_NONE; at = f->links[at].next) {
        bool is_in;
        if (f->factors[f->links[at].factor].is_dead)
            continue;
        assert_true(tni_piece_join(f, &p, f->links[at].factor, SIZE_MAX, &is_in));
        assert_true(is_in);
    }
    for (uint32_t i = 0; i < p.around_count; i++)
        combinations *= tni_label_count(&f->network, p.around[i].variable);
    if (combinations > MOST_COMBINATIONS)
        return false;
    memset(b->label, 0, sizeof b->label);
    do
        want[count++] = least_ns(b, &p);
    while (advance(b, &p));
    double constant = b->minimiser.constant;
    const double *left_ns = p.around_count == 1 ? label_ns_of(b, p.around[0].variable) : NULL;
    if (left_ns)
        memcpy(before, left_ns, combinations * sizeof *before);
    assert_true(tni_piece_minimise(&b->minimiser, &p));
    memset(b->label, 0, sizeof b->label);
    for (size_t i = 0; i < count; i++, advance(b, &p)) {
        double got = p.around_count == 0 ? b->minimiser.constant - constant
                     : left_ns           ? left_ns[i]
                                         : factor_ns(b, f->factor_count - 1);
        assert_true(is_near(got, want[i] + (left_ns ? before[i] : 0)));
    }
    for (uint32_t i = 0; i < p.factor_count; i++)
        tni_factors_drop(f, p.factors[i]);
    return true;
}

// Whether all variables could be eliminated.
static bool eliminate_all(bench *b, const random_options *options, uint64_t *seed)
{
    tni_arena arena;
    random_problem_make(&b->r, options, seed);
    tni_arena_init(&arena, NULL);
    assert_true(tni_problem_index_make(&b->r.problem, &arena, &b->index));
    double *claim_ns = tni_arena_take_array(&arena, b->r.problem.claim_count, sizeof *claim_ns);
    assert_non_null(claim_ns);
    for (uint32_t c = 0; c < b->r.problem.claim_count; c++)
        claim_ns[c] = b->r.problem.claims[c].cost_ns;
    const tni_elimination how = { .claim_ns = claim_ns, .most_told = 256, .most_copies = 8 };
    b->factors = (tni_factors){ 0 };
    assert_true(tni_factors_make(&b->index, &how, &arena.allocator, &arena, &b->factors));
    b->minimiser = (tni_minimiser){ .factors = &b->factors };
    bool is_done = true;
    assert_true(b->factors.network.variable_count <= 2 * NODES);
    for (uint32_t v = 0; v < b->factors.network.variable_count && is_done; v++)
        is_done = eliminate(b, v);
    tni_minimiser_finish(&b->minimiser);
    tni_factors_finish(&b->factors);
    tni_arena_finish(&arena);
    random_problem_finish(&b->r);
    return is_done;
}

static void the_least_sums_are_left(void **state)
{
    (void)state;
    static bench b;
    uint64_t seed = 3;
    uint32_t done = 0;
    for (uint32_t i = 0; i < PROBLEMS; i++) {
        const random_options options = { .shape = (shape)(i % SHAPES),
                                         .nodes = NODES,
                                         .places = 2 + i % 3,
                                         .has_fusions = i & 1,
                                         .has_odd_fusions = i >> 1 & 1,
                                         .has_refusals = i >> 2 & 1,
                                         .has_groups = i >> 3 & 1,
                                         .has_uneven_links = i >> 4 & 1 };
        done += eliminate_all(&b, &options, &seed);
    }
    assert_true(done > PROBLEMS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_least_sums_are_left) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
