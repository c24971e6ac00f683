// residents.h: constants that lie on an opened device, imported, copied or packed: each once, for
// all sessions of the runtime that use it.
//
// One is there as long as a session uses it. Each of these has the bytes that it was made of lent
// to it, so that until the last one is gone nothing else comes to lie where they are, and their
// address tells the constant apart. With the last one it goes, and with the last of a buffer that.
//
// Locks, in this order: `loading`, of the one session that makes residents of the device, or holds
// what is free there against what is resident; it may be held for as long as a weight takes, over
// calls of the plugin. `table`, for moments and over no call. A run takes neither.
#ifndef TNI_PLUGIN_RESIDENTS_H
#define TNI_PLUGIN_RESIDENTS_H

#include <stdbool.h>

#include <tenon/device.h>
#include <tenon/plugin.h>

#include "base/arena.h"
#include "base/file_map.h"
#include "plugin/cache_room.h"

// What tells constants of a device apart. The same bytes may be two: a pack is also told by what
// the value makes of them.
typedef struct tni_resident_key {
    uint32_t layout;   // 0 = as the application has them; else a pack
    uint32_t dtype;    // of the value that a pack was made of, as are dims and strides
    const void *data;
    uint64_t bytes;                   // of data, or of the pack
    uint64_t run_bytes, run_stride;   // of a part that lies in several runs
    uint64_t group_rows;              // of a pack
    int64_t dims[TNP_MAX_DIMS], strides[TNP_MAX_DIMS];
} tni_resident_key;

// A file of packs (exec/pack_file.h) that a buffer was imported from.
typedef struct tni_pack_map {
    tni_file_map map;
    bool is_made;   // by this process
    char path[];
} tni_pack_map;

typedef struct tni_resident tni_resident;
struct tni_resident {
    // Fixed from when it is entered.
    tni_resident_key key;
    tnp_buffer *buffer;
    uint64_t offset;       // in the buffer, which other packs may share
    tni_pack_map *packs;   // goes with the buffer; NULL: that is no file's
    bool is_mapped;        // read where the application has it
    // Of the table's lock.
    uint32_t sessions;   // that use it
    tni_resident *next;
};

void tni_pack_map_close(tni_pack_map *packs, const tn_allocator *allocator);

typedef struct tni_residents tni_residents;   // of a device

// None yet. NULL: no memory. It takes nothing beside the arena once there is none again.
tni_residents *tni_residents_make(tni_arena *arena);

// Waits until no other session is between these two calls. The device is open.
void tni_residents_begin(tn_device *device);
void tni_residents_end(tn_device *device);

// Between them. One use more, by a session that does not use it yet; NULL: it is not there.
tni_resident *tni_resident_take(tn_device *device, const tni_resident_key *key);
// What was made, with one use. NULL and an error when there is no memory: the buffer is the
// caller's.
tni_resident *tni_resident_enter(tn_device *device, const tni_resident *made, tn_error *err);
// Frees the buffer, and what it was imported from, if no resident is in it. packs: may be NULL.
void tni_resident_close_buffer(tn_device *device, tnp_buffer *buffer, tni_pack_map *packs);
// How many there are that a plan counts as memory of the device, and, up to `room`, what tells them
// apart. More do not come before the end.
uint32_t tni_residents_list(tn_device *device, tni_resident_key *out, uint32_t room);
// Likewise the files of packs that residents are in, some of them perhaps several times.
uint32_t tni_residents_files(tn_device *device, tni_cache_file *out, uint32_t room);

bool tni_resident_key_is_same(const tni_resident_key *a, const tni_resident_key *b);

// A session uses it no longer: nothing is bound to it. [any]
void tni_resident_give_back(tn_device *device, tni_resident *resident);
// Whether another session uses it too, as it is now. [any]
bool tni_resident_is_shared(tn_device *device, const tni_resident *resident);

#endif
