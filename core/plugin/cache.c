#include "plugin/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/new_file.h"

bool tni_cache_path(const char *folder, const char *name, char path[TNI_CACHE_PATH_BYTES])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    const char *slash = name ? "/" : "", *last = name ? name : "";
    int written = -1;
    if (cache && cache[0] == '/')
        written = snprintf(path, TNI_CACHE_PATH_BYTES, "%s/tenon/%s%s%s", cache, folder, slash,
                           last);
    else if (home && home[0] == '/')
        written = snprintf(path, TNI_CACHE_PATH_BYTES, "%s/.cache/tenon/%s%s%s", home, folder,
                           slash, last);
    if (written > 0 && written < TNI_CACHE_PATH_BYTES)
        return true;
    path[0] = 0;
    return false;
}

tn_status tni_cache_make_folders(const char *path, tn_error *err)
{
    char folder[TNI_CACHE_PATH_BYTES];
    tni_copy_text(folder, sizeof folder, path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return tni_fail(err, TN_E_IO, "%s: the folder cannot be made: %s", folder,
                            strerror(errno));
        *slash = '/';
    }
    return TN_OK;
}

tn_status tni_cache_write(const char *path, const void *data, size_t bytes, const char *magic,
                          bool is_lasting, tn_error *err)
{
    tni_new_file file;
    struct stat there;
    char what[64];
    tni_format_text(what, sizeof what, "a file of %s", magic ? magic : "the cache");
    tn_status status = stat(path, &there) == 0 ? TN_OK : tni_cache_make_folders(path, err);
    if (status != TN_OK)
        return status;
    status = tni_new_file_open(&file, path, magic, magic ? strlen(magic) : 0, what, err);
    if (status != TN_OK)
        return status;
    file.is_fleeting = !is_lasting;
    status = tni_new_file_write(&file, data, bytes, err);
    if (status == TN_OK)
        status = tni_new_file_finish(&file, err);
    tni_new_file_drop(&file);
    return status;
}

// --------------------------------------------------------------------------------- making room

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

tn_status tni_cache_make_room(const char *path, uint64_t bytes, uint64_t most,
                              const tn_allocator *allocator, tn_error *err)
{
    char folder[TNI_CACHE_PATH_BYTES];
    old_files files = { .allocator = allocator };
    bool is_listed = true;
    tni_copy_text(folder, sizeof folder, path);
    *strrchr(folder, '/') = 0;
    DIR *there = opendir(folder);
    if (!there)   // none yet, or one that is not to be read: writing tells
        return TN_OK;
    for (const struct dirent *entry; is_listed && (entry = readdir(there));)
        is_listed = add_file(&files, dirfd(there), entry->d_name);
    if (files.count)
        qsort(files.items, files.count, sizeof *files.items, compare_use);
    for (uint32_t i = 0; i < files.count && is_listed && files.bytes > most - bytes; i++)
        if (unlinkat(dirfd(there), files.items[i].name, 0) == 0 || errno == ENOENT)
            files.bytes -= files.items[i].bytes;
    closedir(there);
    tni_free(allocator, files.items);
    if (!is_listed)
        return tni_fail_memory(err, folder, (files.count + 1) * sizeof *files.items);
    return files.bytes <= most - bytes
               ? TN_OK
               : tni_fail(err, TN_E_FILE, "%s: what is there cannot be removed", folder);
}

void tni_cache_note_use(int file)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };
    (void)futimens(file, times);
}
