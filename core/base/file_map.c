#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map_guard.h"

enum {
    READ_ALIGNMENT = 4096
};   // as a mapping has it: offsets in the file keep their alignment in memory

// false: errno says why. Fewer bytes than asked for: the file ended.
static bool read_bytes(int file, void *to, size_t bytes, size_t *out_got)
{
    *out_got = 0;
    while (*out_got < bytes) {
        ssize_t n = read(file, (char *)to + *out_got, bytes - *out_got);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return false;
        *out_got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static tn_status read_whole(tni_file_map *map, int file, const char *path, tn_error *err)
{
    unsigned char *data = map->allocator.alloc(map->allocator.context, map->bytes, READ_ALIGNMENT);
    if (!data)
        return tni_fail_memory(err, path, map->bytes);
    size_t got;
    bool is_read = read_bytes(file, data, map->bytes, &got);
    if (got < map->bytes) {
        const char *why = is_read ? "the file became shorter" : strerror(errno);
        tn_status status = tni_fail(err, TN_E_FILE, "%s: read failed after %zu of %zu bytes: %s",
                                    path, got, map->bytes, why);
        tni_free(&map->allocator, data);
        return status;
    }
    map->data = data;
    return TN_OK;
}

static tn_status map_whole(tni_file_map *map, int file, const char *path, tn_error *err)
{
    void *data = mmap(NULL, map->bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return tni_fail(err, errno == ENOMEM ? TN_E_HOST_MEMORY : TN_E_FILE,
                        "%s: cannot be mapped (%zu bytes): %s", path, map->bytes, strerror(errno));
    tn_status status = tni_map_guard_add(data, map->bytes, file, &map->stamp, &map->allocator,
                                         &map->guarded, err);
    if (status != TN_OK) {
        munmap(data, map->bytes);
        return status;
    }
    map->data = data;
    map->is_mapped = true;
    map->file = file;
    return TN_OK;
}

// Never the number of a standard stream: the file stays open, and a program that was started with
// its standard input closed would read the model as what somebody wrote to it.
static int open_above_standard(const char *path)
{
    // O_NONBLOCK: opening a FIFO without a writer must not wait.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file == -1 || file > STDERR_FILENO)
        return file;
    int above = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(file);
    errno = error;
    return above;
}

static tn_status open_regular(const char *path, int *out_file, struct stat *out_found,
                              tn_error *err)
{
    bool is_there = stat(path, out_found) == 0;
    if (is_there && !S_ISREG(out_found->st_mode))
        return tni_fail(err, TN_E_FILE, "%s: is %s, not a regular file", path,
                        S_ISDIR(out_found->st_mode) ? "a folder" : "a device, socket or pipe");
    int file = open_above_standard(path);
    if (file == -1)
        return tni_fail(err, TN_E_FILE, "%s: %s", path, strerror(errno));
    // The kind is checked again on what was really opened.
    if (fstat(file, out_found) != 0 || !S_ISREG(out_found->st_mode)) {
        close(file);
        return tni_fail(err, TN_E_FILE, "%s: is not a regular file", path);
    }
    *out_file = file;
    return TN_OK;
}

tn_status tni_file_map_open(tni_file_map *map, const char *path, bool is_copied, uint64_t max_bytes,
                            const tn_allocator *allocator, tn_error *err)
{
    *map = (tni_file_map){ .allocator = tni_allocator(allocator) };
    int file;
    struct stat found;
    tn_status status = open_regular(path, &file, &found, err);
    if (status != TN_OK)
        return status;
    map->stamp = tni_file_stamp_from(&found);
    if (max_bytes && (uint64_t)found.st_size > max_bytes)
        status = tni_fail(err, TN_E_FILE,
                          "%s: has %" PRIu64 " bytes, at most %" PRIu64 " are expected", path,
                          (uint64_t)found.st_size, max_bytes);
    else if ((map->bytes = (size_t)found.st_size) > 0)
        status = is_copied ? read_whole(map, file, path, err) : map_whole(map, file, path, err);
    if (!map->is_mapped)
        close(file);
    return status;
}

tn_status tni_file_head(const char *path, void *to, size_t bytes, size_t *out_got,
                        uint64_t *out_file_bytes, tn_error *err)
{
    int file;
    struct stat found;
    *out_got = 0;
    *out_file_bytes = 0;
    tn_status status = open_regular(path, &file, &found, err);
    if (status != TN_OK)
        return status;
    *out_file_bytes = (uint64_t)found.st_size;
    if (!read_bytes(file, to, bytes, out_got))
        status = tni_fail(err, TN_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    close(file);
    return status;
}

void tni_file_map_will_read(const tni_file_map *map)
{
    if (map->is_mapped)
        (void)madvise((void *)map->data, map->bytes, MADV_WILLNEED);
}

bool tni_file_map_failed(const tni_file_map *map)
{
    return map->is_mapped && tni_map_guard_failed_at(map->guarded) != SIZE_MAX;
}

tn_status tni_file_map_check(const tni_file_map *map, const char *path, tn_error *err)
{
    tni_file_stamp now;
    if (!map->is_mapped)
        return TN_OK;
    if (tni_file_map_failed(map))
        return tni_fail(err, TN_E_FILE,
                        "%s: could not be read at byte %zu of %zu: the file was cut or its disk "
                        "failed while it was in use",
                        path, tni_map_guard_failed_at(map->guarded), map->bytes);
    if (map->file == -1) {
        struct stat about;
        if (stat(path, &about) != 0)
            return TN_OK;
        now = tni_file_stamp_from(&about);
        if (now.device != map->stamp.device || now.inode != map->stamp.inode)
            return TN_OK;
    } else if (!tni_file_stamp_of(map->file, &now))
        return tni_fail(err, TN_E_FILE, "%s: cannot be looked at any more: %s", path,
                        strerror(errno));
    if (now.bytes != map->bytes)
        return tni_fail(err, TN_E_FILE,
                        "%s: was changed while it was in use: it had %zu bytes and has %" PRIu64,
                        path, map->bytes, now.bytes);
    if (now.modified.tv_sec != map->stamp.modified.tv_sec ||
        now.modified.tv_nsec != map->stamp.modified.tv_nsec)
        return tni_fail(err, TN_E_FILE, "%s: was written to while it was in use", path);
    return TN_OK;
}

void tni_file_map_let_go(tni_file_map *map)
{
    if (!map->is_mapped || map->file == -1)
        return;
    tni_map_guard_forget_file(map->guarded);
    close(map->file);
    map->file = -1;
}

void tni_file_map_close(tni_file_map *map)
{
    if (map->data && map->is_mapped) {
        tni_map_guard_remove(map->guarded, &map->allocator);
        munmap((void *)map->data, map->bytes);
        if (map->file != -1)
            close(map->file);
    } else if (map->data) {
        tni_free(&map->allocator, (void *)map->data);
    }
    *map = (tni_file_map){ .allocator = map->allocator };
}
