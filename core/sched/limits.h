// limits.h: an assignment within limits of memory, for the files that find it.
//
//   limits.c     what comes after what, and the assignments that the others start from
//   payers.c     who pays for what several nodes keep together
//   prices.c     prices on bytes: a bound, and assignments near it
//   crossing.c   one assignment up to a node, another from there on
//   windows.c    runs of nodes moved to another place
#ifndef TNI_SCHED_LIMITS_H
#define TNI_SCHED_LIMITS_H

#include "sched/solve_internal.h"

enum {
    // Assignments to be crossed: each with each, so that time grows with the square. Half of them
    // are those with everything on one place and the like, half the latest that prices made.
    TNI_MOST_PARENTS = 24,
    // Of one elimination at prices: a bound is needed, and soon; an order only now and then.
    TNI_PRICE_BRANCHES = 4,
    // What a first price adds to the cost if all that is free had it: one part of so many. Much
    // less moves nothing, much more moves all.
    TNI_FIRST_PRICE_PART = 10,
};

// What is kept once, however many claims have it, is paid for in parts. A payer is a node, and
// stands for claims with it: of these only one is chosen, so that a part is paid once at most, and
// prices are never too much.
typedef struct tni_payer {
    uint32_t item, node;
    double part;     // of the item's price; those of one item together are 1
    bool is_asked;   // by the assignment at hand
} tni_payer;

typedef struct tni_limited {
    tni_solving *s;
    const tni_problem *problem;
    tni_arena *arena;
    // Prices of a byte, by place: the ones at hand, and those that gave the highest bound.
    double *price, *best_price;
    double *direction;       // by place: that prices move along
    double *claim_ns;        // by claim, with prices
    double *group_ns;        // [group * place_count + place]
    double *group_bytes;     // by group; of one without nodes none
    uint64_t *used;          // by place
    uint64_t short_places;   // that are too full where nothing is paid, a bit each
    uint32_t *payer_of;      // by place in claim_items
    uint32_t *first_payer;   // by item, and one more
    tni_payer *payers;       // by item
    uint32_t parent_count;
    uint32_t *parents[TNI_MOST_PARENTS];   // assignments
    // parents[first_on_place] …: everything that can be on one place is there, of so many places
    uint32_t first_on_place, on_place_count;
    tni_changes changes;
} tni_limited;

// Bytes that are left on a place by what is taken once anything runs there.
double tni_limited_room(const tni_limited *l, uint32_t place);

// One more to be crossed: of those that prices made, the oldest goes.
void tni_limited_add_parent(tni_limited *l, const uint32_t *chosen);

// Sets payer_of, first_payer and payers, with equal parts. false: no memory.
bool tni_limited_find_payers(tni_limited *l);
// After an assignment: the parts of those who ask for an item rise where others do not.
void tni_limited_move_parts(tni_limited *l, const uint32_t *chosen, double step);

// What is cheapest by the prices at hand. *out_bound_ns: no assignment within the limits costs
// less. false: no memory.
bool tni_limited_solve_at_prices(tni_limited *l, uint32_t *chosen, bool *out_is_found,
                                 double *out_bound_ns);
// Looks for the prices that give the highest bound. false: no memory.
bool tni_limited_solve_by_prices(tni_limited *l);

// Crosses parents with each other, as long as that makes them better. false: no memory.
bool tni_limited_cross_all(tni_limited *l);

// Moves runs of nodes of the best. false: no memory.
bool tni_limited_move_windows(tni_limited *l);

#endif
