// works.h: what a run of a graph does, found once: works on the queues of the lanes, and what waits
// for what.
//
//   works.c     the works, in an order in which they can run
//   groups.c    which transfers are brought together, and by which route
//   waits.c     what a work has to wait for
//   copies.c    what the copies bring, and by which bytes of the host
//   submit.c    goes through the works
#ifndef TNI_EXEC_WORKS_H
#define TNI_EXEC_WORKS_H

#include <tenon/session.h>

#include "exec/relay.h"
#include "plan/plan.h"

typedef struct tni_compiled tni_compiled;

typedef enum tni_work_kind { TNI_WORK_PROGRAM, TNI_WORK_OUT, TNI_WORK_IN } tni_work_kind;

// What a queue of the session is given at once: a program, or a copy.
typedef struct tni_work {
    tni_work_kind kind;
    uint32_t queue;
    uint32_t segment;   // the program; of a copy: what made its bytes (OUT), or needs them (IN)
    // Copies: from and to are places. Staged ones go by way of bytes of the host, out to these and
    // in from these; all others lead from arena to arena.
    uint32_t from, to;
    uint32_t first_transfer, transfer_count;   // in transfers
    bool is_staged;
    uint32_t first_wait, wait_count;     // in waits
    uint32_t first_relay, relay_count;   // in relays
    uint32_t signal;       // value of its queue's semaphore, counted from the beginning of the run
    uint32_t copy_count;   // copies: a transfer each; a program: the inputs that it is fed
    const tnp_copy **copies;
} tni_work;

// What a run of a graph does, in an order in which it can be done.
typedef struct tni_works {
    uint32_t count, wait_count, relay_count;
    tni_work *list;
    tni_plan_wait *waits;   // by the work that waits, ascending: those that no queue and no other
                            // wait implies
    tni_relay *relays;
    uint32_t most_waits;   // of a work
    tnp_point *points;     // room for them
    uint32_t *transfers;   // of the schedule, by the copies that bring them
    uint64_t staging_bytes;
    uint64_t *staging_offsets;   // by place in transfers, in the host's bytes
} tni_works;

// is_doubled: what comes in waits until only two buffers are needed.
tn_status tni_works_make(tn_session *session, tni_compiled *compiled, bool is_doubled,
                         tn_error *err);
// Whether work on this lane can wait for what a queue of the session signals.
bool tni_works_can_wait(const tn_session *session, uint32_t place, uint32_t queue);

// Runs a graph with the inputs as they are staged (submit.c). Allocates, builds and plans nothing.
// Errors: those of the devices, and session->blamed says of which; states are then what the failed
// run left. However it ends, nothing of the run is still running.
tn_status tni_run_once(tn_session *session, const tni_compiled *compiled, tn_error *err);

// Where the bytes of copies that are staged lie on the host. Errors: those of tni_plan_pack.
tn_status tni_staging_plan(const tn_session *session, tni_compiled *compiled, tni_arena *scratch,
                           tn_error *err);
// What the copies bring, by work, once arenas and programs are there.
tn_status tni_copies_make(tn_session *session, tni_compiled *compiled, tn_error *err);

#endif
