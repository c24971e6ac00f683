// cache.h: small files that are worth keeping between processes, in the user's cache. Each is
// written whole and moved to its place, so that a reader, or another who writes, never sees half of
// one; what is damaged all the same is for the reader to notice.
#ifndef TNI_CACHE_H
#define TNI_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon/status.h>

enum { TNI_CACHE_PATH_BYTES = 4096 };

// $XDG_CACHE_HOME/tenon/<folder>/<name>, or ~/.cache/tenon/<folder>/<name>; name NULL: the folder.
// false, and "": there is no place, or the process is privileged. [any]
bool tni_cache_path(const char *folder, const char *name, char path[TNI_CACHE_PATH_BYTES]);

// Every folder of a file's path that is not there, readable by the user alone. Errors: TN_E_IO.
tn_status tni_cache_make_folders(const char *path, tn_error *err);

// Makes the folders that are not there, and replaces the file.
//   magic       a file that is there and begins with something else is refused; NULL = none is
//   is_lasting  it is on disk before this returns; else it may be lost with the power, or come back
//               damaged
// Errors: TN_E_IO, TN_E_FILE. [any]
tn_status tni_cache_write(const char *path, const void *data, size_t bytes, const char *magic,
                          bool is_lasting, tn_error *err);

#endif
