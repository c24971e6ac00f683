// exec_internal.h: the inside of a tn_session, shared by the files of this folder only.
//
//   session.c   create (the phases in order), destroy, memory report
//   graphs.c    the table of graphs; one added to a session that is there, one dropped
//     lane.c      one device of the session: queue, semaphore, buffers
//     fit.c       tries placements until one fits what is free
//     schedule.c  which node runs where, and with it the states
//     arrange.c   the next four, in two ways: the better one is kept
//     steps.c     what a run does, on which queue, and what waits for what
//     order.c     what of it happens before what, as far as one lane's bytes see it
//     copies.c    the copies of these steps, and their bytes on the host
//     layout.c    from a schedule to intervals and offsets in each lane's arena
//     queues.c    the queues of the lanes, as large as the steps need
//     states.c    states, one buffer each, shared by all graphs
//     weights.c   weights: imported where the application has them, or copied; packs
//     program.c   compile and bind the segments
//   run.c       a run, from what the caller gives it to its end: allocates nothing
//     feeds.c     the inputs, checked and staged
//     submit.c    goes through the steps: submits, copies, waits
//     relay.c     tells a device how far a queue of another has come
//   read.c      outputs of the run before
//   journal.c   what the runs were fed since the states were set, to repeat them
//   failover.c  who is used, and what is done when a device fails; events.c: what was done
//   save.c, snapshot.c   states to a file and back (snapshot.h: its form)
//   explain.c   the plan in words (explain.h: what it shares with the next two)
//   explain_name.c   what the plan has to do with one name
//   segments.c  segments and copies in numbers, with reasons
//   tune.c, tune_bench.c   devices and links, measured (tune.h)
//   report.c    the plan in numbers, and what lives at its peak
//   check.c     whether the plan is right, from graph, schedule and claims alone
#ifndef TNI_EXEC_INTERNAL_H
#define TNI_EXEC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <tenon/session.h>

#include "plan/plan.h"
#include "sched/placement.h"
#include "sched/sched.h"

#define TNI_NO_OFFSET UINT64_MAX

// A part of an arena.
typedef struct tni_chunk {
    tnp_buffer *buffer;
    void *map;   // NULL when the host cannot read it
} tni_chunk;

// The queues of a lane, by what runs on them: programs, copies to the lane, copies from it. Queue r
// of lane i is queue i * TNI_QUEUES + r of the session.
enum { TNI_COMPUTE, TNI_IN, TNI_OUT, TNI_QUEUES };

typedef struct tni_queue {
    tnp_queue *queue;            // NULL: no work comes here
    tnp_queue_options options;   // that it was made with
    tnp_semaphore *semaphore;    // signalled by each piece of work
    uint64_t signal;             // value of the last one submitted
    uint64_t begin;              // that value when the run began
} tni_queue;

// One device of the session. Its place in the schedules is its index.
typedef struct tni_lane {
    tn_device *device;
    uint32_t place;        // its index
    atomic_uint *blamed;   // of the session, which see
    const tnp_plugin *table;
    tnp_device *opened;
    tnp_memory_info memory;   // of memory 0: arenas, states, copied weights
    uint64_t most_bytes;      // of what is free, no more than this
    bool is_inline;           // computes inside submit: the calling thread is busy meanwhile
    bool is_host;             // the host reads and writes the arena as any memory of its own
    bool needs_semaphores;    // one of them has failed
    tni_queue queues[TNI_QUEUES];
    uint32_t mirror_count;
    tnp_semaphore **mirrors;   // by queue of the session: raised by the host when that queue's is,
                               // for work here that cannot wait for it itself; NULL: none does
    // The arena: offsets [k * chunk_bytes, (k + 1) * chunk_bytes) are chunk k, a buffer of its own,
    // the last one as large as it has to be. Nothing lies in two chunks.
    uint64_t chunk_bytes;   // 0: a buffer may have any size, there is one
    uint32_t chunk_count;   // 0: nothing lives here within a run
    tni_chunk *chunks;
    uint64_t arena_bytes;
    tni_plan plan;   // without offsets: the one that the arena is sized for
} tni_lane;

typedef struct tni_state {
    // What it is; the rest is made anew with the devices.
    const char *name;   // of the first graph that has it
    tn_dtype dtype;
    int64_t dims[TN_MAX_DIMS];
    uint64_t bytes;
    uint32_t rank;
    uint32_t place;    // TNP_NONE: no node touches it, or not known yet
    uint64_t may_be;   // places that suit all graphs, a bit each
    uint64_t wished;   // by the placement, of all graphs
    tnp_buffer *buffer;
    void *map;    // NULL when the host cannot read it
    void *host;   // the host's bytes that buffer was imported from, to be freed; else NULL
} tni_state;

// Where the bytes of a constant are for one lane.
typedef struct tni_resident {
    uint32_t place;
    uint32_t layout;                  // 0 = as the application has them; else a pack
    const void *data;                 // of the application: tells constants apart, with bytes
    uint64_t bytes;                   // of data, or of the pack
    uint64_t run_bytes, run_stride;   // of a part, as in tni_value
    tn_dtype dtype;   // of the value that a pack was made of, as are dims and strides
    int64_t dims[TN_MAX_DIMS], strides[TN_MAX_DIMS];
    tnp_buffer *buffer;   // NULL: this entry is free
    uint32_t uses;        // by graphs, each as often as it asks; with the last one it goes
    bool is_mapped;       // read where the application has it
} tni_resident;

typedef struct tni_program {   // one segment
    uint32_t place;
    tnp_program *program;
    tnp_bound *bound;
    uint32_t update_count;
    tnp_update *updates;   // data: the staging bytes of inputs
    uint32_t fed_count;   // inputs too large for an update, that no segment before has on this lane
    uint32_t *fed;        // storages: copied before it runs
} tni_program;

// Tells a lane that a queue has come to where a step ends.
typedef struct tni_relay {
    tnp_notice notice;
    struct tn_session *session;
    uint32_t queue;   // of the session
    uint32_t place;
} tni_relay;

typedef enum tni_step_kind { TNI_STEP_PROGRAM, TNI_STEP_OUT, TNI_STEP_IN } tni_step_kind;

// A piece of work on a queue of the session.
typedef struct tni_step {
    tni_step_kind kind;
    uint32_t queue;
    uint32_t segment;   // the program; of a copy: what made its bytes (OUT), or needs them (IN)
    // Copies: from and to are places. Staged ones go by way of bytes of the host, out to these and
    // in from these; all others lead from arena to arena.
    uint32_t from, to;
    uint32_t first_move, move_count;   // in moves
    bool is_staged;
    uint32_t first_wait, wait_count;     // in waits
    uint32_t first_relay, relay_count;   // in relays
    uint32_t signal;       // value of its queue's semaphore, counted from the beginning of the run
    uint32_t copy_count;   // of a program: of the inputs that it is fed
    const tnp_copy **copies;
} tni_step;

// What a run of a graph does, in an order in which it can be done.
typedef struct tni_steps {
    uint32_t step_count, wait_count, relay_count;
    tni_step *steps;
    tni_plan_wait *waits;   // by step, ascending: those that no queue and no other wait implies
    tni_relay *relays;
    uint32_t most_waits;   // of a step
    tnp_point *points;     // room for them
    uint32_t *moves;       // transfers of the schedule, by step
    uint64_t staging_bytes;
    uint64_t *staging_offsets;   // by move, in the host's bytes
} tni_steps;

// The figures of the plan of a graph on a lane.
typedef struct tni_planned {
    tni_plan plan;   // without its offsets, which the graph has by storage and unit
    uint64_t planning_ns;
} tni_planned;

typedef struct tni_compiled {   // one graph
    // What stays when all else is made anew for other devices.
    tni_arena kept;
    uint32_t number;         // what the application calls it by
    uint64_t fingerprint;    // of the application's graph, which all of this is made for
    const tn_graph *given;   // that graph
    uint32_t input_count;
    uint32_t *inputs;          // values
    bool *is_limited;          // by storage of it: an input of which a view counts only in part
    unsigned char **staging;   // by storage of it: host bytes of an input, or NULL
    uint64_t *noted;           // by storage of it: the last time of the journal that has its bytes;
                               // 0 = never fed

    tni_arena arena;   // its tables
    const tn_graph
        *graph;   // the application's, or the schedule's own; handles mean the same in both
    bool is_asked;
    tni_answers answers;   // when it is asked: until the schedule takes them over
    tni_rule *rules;       // by node of the application's graph; NULL = the placement asks nothing
    uint64_t *mapped;      // by storage of it: places that use its bytes where they lie
    uint32_t *wanted;      // by node of it: where it was to be before memory was looked at; NULL =
                           // not known
    tni_schedule schedule;
    uint64_t **offsets;     // [place][storage] in the lane's arena; TNI_NO_OFFSET
    uint64_t **scratch;     // [place][unit] likewise
    tni_planned *planned;   // by place
    uint32_t *state_of;     // by storage: index of the session's state, or TNP_NONE
    tni_steps steps;
    tni_program *programs;   // one a segment
    uint32_t use_count, use_capacity;
    uint32_t *uses;   // residents, each as often as it was asked for
} tni_compiled;

// Notices that plugins have at the moment. They come on any thread.
typedef struct tni_relays {
    pthread_mutex_t lock;
    pthread_cond_t came;
    uint32_t lent;
} tni_relays;

// What memory there is, and what the graphs scheduled so far take of it. Arrays by lane.
typedef struct tni_fit {
    uint64_t *free_bytes;   // when the session was made; UINT64_MAX = not told
    uint64_t *alignments, *largest;
    uint64_t *arena;           // what is set aside for arenas while memory is short
    uint64_t *weights;         // of `kept`
    uint64_t *program_bytes;   // that devices keep with programs, beside buffers
    uint64_t *needed;          // of all: set when all graphs have a layout
    tni_kept_bytes *kept;      // of all graphs, sorted
    uint32_t kept_count, kept_capacity;
    bool is_short;           // without limits it did not fit: they hold
    uint32_t short_place;    // that was short of memory last; TNP_NONE
    uint32_t asked_layers;   // of the placement; its layers tell how many it became
} tni_fit;

// A device that the session may use.
typedef struct tni_candidate {
    tn_device *device;
    enum { TNI_USED, TNI_LEFT_OUT_FOR_NOW, TNI_LEFT_OUT } standing;
    tn_status why;         // it is left out
    bool has_another;      // try, in the call at hand: it has failed once
    uint64_t most_bytes;   // of what is free, it gets no more than this
} tni_candidate;

// What the runs were fed since the states were set, so that they can be repeated (journal.c).
typedef struct tni_journal {
    unsigned char *bytes;   // entries, one behind the other; NULL: none is kept
    uint64_t capacity, used;
    uint64_t last;        // offset of the last entry; UINT64_MAX = there is none
    uint64_t run_count;   // entries
    uint64_t time;        // counts up each time it is emptied
    bool is_stopped;      // there is no base: nothing can be repeated until the states are set
    // The base, what the states were before the first entry: zero, or as in the snapshot, or these
    // bytes, by state.
    tn_snapshot *snapshot;
    unsigned char **states;
} tni_journal;

struct tn_session {
    tn_runtime *runtime;
    // What stays when a device is left out.
    tni_arena kept;
    uint32_t flags;   // TN_SESSION_…
    uint32_t candidate_count;
    tni_candidate *candidates;   // as named, or in the order of the runtime
    bool are_named;
    tni_journal journal;
    uint32_t event_count, event_capacity;
    tn_session_event *events;
    tn_error failure;      // status TN_OK: none. No device is left that could go on
    uint64_t asked_runs;   // by the application

    tni_arena arena;      // all tables but those of one graph and what is kept
    atomic_uint blamed;   // the lane of the first call that failed since tni_failover_begin, or
                          // TNP_NONE
    uint32_t lane_count, graph_count, graph_capacity, state_count;
    tni_lane *lanes;
    tn_device **devices;   // of the lanes
    uint32_t *links;       // [from * lane_count + to]: TNP_LINK_…; NULL: not asked yet
    tni_relays relays;
    tni_compiled **graphs;   // by number, ascending
    tni_state *states;
    tni_placement asked;       // of the application
    tni_placement placement;   // what became of it
    tni_layers layers;
    tni_fit fit;
    uint32_t resident_count, resident_capacity;
    tni_resident *residents;
    uint64_t weight_mapped_bytes, weight_copied_bytes;
    bool is_plan_only;      // it is to tell whether it could be made: nothing is allocated
    bool is_reserved;       // arenas and states are there: a graph that is added has to fit
    uint64_t fingerprint;   // of the graphs that it was created with: what states depend on
    uint32_t next_number;   // of a graph
    uint32_t last_graph;    // the one whose outputs are in the arenas; TNP_NONE
    uint32_t failed_lane;   // of the last run: the first whose call failed; TNP_NONE
    uint64_t run;           // number of the run at hand, for spans
};

// ------------------------------------------------------------------------------------------ lane.c

tn_status tni_lane_open(tni_lane *lane, tn_device *device, tn_error *err);
// A queue that takes what `options` say. One that is there and takes less is replaced; nothing may
// be running on it.
tn_status tni_lane_make_queue(tni_lane *lane, uint32_t role, const tnp_queue_options *options,
                              tn_error *err);
// The semaphore by which the host tells work of this lane how far a queue of the session has come.
tn_status tni_lane_make_mirror(tni_lane *lane, uint32_t queue, tn_error *err);
void tni_lane_close(tni_lane *lane);   // also half made
// Whose fault it is: says so to the session and answers `status`.
tn_status tni_lane_blame(const tni_lane *lane, tn_status status);

// The buffers of the arena, of arena_bytes. tables: for the list of them.
tn_status tni_lane_allocate_arena(tni_lane *lane, tni_arena *tables, tn_error *err);
// The chunk that an offset in the arena lies in; *offset becomes that within the chunk.
const tni_chunk *tni_lane_chunk(const tni_lane *lane, uint64_t *offset);

// A buffer of memory 0. out_map: NULL when the host cannot read it. what: for the message.
tn_status tni_lane_allocate(tni_lane *lane, uint64_t bytes, const char *what,
                            tnp_buffer **out_buffer, void **out_map, tn_error *err);
// Whether a device can use bytes of the host's memory as they are, as far as its memory says.
bool tni_lane_may_import(const tnp_memory_info *memory, const void *data, uint64_t bytes);
// A buffer of host memory as it is; false: this memory of the device does not take it, or not at
// this address. flags: TNP_IMPORT_…
bool tni_lane_import(tni_lane *lane, uint32_t memory, uint32_t flags, const void *data,
                     uint64_t bytes, tnp_buffer **out_buffer);
tn_status tni_lane_copy(tni_lane *lane, const tnp_copy *copy, tn_error *err);   // and waits
// For a value of a queue's semaphore.
tn_status tni_lane_wait(const tni_lane *lane, uint32_t role, uint64_t value, tn_error *err);
// After a failure a semaphore stays failed: waits for what runs and makes new ones. A lost device
// stays lost.
void tni_lane_recover(tni_lane *lane);
// Makes semaphores anew if the lane needs them. Nothing may be running.
tn_status tni_lane_mend(tni_lane *lane, tn_error *err);
// What a call that makes something answered: TN_OK only when it made it.
tn_status tni_lane_made(const tni_lane *lane, const char *call, tnp_status status, const void *made,
                        const tnp_error *plugin_error, tn_error *err);
// "cpu0: <call>: <text>". A status that says the host or the claim was at fault is the plugin's own
// fault here: TN_E_INTERNAL.
tn_status tni_lane_fail(const tni_lane *lane, const char *call, tnp_status status,
                        const tnp_error *plugin_error, tn_error *err);

// ------------------------------------------------------------------------------------------ phases

// A graph of the session, without its phases yet; NULL and an error when there is no memory.
tni_compiled *tni_graphs_add(tn_session *session, const tn_graph *graph, tn_error *err);
void tni_graphs_remove(tn_session *session, uint32_t at);   // at: in session->graphs
// Gives all of it back that is made for the devices: the graph is as it was when it was added.
void tni_graphs_unmake(tn_session *session, tni_compiled *compiled);
// *out_at: in session->graphs. Errors: TN_E_ARG, what: the call.
tn_status tni_graphs_find(const tn_session *session, uint32_t number, const char *what,
                          uint32_t *out_at, tn_error *err);
tn_status tni_graphs_compiled(const tn_session *session, uint32_t number, const char *what,
                              tni_compiled **out_compiled, tn_error *err);
// A value that the application names; it is one of the graph. Errors: TN_E_ARG.
tn_status tni_graphs_value(const tni_compiled *compiled, tn_value value, const char *what,
                           const tni_value **out_value, tn_error *err);

// Every lane that has work gets queues that take what the graphs of the session submit.
tn_status tni_queues_make(tn_session *session, tn_error *err);

// Room for the states of all graphs; then the states of one, which must be there already when the
// session is reserved.
tn_status tni_states_make_table(tn_session *session, tn_error *err);
tn_status tni_states_collect(tn_session *session, tni_compiled *compiled, tn_error *err);
tn_status tni_states_allocate(tn_session *session, tn_error *err);
tn_status tni_states_clear(tn_session *session, tn_error *err);
// Zeros from byte `from` of a state to its end.
tn_status tni_state_clear(tn_session *session, tni_state *state, uint64_t from, tn_error *err);
// Gives the buffers back; the table stays.
void tni_states_release(tn_session *session);
// The first `bytes` of a state to the host, or from there.
tn_status tni_state_read(tn_session *session, tni_state *state, void *to, uint64_t from,
                         uint64_t bytes, tn_error *err);
tn_status tni_state_write(tn_session *session, tni_state *state, const void *data, uint64_t bytes,
                          tn_error *err);
// All states as a snapshot of this session has them (snapshot.c).
tn_status tni_snapshot_set(tn_session *session, const tn_snapshot *snapshot, tn_error *err);
void tni_snapshot_retain(tn_snapshot *snapshot);

// Schedules and lays out all graphs that the session is created with, so that what is needed is
// free: without limits first, then within them, then with fewer layers where the placement is of
// layers.
tn_status tni_session_fit(tn_session *session, tn_error *err);
// Rules of a graph by the placement, and which of its constants are mapped where; once.
tn_status tni_fit_begin_graph(tn_session *session, tni_compiled *compiled, tn_error *err);
// While memory is short a weight is where a graph scheduled before has it: twice would cost twice.
tn_status tni_fit_follow_weights(tn_session *session, tni_compiled *compiled, tn_error *err);
// What the schedule of a graph keeps is from now on kept.
tn_status tni_fit_note_kept(tn_session *session, const tni_compiled *compiled, tn_error *err);
// Bytes of the states on a lane, each as large as the device makes it. without: by state, those
// that do not count; NULL = all do. UINT64_MAX: more than a number holds.
uint64_t tni_fit_state_bytes(const tn_session *session, uint32_t place, const bool *without);
// What weights and these states leave of what is free on a lane; UINT64_MAX = not known.
uint64_t tni_fit_room(const tn_session *session, uint32_t place, const bool *without);
// Of all graphs but one: some were dropped since.
tn_status tni_fit_count_again(tn_session *session, const tni_compiled *without, tn_error *err);
void tni_fit_explain(const tn_session *session, const tn_sink *sink);

// Asks about all graphs, where they share states on several devices, so that each state comes to
// where all of them can run.
tn_status tni_session_agree(tn_session *session, tn_error *err);
// Sets compiled->schedule, and compiled->graph to the one that was scheduled. States that were free
// are then where the graph uses them.
tn_status tni_session_schedule(tn_session *session, tni_compiled *compiled, tn_error *err);

// After the schedule: steps, and where everything lies. Arenas grow, unless they are reserved.
tn_status tni_arrange(tn_session *session, tni_compiled *compiled, tn_error *err);
// is_doubled: what comes in waits until only two buffers are needed. Asks for the links between
// the lanes.
tn_status tni_steps_make(tn_session *session, tni_compiled *compiled, bool is_doubled,
                         tn_error *err);
// Whether work on this lane can wait for what a queue of the session signals.
bool tni_steps_can_wait(const tn_session *session, uint32_t place, uint32_t queue);

// Where the bytes of copies that are staged lie on the host. Errors: those of tni_plan_pack.
tn_status tni_staging_plan(const tn_session *session, tni_compiled *compiled, tni_arena *scratch,
                           tn_error *err);
// The copies of all steps, once arenas and programs are there.
tn_status tni_copies_make(tn_session *session, tni_compiled *compiled, tn_error *err);

// Which of the steps that touch the arena of a lane happen before which. A program counts as many
// steps as it has units.
enum { TNI_STAGING = TNI_MAX_PLACES };   // a place: the host's bytes of copies that are staged
typedef struct tni_lane_order {
    tni_plan_order order;   // without ends
    bool is_line;           // each step after the one before it
    uint32_t *of_step;      // by step of the run: its first one here; TNP_NONE
    uint32_t *of_unit;      // by unit of the schedule, likewise
    uint32_t *unit_of;      // by step here: the unit at hand, for people
} tni_lane_order;

// Arrays come from `scratch`. Errors: TN_E_HOST_MEMORY.
tn_status tni_order_find(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                         tni_arena *scratch, tni_lane_order *out, tn_error *err);

tn_status tni_layout(tn_session *session, tni_compiled *compiled, tn_error *err);
// The arenas get as large as this graph needs. Errors: TN_E_DEVICE_MEMORY when they are reserved.
tn_status tni_layout_reserve(tn_session *session, tni_compiled *compiled, tn_error *err);

// What the plan of a graph on a lane was made from.
typedef struct tni_lane_intervals {
    const tni_interval *intervals;
    uint32_t count;
    const uint32_t *of_storage;   // index of its interval; TNP_NONE = it has no bytes here
    const uint32_t *of_unit;      // likewise, of its scratch
} tni_lane_intervals;

// Makes them again: a session keeps no more than offsets and figures. Arrays come from `scratch`.
// Errors: TN_E_HOST_MEMORY.
tn_status tni_layout_again(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                           tni_arena *scratch, tni_lane_intervals *out, tn_error *err);

// Whether the plan of a graph on a lane is right; shares no code with the above. Errors:
// TN_E_INTERNAL says what is wrong; TN_E_HOST_MEMORY.
tn_status tni_check_plan(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                         tni_arena *scratch, tn_error *err);

// The buffer of a constant on a lane, made when it is first asked for. It stays as long as a graph
// that asked for it.
tn_status tni_weight_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err);
tn_status tni_weight_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tnp_buffer **out_buffer, tn_error *err);
void tni_weights_release(tn_session *session, tni_compiled *compiled);

tn_status tni_programs_make(tn_session *session, tni_compiled *compiled, tn_error *err);
void tni_programs_release(tn_session *session, tni_compiled *compiled);

// One attempt at all phases, with the candidates that are not left out; what a failed one made is
// given back by tni_session_unmake. *out_is_planned: it came to where devices allocate.
tn_status tni_session_try(tn_session *session, bool *out_is_planned, tn_error *err);
void tni_session_unmake(tn_session *session);

// ---------------------------------------------------------------------------------------- failover

// To be called first by each public call that uses devices. Errors: the session's failure.
tn_status tni_failover_begin(tn_session *session, tn_error *err);
// Makes lanes, programs and arenas for the graphs of the session, without devices that fail at it.
// Errors: nothing is made then.
tn_status tni_session_make(tn_session *session, tn_error *err);
// After a call that uses devices has failed with *err. TN_OK: it is to be done again; states and
// outputs of the last run are there, where `is_run` by the journal, which includes the run at hand.
// Else what is to be answered.
//   is_run   states or outputs may have been harmed
tn_status tni_failover(tn_session *session, bool is_run, tn_error *err);

// Notes an event, and says it in a line of the log. device NULL: of all. text: lent
void tni_events_add(tn_session *session, uint32_t kind, const tn_device *device, tn_status status,
                    uint64_t runs, const char *text);

// TN_E_HOST_MEMORY when there is no memory for as many bytes. 0 = the default.
tn_status tni_journal_init(tn_session *session, uint64_t bytes, tn_error *err);
void tni_journal_finish(tn_session *session);
// Empties it, the base is: zero; the snapshot, whose uses it counts; the states as they are.
void tni_journal_clear(tn_session *session);
void tni_journal_begin_at(tn_session *session, const tn_snapshot *snapshot);
// Errors: those of the devices, and nothing has changed. Where the host has no memory the journal
// is stopped.
tn_status tni_journal_begin_here(tn_session *session, tn_error *err);
bool tni_journal_has(const tn_session *session, uint32_t graph);
// Whether a run with these feeds can be noted as it is. If not, the journal is to begin here.
bool tni_journal_has_room(const tn_session *session, const tni_compiled *compiled,
                          const tn_feed *feeds, uint32_t count);
// Notes a run whose feeds are staged.
void tni_journal_note(tn_session *session, tni_compiled *compiled, const tn_feed *feeds,
                      uint32_t count);
void tni_journal_skip_last(tn_session *session);   // it is not to be run again
// Sets the states to the base and runs all entries. Errors: those of a run, or of the devices.
tn_status tni_journal_repeat(tn_session *session, tn_error *err);

// --------------------------------------------------------------------------------------------- run

// The inputs of a graph, and where a run takes their bytes from.
tn_status tni_feeds_make(tni_compiled *compiled, tn_error *err);
// Errors: TN_E_ARG.
tn_status tni_feeds_check(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count,
                          tn_error *err);
// Copies the bytes of feeds that were checked to where a run takes them from.
void tni_feeds_stage(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count);
// Runs a graph with the inputs as they are staged. Allocates, builds and plans nothing.
// Errors: those of the devices, failed_lane says of which; states are then what the failed run
// left.
// However it ends, nothing of the run is still running.
tn_status tni_run_once(tn_session *session, const tni_compiled *compiled, tn_error *err);

void tni_relays_init(tni_relays *relays);
void tni_relays_finish(tni_relays *relays);
// What relays have a notice for comes by itself. Errors: the device's.
tn_status tni_relay_lend(tni_relay *relay, uint64_t value, tn_error *err);
bool tni_relay_can_lend(const tni_relay *relay);
// The queue has come to this value. Errors: the device's whose semaphore it is.
tn_status tni_relay_tell(const tni_relay *relay, uint64_t value, tn_error *err);
void tni_relays_wait(tni_relays *relays);       // until all notices are back
void tni_relays_give_up(tn_session *session);   // what still waits for one is let go

#endif
