// map_guard.h: reading a mapped file where it was cut, or where its disk fails, raises SIGBUS. Once
// the guard is installed such a read gives zeros instead, and the mapping is marked. For that all
// mappings are in a list, which also tells, of bytes of the application, which file they are of.
#ifndef TNI_MAP_GUARD_H
#define TNI_MAP_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/status.h>

#include "base/file_stamp.h"

// A mapping that the handler knows of.
typedef struct tni_guarded tni_guarded;

// file: stays open until it is removed, or forgotten. Errors: TN_E_HOST_MEMORY. [any]
tn_status tni_map_guard_add(const void *data, size_t bytes, int file, const tni_file_stamp *stamp,
                            const tn_allocator *allocator, tni_guarded **out_guarded,
                            tn_error *err);
// The file is about to be closed: tni_map_guard_file_of knows it no more. [any]
void tni_map_guard_forget_file(tni_guarded *guarded);
// Before it is unmapped; after no thread reads it any more. [any]
void tni_map_guard_remove(tni_guarded *guarded, const tn_allocator *allocator);

// The first byte of the mapping's lowest page that could not be read; SIZE_MAX = none. [any]
size_t tni_map_guard_failed_at(const tni_guarded *guarded);

// Which file bytes are mapped from, and where they begin there. false: they are not of one such
// mapping, or the file is not any more as it was when it was mapped, or could not be read. [any]
bool tni_map_guard_file_of(const void *data, size_t bytes, tni_file_stamp *out_stamp,
                           uint64_t *out_offset);

// Gives back the memory of the whole pages of these bytes that are in such a mapping: who looks at
// them again reads them from the file again. Other memory stays as it is. [any]
void tni_map_guard_drop_pages(const void *data, size_t bytes);

// Installs the handler of SIGBUS, once for the process. Errors: TN_E_INTERNAL. [any]
tn_status tni_map_guard_install(tn_error *err);

#endif
