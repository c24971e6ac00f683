// sched.h: who runs what: from a graph and a list of devices to segments in the order they run.
//
// A place is an index into the list of devices; a unit is a claim that was chosen; step t is the
// t-th unit in the order.
#ifndef TNI_SCHED_H
#define TNI_SCHED_H

#include <tenon/schedule.h>

#include "graph/decompose.h"
#include "graph/graph.h"
#include "plugin/host.h"
#include "sched/cost.h"
#include "sched/places.h"

// The place of a device; TNP_NONE = it is none of these.
static inline uint32_t tni_place_of(tn_device *const *devices, uint32_t count,
                                    const tn_device *device)
{
    for (uint32_t i = 0; i < count; i++)
        if (devices[i] == device)
            return i;
    return TNP_NONE;
}

// ------------------------------------------------------------------------------------------ slices

// A tnp_slice of some nodes of a graph, and both ways between the indices.
typedef struct tni_slice {
    tnp_slice slice;
    uint32_t *graph_value;     // slice value   -> graph value
    uint32_t *graph_storage;   // slice storage -> graph storage
    uint32_t *graph_node;      // slice node    -> graph node
    uint32_t *slice_value;     // graph value   -> slice value, or TNP_NONE
    uint32_t *slice_storage;   // graph storage -> slice storage, or TNP_NONE
    uint32_t *slice_node;      // graph node    -> slice node, or TNP_NONE
} tni_slice;

// nodes: graph nodes, ascending. at_submit_bytes: what one submit may carry (tni_comes_at_submit).
// Errors: TN_E_HOST_MEMORY.
tn_status tni_slice_make(const tn_graph *graph, const uint32_t *nodes, uint32_t node_count,
                         uint64_t at_submit_bytes, tni_arena *arena, tni_slice *out_slice,
                         tn_error *err);

// Whether this storage of an input comes with each submit as an update: the smallest inputs do, as
// many as fit into at_submit_bytes together.
bool tni_comes_at_submit(const tn_graph *graph, uint32_t storage, uint64_t at_submit_bytes);

// ------------------------------------------------------------------------------------------ claims

typedef struct tni_pack {
    uint32_t value;   // of the graph
    uint32_t layout, flags;
    uint64_t group_rows, group_bytes;
    uint64_t bytes;   // of the whole pack, checked
} tni_pack;

// A plugin's claim, checked and in indices of the graph.
typedef struct tni_claim {
    uint32_t place;
    uint32_t node_count, in_place_count, pack_count;
    uint32_t flags;
    const uint32_t *nodes;          // ascending
    const tnp_in_place *in_place;   // values of the graph
    const tni_pack *packs;
    const char *name;
    double claimed_ns;   // as the plugin says
    double cost_ns;      // the same times what was measured of the device
    uint64_t scratch_bytes, resident_bytes, tag;
} tni_claim;

typedef struct tni_refusal {
    uint32_t place, node;
    const char *reason;
} tni_refusal;

typedef struct tni_answers {
    tni_arena arena;
    uint32_t claim_count, claim_capacity;
    uint32_t refusal_count, refusal_capacity;
    tni_claim *claims;   // by place, within it as the plugin gave them
    tni_refusal *refusals;
    uint64_t failed_places;   // devices that failed when they were asked: they take nothing
    tn_error failure;         // of the first of these
} tni_answers;

// Asks every device about the whole graph. scratch: until the call returns, and the allocator of
// the answers. Devices are opened. A claim that breaks a rule is dropped, with a line in the log
// unless it is to be quiet, and a refusal in its place. Errors: those of opening and of claim();
// TN_E_HOST_MEMORY.
tn_status tni_ask(const tn_graph *graph, tn_device *const *devices, uint32_t device_count,
                  bool is_quiet, tni_arena *scratch, tni_answers *out_answers, tn_error *err);
void tni_answers_finish(tni_answers *answers);   // also of a zeroed struct

// What a place said first when it did not take a node; place TNP_NONE: any place. NULL: nothing.
// Looks through all refusals.
const tni_refusal *tni_find_refusal(const tni_answers *answers, uint32_t node, uint32_t place);
// The same in words. otherwise: where it said nothing; NULL = "no claim".
const char *tni_refusal_words(const tni_answers *answers, uint32_t node, uint32_t place,
                              const char *otherwise);

// --------------------------------------------------------------------------------------- constants

// Bytes of a constant that are resident on a place; equal ones lie there once, whatever asks for
// them.
typedef struct tni_resident_bytes {
    uint32_t place;
    uint32_t layout;      // 0 = as the application has them; else a pack
    const void *data;     // of the application
    uint64_t run_bytes;   // of a part that lies in several runs; else 0
    uint64_t group_rows, bytes;
} tni_resident_bytes;

// What the memories of the devices are like.
typedef struct tni_memories {
    // By storage of the given graph: places that use a constant where it lies, so that nothing of
    // it is resident there, a bit each; NULL = none does.
    const uint64_t *mapped;
    uint32_t mapped_count;
    const uint64_t *alignments;   // by device: buffers are whole multiples of it; NULL = 1
    const uint64_t *largest;      // by device: most bytes of a buffer or binding; NULL = no limit
    // Resident already and not counted again, as tni_resident_bytes_sort leaves them.
    const tni_resident_bytes *there, *shared;   // of this session; of others
    uint32_t there_count, shared_count;
} tni_memories;

bool tni_is_mapped(const tni_memories *how, uint32_t storage, uint32_t place);

// What a claim has resident, some of it perhaps twice. Answers how much; out NULL = only that.
uint32_t tni_resident_bytes_of(const tn_graph *graph, const tni_claim *claim,
                               const tni_memories *how, tni_resident_bytes *out);
// Sorts, and leaves each once: how many are left.
uint32_t tni_resident_bytes_sort(tni_resident_bytes *list, uint32_t count);
// Where it is in a list that is sorted so; TNP_NONE.
uint32_t tni_resident_bytes_find(const tni_resident_bytes *sorted, uint32_t count,
                                 const tni_resident_bytes *what);

// ---------------------------------------------------------------------------------------- schedule

typedef struct tni_segment {
    uint32_t place;
    uint32_t first_unit, unit_count;
} tni_segment;

// The bytes of a storage go from one device to another before a segment begins.
typedef struct tni_transfer {
    uint32_t storage;
    uint32_t from, to;   // places
    uint32_t segment;
} tni_transfer;

// What keeps a node from a device that would take it.
typedef enum tni_why {
    TNI_WHY_COST,     // nothing: it is where it costs least
    TNI_WHY_PINNED,   // it, or a value that it touches, is demanded to be where it is
    TNI_WHY_LAYER,    // the placement of layers
    TNI_WHY_STATE,    // a state that it touches is there
    TNI_WHY_MEMORY,   // the others lack memory for it, or hold no buffer as large
} tni_why;

// By node: what keeps it from places that would take it, a bit a place.
typedef struct tni_bars {
    uint8_t *why;         // a tni_why
    uint64_t *barred;     // places that `why` takes away, but for
    uint64_t *roomless;   // those that lack memory for it, or hold no buffer as large
} tni_bars;

// What is asked of the place of a node, a bit a place. A demand holds, or the node has no place. A
// wish holds where one of the places takes the node with all that it touches, and is dropped where
// none does. UINT64_MAX: nothing is asked.
typedef struct tni_rule {
    uint64_t demand, wish;
    tni_why why;      // of the wish
    const char *by;   // of the demand: the field of a tn_placement, or NULL
} tni_rule;

typedef struct tni_schedule {
    const tn_graph *given;
    const tn_graph *graph;        // what is scheduled: the given one, or own_graph
    tn_graph *own_graph;          // in which composites are decomposed; NULL = none is
    tni_composites *decomposed;   // by node of the given one: what its set was; 0 = it is whole
    tni_answers given_answers;    // to the given graph
    tni_answers own_answers;      // to own_graph
    const tni_answers *answers;   // to graph: the claims that units point into
    uint32_t unit_count, segment_count, transfer_count;
    const tni_claim **units;   // in the order they run
    tni_segment *segments;
    tni_transfer *transfers;   // by segment, ascending
    uint32_t *steps;           // by node: index of its unit
    uint32_t *places;          // by node
    tni_bars bars;             // by node
    const tni_links *links;    // as requested
    double cost_ns;            // claims and transfers, by the cost model
    double bound_ns;           // no schedule of this graph by these claims costs less
    double greedy_ns;          // what each node, in turn, to the cheapest device would cost;
                               // INFINITY: it finds nothing
    bool greedy_fits;          // within the limits of memory
    bool is_proved_optimal;    // cost_ns is the least
    const char *method;        // that found it
    uint64_t work;             // of finding it, in sums, about; after an error too
} tni_schedule;

// The node of the given graph that a node of the scheduled one stands for, or a part of it.
static inline uint32_t tni_given_node(const tni_schedule *schedule, uint32_t node)
{
    return schedule->own_graph ? schedule->own_graph->nodes[node].origin : node;
}

typedef struct tni_schedule_request {
    const tn_graph *graph;
    tn_device *const *devices;
    uint32_t device_count;
    const uint64_t *storage_places;   // by storage: the places where its bytes may be, a bit each;
                                      // NULL = all are free
    uint64_t places;                  // those that may be given nodes, a bit each; 0 = all
    const char *closed_why;           // why the others may not, in words for an error
    const tni_links *links;           // between the devices, outlive the schedule; NULL = they are
                                      // found now
    const tni_rule *rules;            // by node of graph; NULL = nothing is asked
    const uint64_t *limits;        // by device: bytes that weights, states and the arena may take;
                                   // NULL = as many as they want
    const uint64_t *arena_bytes;   // by device: of these, for the arena; NULL = none
    tni_memories memories;
    const double *own_times;    // by device: claims on a graph in which composites are decomposed
                                // cost so many times what they say; NULL = once
    tni_answers *answers;       // of tni_ask to the graph, taken over; NULL = it is asked now
    const tni_schedule *like;   // of a graph with the same ops and operands: its units, on its
                                // places, where all of them are offered and fit; NULL = none
} tni_schedule_request;

// Which places have a claim on a node, by node.
typedef struct tni_takers {
    uint64_t *any;       // also together with others
    uint64_t *alone;     // on it alone
    uint64_t *cramped;   // of alone, or of any where that is empty: where each claim is too large
} tni_takers;

// Of the places that the request leaves (places, memories). false: out of memory.
bool tni_find_takers(const tn_graph *graph, const tni_answers *answers,
                     const tni_schedule_request *request, tni_arena *arena, tni_takers *out);

// By the answers that request has, and storage_places as they are: takes away the places where what
// stays on one place (a state) cannot be, because not every node that touches it is taken there,
// whole or as what it may be decomposed into, or one is demanded elsewhere; and while there are
// others, where a buffer is too small. wishes: takes away the
// places that are not wished. out_failed: gets failed_places, and the failure, of devices that fail
// when they are asked about decompositions. Errors: as tni_ask.
tn_status tni_schedule_narrow(const tni_schedule_request *request, tni_arena *scratch,
                              uint64_t *storage_places, uint64_t *wishes, tni_answers *out_failed,
                              tn_error *err);

// Errors: as tni_ask; TN_E_UNSUPPORTED with the node and each device's reason;
// TN_E_DEVICE_MEMORY with the device that lacks most, and how much. All of it comes from
// the arena but answers and own_graph, which tni_schedule_finish gives back.
tn_status tni_schedule_make(const tni_schedule_request *request, tni_arena *arena,
                            tni_schedule *out_schedule, tn_error *err);
void tni_schedule_finish(tni_schedule *schedule);   // also of a zeroed struct

// ----------------------------------------------------------------------------------------- reasons

// Of a schedule, by its graph: claims[first_claim[n]] … claims[first_claim[n + 1] - 1] are those
// with node n, in the same way refusals; readers, by storage, the nodes that read what a node made
// and may be copied.
typedef struct tni_offers {
    const tni_schedule *schedule;
    const uint32_t *first_claim, *claims;
    const uint32_t *first_refusal, *refusals;
    const uint32_t *first_reader, *readers;
    const bool *is_tied;   // by storage: it stays on one place
} tni_offers;

// All of it comes from arena. false: out of memory.
bool tni_offers_make(const tni_schedule *schedule, tni_arena *arena, tni_offers *out);

// The reason of tni_find_refusal by the node's own list, for many nodes; NULL = it gave none.
const char *tni_refusal_of(const tni_offers *offers, uint32_t node, uint32_t place);

// One unit at another place, everything else where it is.
typedef struct tni_move {
    bool is_taken;      // the place takes all of its nodes, together or each alone
    uint32_t lacking;   // not taken: the first node that it does not take
    uint32_t tied;   // a storage that it cannot leave, or TNP_NONE: then the rest of what touches
                     // that would have to come along
    double here_ns, there_ns;   // claims
    double more_ns;             // that the whole would cost more, with copies; may be below 0
} tni_move;
tni_move tni_move_of(const tni_offers *offers, uint32_t step, uint32_t place);

// What keeps a step from a device that would take it: of its nodes the first that is no matter of
// cost.
tni_why tni_step_rule(const tni_offers *offers, uint32_t step);

// Why a segment begins: what is to be said of its first unit at the place of the segment before.
typedef struct tni_boundary {
    uint32_t why;      // TN_BEGINS_…
    uint32_t node;     // the unit's first one, or the one that is not taken
    uint32_t before;   // place
    bool
        is_roomless;   // of TN_BEGINS_MEMORY: that place lacks memory for it; else a weight is here
    tni_move move;
} tni_boundary;
tni_boundary tni_boundary_of(const tni_offers *offers, uint32_t segment);

#endif
