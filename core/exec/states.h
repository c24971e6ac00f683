// states.h: bytes kept between runs, one buffer each, shared by all graphs of a session.
#ifndef TNI_EXEC_STATES_H
#define TNI_EXEC_STATES_H

#include <tenon/session.h>

#include "plugin/host.h"

typedef struct tni_compiled tni_compiled;

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

// Room for the states of all graphs; then the states of one, which must be there already when the
// session is reserved.
tn_status tni_states_make_table(tn_session *session, tn_error *err);
tn_status tni_states_collect(tn_session *session, tni_compiled *compiled, tn_error *err);
tn_status tni_states_allocate(tn_session *session, tn_error *err);
tn_status tni_states_clear(tn_session *session, tn_error *err);
// Zeros from byte `from` of a state to its end.
tn_status tni_state_clear(tn_session *session, tni_state *state, uint64_t from, tn_error *err);
// How many states are on a lane, and how many bytes they have.
uint32_t tni_states_on(const tn_session *session, uint32_t place, uint64_t *out_bytes);
// Gives the buffers back; the table stays.
void tni_states_release(tn_session *session);
// The first `bytes` of a state to the host, or from there.
tn_status tni_state_read(tn_session *session, tni_state *state, void *to, uint64_t from,
                         uint64_t bytes, tn_error *err);
tn_status tni_state_write(tn_session *session, tni_state *state, const void *data, uint64_t bytes,
                          tn_error *err);

#endif
