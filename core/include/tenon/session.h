// session.h: graphs compiled for a set of devices, ready to run again and again.
//
// A session takes one or more finished graphs that belong together: variants of one model for
// several batch sizes, say. They share states of the same name, weights at the same address and of
// the same size, and one arena per device, sized for the largest. When tn_session_create returns,
// every program is compiled and bound; tn_session_run then allocates nothing, builds nothing and
// plans nothing. Further graphs, smaller ones, can be added later: they run inside the same arenas.
//
// When a device fails the session goes on without it (see tn_session_events): calls answer what
// they would have answered. With the same bits where the ops that it ran, whole or in simpler ones,
// run on a device of the same type as they were; else (another type, or a composite op that one
// takes whole and the other in simpler ops) within the types' tolerance, where a close choice made
// of it may go the other way.
//
// Sessions of one runtime share what a device holds of weights, copied, packed or imported: a
// second session on the bytes of the first (same address, size, type and shape) needs memory for
// states and arenas alone, whichever of them is destroyed first.
//
// Ownership: runtime, graphs and the bytes of weights are lent and outlive the session; a graph and
// what only it uses may go after tn_session_drop. While a session uses the bytes of a weight they
// do not change: another one may be made of what a device holds of them.
// Threads: [one per session]; different sessions of one runtime are made, run and destroyed at the
// same time. One that is made waits while another brings weights to a device of its.
#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include <tenon/device.h>
#include <tenon/graph.h>
#include <tenon/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_session tn_session;

enum {
    TN_SESSION_NO_FAILOVER = 1u << 0,   // a call of a device that fails is answered at once
};

// What the journal of a session needs at most, beside the bytes of the feeds. Since 0.1
enum {
    TN_JOURNAL_RUN_BYTES = 32,    // for a run
    TN_JOURNAL_FEED_BYTES = 24,   // for each of its feeds
};

typedef struct tn_session_options {
    uint32_t size;   // sizeof
    uint32_t device_count;
    tn_device *const *devices;   // the earlier wins where costs are equal; no other is ever used.
                                 // None = all but software
    const tn_allocator *allocator;   // NULL = that of the runtime
    const tn_placement *placement;   // NULL = the fastest that fits
    uint32_t flags;                  // TN_SESSION_…
    uint32_t reserved;               // 0
    uint64_t journal_bytes;   // for what the runs are fed, to repeat them when a device fails: the
                              // sum over all runs since the states were set, with TN_JOURNAL_….
                              // 0 = 1 MiB. Memory that is not used is not touched. When it is full
                              // the states are copied to the host, and it begins anew
    const double
        *graph_runs;   // by graph: how often it is likely to run, beside the others, finite
                       // and not negative: decides where weights and states are that they
                       // share. NULL = each as often
} tn_session_options;

// Asks the devices, assigns, plans, compiles, binds. options NULL = defaults.
// A composite op that no device but a CPU takes runs as simpler ones where such a device takes
// those. A device that fails at it, or has too little memory, is left out, with a line in the log,
// where the others can do without it.
// Errors: TN_E_UNSUPPORTED a node that no device takes, whole or in simpler ops, with each
// device's reason; TN_E_GRAPH a graph that is not finished, or states of one name that differ;
// TN_E_ARG a placement that cannot be, in words; TN_E_HOST_MEMORY, TN_E_DEVICE_MEMORY with needed
// and free bytes; that of the first device that failed, and why the others cannot do without it.
// Since 0.1
TN_NODISCARD TN_API tn_status tn_session_create(tn_runtime *runtime, const tn_graph *const *graphs,
                                                uint32_t graph_count,
                                                const tn_session_options *options,
                                                tn_session **out_session, tn_error *err);

// Whether tn_session_create would find a placement that fits the memory that is free now: asks,
// assigns and plans, allocates nothing on a device and logs nothing. Errors: those of
// tn_session_create; TN_E_DEVICE_MEMORY says that it does not fit, a device that lacks memory for a
// call of it has failed: TN_E_INTERNAL. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_fits(tn_runtime *runtime, const tn_graph *const *graphs,
                                              uint32_t graph_count,
                                              const tn_session_options *options, tn_error *err);

// NULL is fine; waits for what runs. Since 0.1
TN_API void tn_session_destroy(tn_session *session);

// Adds a graph to a session: asks, assigns, plans, compiles and binds it. What lives within its run
// gets a place in the arenas that are there, so a session is made with the largest of its graphs
// ("reserved"), and takes any smaller one afterwards; devices on which nothing is reserved get no
// work. The states of the graph are states that the session has, on the devices where they are;
// weights that are resident are used as they are, others become so. *out_number: what the calls
// below know it by; no other graph of this session ever has the same. Those given at creation have
// the numbers of their places there. After an error everything is as it was, and the other graphs
// still run.
// Errors: TN_E_DEVICE_MEMORY a device's arena is too small, with needed and reserved bytes;
// TN_E_GRAPH the graph is not finished, a state is none of the session's, or differs; TN_E_ARG; and
// those of tn_session_create. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_add(tn_session *session, const tn_graph *graph,
                                             uint32_t *out_number, tn_error *err);

// Drops a graph, also one that was given at creation: its tables and programs, and the weights that
// no other graph of the session uses. Arenas and states stay as they are. Its outputs cannot be
// read any more. Where it has run since the states were set they are copied to the host: its runs
// can no longer be repeated when a device fails.
// Errors: TN_E_ARG no graph, or none any more, has this number. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_drop(tn_session *session, uint32_t number, tn_error *err);

// Bytes for an input: all of its elements, contiguous; only the first ones when a view of the input
// has an extent (tn_graph_limit), which says that no more count. No input twice in one run.
typedef struct tn_feed {
    tn_value input;
    const void *data;
    uint64_t bytes;
} tn_feed;

// Runs the graph of that number once and returns when it is done. feeds: inputs that are not fed
// keep the bytes of their last run; those never fed are zero. Errors: TN_E_ARG no such graph, or a
// feed that does not fit: nothing is run, nothing changes, and outputs of the run before can still
// be read; TN_E_DATA an index or length outside its range: what this run would write to states may
// be there or not, all else of them is as it was; TN_E_DEVICE_LOST and others of the device. With
// TN_SESSION_NO_FAILOVER, and where the log said that runs cannot be repeated, states are then
// undefined until tn_session_reset or tn_session_restore. Else no device is left that could go on:
// the session answers so from then on, to all calls that use one, and can be destroyed; TN_E_FILE a
// file of packs in the user's cache (packs.cache) was cut or written to: outputs may be wrong, and
// those of every later run. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_run(tn_session *session, uint32_t graph,
                                             const tn_feed *feeds, uint32_t feed_count,
                                             tn_error *err);

// Copies `bytes` from the start of an output of the last run, contiguous. Errors: TN_E_ARG, also
// when that graph was not the one that ran last, or its run failed; a run that was refused with
// TN_E_ARG was none; those of the device, as of tn_session_run. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_read(tn_session *session, uint32_t graph, tn_value output,
                                              void *to, uint64_t bytes, tn_error *err);

// All states to zero. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_reset(tn_session *session, tn_error *err);

// Says that the last `runs` runs that were done do not count any more: what they left in the states
// is written again before it is read. So they need no repeating when a device fails, and no room in
// the journal. States stay as they are; outputs cannot be read until the next run, and inputs count
// as never fed. NULL is fine. Since 0.1
TN_API void tn_session_forget(tn_session *session, uint64_t runs);

// ---------------------------------------------------------------------------------------- failover

enum {
    TN_EVENT_TRIED_AGAIN = 1,   // a call of the device failed: it gets another try
    TN_EVENT_LEFT_OUT = 2,      // the device is lost, or has failed again: it is not used any more
    TN_EVENT_REPEATED = 3,      // the runs since the states were set were done again
    TN_EVENT_STOPPED = 4,       // no device is left that could go on
};

// What was done when a device failed.
typedef struct tn_session_event {
    uint32_t size;        // sizeof, as libtenon has it
    uint32_t kind;        // TN_EVENT_…
    const char *device;   // its name, lent by the runtime; NULL = none alone
    const char *text;     // the line that the log has, lent until the session is destroyed
    tn_status status;     // of the call that failed; TN_OK of TN_EVENT_REPEATED
    uint32_t number;      // of the device in the session; of none alone UINT32_MAX
    uint64_t run;         // during or after so many calls of tn_session_run; 0 = before the first
    uint64_t repeated_runs;   // of TN_EVENT_REPEATED
} tn_session_event;

typedef struct tn_session_event_sink {   // who is told
    void *context;
    void (*take)(void *context, const tn_session_event *event);   // lent for the time of the call
} tn_session_event_sink;

// Tells all events since the session was created, in their order; of more than 1,000 the first.
// Each is a warning in the log too, but for TN_EVENT_STOPPED, which the caller is told.
// Errors: TN_E_ARG take is NULL. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_events(const tn_session *session,
                                                const tn_session_event_sink *sink, tn_error *err);

// --------------------------------------------------------------------------------------- snapshots

// A snapshot is a file with the states of a session, to go on from in another process. It holds
// numbers of the machine's little-endian kind and no addresses, a fingerprint of the graphs that
// the session was created with, and a SHA-256 of all of it. It fits a session that was created with
// the same graphs, on whatever devices.

// How much of a state counts: the first `count` of its last dim (of a KV cache: its tokens).
typedef struct tn_state_extent {
    const char *state;   // NULL = every state
    int64_t count;
} tn_state_extent;

// All fields but size may be 0 or NULL.
typedef struct tn_save_options {
    uint32_t size;   // sizeof
    uint32_t extent_count;
    const tn_state_extent *extents;   // later ones win; else states are saved whole
    const char *key;   // what the states depend on beside the graphs, such as the weights: only the
                       // same key restores them; NULL = ""
    const void *note;   // bytes of the application's own, kept with the states
    uint64_t note_bytes;
} tn_save_options;

// Writes the states to a file: beside `path` first, then moved there, so that what was there stays
// whole when something fails. A file that is there and no snapshot (and not empty) is not replaced.
// New files can be read by their owner alone. options NULL = defaults.
// Errors: TN_E_ARG path is NULL, so is a note or extents that are counted, an extent is of no state
// or beyond it; TN_E_FILE path is no place for a file, or holds something else; TN_E_IO it cannot
// be written; those of the device; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_save(tn_session *session, const char *path,
                                              const tn_save_options *options, tn_error *err);

typedef struct tn_snapshot tn_snapshot;

// Reads a snapshot into memory and checks that it is whole. allocator NULL = the C library's.
// Errors: TN_E_ARG path is NULL; TN_E_FILE it cannot be read, or is no snapshot; TN_E_VERSION it is
// of another release's form; TN_E_DATA it is damaged or cut; TN_E_HOST_MEMORY. [any] Since 0.1
TN_NODISCARD TN_API tn_status tn_snapshot_open(const char *path, const tn_allocator *allocator,
                                               tn_snapshot **out_snapshot, tn_error *err);

// NULL is fine. By one thread, when no other uses the snapshot. Its memory, and so its allocator,
// is in use as long as a session can begin with it anew when a device fails: until that is reset,
// restored otherwise or destroyed. Since 0.1
TN_API void tn_snapshot_close(tn_snapshot *snapshot);

// The application's bytes, lent, aligned to 8. [any] Since 0.1
TN_API const void *tn_snapshot_note(const tn_snapshot *snapshot, uint64_t *out_bytes);

// How much of a state it holds, the first so many of its last dim; state NULL = of each state. -1
// when there is no such state, or, with NULL, when the states differ. [any] Since 0.1
TN_API int64_t tn_snapshot_extent(const tn_snapshot *snapshot, const char *state);

// Sets all states as the snapshot has them, zero beyond its extents. key as when it was saved.
// Errors: TN_E_GRAPH it is of other graphs, or has another key: the states are as they were; those
// of the device: the states are then undefined until tn_session_reset or a restore that succeeds.
// Since 0.1
TN_NODISCARD TN_API tn_status tn_session_restore(tn_session *session, const tn_snapshot *snapshot,
                                                 const char *key, tn_error *err);

// ------------------------------------------------------------------------------------------ memory

typedef struct tn_memory_report {
    uint32_t size;                // sizeof, set by the caller
    uint32_t segment_count;       // of all graphs
    uint64_t arena_bytes;         // of all devices: values that live within a run, planned
    uint64_t arena_bound_bytes;   // the largest sum of live bytes: no plan can be smaller
    uint64_t unshared_bytes;      // the same values if none shared bytes
    uint64_t state_bytes;
    uint64_t weight_mapped_bytes;   // read where the application has them
    uint64_t weight_copied_bytes;   // copied or packed into device memory
    uint64_t weight_shared_bytes;   // of these, used by other sessions too, as it is now
    uint64_t weight_cached_bytes;   // packed, and mapped from the user's cache (packs.cache)
} tn_memory_report;
TN_API void tn_session_memory(const tn_session *session,
                              tn_memory_report *out_report);   // Since 0.1

// How many devices the session was given. A device has a number by its place among these, in the
// order of the options, or of the runtime where none was named, and keeps it when it, or another
// one, is left out. Since 0.1
TN_API uint32_t tn_session_device_count(const tn_session *session);

// How many graphs the session was given, at creation and since, with those that were dropped: one
// more than the highest number that a graph of it has or had. Since 0.1
TN_API uint32_t tn_session_graph_count(const tn_session *session);

// What the memory of one device is for. The arena serves all graphs of the session: its peak and
// what belongs to it are those of the graph given at creation that needs the most, also after that
// graph, or every graph, was dropped: the arena stays.
typedef struct tn_device_memory {
    uint32_t size;                   // sizeof, set by the caller
    uint32_t is_left_out;            // 1: it failed: but for its name all is 0; else 0
    const char *name;                // of the device, lent; "cpu0"
    uint64_t capacity_bytes;         // all that the device has; 0 = not known
    uint64_t peak_bytes;             // of the arena: values that live within a run
    uint64_t lower_bound_bytes;      // the largest sum of live bytes: no plan can be smaller
    uint64_t unshared_bytes;         // the same values if none shared bytes
    uint64_t in_place_saved_bytes;   // of these, by values made in place of others
    uint64_t packing_saved_bytes;    // and by values that lie where others were before: what is
                                     // left is the peak
    uint64_t state_bytes;
    uint64_t weight_mapped_bytes;   // read where the application has them
    uint64_t weight_copied_bytes;   // copied or packed into memory of the device
    uint32_t layer_count;   // layers of which the device has the most bytes, but for those that are
                            // divided over devices (tn_session_placement)
    uint32_t reserved;      // 0
    uint64_t weight_shared_bytes;   // of those copied, used by other sessions too, as it is now
    uint64_t weight_cached_bytes;   // packed, and mapped from the user's cache (packs.cache)
} tn_device_memory;

// Errors: TN_E_ARG there is no device of that number. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_device_memory(const tn_session *session, uint32_t device,
                                                       tn_device_memory *out_memory, tn_error *err);

// The plan of one graph on one device. A step is a unit of the schedule: a node, or several that a
// device takes together; they run in the order of their numbers.
typedef struct tn_graph_memory {
    uint32_t size;                // sizeof, set by the caller
    uint32_t is_proved_optimal;   // 1: the peak is the lower bound, or everything below was ruled
                                  // out; else 0
    uint32_t step_count;          // of the graph, on all devices
    uint32_t peak_step;           // the first at which as many bytes are live as at no other
    const char *peak_name;        // of the last node of that step, lent until the graph is dropped
    uint64_t peak_bytes;          // these five as in tn_device_memory
    uint64_t lower_bound_bytes;
    uint64_t unshared_bytes;
    uint64_t in_place_saved_bytes;
    uint64_t packing_saved_bytes;
    uint64_t planning_ns;   // that the plan took when the session was made
} tn_graph_memory;

// Of a device that is left out all is 0. Errors: TN_E_ARG there is no such graph, or not any more,
// or device; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_graph_memory(const tn_session *session, uint32_t graph,
                                                      uint32_t device, tn_graph_memory *out_memory,
                                                      tn_error *err);

enum {
    TN_PLANNED_VALUE = 1,
    TN_PLANNED_SCRATCH = 2,   // room that the device asked for one step
};

// Bytes in the arena, lent for the time of the call that brings it; names until the graph is
// dropped. A value made in place of another has no bytes of its own: those count once, for the
// value that they were taken for, and up to the last step of whatever followed it in place.
typedef struct tn_planned_value {
    uint32_t size;             // sizeof, as libtenon has it
    uint32_t kind;             // TN_PLANNED_…
    const char *name;          // of the value; of scratch that of the last node of its step
    const char *in_place_of;   // the value whose bytes it took over; NULL = it has its own
    uint32_t first_step;       // that touches it
    uint32_t last_step;
    uint64_t offset;       // from the start of the arena
    uint64_t bytes;        // its own, rounded up to the alignment of the device; 0 = none
    uint64_t peak_bytes;   // that it holds at the peak step, its own or those it took over; 0 =
                           // none. Together they are the largest sum
} tn_planned_value;

typedef struct tn_planned_value_sink {   // who is told
    void *context;
    void (*take)(void *context, const tn_planned_value *value);
} tn_planned_value_sink;

// Tells all that the plan of a graph gives bytes on a device, in the order of the plan: a value
// comes after the one in whose place it is. Errors: TN_E_ARG there is no such graph or device, or
// take is NULL; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_values(const tn_session *session, uint32_t graph,
                                                uint32_t device, const tn_planned_value_sink *sink,
                                                tn_error *err);

// Looks at the plans of all graphs on all devices without any of the code that made them: every
// value has bytes at every step that touches it, by the graph and by what each device took; no two
// values that live at one step share a byte, unless one is made in place of the other where its op
// and the device permit it. Which node runs where and when is taken as it is. Errors: TN_E_INTERNAL
// a plan is wrong: the text says what of it; after TN_EVENT_STOPPED there is none: what the session
// answers to all (tn_session_run); TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_check(const tn_session *session, tn_error *err);

// The plan in words: for each graph its segments, claims, copies and memory, which nodes were
// decomposed, and why. Since 0.1
TN_API void tn_session_explain(const tn_session *session, const tn_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
