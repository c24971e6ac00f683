// layout.h: which bytes live when on which lane, and where.
//
//   order.c       which works happen before which, as far as one lane's bytes see it
//   intervals.c   which bytes live when on a lane
//   layout.c      where they lie in its arena
//   check.c       whether that is right, from graph, schedule and claims alone
#ifndef TNI_EXEC_LAYOUT_H
#define TNI_EXEC_LAYOUT_H

#include <tenon/session.h>

#include "plan/plan.h"
#include "sched/sched.h"

typedef struct tni_compiled tni_compiled;

#define TNI_NO_OFFSET UINT64_MAX

// The figures of the plan of a graph on a lane.
typedef struct tni_planned {
    tni_plan plan;   // without its offsets, which the graph has by storage and unit
    uint64_t planning_ns;
} tni_planned;

enum { TNI_STAGING = TNI_MAX_PLACES };   // a place: the host's bytes of copies that are staged

// Which steps of a lane happen before which: each unit of its programs is one, and each copy that
// touches its arena.
typedef struct tni_lane_order {
    tni_plan_order order;   // ends: set by who finds the intervals
    bool is_line;           // each step after the one before it
    uint32_t *of_work;      // by work: its first step here; TNP_NONE
    uint32_t *of_unit;      // by unit of the schedule, likewise
    uint32_t *unit_of;      // by step here: the unit at hand, for people
} tni_lane_order;

// [work][queue of the session]: one past the last work of the queue that has ended when a work of
// the graph begins. From `scratch`. Errors: TN_E_HOST_MEMORY.
tn_status tni_order_of_works(const tn_session *session, const tni_compiled *compiled,
                             tni_arena *scratch, const uint32_t **out_done, tn_error *err);
// What that means for one lane. Arrays come from `scratch`. Errors: TN_E_HOST_MEMORY.
tn_status tni_order_find(const tn_session *session, const tni_compiled *compiled,
                         const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                         tni_lane_order *out, tn_error *err);

// What lives when on a lane: what the plan of a graph there is made from.
typedef struct tni_lane_intervals {
    const tni_interval *intervals;
    uint32_t count;
    const uint32_t *of_storage;   // index of its interval; TNP_NONE = it has no bytes here
    const uint32_t *of_unit;      // likewise, of its scratch
    tni_lane_order order;         // of the steps that intervals count in
} tni_lane_intervals;

// works_done: of tni_order_of_works. Arrays come from `scratch`. Errors: TN_E_HOST_MEMORY.
tn_status tni_intervals_find(const tn_session *session, const tni_compiled *compiled,
                             const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                             tni_lane_intervals *out, tn_error *err);
// Makes them again, a session keeps no more than offsets and figures; in steps of the schedule.
tn_status tni_intervals_again(const tn_session *session, const tni_compiled *compiled,
                              uint32_t place, tni_arena *scratch, tni_lane_intervals *out,
                              tn_error *err);

// Sets where everything lies, compiled->way. Errors: those of tni_plan_pack.
tn_status tni_layout(tn_session *session, tni_compiled *compiled, tn_error *err);
// The arenas get as large as this graph needs. Errors: TN_E_DEVICE_MEMORY when they are reserved.
tn_status tni_layout_reserve(tn_session *session, tni_compiled *compiled, tn_error *err);

// Whether the plan of a graph on a lane is right; shares no code with the above. Errors:
// TN_E_INTERNAL says what is wrong; TN_E_HOST_MEMORY.
tn_status tni_check_plan(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                         tni_arena *scratch, tn_error *err);

#endif
