// new_file.h: a file that comes into being whole or not at all. It is written without a name, where
// the file system knows such files, and moved to its place at the end: whatever happens before, the
// process being killed too, what was there stays as it is and nothing is left over.
#ifndef TNI_NEW_FILE_H
#define TNI_NEW_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <tenon/status.h>

enum { TNI_PATH_BYTES = 4096 };   // as Linux has it

typedef struct tni_new_file {
    int file;
    bool is_fleeting;                 // for the caller to set: finish does not wait for the disk
    uint64_t bytes;                   // written so far
    char path[TNI_PATH_BYTES];        // symbolic links followed
    char temporary[TNI_PATH_BYTES];   // its name until then; "" = it has none yet
} tni_new_file;

// Refused: what is there is no regular file, or has bytes and does not begin with those of `magic`:
// it is something else than the caller writes. what: "a snapshot", for that message. A new file may
// be read by its owner alone, one that is replaced keeps its mode. Errors: TN_E_FILE.
tn_status tni_new_file_open(tni_new_file *new, const char *path, const void *magic,
                            size_t magic_bytes, const char *what, tn_error *err);
// Errors of these two: TN_E_IO; tni_new_file_drop is then still to be called.
tn_status tni_new_file_write(tni_new_file *new, const void *data, uint64_t bytes, tn_error *err);
tn_status tni_new_file_finish(tni_new_file *new, tn_error *err);   // on disk, and in its place
void tni_new_file_drop(tni_new_file *new);   // nothing is left of it; after finish: nothing to do

// write(2), for which SIGXFSZ is never raised. [any], handlers of signals too
ssize_t tni_write_quietly(int file, const void *data, size_t bytes);

#endif
