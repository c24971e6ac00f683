// pack_file.h: the form of a file of packs in the user's cache: written once, by one process, and
// mapped by all that come later.
//
//   byte 0       a head of HEAD bytes: what kind of file, its key, how many bytes of packs
//   HEAD         the packs, each from a multiple of HEAD on; zeros between them
//   behind them  a sum of each PIECE of the packs, and one of the head and these sums
//
// Every byte of it is under a sum, and its size follows from the packs, so that a file that was cut
// or damaged, or is something else, is known before a byte of it is used.
#ifndef TNI_EXEC_PACK_FILE_H
#define TNI_EXEC_PACK_FILE_H

#include "base/file_map.h"
#include "base/new_file.h"
#include "base/team.h"

enum {
    TNI_PACK_FILE_HEAD = 4096,
    TNI_PACK_FILE_PIECE = 1 << 20,
    TNI_PACK_FILE_KEY = 32,
};

// What it is called by, and says of itself: two of one key have the same packs.
typedef struct tni_pack_file_key {
    unsigned char bytes[TNI_PACK_FILE_KEY];
} tni_pack_file_key;

// The size of a file; UINT64_MAX = there is no such. pack_bytes: a multiple of HEAD.
uint64_t tni_pack_file_bytes(uint64_t pack_bytes);

// Maps a file of this user's, which nobody else may write to, and checks all of it, on the threads
// of the pool. The packs are at map->data + HEAD. Errors: TN_E_FILE with path and reason,
// TN_E_HOST_MEMORY.
tn_status tni_pack_file_open(const char *path, const tni_pack_file_key *key, uint64_t pack_bytes,
                             tni_pool *pool, const tn_allocator *allocator, tni_file_map *map,
                             tn_error *err);

// A file that is being written.
typedef struct tni_pack_writer {
    const tn_allocator *allocator;
    tni_new_file file;
    uint64_t pack_bytes, at;   // of packs: in all, and written
    uint64_t *sums;
    unsigned char *piece;   // at hand
    unsigned char head[TNI_PACK_FILE_HEAD];
} tni_pack_writer;

// Errors of all of these: TN_E_FILE, TN_E_IO, TN_E_HOST_MEMORY; tni_pack_writer_close is to be
// called however they ended.
tn_status tni_pack_writer_open(tni_pack_writer *writer, const char *path,
                               const tni_pack_file_key *key, uint64_t pack_bytes,
                               const tn_allocator *allocator, tn_error *err);
tn_status tni_pack_writer_add(tni_pack_writer *writer, const void *data, uint64_t bytes,
                              tn_error *err);
// Zeros up to this offset in the packs.
tn_status tni_pack_writer_skip_to(tni_pack_writer *writer, uint64_t offset, tn_error *err);
// All packs are written: the file takes its place.
tn_status tni_pack_writer_finish(tni_pack_writer *writer, tn_error *err);
void tni_pack_writer_close(tni_pack_writer *writer);

#endif
