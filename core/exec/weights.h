// weights.h: the bytes of constants on the lanes.
//
//   residents.c   which the session uses on which lane, and for which graphs
//   weights.c     as the application has them: imported, or copied
//   packs.c       packed
//   kept_packs.c  packed, in a file of the user's cache
//   kept_room.c   room for such files, before programs are made
//
// What is said here to be made, or found, is so between tni_residents_begin and _end of the lane's
// device: no two sessions make one constant.
#ifndef TNI_EXEC_WEIGHTS_H
#define TNI_EXEC_WEIGHTS_H

#include <stdatomic.h>

#include <tenon/session.h>

#include "exec/kept_packs.h"
#include "plugin/residents.h"
#include "sched/sched.h"

typedef struct tni_compiled tni_compiled;
typedef struct tni_lane tni_lane;

// A resident of a lane's device that the session uses.
typedef struct tni_use {
    tni_resident *resident;   // NULL: this entry is free
    uint32_t place;
    uint32_t graphs;   // each as often as it asks; with the last one the session uses it no more
} tni_use;

// The buffer of a constant on a lane, made when no session has it. It stays as long as a graph that
// asked for it.
tn_status tni_weight_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err);

// Where packs of one program go that are not there yet: one behind the other in as few buffers as
// the device allows, so that large pages serve them. Zeroed at first. tni_pack_room_add tells of
// all packs before one is made, and uses those that are there; tni_pack_room_open then looks for
// the others in the cache on disk, where packs are kept; tni_pack_room_close in any case.
typedef struct tni_pack_room {
    uint64_t left_bytes;   // of packs that are still to come
    tnp_buffer *buffer;    // the last of the buffers: bytes in all, and those taken
    void *map;
    uint64_t bytes, used;
    tni_kept_packs kept;
} tni_pack_room;

tn_status tni_pack_room_add(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tn_error *err);
void tni_pack_room_open(tn_session *session, tni_compiled *compiled, uint32_t place,
                        tni_pack_room *room);
void tni_pack_room_close(tn_session *session, uint32_t place, tni_pack_room *room);
tn_status tni_weight_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tnp_buffer **out_buffer,
                            uint64_t *out_offset, tn_error *err);
void tni_weights_release(tn_session *session, tni_compiled *compiled);   // what the graph uses
// Whether the files of packs that are in use still are as they were. Errors: TN_E_FILE.
tn_status tni_weights_check(const tn_session *session, tn_error *err);

typedef struct tni_weight_bytes {
    uint64_t mapped, copied;
    uint64_t cached;   // packs, mapped from the cache on disk
    uint64_t made;     // of those cached, by this process
    uint64_t shared;   // of those copied: other sessions use them too
} tni_weight_bytes;

void tni_weights_report(const tn_session *session, uint32_t place, tni_weight_bytes *out_bytes);

// Between these files. A constant that is there, used by the graph from now on; *out_resident NULL:
// it is to be made, and kept next.
tn_status tni_resident_use(tn_session *session, tni_compiled *compiled, uint32_t place,
                           const tni_resident_key *key, tni_resident **out_resident, tn_error *err);
// What tells a pack from others on one device.
tni_resident_key tni_pack_key(const tni_compiled *compiled, const tni_pack *pack);
// Enters one that was made, and uses it likewise.
tn_status tni_resident_keep(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_resident *made, tni_resident **out_resident, tn_error *err);

// A pack that is being made.
typedef struct tni_packing {
    tni_lane *lane;
    tnp_value value;
    const tni_pack *pack;
    const unsigned char *source;
    unsigned char *to;        // of the group `first`
    uint64_t first, groups;   // counted through all matrices
    uint64_t source_bytes;    // of a group; 0 = they do not lie one after another in a mapped file
    atomic_int status;        // the first failure
    tnp_error error;          // of the worker that failed first
} tni_packing;

// All groups of a pack, of the bytes of its storage, which lie together; `to` is the caller's.
void tni_packing_init(tni_packing *packing, tni_lane *lane, const tn_graph *graph,
                      const tni_pack *pack, const unsigned char *storage);
// Makes them on all threads. What it answers is the plugin's.
tnp_status tni_packing_run(tni_packing *packing);

#endif
