// snapshot.h: the form of a file with states. Numbers are little-endian; every part begins at a
// multiple of 8, zeros between.
//
//   header                        64 bytes
//   key                           text, without its NUL
//   note                          bytes of the application's own
//   entry, name                   for each state, in the order of their bytes
//   bytes of the states
//   SHA-256                       32 bytes, of all before it
#ifndef TNI_EXEC_SNAPSHOT_H
#define TNI_EXEC_SNAPSHOT_H

#include "exec/session.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's numbers are the machine's");

enum { TNI_SNAPSHOT_VERSION = 1, TNI_SNAPSHOT_HASH_BYTES = 32, TNI_SNAPSHOT_ALIGNMENT = 8 };

#define TNI_SNAPSHOT_MAGIC "TNSTATES"   // 8 bytes, the NUL is not there

typedef struct tni_snapshot_header {
    char magic[8];
    uint32_t version;
    uint32_t state_count;
    uint64_t file_bytes;
    uint64_t graphs;   // fingerprint of those that the session was created with
    uint64_t key_bytes, note_bytes;
    uint64_t zero[2];
} tni_snapshot_header;

typedef struct tni_snapshot_entry {
    uint32_t dtype, rank;
    int64_t dims[TN_MAX_DIMS];
    int64_t count;    // of the last dim
    uint64_t bytes;   // of these
    uint64_t name_bytes;
} tni_snapshot_entry;

_Static_assert(sizeof(tni_snapshot_header) == 64, "as in the file");
_Static_assert(sizeof(tni_snapshot_entry) == 96, "as in the file");

// Bytes of the first `count` of the last dim; UINT64_MAX when the state has not so many, or they
// are no whole blocks.
uint64_t tni_state_part_bytes(const tni_state *state, int64_t count);

// All states as a snapshot of this session has them.
tn_status tni_snapshot_set(tn_session *session, const tn_snapshot *snapshot, tn_error *err);
void tni_snapshot_retain(tn_snapshot *snapshot);

#endif
