// prices.c: every byte on a place gets a price, and what is minimised is cost and prices together.
// For any prices, that less the price of all limits is a bound (Lagrange).
//
// First one price for all places that are short: equal places would else take everything in turn
// while their prices rise. Once a price that is too low and one that is high enough are known, the
// next price is where the tangents of both meet (cutting plane). From the best of these on each
// place has its own, with Polyak's steps.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "sched/limits.h"

// A round is an elimination.
enum {
    MOST_ROUNDS = 100,       // half of them leave a little more gap, and twice as many nothing less
    ROUND_NODES = 1 << 15,   // of all rounds together: 30 of 1,000 nodes; but at least LEAST_ROUNDS
    LEAST_ROUNDS = 8,        // so that large problems get a bound too
    RAY_ROUNDS = 16,         // with one price for all; the rest is for prices that differ
    MOST_IDLE = 4,   // rounds without a higher bound: back to the best prices, with smaller steps
    MOST_RETURNS = 4,   // so often one after the other: it stays where it is
};

// Steps of prices are parts of Polyak's, which is right only where the best cost is. They become
// smaller with each round that brings nothing, and half as large after a return.
static const double idle_pace = 0.95, return_pace = 0.5;
// Of the direction before, in the one at hand: on both sides of a ridge they cancel out.
static const double momentum = 0.6;
// How far an item's parts move to those who ask for it, at full pace.
static const double part_step = 0.25;

static bool is_limited(const tni_limited *l, uint32_t place)
{
    return l->problem->limits[place] != TNI_NO_LIMIT;
}

static double excess(const tni_limited *l, uint32_t place)
{
    return is_limited(l, place) ? (double)l->used[place] - (double)l->problem->limits[place] : 0;
}

static void set_prices(tni_limited *l)
{
    const tni_problem *problem = l->problem;
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        const tni_problem_claim *claim = &problem->claims[c];
        double bytes = (double)claim->bytes;
        for (uint32_t i = 0; i < claim->item_count; i++) {
            const tni_payer *payer = &l->payers[l->payer_of[claim->first_item + i]];
            bytes += (double)problem->item_bytes[payer->item] * payer->part;
        }
        l->claim_ns[c] = claim->cost_ns + l->price[claim->place] * bytes;
    }
    for (uint32_t g = 0; g < problem->group_count; g++)
        for (uint32_t p = 0; p < problem->place_count; p++)
            l->group_ns[(size_t)g * problem->place_count + p] = l->price[p] * l->group_bytes[g];
}

bool tni_limited_solve_at_prices(tni_limited *l, uint32_t *chosen, bool *out_is_found,
                                 double *out_bound_ns)
{
    tni_ordered how = { .claim_ns = l->claim_ns,
                        .group_ns = l->group_ns,
                        .most_branches = TNI_PRICE_BRANCHES };
    set_prices(l);
    if (!tni_solve_ordered(l->s, &how, chosen))
        return false;
    *out_is_found = how.is_found;
    *out_bound_ns = how.bound_ns;
    for (uint32_t p = 0; p < l->problem->place_count; p++)
        if (is_limited(l, p))
            *out_bound_ns -= l->price[p] * tni_limited_room(l, p);
    if (how.is_found) {
        tni_solving_consider(l->s, chosen, "prices");
        tni_problem_used(l->s->index, chosen, l->used);
    }
    return true;
}

// --------------------------------------------------------------------------------------- one price

// Prices that are too low and high enough; high.price 0: not known yet. By the bytes that all short
// places together have too much.
typedef struct side {
    double price, bound_ns, excess;
} side;
typedef struct ray {
    side low, high;
} ray;

// Before the first price is known to be high enough it is doubled, from what would add a tenth to
// the cost if all that is free had it. Whether it may still become better.
static bool move_on_ray(tni_limited *l, ray *r, double bound_ns, double cost_ns)
{
    enum {
        CLOSE = 100,   // prices that differ by less than this part of them are one
        MARGIN = 20,   // the next one is this part of the distance away from both, so that it falls
    };
    side at = { .bound_ns = bound_ns };
    double rooms = 0;
    for (uint32_t p = 0; p < l->problem->place_count; p++) {
        if (r->low.price == 0 && r->high.price == 0 && excess(l, p) > 0)
            l->short_places |= UINT64_C(1) << p;
        if (!(l->short_places >> p & 1))
            continue;
        at.price = l->price[p];
        at.excess += excess(l, p);
        rooms += tni_limited_room(l, p);
    }
    if (at.excess > 0)
        r->low = at;
    else
        r->high = at;
    double next = fmax(2 * at.price, cost_ns / (rooms + 1) / TNI_FIRST_PRICE_PART);
    if (r->high.price > 0) {
        double margin = (r->high.price - r->low.price) / MARGIN;
        next = (r->low.bound_ns - r->low.excess * r->low.price - r->high.bound_ns +
                r->high.excess * r->high.price) /
               (r->high.excess - r->low.excess);
        next = fmin(fmax(next, r->low.price + margin), r->high.price - margin);
    }
    for (uint32_t p = 0; p < l->problem->place_count; p++)
        if (l->short_places >> p & 1)
            l->price[p] = next;
    return r->high.price == 0 || r->high.price - r->low.price > r->high.price / CLOSE;
}

// ------------------------------------------------------------------------------ each place its own

// By the distance between the best cost and the bound (Polyak's step), along what is too much, with
// some of the direction before.
static void move_prices(tni_limited *l, double distance_ns)
{
    double squares = 0;
    for (uint32_t p = 0; p < l->problem->place_count; p++) {
        l->direction[p] = excess(l, p) + l->direction[p] * momentum;
        if (l->price[p] == 0 && l->direction[p] < 0)
            l->direction[p] = 0;
        squares += l->direction[p] * l->direction[p];
    }
    for (uint32_t p = 0; p < l->problem->place_count && squares > 0; p++)
        l->price[p] = fmax(0, l->price[p] + l->direction[p] * distance_ns / squares);
}

static void go_back(tni_limited *l)
{
    memcpy(l->price, l->best_price, l->problem->place_count * sizeof *l->price);
    memset(l->direction, 0, l->problem->place_count * sizeof *l->direction);
}

// Where nothing fits yet, what is best is taken to cost so many times the bound.
static double best_ns(const tni_limited *l)
{
    const double likely = 1.1;
    return l->s->best_above ? likely * l->s->bound_ns : l->s->best_ns;
}

bool tni_limited_solve_by_prices(tni_limited *l)
{
    uint32_t nodes = l->problem->node_count, rounds = ROUND_NODES / (nodes ? nodes : 1), idle = 0;
    uint32_t returns = 0;
    uint32_t *chosen = tni_arena_take_array(l->arena, nodes, sizeof *chosen);
    double pace = 1;
    ray r = { 0 };
    bool is_on_ray = true, is_found;
    rounds = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    if (!chosen)
        return false;
    for (uint32_t round = 0; round < rounds && returns < MOST_RETURNS && !tni_solving_is_done(l->s);
         round++) {
        double bound_ns;
        if (!tni_limited_solve_at_prices(l, chosen, &is_found, &bound_ns))
            return false;
        bool is_higher = round == 0 || bound_ns > l->s->bound_ns;
        l->s->bound_ns = bound_ns > l->s->bound_ns ? bound_ns : l->s->bound_ns;
        if (!is_found)
            return true;
        if (is_higher)
            memcpy(l->best_price, l->price, l->problem->place_count * sizeof *l->price);
        tni_limited_add_parent(l, chosen);
        tni_limited_move_parts(l, chosen, pace * part_step);
        if (is_on_ray) {
            is_on_ray = move_on_ray(l, &r, bound_ns, tni_problem_cost_ns(l->s->index, chosen)) &&
                        round < RAY_ROUNDS;
            if (!is_on_ray)
                go_back(l);
            continue;
        }
        idle = is_higher ? 0 : idle + 1;
        returns = is_higher ? 0 : returns;
        pace *= is_higher ? 1 : idle_pace;
        if (idle == MOST_IDLE) {
            go_back(l);
            pace *= return_pace;
            idle = 0;
            returns++;
        } else {
            move_prices(l, pace * (best_ns(l) - bound_ns));
        }
    }
    return true;
}
