// lane.h: one device of a session: its queues, its semaphores, the buffers of its arena.
//
//   lane.c     opens, allocates, copies, waits
//   queues.c   the queues of all lanes, as large as the works of a run need
#ifndef TNI_EXEC_LANE_H
#define TNI_EXEC_LANE_H

#include <stdatomic.h>

#include <tenon/session.h>

#include "plan/plan.h"
#include "plugin/host.h"

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
    uint32_t place;    // its index
    uint32_t number;   // what the application calls it by: its place among all that are given
    tn_session *session;
    atomic_uint *blamed;   // of the session, which see
    const tnp_plugin *table;
    tnp_device *opened;
    tnp_memory_info memory;   // of memory 0: arenas, states, copied weights
    uint64_t most_bytes;      // of what is free, no more than this
    uint32_t there_count;
    tni_resident_key *there;   // resident on the device when that was free, for other sessions
    bool is_inline;            // computes inside submit: the calling thread is busy meanwhile
    bool is_host;              // the host reads and writes the arena as any memory of its own
    bool needs_semaphores;     // one of them has failed
    bool is_given_up;          // nothing came of it: see hang.c
    bool was_abandoned;        // by another session, before this one had any work on it
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

// tables: for the list of residents.
tn_status tni_lane_open(tni_lane *lane, tn_device *device, tni_arena *tables, tn_error *err);
// A queue that takes what `options` say. One that is there and takes less is replaced; nothing may
// be running on it.
tn_status tni_lane_make_queue(tni_lane *lane, uint32_t role, const tnp_queue_options *options,
                              tn_error *err);
// The semaphore by which the host tells work of this lane how far a queue of the session has come.
tn_status tni_lane_make_mirror(tni_lane *lane, uint32_t queue, tn_error *err);
// Also half made. keeps_arena: copies of a device that was given up may still touch it.
void tni_lane_close(tni_lane *lane, bool keeps_arena);
// Whose fault it is: says so to the session and answers `status`.
tn_status tni_lane_blame(const tni_lane *lane, tn_status status);

// The buffers of the arena, of arena_bytes. tables: for the list of them.
tn_status tni_lane_allocate_arena(tni_lane *lane, tni_arena *tables, tn_error *err);
// The chunk that an offset in the arena lies in; *offset becomes that within the chunk.
const tni_chunk *tni_lane_chunk(const tni_lane *lane, uint64_t *offset);

// To whole multiples of the alignment of the lane's memory.
uint64_t tni_lane_align(const tni_lane *lane, uint64_t bytes);
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
// For a value of a queue's semaphore; not for ever, see hang.h.
tn_status tni_lane_wait(const tni_lane *lane, uint32_t role, uint64_t value, tn_error *err);
// After a failure a semaphore stays failed: waits for what runs and makes new ones. A lost device
// stays lost.
void tni_lane_recover(tni_lane *lane);
// Makes semaphores anew if the lane needs them. Nothing may be running.
tn_status tni_lane_mend(tni_lane *lane, tn_error *err);
// What a call that makes something answered: TN_OK only when it made it.
tn_status tni_lane_made(const tni_lane *lane, const char *call, tnp_status status, const void *made,
                        const tnp_error *plugin_error, tn_error *err);
// "cpu0: <call>: <text>". A status that speaks of what the host gave is the device's failure here:
// TN_E_INTERNAL. The second one of work: what it says of values (DATA) stays.
tn_status tni_lane_fail(const tni_lane *lane, const char *call, tnp_status status,
                        const tnp_error *plugin_error, tn_error *err);
tn_status tni_lane_fail_work(const tni_lane *lane, const char *call, tnp_status status,
                             const tnp_error *plugin_error, tn_error *err);

// Every lane that has work gets queues that take what the graphs of the session submit.
tn_status tni_queues_make(tn_session *session, tn_error *err);

#endif
