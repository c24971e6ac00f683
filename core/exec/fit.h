// fit.h: a placement that fits what is free.
//
//   fit.c           tries placements until one fits
//   fit_lead.c      one assignment for all graphs, by how often each is likely to run
//   fit_layers.c    whole layers: as many as are asked for, or the most that fit
//   fit_beside.c    where nothing is asked and memory is short: several strategies
//   fit_memory.c    what there is of memory, and what is taken of it
//   fit_shared.c    what other sessions have there already
//   fit_demands.c   when nothing fits: what is demanded
//   fit_rules.c     what is asked of the nodes of a graph
//   fit_states.c    states that cannot be with their layers
//   fit_words.c     what it came to, in words
#ifndef TNI_EXEC_FIT_H
#define TNI_EXEC_FIT_H

#include <tenon/session.h>

#include "sched/placement.h"
#include "sched/sched.h"

typedef struct tni_compiled tni_compiled;

// Strategies of placing what is free and does not fit without limits.
typedef enum tni_fit_strategy {
    TNI_FIT_NODES,       // each node by the solver, within limits
    TNI_FIT_OFFLOADED,   // the last layers on the devices that are no CPUs, node by node there
    TNI_FIT_CUT,         // these in whole neighbours on each device, cut by free memory
    TNI_FIT_FILLED,      // the same, as many as there is room for on one device
    TNI_FIT_ONE,         // all layers on one device
} tni_fit_strategy;

typedef struct tni_fit_try {
    tni_fit_strategy strategy;
    uint32_t one;             // place of the last two
    uint32_t held, without;   // places: of the largest weight, and one that gets nothing; TNP_NONE
    bool is_tried, is_dearer;   // dearer: it was given up, cost_ns is a bound
    bool is_short;              // it is within limits
    tn_status status;
    uint32_t offloaded;
    double cost_ns;   // of all runs that are likely
} tni_fit_try;

// What memory there is, and what the graphs scheduled so far take of it. Arrays by lane.
typedef struct tni_fit {
    uint64_t *free_bytes;   // when the session was made; UINT64_MAX = not told
    uint64_t *alignments, *largest;
    uint64_t *arena;              // what is set aside for arenas while memory is short
    uint64_t *weights;            // of `resident`, without what is `shared`
    uint64_t *there;              // of all that is `shared`
    uint64_t *program_bytes;      // that devices keep with programs, beside buffers
    uint64_t *needed;             // of all: set when all graphs have a layout
    uint64_t *unlimited;          // the same of the placement at hand without limits, and of it
    uint64_t *unlimited_beside;   // arenas and programs
    uint64_t *asked_bytes;   // and of the one that is asked for, before anything had to give way
    tni_resident_bytes *resident;   // constants, of all graphs, sorted
    uint32_t resident_count, resident_capacity;
    tni_resident_bytes *shared;   // constants of the graphs that sessions had there by then, sorted
    uint32_t shared_count;
    uint64_t mapping_places;   // that use weights where they lie, or have some already
    bool has_failed_claim;     // what then lacks memory is the device
    bool lacks_memory;         // it does not fit: by what was reckoned, no call of a device failed
    bool is_short;             // without limits it did not fit: they hold
    uint32_t short_place;      // that was short of memory first, which the error tells; TNP_NONE
    uint32_t asked_layers;     // of the placement; its layers tell how many it became
    bool is_spread;            // layers went from a device without room for them to others
    uint64_t work;             // of all schedules so far, see tni_schedule
    // Several strategies, of which the cheapest was taken; 0 = none was tried.
    uint32_t try_count, chosen;
    uint32_t untried_count;   // for which there was no work left
    tni_fit_try *tries;
    uint64_t *best_arena;   // by lane: what is set aside for arenas by the cheapest so far
    // Of the strategy at hand: places that get nothing, a bit each; a weight, and where it is to
    // be.
    uint64_t without;
    double *shares;   // by device of the split
    const tni_value *held;
    uint32_t held_place;   // TNP_NONE = anywhere
    double least_ns;   // what all likely runs cost at least, by the first assignment within limits;
                       // 0 = not known
    double most_ns;    // and what they may cost at most to be looked at; INFINITY
    bool is_dearer;    // what was looked at last costs more
    double dearer_ns;
} tni_fit;

// Schedules and lays out all graphs that the session is created with, so that what is needed is
// free: without limits first, then within them, then with fewer layers where the placement is of
// layers.
tn_status tni_session_fit(tn_session *session, tn_error *err);
// Rules of a graph by the placement, and which of its constants are mapped where; once.
tn_status tni_fit_begin_graph(tn_session *session, tni_compiled *compiled, tn_error *err);
// While memory is short a weight is where a graph scheduled before has it: twice would cost twice.
tn_status tni_fit_follow_weights(tn_session *session, tni_compiled *compiled, tn_error *err);
// Its nodes are elsewhere than on compiled->avoided where another place takes them.
tn_status tni_fit_avoid(tni_compiled *compiled, tn_error *err);
// The constants of a schedule count from now on.
tn_status tni_fit_note_resident(tn_session *session, const tni_compiled *compiled,
                                const tni_schedule *schedule, tn_error *err);
// Bytes of the states on a lane, each as large as the device makes it. without: by state, those
// that do not count; NULL = all do. UINT64_MAX: more than a number holds.
uint64_t tni_fit_state_bytes(const tn_session *session, uint32_t place, const bool *without);
// What weights and these states leave of what is free on a lane; UINT64_MAX = not known.
uint64_t tni_fit_room(const tn_session *session, uint32_t place, const bool *without);
void tni_fit_note_short(tn_session *session, uint32_t place);
// Of all graphs but one: some were dropped since.
tn_status tni_fit_count_again(tn_session *session, const tni_compiled *without, tn_error *err);
// "'w.1', 'w.2' and 3 more pinned values, and the states": what is ordered to be on a device.
// Answers how many that are: the states are many.
uint32_t tni_fit_name_demands(const tni_placement *placement, const tn_device *device, char *out,
                              size_t bytes);
// How many layers run on each place, as the first graph has them: where most bytes of a layer are.
// Answers how many others are divided.
uint32_t tni_fit_count_layers(const tn_session *session, uint32_t *counts);
// Once a session is made: says in the log what became of the placement that was asked for, layers
// and states that are elsewhere and why.
void tni_fit_tell(const tn_session *session);
void tni_fit_explain(const tn_session *session, const tn_sink *sink);

#endif
