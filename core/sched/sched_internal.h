// sched_internal.h: shared by the files of this folder only.
#ifndef TNI_SCHED_INTERNAL_H
#define TNI_SCHED_INTERNAL_H

#include "sched/problem.h"
#include "sched/sched.h"

// Those that may be given nodes, and of these the ones that are no CPUs; a bit each.
static inline uint64_t tni_places_of(const tni_schedule_request *request)
{
    return request->places ? request->places : UINT64_MAX;
}
uint64_t tni_preferred_places(const tni_schedule_request *request);   // decompose.c
// Of these the ones where a node of the given graph is asked to be; where that is on CPUs only,
// those.
uint64_t tni_preferred_for(const tni_schedule_request *request, uint64_t preferred, uint32_t node);

// decompose.c: own_graph and own_answers of a schedule that has the answers to the given graph,
// when decomposing some of its nodes brings their work to a device.
tn_status tni_choose_decompositions(const tni_schedule_request *request, tni_arena *arena,
                                    tni_schedule *schedule, tn_error *err);
// After the assignment: nodes that were decomposed for nothing are whole again, and the schedule
// has to be made anew.
tn_status tni_drop_useless_decompositions(const tni_schedule_request *request,
                                          tni_schedule *schedule, bool *out_has_changed,
                                          tn_error *err);
void tni_schedule_drop_graph(tni_schedule *schedule);   // own_graph and the answers to it

// What is assigned: the request's graph, or one in which its composites are decomposed.
typedef struct tni_assign_request {
    const tni_schedule_request *of;
    const tn_graph *graph;
    const tni_answers *answers;   // to this graph
    const tni_links *links;
    bool is_decomposed;   // rules are for the request's graph: nodes have an origin there
} tni_assign_request;

// States, and what is written through, are tied to one place, and those that a node touches to each
// other. What is said of several tied to each other is said at the least of them.
typedef struct tni_ties {
    bool *is_tied;       // by storage
    uint32_t *tied_to;   // by storage: the least that it is tied to; itself, where it is not tied
} tni_ties;

// false: out of memory.
bool tni_ties_find(const tn_graph *graph, tni_arena *arena, tni_ties *out);

// Sets holds: by least storage, where all that is tied to it may be. places: by storage below
// `count`, where it may be; the others may be anywhere.
void tni_ties_begin(const tn_graph *graph, const tni_ties *ties, const uint64_t *places,
                    uint32_t count, uint64_t *holds);
// What a node touches and is tied must be where the node is: on one of these places.
void tni_ties_narrow(const tn_graph *graph, const tni_ties *ties, uint32_t node, uint64_t places,
                     uint64_t *holds);
// Where all that a node touches may be.
uint64_t tni_ties_places(const tn_graph *graph, const tni_ties *ties, uint32_t node,
                         const uint64_t *holds);
// A storage that a node touches and that is tied, by storage; TNP_NONE = there is none.
uint32_t tni_ties_touched(const tn_graph *graph, const bool *is_tied, uint32_t node);

// A claim cannot run where its scratch, or a pack of its own, is larger than any buffer.
bool tni_claim_is_cramped(const tni_memories *memories, const tni_claim *claim);

// Fusions count only where no device takes the node alone: whether one can be chosen depends on its
// other nodes.
static inline uint64_t tni_takers_of(const tni_takers *takers, uint32_t node)
{
    return takers->alone[node] ? takers->alone[node] : takers->any[node];
}

// Where each node may be, and why not elsewhere.
typedef struct tni_ruling {
    const tn_graph *graph;
    uint32_t device_count;
    uint64_t places;   // that may be given nodes
    const tni_answers *answers;
    const tni_takers *takers;
    const tni_ties *ties;
    const tni_rule *rules;   // NULL = nothing is asked
    bool is_decomposed;
    const tni_memories *memories;
} tni_ruling;

tni_rule tni_rule_of(const tni_ruling *ruling, uint32_t node);
// A storage that the node touches and that is larger than any buffer of the place; TNP_NONE = none.
uint32_t tni_rules_too_large(const tni_ruling *ruling, uint32_t node, uint32_t place);

// What nodes ask of the bytes that they touch and that are tied, by least storage: places.
typedef struct tni_asked {
    uint64_t *holds;    // where all of these nodes can be
    uint64_t *wished;   // where they are wished
    uint64_t *roomy;    // where buffers are large enough for what they touch
} tni_asked;

// Nothing is asked yet. may_be, wishes: by storage below `count`, what is known beforehand; NULL =
// nothing. false: out of memory.
bool tni_asked_make(const tni_ruling *ruling, tni_arena *arena, const uint64_t *may_be,
                    const uint64_t *wishes, uint32_t count, tni_asked *out);
// Of a node that is taken on these places and wished on those; its demand and its sizes are those
// of the ruling.
void tni_asked_of_node(const tni_ruling *ruling, uint32_t node, uint64_t taken, uint64_t wish,
                       const tni_asked *asked);
// Where bytes can be, as far as there are such places with room for them.
uint64_t tni_asked_places(const tni_asked *asked, uint32_t least);

// asked: as tni_asked_make has it, without wishes; holds is then what is left. places, bars: by
// node, set. false: no memory.
bool tni_rules_apply(const tni_ruling *ruling, tni_arena *arena, const tni_asked *asked,
                     uint64_t *places, const tni_bars *bars);

int tni_resident_bytes_compare(const void *left, const void *right);

typedef struct tni_items_request {
    const tn_graph *graph;
    const tni_answers *answers;
    const tni_memories *memories;
} tni_items_request;

// Items and their lists by claim, of a problem whose claims these are. false: out of memory.
bool tni_list_items(const tni_items_request *request, tni_arena *arena, tni_problem_claim *claims,
                    tni_problem *problem);

// chosen[n]: index of the claim that gets node n. The units have an order.
// bars: by node, set.
tn_status tni_assign(const tni_assign_request *assigned, tni_arena *arena, uint32_t *chosen,
                     const tni_bars *bars, tni_solution *out_solution, tn_error *err);

// Orders the claims chosen and cuts them into segments; sets units, steps, places and segments.
tn_status tni_partition(const uint32_t *chosen, tni_arena *arena, tni_arena *scratch,
                        tni_schedule *schedule, tn_error *err);

// Sets transfers, by the units and segments. Errors: TN_E_HOST_MEMORY.
tn_status tni_find_transfers(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                             tn_error *err);

// Divides segments where devices can then work at the same time; sets units, steps and segments, by
// which the transfers are to be found again. Errors: TN_E_HOST_MEMORY.
tn_status tni_divide_segments(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                              tn_error *err);

// Puts segments into the order in which they can begin; sets units, steps and segments, by which
// the transfers are to be found again. Errors: TN_E_HOST_MEMORY.
tn_status tni_sequence_segments(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                                tn_error *err);

#endif
