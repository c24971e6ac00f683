// failover.h: which devices a session uses, and how it goes on when one of them fails.
//
//   candidates.c   whose fault a failure is, who is left out
//   make.c         makes a session on those that can be used
//   failover.c     goes on when one fails later
//   events.c       who is told
#ifndef TNI_EXEC_FAILOVER_H
#define TNI_EXEC_FAILOVER_H

#include <tenon/session.h>

#include "base/log.h"
#include "plugin/host.h"

// A device that the session may use.
typedef struct tni_candidate {
    tn_device *device;
    enum { TNI_USED, TNI_LEFT_OUT_FOR_NOW, TNI_LEFT_OUT } standing;
    tn_status why;         // it is left out
    const char *untold;    // the words of that, where nobody was told yet; NULL
    bool has_another;      // try, in the call at hand: it has failed once
    uint64_t most_bytes;   // of what is free, it gets no more than this
} tni_candidate;

uint32_t tni_candidates_count_used(const tn_session *session);
void tni_candidates_blame_nobody(tn_session *session);
// Whose call failed; NULL: nobody's. To be asked before its lane goes. *out_place: of the lane.
tni_candidate *tni_candidates_take_culprit(tn_session *session, uint32_t *out_place);
// Whether the session may do without a device that failed with that status.
bool tni_candidates_may_go_on(const tn_session *session, tn_status status);
// kind: left out, or tried again
void tni_candidates_tell(tn_session *session, uint32_t kind, const tni_candidate *candidate,
                         const tn_error *why);
void tni_candidates_leave_out(tn_session *session, tni_candidate *candidate, int standing,
                              const tn_error *why);
// What failed at first, and why the others cannot do without it. Answers the status of the first.
tn_status tni_candidates_fail_twice(const tn_error *first, const tn_error *last, tn_error *err);

// A public call that uses devices, as far as it does.
typedef struct tni_attempt tni_attempt;
struct tni_attempt {
    // Called until it succeeds, each time after the device whose fault it was was tried again or
    // left out; but once only when it has set one of the flags.
    tn_status (*call)(tn_session *session, tni_attempt *attempt, tn_error *err);
    void *arguments;
    bool is_run;     // states or outputs may have been harmed: the journal makes them again, and
                     // has what is asked for
    bool is_final;   // its status is to be answered as it is
};

// Errors: the session's failure, when no device is left that could go on: there is no plan either.
tn_status tni_failover_check(const tn_session *session, tn_error *err);
// Errors: the session's failure; those of the call, where the session cannot go on.
tn_status tni_failover_attempt(tn_session *session, tni_attempt *attempt, tn_error *err);
// Makes lanes, programs and arenas for the graphs of the session, without devices that fail at it.
// Errors: nothing is made then.
tn_status tni_session_make(tn_session *session, tn_error *err);

// Where lines of a session go: one that is only planned says nothing.
const tni_log *tni_session_log(const tn_session *session);
// Notes an event, and says it in a line of the log. device NULL: of all. text: lent.
void tni_events_add(tn_session *session, uint32_t kind, const tn_device *device, tn_status status,
                    uint64_t runs, const char *text);

#endif
