// cache_room.h: room in a folder of the user's cache, for files that are to be there together. What
// nobody has used for the longest time goes for them, and none of them for another. Use is the time
// of access, which is set when one is opened.
#ifndef TNI_CACHE_ROOM_H
#define TNI_CACHE_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/status.h>

#include "plugin/cursor.h"

typedef struct tni_cache_file {
    char name[TNI_DIGITS_BYTES];
    uint64_t bytes;
} tni_cache_file;

// By name, each once. Returns how many are left.
uint32_t tni_cache_files_sort(tni_cache_file *files, uint32_t count);
bool tni_cache_files_have(const tni_cache_file *sorted, uint32_t count, const char *name);

// Whether all of these are in the folder, with these sizes. No other file is looked at. [any]
bool tni_cache_has_all(const char *folder, const tni_cache_file *files, uint32_t count);

// Makes room for those of `wanted` that are not there, so that all of them, at most `most` bytes,
// and what else stays in the folder are within `most`. It goes through the folder once.
//   wanted   sorted
// Errors: TN_E_FILE what is there cannot be removed; TN_E_HOST_MEMORY. [any]
tn_status tni_cache_make_room(const char *folder, const tni_cache_file *wanted, uint32_t count,
                              uint64_t most, const tn_allocator *allocator, tn_error *err);

// A file of the cache is used: what it holds and when it was written stays. [any]
void tni_cache_note_use(int file);

#endif
