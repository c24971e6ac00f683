// kept_packs.h: packs of one program in a file of the user's cache, found or made. A file is opened
// between tni_residents_begin and _end of the lane's device, as what weights.h has.
#ifndef TNI_EXEC_KEPT_PACKS_H
#define TNI_EXEC_KEPT_PACKS_H

#include <tenon/session.h>

#include "base/file_stamp.h"
#include "plugin/cache_room.h"
#include "plugin/residents.h"
#include "sched/sched.h"

extern const char tni_kept_packs_folder[];   // of the cache

// A pack that a file in the cache has, or is to have.
typedef struct tni_kept_pack {
    tni_resident_key key;
    const tni_pack *pack;
    tni_file_stamp stamp;     // of the model's file
    uint64_t source_offset;   // in it, of the storage
    uint64_t offset;          // in the packs of the file in the cache
} tni_kept_pack;

// Those of one program that are not resident yet.
typedef struct tni_kept_packs {
    uint32_t count, capacity;
    bool is_short;   // there was no memory for the list
    tni_kept_pack *list;
    uint64_t bytes;        // of packs in the file
    uint64_t left_bytes;   // of these packs, as tni_pack_room counts them
    tni_pack_map *file;    // NULL: there is none
    tnp_buffer *buffer;    // the file's packs, imported; NULL: they are copied
} tni_kept_packs;

// One more to be looked for in the cache; false: it cannot be there.
bool tni_kept_packs_add(tn_session *session, const tn_graph *graph, const tni_resident_key *key,
                        const tni_pack *pack, tni_kept_packs *kept);
// The file of all that were added, as it is or is to be; false: none may be made now.
bool tni_kept_packs_may_be_made(tn_session *session, const tn_graph *graph, uint32_t place,
                                tni_kept_packs *kept, tni_cache_file *out_file);
// Finds the file that has them, or makes it where there is room (kept_room.h). Where neither can be
// there is none, and nothing has failed: what people should know of that is logged.
void tni_kept_packs_open(tn_session *session, const tn_graph *graph, uint32_t place,
                         tni_kept_packs *kept);
// NULL: it is not in a file.
const tni_kept_pack *tni_kept_packs_find(const tni_kept_packs *kept, const tni_resident_key *key);
// Its bytes in the file.
const unsigned char *tni_kept_packs_at(const tni_kept_packs *kept, const tni_kept_pack *pack);
void tni_kept_packs_close(tn_session *session, uint32_t place, tni_kept_packs *kept);

#endif
