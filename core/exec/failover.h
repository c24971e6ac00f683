// failover.h: which devices a session uses, and how it goes on when one of them fails.
//
//   failover.c   what is left out, what is tried again
//   events.c     who is told
#ifndef TNI_EXEC_FAILOVER_H
#define TNI_EXEC_FAILOVER_H

#include <tenon/session.h>

#include "plugin/host.h"

// A device that the session may use.
typedef struct tni_candidate {
    tn_device *device;
    enum { TNI_USED, TNI_LEFT_OUT_FOR_NOW, TNI_LEFT_OUT } standing;
    tn_status why;         // it is left out
    bool has_another;      // try, in the call at hand: it has failed once
    uint64_t most_bytes;   // of what is free, it gets no more than this
} tni_candidate;

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

// Errors: the session's failure; those of the call, where the session cannot go on.
tn_status tni_failover_attempt(tn_session *session, tni_attempt *attempt, tn_error *err);
// Makes lanes, programs and arenas for the graphs of the session, without devices that fail at it.
// Errors: nothing is made then.
tn_status tni_session_make(tn_session *session, tn_error *err);

// Notes an event, and says it in a line of the log. device NULL: of all. text: lent
void tni_events_add(tn_session *session, uint32_t kind, const tn_device *device, tn_status status,
                    uint64_t runs, const char *text);

#endif
