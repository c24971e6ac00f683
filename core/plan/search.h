// search.h: places blocks below a given height, or shows that they do not fit.
//
// Time is cut into sections: stretches in which the set of live blocks has no larger neighbour
// (sections.h). Each section has a floor, below which nothing more is placed; all begin at 0. A
// valley is a run of sections of one floor between higher ones:
//
//   height            ┌───┐
//     │   ┌───────┐   │   │        floors; section s of the valley V is the one looked at
//     │   │       │ V │   │
//     │   │       ├───┤   │
//     └───┴───────┴─s─┴───┴──► sections
//
// What covers s next lies either on this floor, or higher, and then the room up to there is lost
// in s. So there is one choice for each unplaced block that covers s and fits between the walls,
// and one for "closed": nothing lies on s at this floor. A valley whose sections are all closed is
// raised to its lower wall. That is every packing in which each block rests on another or on 0,
// and any packing can be pushed down into one of these.
//
// What makes it fast:
//   - the section with the fewest choices comes first, over all valleys; none is a dead end;
//   - `rest` is what still has to be stacked on a section: floor + rest above the limit is a dead
//     end;
//   - a raise that buries room in which an unplaced block fits is one too: that block could as well
//     lie there;
//   - a dead end goes back to the latest decision that touches the sections it depends on
//     (conflict-directed backjumping: Prosser, Hybrid algorithms for the constraint satisfaction
//     problem, 1993), not to the latest one;
//   - sections of dead ends gain weight and are looked at sooner, and the search begins again with
//     another order of choices after a number of steps (weights of conflicts: Boussemart et al.,
//     Boosting systematic search by weighting constraints, 2004).
//
// Nothing is recursive. One step costs about the width of a valley.
#ifndef TNI_PLAN_SEARCH_H
#define TNI_PLAN_SEARCH_H

#include "plan/sections.h"

typedef enum tni_plan_search_answer {
    TNI_PLAN_SEARCH_FOUND,        // offsets are set
    TNI_PLAN_SEARCH_IMPOSSIBLE,   // every packing below the limit was ruled out
    TNI_PLAN_SEARCH_GAVE_UP,      // the steps ran out, or the time
    TNI_PLAN_SEARCH_NO_MEMORY
} tni_plan_search_answer;

typedef struct tni_plan_search tni_plan_search;

// `items` are sorted (tni_plan_sections_make). Everything comes from `allocator`; NULL: no memory.
tni_plan_search *tni_plan_search_create(const tn_allocator *allocator,
                                        const tni_plan_sections *sections);
void tni_plan_search_destroy(tni_plan_search *search);   // NULL is fine

// By tni_now_ns(), for all that is searched from now on; 0 = none, and then the same answers on
// every machine.
void tni_plan_search_set_deadline(tni_plan_search *search, uint64_t deadline_ns);

// Searches from the start, for `steps` at most, which come off *steps: a step is a decision, a
// change undone, or 64 sections looked at. Weights are kept from call to call, and `round` chooses
// the order in which blocks are tried.
tni_plan_search_answer tni_plan_search_run(tni_plan_search *search, uint64_t limit, uint32_t round,
                                           uint64_t *steps);

typedef struct tni_plan_relaxing {
    uint32_t dead_ends;    // before the limit is raised
    uint32_t parts;        // of the limit, by which it is raised first
    uint64_t most_limit;   // gives up where it would be above that
} tni_plan_relaxing;

// As above, and after some dead ends, or much work, the limit is raised, until something is found.
// *limit is then what it ended at. The weights that are left when it gives up make the next one
// better.
tni_plan_search_answer tni_plan_search_run_relaxed(tni_plan_search *search,
                                                   const tni_plan_relaxing *how, uint64_t *limit,
                                                   uint64_t *steps);

const uint64_t *
tni_plan_search_offsets(const tni_plan_search *search);   // by item, of the latest FOUND

#endif
