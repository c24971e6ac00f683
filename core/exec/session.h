// session.h: the inside of a tn_session, and its phases, for the files of this folder only.
#ifndef TNI_EXEC_SESSION_H
#define TNI_EXEC_SESSION_H

#include "exec/failover.h"
#include "exec/fit.h"
#include "exec/graphs.h"
#include "exec/journal.h"
#include "exec/kept_room.h"
#include "exec/lane.h"
#include "exec/relay.h"
#include "exec/states.h"
#include "exec/weights.h"
#include "sched/placement.h"

struct tn_session {
    tn_runtime *runtime;
    // What stays when a device is left out.
    tni_arena lasting;
    uint32_t flags;   // TN_SESSION_…
    uint32_t candidate_count;
    tni_candidate *candidates;   // by number: as named, or in the order of the runtime
    bool are_named;
    tni_journal journal;
    uint32_t event_count, event_capacity;
    tn_session_event *events;
    tn_error failure;      // status TN_OK: none. No device is left that could go on
    uint64_t asked_runs;   // by the application

    tni_arena arena;      // all tables but those of one graph and what lasts
    atomic_uint blamed;   // the lane whose call is at fault for what failed since the call at hand
                          // began: the first one, of a run what the rest follows from. TNP_NONE
    uint32_t lane_count, graph_count, graph_capacity, state_count;
    tni_lane *lanes;
    tn_device **devices;   // of the lanes
    tni_links links;       // between the lanes
    tni_relays relays;
    tni_compiled **graphs;   // by number, ascending
    tni_state *states;
    tni_placement asked;       // of the application
    tni_placement placement;   // what became of it
    bool has_warned_of_pins;   // that no graph has
    tni_layers layers;
    tni_fit fit;
    uint32_t use_count, use_capacity;
    tni_use *uses;                 // of residents
    tni_kept_room kept_room;       // while programs are made
    bool is_plan_only;             // it is to tell whether it could be made: nothing is allocated
    bool lacks_memory;             // it could not be made: by the plan, not by a call of a device
    bool is_reserved;              // arenas and states are there: a graph that is added has to fit
    uint64_t fingerprint;          // of the graphs that it was created with: what states depend on
    uint32_t next_number;          // of a graph
    const tni_compiled *running;   // the graph of the run at hand; NULL
    bool has_given_up;             // a device, at any time: what its work names of the host stays
    uint32_t last_graph;           // the one whose outputs are in the arenas; TNP_NONE
    uint64_t run;                  // number of the run at hand, for spans
};

// One attempt at all phases, with the candidates that are not left out; what a failed one made is
// given back by tni_session_unmake. *out_is_planned: it came to where devices allocate.
tn_status tni_session_try(tn_session *session, bool *out_is_planned, tn_error *err);
void tni_session_unmake(tn_session *session);
// The place of the device of a number, which is below candidate_count; TNP_NONE = it is left out.
uint32_t tni_session_place_of(const tn_session *session, uint32_t number);

#endif
