// graphs.h: one graph of a session, and the table of them.
//
//   graphs.c     the table; a graph added to a session that is there, or dropped
//   feeds.c      its inputs, checked and staged
//   schedule.c   which node runs where, and with it the states
//   arrange.c    what its runs do, and where its values lie
#ifndef TNI_EXEC_GRAPHS_H
#define TNI_EXEC_GRAPHS_H

#include <tenon/session.h>

#include "exec/layout.h"
#include "exec/program.h"
#include "exec/works.h"
#include "sched/sched.h"

// What stays of a graph when all else of it is made anew for other devices.
typedef struct tni_given {
    tni_arena arena;
    uint32_t number;         // what the application calls it by
    double runs;             // how often it is likely to run, beside the others
    uint64_t fingerprint;    // of the graph, which all else is made for
    const tn_graph *graph;   // the application's
    uint32_t input_count;
    uint32_t *inputs;          // values
    bool *is_limited;          // by storage: an input of which a view counts only in part
    unsigned char **staging;   // by storage: host bytes of an input, or NULL
    uint64_t *noted;           // by storage: the last time of the journal that has its bytes; 0 =
                               // never fed
} tni_given;

// One way to run a graph: what is done, and where values lie.
typedef struct tni_way {
    tni_works works;
    uint64_t **offsets;     // [place][storage] in the lane's arena; TNI_NO_OFFSET
    uint64_t **scratch;     // [place][unit] likewise
    tni_planned *planned;   // by place
} tni_way;

typedef struct tni_compiled {   // one graph
    tni_given given;
    // The rest is made for the devices.
    tni_arena arena;         // its tables
    const tn_graph *graph;   // the given one, or the schedule's own; handles mean the same in both
    const tni_schedule *like;   // of another graph, to be followed; NULL = none
    uint64_t avoided;           // places without room: where another does, nothing of it is there
    bool is_asked;
    tni_answers answers;   // when it is asked: until the schedule takes them over
    tni_rule *rules;       // by node of the given graph; NULL = the placement asks nothing
    uint64_t *mapped;      // by storage of it: places that use its bytes where they lie
    uint32_t *wanted;      // by node of it: where it was to be before memory was looked at; NULL =
                           // not known
    tni_schedule schedule;
    uint32_t *state_of;   // by storage: index of the session's state, or TNP_NONE
    tni_way way;
    tni_program *programs;   // one a segment
    uint32_t use_count, use_capacity;
    uint32_t *uses;   // of the session, each as often as it was asked for
} tni_compiled;

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
// One that has a plan. Errors: as above; the session's failure.
tn_status tni_graphs_planned(const tn_session *session, uint32_t number, const char *what,
                             tni_compiled **out_compiled, tn_error *err);
// A value that the application names; it is one of the graph. Errors: TN_E_ARG.
tn_status tni_graphs_value(const tni_compiled *compiled, tn_value value, const char *what,
                           const tni_value **out_value, tn_error *err);

// Asks about all graphs, where they share states on several devices, so that each state comes to
// where all of them can run.
tn_status tni_session_agree(tn_session *session, tn_error *err);
// Asks about one graph, unless that is done: compiled->answers.
tn_status tni_session_ask(tn_session *session, tni_compiled *compiled, tn_error *err);
// What is asked of the schedule of a graph as the session is now; with the answers that it has.
tn_status tni_session_request(tn_session *session, tni_compiled *compiled, tni_arena *arena,
                              tni_schedule_request *out, tn_error *err);
// A device that fails when it is asked would take nothing: it is the session that decides. status:
// of the call that asked.
tn_status tni_session_check_answers(tn_session *session, const tni_answers *answers,
                                    tn_status status, tn_error *err);
// Where a schedule of this graph has put states that were still free.
void tni_session_note_places(tn_session *session, const tni_compiled *compiled,
                             const tni_schedule *schedule);
// Sets compiled->schedule, and compiled->graph to the one that was scheduled. States that were free
// are then where the graph uses them.
tn_status tni_session_schedule(tn_session *session, tni_compiled *compiled, tn_error *err);

// After the schedule: works, and where everything lies. Arenas grow, unless they are reserved.
tn_status tni_arrange(tn_session *session, tni_compiled *compiled, tn_error *err);

// The inputs of a graph, and where a run takes their bytes from.
tn_status tni_feeds_make(tni_compiled *compiled, tn_error *err);
// Errors: TN_E_ARG.
tn_status tni_feeds_check(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count,
                          tn_error *err);
// Copies the bytes of feeds that were checked to where a run takes them from.
void tni_feeds_stage(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count);

#endif
