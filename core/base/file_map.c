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

static tn_status read_whole(tni_file_map *map, int file, const char *path, tn_error *err)
{
    unsigned char *data = map->allocator.alloc(map->allocator.context, map->bytes, READ_ALIGNMENT);
    if (!data)
        return tni_fail_memory(err, path, map->bytes);
    for (size_t done = 0; done < map->bytes;) {
        ssize_t n = read(file, data + done, map->bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            tni_free(&map->allocator, data);
            return tni_fail(err, TN_E_FILE, "%s: read failed after %zu of %zu bytes: %s", path,
                            done, map->bytes, n < 0 ? strerror(errno) : "the file became shorter");
        }
        done += (size_t)n;
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
    tn_status status = tni_map_guard_add(data, map->bytes, &map->allocator, &map->guarded, err);
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

tn_status tni_file_map_open(tni_file_map *map, const char *path, bool is_copied, uint64_t max_bytes,
                            const tn_allocator *allocator, tn_error *err)
{
    *map = (tni_file_map){ .allocator = tni_allocator(allocator) };
    struct stat before, after;
    // The kind is checked again on what was really opened.
    int file = stat(path, &before) == 0 && !S_ISREG(before.st_mode) ? -2
                                                                    : open_above_standard(path);
    if (file == -1)
        return tni_fail(err, TN_E_FILE, "%s: %s", path, strerror(errno));
    if (file == -2)
        return tni_fail(err, TN_E_FILE, "%s: is %s, not a regular file", path,
                        S_ISDIR(before.st_mode) ? "a folder" : "a device, socket or pipe");
    tn_status status = TN_OK;
    if (fstat(file, &after) != 0 || !S_ISREG(after.st_mode))
        status = tni_fail(err, TN_E_FILE, "%s: is not a regular file", path);
    else if (max_bytes && (uint64_t)after.st_size > max_bytes)
        status = tni_fail(err, TN_E_FILE,
                          "%s: has %" PRIu64 " bytes, at most %" PRIu64 " are expected", path,
                          (uint64_t)after.st_size, max_bytes);
    else if ((map->bytes = (size_t)after.st_size) > 0)
        status = is_copied ? read_whole(map, file, path, err) : map_whole(map, file, path, err);
    map->modified = after.st_mtim;
    if (!map->is_mapped)
        close(file);
    return status;
}

bool tni_file_map_failed(const tni_file_map *map)
{
    return map->is_mapped && tni_map_guard_failed_at(map->guarded) != SIZE_MAX;
}

tn_status tni_file_map_check(const tni_file_map *map, const char *path, tn_error *err)
{
    struct stat now;
    if (!map->is_mapped)
        return TN_OK;
    if (tni_file_map_failed(map))
        return tni_fail(err, TN_E_FILE,
                        "%s: could not be read at byte %zu of %zu: the file was cut or its disk "
                        "failed while it was in use",
                        path, tni_map_guard_failed_at(map->guarded), map->bytes);
    if (fstat(map->file, &now) != 0)
        return tni_fail(err, TN_E_FILE, "%s: cannot be looked at any more: %s", path,
                        strerror(errno));
    if ((uint64_t)now.st_size != map->bytes)
        return tni_fail(err, TN_E_FILE,
                        "%s: was changed while it was in use: it had %zu bytes and has %" PRIu64,
                        path, map->bytes, (uint64_t)now.st_size);
    if (now.st_mtim.tv_sec != map->modified.tv_sec || now.st_mtim.tv_nsec != map->modified.tv_nsec)
        return tni_fail(err, TN_E_FILE, "%s: was written to while it was in use", path);
    return TN_OK;
}

void tni_file_map_close(tni_file_map *map)
{
    if (map->data && map->is_mapped) {
        tni_map_guard_remove(map->guarded, &map->allocator);
        munmap((void *)map->data, map->bytes);
        close(map->file);
    } else if (map->data) {
        tni_free(&map->allocator, (void *)map->data);
    }
    *map = (tni_file_map){ .allocator = map->allocator };
}
