// Random plans through planner and validator: lives, sizes and chains in place at random, some with
// pins, chunks or an order of tracks. What may share bytes and what no plan can beat are counted
// here again, from the uses and waits that the plan was made of.
//
// random_plans COUNT: as many of each kind.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_test.h"

enum { MOST = 40, MOST_STEPS = 30, MOST_TRACKS = 4, MOST_FOR_CLIQUES = 13 };
#define NO TNP_NONE

static uint32_t plan_count;

// A plan to be made. Steps are bits: before[s] has those that have ended when s begins, uses[i]
// those that touch interval i; is_kept: it lives on after all.
typedef struct problem {
    uint32_t seed, random;   // as it was given, and what draw has made of it
    tni_interval in[MOST];
    uint32_t count, steps, tracks;
    uint32_t track[MOST_STEPS], before[MOST_STEPS];
    uint32_t uses[MOST];
    bool is_kept[MOST], is_taken[MOST];
    uint32_t ends[MOST * MOST_TRACKS];
    tni_plan_wait waits[3 * MOST_STEPS];
    uint32_t wait_count;
    tni_pin pins[MOST];
    tni_plan_rules rules;
    tni_plan_order order;
} problem;

static uint32_t draw(problem *p, uint32_t below)
{
    return (uint32_t)((uint64_t)test_random(&p->random) * below >> 24);
}

static uint32_t last_bit(uint32_t bits)
{
    return bits ? 31 - (uint32_t)__builtin_clz(bits) : 0;
}

static void make_steps(problem *p, bool in_a_line)
{
    p->steps = 1 + draw(p, MOST_STEPS);
    p->tracks = in_a_line ? 1 : 1 + draw(p, MOST_TRACKS);
    uint32_t latest[MOST_TRACKS], one_in = 1 + draw(p, 6);
    memset(latest, 0xFF, sizeof latest);
    for (uint32_t s = 0; s < p->steps; s++) {
        p->track[s] = draw(p, p->tracks);
        if (latest[p->track[s]] != NO)
            p->before[s] |= p->before[latest[p->track[s]]] | 1u << latest[p->track[s]];
        for (int again = 0; s > 0 && again < 3 && draw(p, one_in) == 0; again++) {
            uint32_t other = draw(p, s);
            p->waits[p->wait_count++] = (tni_plan_wait){ s, other };
            p->before[s] |= p->before[other] | 1u << other;
        }
        latest[p->track[s]] = s;
    }
}

// Steps that come after a step, or are it.
static uint32_t from_on(const problem *p, uint32_t step)
{
    uint32_t after = 1u << step;
    for (uint32_t s = 0; s < p->steps; s++)
        if (p->before[s] & 1u << step)
            after |= 1u << s;
    return after;
}

static void add_interval(problem *p)
{
    uint32_t i = p->count++;
    tni_interval *x = &p->in[i];
    *x = (tni_interval){ .first = draw(p, p->steps), .in_place_of = NO };
    x->bytes = draw(p, 8) ? draw(p, draw(p, 2) ? 1000 : 64 * 16) : 0;
    uint32_t old = i ? draw(p, i) : 0, end = last_bit(p->uses[old]);
    bool may_take = i && draw(p, 2) && !p->is_taken[old] && !p->is_kept[old] &&
                    p->in[old].first != end && (p->uses[old] & ~(1u << end) & ~p->before[end]) == 0;
    if (may_take) {
        uint64_t offset = draw(p, 2) ? 0 : draw(p, 4) * 64;
        may_take = offset < p->in[old].bytes;
        if (may_take) {
            x->in_place_of = old;
            x->in_place_offset = offset;
            x->first = end;
            x->bytes = draw(p, (uint32_t)(p->in[old].bytes - offset) + 1);
            p->is_taken[old] = true;
        }
    }
    uint32_t after = from_on(p, x->first), reach = 1 + draw(p, 10);
    p->uses[i] = 1u << x->first;
    for (uint32_t s = x->first; s < p->steps && s <= x->first + reach; s++)
        if (after & 1u << s && draw(p, 2))
            p->uses[i] |= 1u << s;
    p->is_kept[i] = draw(p, 12) == 0;
    x->last = p->is_kept[i] ? p->steps - 1 : last_bit(p->uses[i]);
    for (uint32_t t = 0; t < p->tracks; t++)
        for (uint32_t s = 0; s < p->steps; s++)
            if (p->is_kept[i] || (p->uses[i] & 1u << s && p->track[s] == t))
                p->ends[i * p->tracks + t] = s + 1;
}

static void make_problem(problem *p, uint32_t seed, bool with_chunks, bool with_order,
                         tni_arena *arena)
{
    memset(p, 0, sizeof *p);
    p->seed = p->random = seed;
    make_steps(p, !with_order);
    uint32_t count = 1 + draw(p, with_order && seed % 2 ? MOST_FOR_CLIQUES : MOST);
    while (p->count < count)
        add_interval(p);
    p->rules.alignment = UINT64_C(1) << draw(p, 7);
    if (with_chunks)
        p->rules.chunk_bytes = 1024 + p->rules.alignment * draw(p, 32);
    if (with_order) {
        p->order = (tni_plan_order){ p->steps, p->tracks, p->track, NULL, p->ends };
        assert_int_equal(tni_plan_order_done(p->steps, p->tracks, p->track, p->waits, p->wait_count,
                                             arena, &p->order.done, NULL),
                         TN_OK);
        p->rules.order = &p->order;
    }
}

static uint32_t root_of(const problem *p, uint32_t i)
{
    while (p->in[i].in_place_of != NO)
        i = p->in[i].in_place_of;
    return i;
}

static bool is_over(const problem *p, uint32_t i, uint32_t step)
{
    if (!p->rules.order)
        return p->in[i].last < step;
    return !p->is_kept[i] && (p->uses[i] & ~p->before[step]) == 0;
}

static bool may_share(const problem *p, uint32_t a, uint32_t b)
{
    return is_over(p, a, p->in[b].first) || is_over(p, b, p->in[a].first);
}

// Bytes of what follows in place, all of it within the first; and whether it is over before a step.
static uint64_t root_bytes(const problem *p, uint32_t root)
{
    uint64_t mask = p->rules.alignment - 1;
    return (p->in[root].bytes + mask) & ~mask;
}

static bool is_root_over(const problem *p, uint32_t root, uint32_t step)
{
    bool all = true;
    for (uint32_t i = root; i < p->count; i++)
        all &= root_of(p, i) != root || is_over(p, i, step);
    return all;
}

// The heaviest set of roots no two of which may share, tried set by set.
static uint64_t heaviest_clique(const problem *p, const uint32_t *roots, uint32_t count)
{
    uint32_t apart[MOST_FOR_CLIQUES] = { 0 };
    uint64_t bytes[MOST_FOR_CLIQUES], most = 0;
    for (uint32_t a = 0; a < count; a++) {
        bytes[a] = root_bytes(p, roots[a]);
        for (uint32_t b = 0; b < count; b++)
            if (a != b && !is_root_over(p, roots[a], p->in[roots[b]].first) &&
                !is_root_over(p, roots[b], p->in[roots[a]].first))
                apart[a] |= 1u << b;
    }
    for (uint32_t set = 0; set < 1u << count; set++) {
        uint64_t sum = 0;
        for (uint32_t a = 0; a < count; a++) {
            if (!(set & 1u << a))
                continue;
            if (set & ~(apart[a] | 1u << a)) {
                sum = 0;
                break;
            }
            sum += bytes[a];
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static uint64_t largest_live(const problem *p, const uint32_t *roots, uint32_t count)
{
    uint64_t most = 0;
    for (uint32_t s = 0; s < p->steps; s++) {
        uint64_t live = 0;
        for (uint32_t r = 0; r < count; r++) {
            bool is_live = false;
            for (uint32_t i = roots[r]; i < p->count; i++)
                is_live |= root_of(p, i) == roots[r] && p->in[i].bytes > 0 &&
                           p->in[roots[r]].first <= s && s <= p->in[i].last;
            live += is_live ? root_bytes(p, roots[r]) : 0;
        }
        most = live > most ? live : most;
    }
    return most;
}

static void check_bound(const problem *p, const tni_plan *plan)
{
    uint32_t roots[MOST], count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->in[i].in_place_of == NO)
            roots[count++] = i;
    uint64_t bound = p->rules.order && count <= MOST_FOR_CLIQUES ? heaviest_clique(p, roots, count)
                                                                 : largest_live(p, roots, count);
    for (uint32_t pin = 0; pin < p->rules.pin_count; pin++) {
        uint64_t end = p->pins[pin].offset + root_bytes(p, p->pins[pin].interval);
        bound = end > bound ? end : bound;
    }
    bool is_exact = !p->rules.order || count <= MOST_FOR_CLIQUES;
    if (is_exact ? plan->bound_bytes != bound : plan->bound_bytes < bound)
        fail_msg("seed %u: a bound of %" PRIu64 ", counted %" PRIu64, p->seed, plan->bound_bytes,
                 bound);
    assert_true(plan->peak_bytes >= plan->bound_bytes);
    if (plan->peak_bytes == plan->bound_bytes)
        assert_true(plan->is_optimal);
}

static void check_pairs(const problem *p, const tni_plan *plan)
{
    for (uint32_t a = 0; a < p->count; a++)
        for (uint32_t b = 0; b < a; b++) {
            uint64_t x = plan->offsets[a], y = plan->offsets[b];
            bool is_overlapping = x < y + p->in[b].bytes && y < x + p->in[a].bytes;
            if (p->in[a].bytes && p->in[b].bytes && is_overlapping &&
                root_of(p, a) != root_of(p, b) && !may_share(p, a, b))
                fail_msg("seed %u: %u and %u share bytes", p->seed, b, a);
        }
}

static void make_plan(const problem *p, tni_arena *arena, tni_plan *plan)
{
    tn_error err = { 0 };
    if (tni_plan_pack(p->in, p->count, &p->rules, arena, plan, &err) != TN_OK ||
        tni_plan_validate(p->in, p->count, &p->rules, plan, arena, &err) != TN_OK)
        fail_msg("seed %u: %s", p->seed, err.text);
    check_bound(p, plan);
    check_pairs(p, plan);
}

// Some lie where they lay, further up by a number of chunks: what was made first can be made again.
static void pin_some(problem *p, const tni_plan *plan)
{
    uint64_t up = draw(p, 2) ? 0 : p->rules.chunk_bytes ? p->rules.chunk_bytes : 4096;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->in[i].in_place_of == NO && draw(p, 3) == 0)
            p->pins[p->rules.pin_count++] = (tni_pin){ i, plan->offsets[i] + up };
    p->rules.pins = p->pins;
}

// most_permille: how far all peaks together may be above all bounds.
static void run(bool with_pins, bool with_chunks, bool with_order, uint64_t most_permille)
{
    uint64_t peaks = 0, bounds = 0;
    for (uint32_t seed = 1; seed <= plan_count; seed++) {
        problem p;
        tni_plan plan;
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        make_problem(&p, seed, with_chunks, with_order, &arena);
        make_plan(&p, &arena, &plan);
        if (with_pins) {
            pin_some(&p, &plan);
            make_plan(&p, &arena, &plan);
        }
        peaks += plan.peak_bytes;
        bounds += plan.bound_bytes;
        tni_arena_finish(&arena);
    }
    if (peaks * 1000 > bounds * (1000 + most_permille))
        fail_msg("peak over bound, together: %.4f", (double)peaks / (double)bounds);
}

static void plans_are_valid(void **state)
{
    (void)state;
    run(false, false, false, 1);
}

static void plans_with_pins_are_valid(void **state)
{
    (void)state;
    run(true, false, false, 4);
}

static void plans_in_chunks_are_valid(void **state)
{
    (void)state;
    run(false, true, false, 110);
    run(true, true, false, 42);
}

static void plans_under_an_order_are_valid(void **state)
{
    (void)state;
    run(false, false, true, 1);
}

static void plans_under_an_order_with_pins_in_chunks_are_valid(void **state)
{
    (void)state;
    run(true, true, true, 45);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_valid),
        cmocka_unit_test(plans_with_pins_are_valid),
        cmocka_unit_test(plans_in_chunks_are_valid),
        cmocka_unit_test(plans_under_an_order_are_valid),
        cmocka_unit_test(plans_under_an_order_with_pins_in_chunks_are_valid),
    };
    plan_count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
