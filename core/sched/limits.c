// limits.c: within limits of memory.
//
//   all on one place, crossed ──► prices ──► near the best prices ──► crossed ──► runs moved
//
// Prices on bytes give a bound, and assignments of which parts are right; they alone rarely fill a
// place well, since layers that are alike move all at once. So what was found is crossed, and runs
// of nodes are moved.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "sched/limits.h"

double tni_limited_room(const tni_limited *l, uint32_t place)
{
    uint64_t fixed = l->problem->fixed_bytes ? l->problem->fixed_bytes[place] : 0;
    uint64_t limit = l->problem->limits[place];
    return limit > fixed ? (double)(limit - fixed) : 0;
}

static bool take_tables(tni_limited *l)
{
    const tni_problem *problem = l->problem;
    size_t places = problem->place_count;
    l->price = tni_arena_take_array(l->arena, places, sizeof *l->price);
    l->best_price = tni_arena_take_array(l->arena, places, sizeof *l->best_price);
    l->direction = tni_arena_take_array(l->arena, places, sizeof *l->direction);
    l->claim_ns = tni_arena_take_array(l->arena, problem->claim_count, sizeof *l->claim_ns);
    l->group_ns = tni_arena_take_array(l->arena, problem->group_count * places,
                                       sizeof *l->group_ns);
    l->group_bytes = tni_arena_take_array(l->arena, problem->group_count, sizeof *l->group_bytes);
    l->used = tni_arena_take_array(l->arena, places, sizeof *l->used);
    for (int i = 0; i < TNI_MOST_PARENTS; i++)
        if (!(l->parents[i] = tni_arena_take_array(l->arena, problem->node_count,
                                                   sizeof *l->parents[i])))
            return false;
    return l->price && l->best_price && l->direction && l->claim_ns && l->group_ns &&
           l->group_bytes && l->used && tni_changes_make(l->s->index, l->arena, &l->changes) &&
           tni_limited_find_payers(l);
}

static void find_group_bytes(tni_limited *l)
{
    const tni_problem *problem = l->problem;
    for (uint32_t n = 0; n < problem->node_count && problem->groups && problem->group_bytes; n++)
        if (problem->groups[n] != TNP_NONE)
            l->group_bytes[problem->groups[n]] = (double)problem->group_bytes[problem->groups[n]];
}

// ----------------------------------------------------------------------------------------- parents

void tni_limited_add_parent(tni_limited *l, const uint32_t *chosen)
{
    size_t bytes = l->problem->node_count * sizeof *chosen;
    for (uint32_t i = 0; i < l->parent_count; i++)
        if (memcmp(l->parents[i], chosen, bytes) == 0)
            return;
    if (l->parent_count == TNI_MOST_PARENTS) {
        uint32_t *oldest = l->parents[TNI_MOST_PARENTS / 2];
        memmove(&l->parents[TNI_MOST_PARENTS / 2], &l->parents[TNI_MOST_PARENTS / 2 + 1],
                (TNI_MOST_PARENTS / 2 - 1) * sizeof *l->parents);
        l->parents[--l->parent_count] = oldest;
    }
    memcpy(l->parents[l->parent_count++], chosen, bytes);
}

// Parents with everything that can be on one place there: layers are divided between these.
static bool add_parents_by_place(tni_limited *l)
{
    enum { DEAR = 100 };   // times a mean claim: other places only get what has to be there
    const tni_problem *problem = l->problem;
    uint32_t *chosen = tni_arena_take_array(l->arena, problem->node_count, sizeof *chosen);
    double dear = 0;
    if (!chosen)
        return false;
    for (uint32_t c = 0; c < problem->claim_count; c++)
        dear += DEAR * problem->claims[c].cost_ns / (double)problem->claim_count;
    l->first_on_place = l->parent_count;
    for (uint32_t p = 0; p < problem->place_count && l->parent_count < TNI_MOST_PARENTS / 2; p++) {
        tni_ordered how = { .claim_ns = l->claim_ns,
                            .group_ns = l->group_ns,
                            .most_branches = TNI_PRICE_BRANCHES };
        for (uint32_t c = 0; c < problem->claim_count; c++) {
            const tni_problem_claim *claim = &problem->claims[c];
            l->claim_ns[c] = claim->cost_ns + (claim->place == p ? 0 : dear * claim->node_count);
        }
        if (!tni_solve_ordered(l->s, &how, chosen))
            return false;
        if (!how.is_found)
            return true;
        tni_solving_consider(l->s, chosen, "prices");
        tni_limited_add_parent(l, chosen);
        l->on_place_count = l->parent_count - l->first_on_place;
    }
    return true;
}

// At and around the best prices, each short place in turn a little cheaper than the others: what is
// to be divided between places that are alike. Just above and below the best prices what is on a
// place changes most; far above, there is room. Any half of these finds about the same.
static bool add_parents_around_best(tni_limited *l)
{
    static const double multiples[] = { 1.02, 0.98, 2, 4 }, dearer = 1.05;
    enum { MOST_PLACES = 4 };   // that get their turn, an elimination each
    const tni_problem *problem = l->problem;
    uint32_t *chosen = tni_arena_take_array(l->arena, problem->node_count, sizeof *chosen);
    if (!chosen)
        return false;
    for (size_t k = 0; k < sizeof multiples / sizeof multiples[0]; k++)
        for (uint32_t p = 0, count = 0; p < problem->place_count && count < MOST_PLACES; p++) {
            bool is_found;
            double bound_ns;
            if (!(l->short_places >> p & 1))
                continue;
            for (uint32_t q = 0; q < problem->place_count; q++) {
                double least = l->s->best_ns / (tni_limited_room(l, q) + 1) / TNI_FIRST_PRICE_PART;
                double price = multiples[k] * fmax(l->best_price[q], least);
                l->price[q] = !(l->short_places >> q & 1) ? 0 : q == p ? price : price * dearer;
            }
            if (!tni_limited_solve_at_prices(l, chosen, &is_found, &bound_ns))
                return false;
            l->s->bound_ns = bound_ns > l->s->bound_ns ? bound_ns : l->s->bound_ns;
            if (!is_found)
                return true;
            tni_limited_add_parent(l, chosen);
            count++;
        }
    return true;
}

// Too close to the bound for runs to be worth their time.
static bool is_close(const tni_solving *s)
{
    const double close = 1.01;
    return s->best_above == 0 && s->best_ns <= s->bound_ns * close;
}

bool tni_solve_within_limits(tni_solving *s)
{
    tni_arena arena;
    tni_limited l = { .s = s, .problem = s->problem, .arena = &arena };
    tni_arena_init(&arena, &s->arena->allocator);
    bool has_memory = take_tables(&l);
    if (has_memory)
        find_group_bytes(&l);
    if (has_memory && s->method)
        tni_limited_add_parent(&l, s->best);
    has_memory = has_memory && add_parents_by_place(&l) && tni_limited_cross_all(&l) &&
                 tni_limited_solve_by_prices(&l);
    if (has_memory && !tni_solving_is_done(s))
        has_memory = add_parents_around_best(&l) && tni_limited_cross_all(&l);
    if (has_memory && !is_close(s))
        has_memory = tni_limited_move_windows(&l);
    s->work += l.changes.work;
    tni_arena_finish(&arena);
    return has_memory;
}
