// file_map.h: a whole regular file in memory, read-only: mapped, or read into allocated memory.
#ifndef TNI_FILE_MAP_H
#define TNI_FILE_MAP_H

#include <stdbool.h>
#include <tenon/status.h>

typedef struct tni_file_map {
    const unsigned char *data;   // NULL for an empty file
    size_t bytes;
    bool is_mapped;
    tn_allocator allocator;   // of a file that was read
} tni_file_map;

// Refuses what is not a regular file (a folder, a device, a FIFO) without opening it for good:
// never blocks. max_bytes: a ceiling, 0 = none. Errors: TN_E_FILE with the path and the system's
// words; TN_E_HOST_MEMORY.
tn_status tni_file_map_open(tni_file_map *map, const char *path, bool read, uint64_t max_bytes,
                            const tn_allocator *allocator, tn_error *err);
void tni_file_map_close(tni_file_map *map);   // also of a zeroed struct; twice is fine

#endif
