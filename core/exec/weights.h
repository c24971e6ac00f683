// weights.h: the bytes of constants on the lanes.
//
//   residents.c   which are on which lane, and which graphs use them
//   weights.c     as the application has them: imported, or copied
//   packs.c       packed
#ifndef TNI_EXEC_WEIGHTS_H
#define TNI_EXEC_WEIGHTS_H

#include <tenon/session.h>

#include "sched/sched.h"

typedef struct tni_compiled tni_compiled;

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
    uint64_t offset;      // in the buffer, which other packs may share
    uint32_t uses;        // by graphs, each as often as it asks; with the last one it goes
    bool is_mapped;       // read where the application has it
} tni_resident;

// The buffer of a constant on a lane, made when it is first asked for. It stays as long as a graph
// that asked for it.
tn_status tni_weight_resident(tn_session *session, tni_compiled *compiled, uint32_t place,
                              uint32_t storage, tnp_buffer **out_buffer, tn_error *err);
// Where packs of one program go that are not there yet: one behind the other in as few buffers as
// the device allows, so that large pages serve them. Zeroed at first. tni_pack_room_add tells of
// all packs before one is made; tni_pack_room_close in any case.
typedef struct tni_pack_room {
    uint64_t left_bytes;   // of packs that are still to come
    tnp_buffer *buffer;    // the last of the buffers: bytes in all, and those taken
    void *map;
    uint64_t bytes, used;
} tni_pack_room;

void tni_pack_room_add(tn_session *session, tni_compiled *compiled, uint32_t place,
                       const tni_pack *pack, tni_pack_room *room);
void tni_pack_room_close(tn_session *session, uint32_t place, tni_pack_room *room);
tn_status tni_weight_packed(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_pack *pack, tni_pack_room *room, tnp_buffer **out_buffer,
                            uint64_t *out_offset, tn_error *err);
void tni_weights_release(tn_session *session, tni_compiled *compiled);   // what the graph uses

// Between these files. The entry of a constant; NULL: it is not there.
tni_resident *tni_resident_find(tn_session *session, const tni_resident *wanted);
// Enters one that was made.
tn_status tni_resident_keep(tn_session *session, const tni_resident *made,
                            tni_resident **out_resident, tn_error *err);
// Room for one use more, before anything is made for it; then a graph uses it.
tn_status tni_resident_make_room(tn_session *session, tni_compiled *compiled, tn_error *err);
void tni_resident_use(tn_session *session, tni_compiled *compiled, tni_resident *resident);
// Frees a buffer that no constant is in any more.
void tni_resident_release_buffer(tn_session *session, uint32_t place, tnp_buffer *buffer);

#endif
