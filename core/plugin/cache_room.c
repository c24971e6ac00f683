#include "plugin/cache_room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/new_file.h"

// --------------------------------------------------------------------------------- what is wanted

static int compare_names(const void *left, const void *right)
{
    const tni_cache_file *a = left, *b = right;
    return strcmp(a->name, b->name);
}

uint32_t tni_cache_files_sort(tni_cache_file *files, uint32_t count)
{
    uint32_t left = 0;
    if (count)
        qsort(files, count, sizeof *files, compare_names);
    for (uint32_t i = 0; i < count; i++)
        if (left == 0 || strcmp(files[left - 1].name, files[i].name) != 0)
            files[left++] = files[i];
    return left;
}

bool tni_cache_files_have(const tni_cache_file *sorted, uint32_t count, const char *name)
{
    tni_cache_file key;
    tni_copy_text(key.name, sizeof key.name, name);
    return count && strcmp(key.name, name) == 0 &&
           bsearch(&key, sorted, count, sizeof key, compare_names);
}

bool tni_cache_has_all(const char *folder, const tni_cache_file *files, uint32_t count)
{
    char path[TNI_PATH_BYTES];
    struct stat about;
    for (uint32_t i = 0; i < count; i++) {
        tni_format_text(path, sizeof path, "%s/%s", folder, files[i].name);
        if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
            (uint64_t)about.st_size != files[i].bytes)
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------- what may go

typedef struct old_file {
    struct timespec used;
    uint64_t bytes;
    char name[NAME_MAX + 1];
} old_file;

typedef struct old_files {
    const tn_allocator *allocator;
    old_file *items;
    uint32_t count, capacity;
    uint64_t bytes;
} old_files;

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static int compare_use(const void *left, const void *right)
{
    const old_file *a = left, *b = right;
    return is_before(&b->used, &a->used) - is_before(&a->used, &b->used);
}

// Also what a process that was killed has left of a file that it was writing.
static bool add_file(old_files *files, int folder, const char *name)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode))
        return true;
    if (!tni_grow(files->allocator, &files->items, &files->capacity, files->count + 1,
                  sizeof *files->items))
        return false;
    old_file *file = &files->items[files->count++];
    file->used = is_before(&about.st_atim, &about.st_mtim) ? about.st_mtim : about.st_atim;
    file->bytes = (uint64_t)about.st_size;
    tni_copy_text(file->name, sizeof file->name, name);
    files->bytes += file->bytes;
    return true;
}

tn_status tni_cache_make_room(const char *folder, const tni_cache_file *wanted, uint32_t count,
                              uint64_t most, const tn_allocator *allocator, tn_error *err)
{
    old_files others = { .allocator = allocator };
    bool is_listed = true;
    for (uint32_t i = 0; i < count; i++)
        most -= wanted[i].bytes;
    DIR *there = opendir(folder);
    if (!there)   // none yet, or one that is not to be read: writing tells
        return TN_OK;
    for (const struct dirent *entry; is_listed && (entry = readdir(there));)
        if (!tni_cache_files_have(wanted, count, entry->d_name))
            is_listed = add_file(&others, dirfd(there), entry->d_name);
    if (others.count)
        qsort(others.items, others.count, sizeof *others.items, compare_use);
    for (uint32_t i = 0; i < others.count && is_listed && others.bytes > most; i++)
        if (unlinkat(dirfd(there), others.items[i].name, 0) == 0 || errno == ENOENT)
            others.bytes -= others.items[i].bytes;
    closedir(there);
    tni_free(allocator, others.items);
    if (!is_listed)
        return tni_fail_memory(err, folder, (others.count + 1) * sizeof *others.items);
    return others.bytes <= most
               ? TN_OK
               : tni_fail(err, TN_E_FILE, "%s: what is there cannot be removed", folder);
}

void tni_cache_note_use(int file)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };
    (void)futimens(file, times);
}
