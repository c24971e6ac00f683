// fit.c: within limits of memory.
//
// Prices: every byte on a place gets a price, and what is minimised is cost and prices together.
// For any prices, that less the price of all limits is a bound (Lagrange). Prices rise where a
// place is too full and fall where it is not.
//
// Prices alone rarely fill a place well: layers that are alike move all at once. So two assignments
// that were found are crossed: one up to a node, the other from there on. That is how a model is
// divided between devices layer by layer. What is crossed may be crossed again.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "sched/solve_internal.h"

enum {
    MOST_ROUNDS = 100,   // of prices
    MOST_BASES = 6,
    MOST_KEPT = 16,          // assignments to be crossed
    PRICE_NODES = 1 << 15,   // of all rounds together; but at least LEAST_ROUNDS
    LEAST_ROUNDS = 6,
    PRICE_BRANCHES = 4,
};

typedef struct fitting {
    tni_solving *s;
    const tni_problem *problem;
    tni_arena *arena;
    double *direction;           // by place: that prices move along
    double *price;               // by place: of a byte
    double *claim_ns;            // by claim, with prices
    double *group_ns;            // [group * place_count + place]
    double *group_bytes;         // by group; of one without nodes none
    uint32_t *sharers;           // by item: nodes that have it
    uint64_t *used;              // by place
    uint32_t *kept[MOST_KEPT];   // assignments
    uint32_t kept_count;
    tni_changes changes;
} fitting;

static bool take_tables(fitting *f)
{
    const tni_problem *problem = f->problem;
    f->price = tni_arena_take_array(f->arena, problem->place_count, sizeof *f->price);
    f->claim_ns = tni_arena_take_array(f->arena, problem->claim_count, sizeof *f->claim_ns);
    f->group_ns = tni_arena_take_array(
        f->arena, (size_t)problem->group_count * problem->place_count, sizeof *f->group_ns);
    f->group_bytes = tni_arena_take_array(f->arena, problem->group_count, sizeof *f->group_bytes);
    f->sharers = tni_arena_take_array(f->arena, problem->item_count, sizeof *f->sharers);
    f->used = tni_arena_take_array(f->arena, problem->place_count, sizeof *f->used);
    for (int i = 0; i < MOST_KEPT; i++)
        if (!(f->kept[i] = tni_arena_take_array(f->arena, problem->node_count, sizeof *f->kept[i])))
            return false;
    f->direction = tni_arena_take_array(f->arena, problem->place_count, sizeof *f->direction);
    return f->price && f->direction && f->claim_ns && f->group_ns && f->group_bytes && f->sharers &&
           f->used && tni_changes_make(f->s->index, f->arena, &f->changes);
}

static void find_group_bytes(fitting *f)
{
    const tni_problem *problem = f->problem;
    for (uint32_t n = 0; n < problem->node_count && problem->groups && problem->group_bytes; n++)
        if (problem->groups[n] != TNP_NONE)
            f->group_bytes[problem->groups[n]] = (double)problem->group_bytes[problem->groups[n]];
}

// How many nodes may ask for an item: each pays its part of the price, which is never too much.
static bool count_sharers(fitting *f)
{
    const tni_problem_index *index = f->s->index;
    uint32_t *last = tni_arena_take_indices(f->arena, f->problem->item_count);
    if (!last)
        return false;
    for (uint32_t n = 0; n < f->problem->node_count; n++)
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++) {
            const tni_problem_claim *claim = &f->problem->claims[index->claims[i]];
            for (uint32_t k = 0; k < claim->item_count && claim->nodes[0] == n; k++) {
                uint32_t item = f->problem->claim_items[claim->first_item + k];
                f->sharers[item] += last[item] != n;
                last[item] = n;
            }
        }
    return true;
}

// ------------------------------------------------------------------------------------------ prices

static double room(const fitting *f, uint32_t place)
{
    uint64_t fixed = f->problem->fixed_bytes ? f->problem->fixed_bytes[place] : 0;
    uint64_t limit = f->problem->limits[place];
    return limit > fixed ? (double)(limit - fixed) : 0;
}

static bool is_limited(const fitting *f, uint32_t place)
{
    return f->problem->limits[place] != TNI_NO_LIMIT;
}

static void set_prices(fitting *f)
{
    const tni_problem *problem = f->problem;
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        const tni_problem_claim *claim = &problem->claims[c];
        double bytes = (double)claim->bytes;
        for (uint32_t i = 0; i < claim->item_count; i++) {
            uint32_t item = problem->claim_items[claim->first_item + i];
            bytes += (double)problem->item_bytes[item] / (f->sharers[item] ? f->sharers[item] : 1);
        }
        f->claim_ns[c] = claim->cost_ns + f->price[claim->place] * bytes;
    }
    for (uint32_t g = 0; g < problem->group_count; g++)
        for (uint32_t p = 0; p < problem->place_count; p++)
            f->group_ns[(size_t)g * problem->place_count + p] = f->price[p] * f->group_bytes[g];
}

static double price_of_limits(const fitting *f)
{
    double ns = 0;
    for (uint32_t p = 0; p < f->problem->place_count; p++)
        if (is_limited(f, p))
            ns += f->price[p] * room(f, p);
    return ns;
}

// Of those that prices made, the oldest goes.
static void keep(fitting *f, const uint32_t *chosen)
{
    size_t bytes = f->problem->node_count * sizeof *chosen;
    for (uint32_t i = 0; i < f->kept_count; i++)
        if (memcmp(f->kept[i], chosen, bytes) == 0)
            return;
    if (f->kept_count == MOST_KEPT) {
        uint32_t *oldest = f->kept[MOST_KEPT / 2];
        memmove(&f->kept[MOST_KEPT / 2], &f->kept[MOST_KEPT / 2 + 1],
                (MOST_KEPT / 2 - 1) * sizeof *f->kept);
        f->kept[--f->kept_count] = oldest;
    }
    memcpy(f->kept[f->kept_count++], chosen, bytes);
}

// Up from what would add a tenth to the cost if the whole limit had it, while nothing fits. Then by
// the distance between the best cost and the bound (Polyak's step), along what is too much, with
// some of the direction before: else two places would take everything in turn.
static void move_prices(fitting *f, const uint64_t *used, double distance_ns, double cost_ns)
{
    double squares = 0;
    for (uint32_t p = 0; p < f->problem->place_count; p++) {
        double excess = is_limited(f, p) ? (double)used[p] - (double)f->problem->limits[p] : 0;
        f->direction[p] = excess + f->direction[p] * 0.6;
        if (f->price[p] == 0 && f->direction[p] < 0)
            f->direction[p] = 0;
        squares += f->direction[p] * f->direction[p];
    }
    for (uint32_t p = 0; p < f->problem->place_count; p++) {
        double step = squares > 0 ? f->direction[p] * distance_ns / squares : 0;
        if (f->s->best_above && is_limited(f, p))
            step = used[p] <= f->problem->limits[p]
                       ? -f->price[p] / 4
                       : fmax(f->price[p], cost_ns / (room(f, p) + 1) / 10);
        f->price[p] = fmax(0, f->price[p] + step);
    }
}

// Smaller steps each time that the bound does not rise.
static bool solve_with_prices(fitting *f)
{
    uint32_t nodes = f->problem->node_count, rounds = PRICE_NODES / (nodes ? nodes : 1);
    uint32_t *chosen = tni_arena_take_array(f->arena, nodes, sizeof *chosen);
    double pace = 1;
    rounds = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    if (!chosen)
        return false;
    for (uint32_t round = 0; round < rounds && !tni_solving_is_done(f->s); round++) {
        tni_ordered how = { .claim_ns = f->claim_ns,
                            .group_ns = f->group_ns,
                            .most_branches = PRICE_BRANCHES };
        set_prices(f);
        if (!tni_solve_ordered(f->s, &how, chosen))
            return false;
        double bound = how.bound_ns - price_of_limits(f);
        pace = bound > f->s->bound_ns ? pace : pace * 0.95;
        f->s->bound_ns = bound > f->s->bound_ns ? bound : f->s->bound_ns;
        if (!how.is_found)
            return true;
        keep(f, chosen);
        tni_solving_consider(f->s, chosen, "prices");
        tni_problem_used(f->s->index, chosen, f->used);
        move_prices(f, f->used, pace * (f->s->best_ns - bound),
                    tni_problem_cost_ns(f->s->index, chosen));
    }
    return true;
}

// ---------------------------------------------------------------------------------------- crossing

typedef struct crossing {
    uint64_t above;
    double ns;
    uint32_t end;   // the second one begins here; TNP_NONE: nothing was found
} crossing;

// From `to` alone, node by node, to `from` alone. A cut that no claim crosses is looked at. Whether
// one was better than the best.
static bool cross(fitting *f, const uint32_t *from, const uint32_t *to, crossing *best,
                  uint32_t stop)
{
    tni_changes *changes = &f->changes;
    const tni_problem *problem = f->problem;
    bool is_better = false;
    tni_changes_set(changes, to);
    for (uint32_t n = 0; n < problem->node_count && n < stop; n++) {
        const tni_problem_claim *claim = &problem->claims[from[n]];
        if (changes->chosen[n] != TNP_NONE)
            tni_changes_remove(changes, changes->chosen[n]);
        if (claim->nodes[claim->node_count - 1] == n)
            tni_changes_add(changes, from[n]);
        if (changes->bare_count || changes->torn_count)
            continue;
        uint64_t above = tni_changes_above(changes);
        if (above > best->above || (above == best->above && changes->ns >= best->ns))
            continue;
        *best = (crossing){ above, changes->ns, n + 1 };
        is_better = true;
    }
    return is_better;
}

// Crosses one assignment with those kept, on either side, as long as that makes it better.
static bool climb(fitting *f, const uint32_t *base, uint32_t *climbed)
{
    size_t bytes = f->problem->node_count * sizeof *climbed;
    uint32_t cycles;
    memcpy(climbed, base, bytes);
    tni_changes_set(&f->changes, base);
    crossing best = { tni_changes_above(&f->changes), f->changes.ns, 0 };
    for (uint32_t round = 0; round < 2 * f->problem->place_count && best.end != TNP_NONE; round++) {
        const uint32_t *from = NULL, *to = NULL;
        best.end = TNP_NONE;
        for (uint32_t i = 0; i < f->kept_count; i++) {
            if (cross(f, f->kept[i], climbed, &best, TNP_NONE)) {
                from = f->kept[i];
                to = climbed;
            }
            if (cross(f, climbed, f->kept[i], &best, TNP_NONE)) {
                from = climbed;
                to = f->kept[i];
            }
        }
        if (best.end == TNP_NONE)
            break;
        cross(f, from, to, &(crossing){ 0 }, best.end);
        if (!tni_problem_has_order(f->s->index, f->changes.chosen, f->s->cycle, &cycles))
            break;
        memcpy(climbed, f->changes.chosen, bytes);
    }
    return tni_solving_consider(f->s, climbed, "crossing");
}

// The latest of those kept that fit, and the best; where none fits, the latest of all.
static bool climb_from_all(fitting *f)
{
    uint32_t *climbed = tni_arena_take_array(f->arena, f->problem->node_count, sizeof *climbed);
    uint32_t *base = tni_arena_take_array(f->arena, f->problem->node_count, sizeof *base);
    uint32_t count = 0;
    if (!climbed || !base)
        return false;
    for (uint32_t i = f->kept_count; i-- > 0 && count < MOST_BASES;) {
        bool fits = tni_problem_used(f->s->index, f->kept[i], f->used) == 0;
        if (!fits && f->s->best_above == 0)
            continue;
        climb(f, f->kept[i], climbed);
        count++;
    }
    memcpy(base, f->s->best, f->problem->node_count * sizeof *base);
    if (climb(f, base, climbed))
        keep(f, climbed);
    return true;
}

// Those with everything that can be on one place there: layers are divided between these.
static bool keep_places(fitting *f)
{
    uint32_t *chosen = tni_arena_take_array(f->arena, f->problem->node_count, sizeof *chosen);
    if (!chosen)
        return false;
    for (uint32_t p = 0; p < f->problem->place_count && p < MOST_KEPT / 2; p++) {
        tni_ordered how = { .claim_ns = f->claim_ns,
                            .group_ns = f->group_ns,
                            .most_branches = PRICE_BRANCHES };
        double dear = 0;
        for (uint32_t c = 0; c < f->problem->claim_count; c++)
            dear += f->problem->claims[c].cost_ns / (double)f->problem->claim_count;
        for (uint32_t c = 0; c < f->problem->claim_count; c++)
            f->claim_ns[c] = f->problem->claims[c].cost_ns +
                             (f->problem->claims[c].place == p
                                  ? 0
                                  : 100 * dear * f->problem->claims[c].node_count);
        memset(f->group_ns, 0,
               (size_t)f->problem->group_count * f->problem->place_count * sizeof *f->group_ns);
        if (!tni_solve_ordered(f->s, &how, chosen))
            return false;
        if (!how.is_found)
            return true;
        tni_solving_consider(f->s, chosen, "prices");
        keep(f, chosen);
    }
    return true;
}

bool tni_solve_within_limits(tni_solving *s)
{
    tni_arena arena;
    fitting f = { .s = s, .problem = s->problem, .arena = &arena };
    tni_arena_init(&arena, &s->arena->allocator);
    bool has_memory = take_tables(&f) && count_sharers(&f);
    if (has_memory)
        find_group_bytes(&f);
    if (has_memory && s->method)
        keep(&f, s->best);
    has_memory = has_memory && keep_places(&f) && climb_from_all(&f) && solve_with_prices(&f);
    if (has_memory && !tni_solving_is_done(s))
        has_memory = climb_from_all(&f);
    tni_arena_finish(&arena);
    return has_memory;
}
