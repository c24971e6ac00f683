// file_stamp.h: whether a file still has the bytes that it had, as far as the file system tells.
#ifndef TNI_FILE_STAMP_H
#define TNI_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

// `changed` is set by the system with whatever changes the file, and by no program.
typedef struct tni_file_stamp {
    uint64_t device, inode, bytes;
    struct timespec modified, changed;
} tni_file_stamp;

tni_file_stamp tni_file_stamp_from(const struct stat *about);
// Of an open file; false: errno says why. [any]
bool tni_file_stamp_of(int file, tni_file_stamp *out_stamp);
bool tni_file_stamp_is_same(const tni_file_stamp *a, const tni_file_stamp *b);
// Whether it is so old that a change from now on gives another one, however coarse the file
// system's clock is.
bool tni_file_stamp_has_settled(const tni_file_stamp *stamp);

#endif
