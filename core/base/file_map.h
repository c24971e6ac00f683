// file_map.h: a whole regular file in memory, read-only: mapped, or read into allocated memory.
//
// A mapping shows what becomes of the file afterwards: tni_file_map_check tells. Reading where it
// was cut raises SIGBUS, or gives zeros under the guard (map_guard.h).
#ifndef TNI_FILE_MAP_H
#define TNI_FILE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/status.h>

#include "base/file_stamp.h"

typedef struct tni_guarded tni_guarded;

typedef struct tni_file_map {
    const unsigned char *data;   // NULL for an empty file
    size_t bytes;
    bool is_mapped;
    int file;               // open while it is mapped; -1: let go
    tni_file_stamp stamp;   // when it was opened
    tni_guarded *guarded;   // NULL unless it is mapped
    tn_allocator allocator;
} tni_file_map;

// Refuses what is not a regular file (a folder, a device, a FIFO) without opening it for good:
// never blocks. max_bytes: a ceiling, 0 = none. Errors: TN_E_FILE with the path and the system's
// words; TN_E_HOST_MEMORY.
tn_status tni_file_map_open(tni_file_map *map, const char *path, bool is_copied, uint64_t max_bytes,
                            const tn_allocator *allocator, tn_error *err);

// Reads up to `bytes` bytes from the start of a regular file, and tells how large it is. Errors:
// TN_E_FILE, as above.
tn_status tni_file_head(const char *path, void *to, size_t bytes, size_t *out_got,
                        uint64_t *out_file_bytes, tn_error *err);

// All of it is read next: a disk may begin.
void tni_file_map_will_read(const tni_file_map *map);
// Whether a read of the mapping has failed, under the guard.
bool tni_file_map_failed(const tni_file_map *map);
// Whether a mapped file still is as it was: of the same size and time, and read without a failure.
// TN_E_FILE, with path. [any]
tn_status tni_file_map_check(const tni_file_map *map, const char *path, tn_error *err);

// Closes the file and leaves it mapped: there may be more of such than descriptors. From then on it
// is looked at where its path leads; one that is removed or replaced counts as it was.
void tni_file_map_let_go(tni_file_map *map);

void tni_file_map_close(tni_file_map *map);   // also of a zeroed struct; twice is fine

#endif
