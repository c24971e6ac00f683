#include "base/file_stamp.h"

tni_file_stamp tni_file_stamp_from(const struct stat *about)
{
    return (tni_file_stamp){ .device = (uint64_t)about->st_dev,
                             .inode = (uint64_t)about->st_ino,
                             .bytes = (uint64_t)about->st_size,
                             .modified = about->st_mtim,
                             .changed = about->st_ctim };
}

bool tni_file_stamp_of(int file, tni_file_stamp *out_stamp)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return false;
    *out_stamp = tni_file_stamp_from(&about);
    return true;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool tni_file_stamp_is_same(const tni_file_stamp *a, const tni_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           is_same_time(&a->modified, &b->modified) && is_same_time(&a->changed, &b->changed);
}

bool tni_file_stamp_has_settled(const tni_file_stamp *stamp)
{
    enum { COARSE_SECONDS = 3 };   // the coarsest, of FAT, counts 2
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - COARSE_SECONDS > stamp->changed.tv_sec &&
           now.tv_sec - COARSE_SECONDS > stamp->modified.tv_sec;
}
