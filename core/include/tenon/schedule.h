// schedule.h: which device runs what of a session's graphs, what is copied between them, and why.
//
// The nodes of a graph run in segments: runs of nodes that one device executes as one program.
// Before a segment come the copies that it needs. Who gets which node is chosen so that by the cost
// model claims and copies together cost least: a claim costs what the device says (times what
// `tenon tune` has measured of it), a copy what the link between two devices takes.
//
// Ownership: names are lent until the graph is dropped, texts of reasons for the time of the call
// that brings them. Times are in nanoseconds, by the cost model.
// Threads: [one per session].
#ifndef TENON_SCHEDULE_H
#define TENON_SCHEDULE_H

#include <tenon/session.h>

#ifdef __cplusplus
extern "C" {
#endif

// The schedule of one graph. A step is one unit of it: a node, or several that a device takes
// together.
typedef struct tn_graph_schedule {
    uint32_t size;                // sizeof, set by the caller
    uint32_t is_proved_optimal;   // 1: no other assignment costs less with states, and while memory
                                  // is short weights, where they are; else 0
    uint32_t node_count;   // where composite ops were decomposed: with the nodes in their place
    uint32_t step_count;
    uint32_t segment_count;
    uint32_t copy_count;
    uint64_t copy_bytes;
    const char *method;     // that found it: "greedy", "elimination", "cut", …; lent for ever
    double cost_ns;         // claims and copies together
    double bound_ns;        // no assignment of this graph to these claims costs less, likewise
    double greedy_ns;       // what it costs when each node in turn goes where it is cheapest given
                            // where its operands are; 0 = that way there is none
    double copies_ns;       // of cost_ns, that of the copies, with measured submits
    uint32_t greedy_fits;   // 1: what costs greedy_ns fits the memory of the devices; else 0
    uint32_t reserved;      // 0
} tn_graph_schedule;

// Errors: TN_E_ARG there is no such graph, or not any more; after TN_EVENT_STOPPED there is no
// schedule any more: what the session answers to all (tn_session_run). Since 0.1
TN_NODISCARD TN_API tn_status tn_session_graph_schedule(const tn_session *session, uint32_t graph,
                                                        tn_graph_schedule *out_schedule,
                                                        tn_error *err);

// What was compared where nothing is asked and what is fastest does not fit.
enum {
    TN_COMPARED_CHOSEN = 1,    // the likely runs cost least
    TN_COMPARED_DEARER = 2,    // they cost `times` as much
    TN_COMPARED_BOUND = 3,     // at least `times` as much: it was given up
    TN_COMPARED_NO_ROOM = 4,   // it does not fit
};

typedef struct tn_compared_placement {
    uint32_t size;      // sizeof, as libtenon has it
    uint32_t outcome;   // TN_COMPARED_…
    const char *name;   // in words: "whole layers off the CPU"; lent for the time of the call
    double times;       // 0 of what does not fit
} tn_compared_placement;

typedef struct tn_placement_sink {   // who is told
    void *context;
    void (*take)(void *context, const tn_compared_placement *compared);
} tn_placement_sink;

// Of the layers that nodes of the first graph are marked with (tn_graph_mark). How many each device
// has is in tn_device_memory.
typedef struct tn_placement_report {
    uint32_t size;   // sizeof, set by the caller
    uint32_t layer_count;
    uint32_t divided_count;   // that are divided over devices
    uint32_t is_by_memory;    // 1: what is fastest, or what was asked for, does not fit; else 0
} tn_placement_report;

// What became of the placement; sink NULL = only that, else what was compared, the chosen one
// first. Errors: TN_E_ARG session or out_report is NULL, or take is. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_placement(const tn_session *session,
                                                   tn_placement_report *out_report,
                                                   const tn_placement_sink *sink, tn_error *err);

// Why a segment begins where it does: what is to be said of its first step at the device of the
// segment before.
enum {
    TN_BEGINS_FIRST = 1,         // it is the first one
    TN_BEGINS_UNSUPPORTED = 2,   // that device does not take it
    TN_BEGINS_STATE = 3,         // it touches a state that lives where it runs
    TN_BEGINS_COST = 4,          // it would cost more there
    TN_BEGINS_ORDER = 5,         // it would not; what it waits for ran elsewhere
    TN_BEGINS_PIN = 6,           // the caller has pinned it
    TN_BEGINS_LAYER = 7,         // its layer belongs where it runs
    TN_BEGINS_MEMORY = 8,        // there is no room for it there, or a weight that it reads is here
                                 // already and memory is short
    TN_BEGINS_OVERLAP = 9,   // it is the same device: divided, so that another can work meanwhile
};

// "unsupported"; "" of a number that is none of these. [any] Since 0.1
TN_API const char *tn_begins_name(uint32_t why);

// Texts are the session's until the graph is run or dropped, but `reason`, which is lent for the
// time of the call.
typedef struct tn_segment {
    uint32_t size;     // sizeof, as libtenon has it
    uint32_t device;   // by its number in the session
    uint32_t first_step, step_count;
    uint32_t node_count;
    uint32_t why;             // TN_BEGINS_…
    const char *first_node;   // its name
    const char *reason;       // the same in words, beginning with tn_begins_name
    const char *op;           // of the node that the reason is about: "rope"
    const char *refusal;      // of TN_BEGINS_UNSUPPORTED: what the device said of it; else ""
    double cost_ns;           // of its claims
    double more_ns;           // of TN_BEGINS_COST: that the whole would cost more if the first step
                              // ran on the device before; else 0
} tn_segment;

typedef struct tn_segment_sink {   // who is told
    void *context;
    void (*take)(void *context, const tn_segment *segment);
} tn_segment_sink;

// Tells the segments of a graph in the order they run. Errors: TN_E_ARG there is no such graph, or
// take is NULL; after TN_EVENT_STOPPED as of tn_session_graph_schedule; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_segments(const tn_session *session, uint32_t graph,
                                                  const tn_segment_sink *sink, tn_error *err);

// Bytes that go from one device to another before a segment begins, once however often they are
// read there.
typedef struct tn_segment_copy {
    uint32_t size;       // sizeof, as libtenon has it
    uint32_t from, to;   // devices, by their numbers
    uint32_t segment;    // that needs it, from 0
    const char *value;   // its name
    uint64_t bytes;
    double cost_ns;
} tn_segment_copy;

typedef struct tn_segment_copy_sink {   // who is told
    void *context;
    void (*take)(void *context, const tn_segment_copy *copy);
} tn_segment_copy_sink;

// Tells the copies of a graph, by segment. Errors: as above. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_copies(const tn_session *session, uint32_t graph,
                                                const tn_segment_copy_sink *sink, tn_error *err);

// Says in words what the schedule of a graph has to do with a name: that of a node (who claimed it
// and at what cost, who refused and why, where its operands come from, what it would cost
// elsewhere, which claim won), a value, an output, an op ("rope") or a device of the session
// ("cpu0"). What has the name in several ways is told in each. Errors: TN_E_NOT_FOUND nothing has
// it, with the nearest names; after TN_EVENT_STOPPED as of tn_session_graph_schedule; TN_E_ARG;
// TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_explain_name(const tn_session *session, uint32_t graph,
                                                      const char *name, const tn_sink *sink,
                                                      tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
