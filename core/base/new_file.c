#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_map.h"

_Static_assert(TNI_PATH_BYTES >= PATH_MAX, "realpath writes as much");

static tn_status check_old(const char *path, const void *magic, size_t magic_bytes,
                           const char *what, tn_error *err)
{
    unsigned char head[16];
    size_t got;
    uint64_t file_bytes;
    if (magic_bytes > sizeof head)
        return tni_fail(err, TN_E_INTERNAL, "a magic of %zu bytes", magic_bytes);
    tn_status status = tni_file_head(path, head, magic_bytes, &got, &file_bytes, err);
    if (status == TN_OK && got && magic_bytes &&
        (got < magic_bytes || memcmp(head, magic, magic_bytes) != 0))
        return tni_fail(err, TN_E_FILE, "%s: holds something else than %s and is not replaced",
                        path, what);
    return status;
}

// The folder of a path, in a buffer of its own.
static void folder_of(const char *path, char folder[TNI_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, slash ? path : ".", length);
    folder[length] = '\0';
}

// The path of a file to be made, at the end of the links that lead to it. false: errno says why.
static bool follow_links(const char *path, char to[TNI_PATH_BYTES])
{
    enum { MOST_LINKS = 40 };   // as in Linux
    char target[TNI_PATH_BYTES], folder[TNI_PATH_BYTES];
    tni_copy_text(to, TNI_PATH_BYTES, path);
    if (strcmp(to, path) != 0 || !*path) {
        errno = *path ? ENAMETOOLONG : ENOENT;
        return false;
    }
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t n = readlink(to, target, sizeof target - 1);
        if (n < 0)
            return true;
        target[n] = '\0';
        folder_of(to, folder);
        bool is_whole = *target == '/';
        tni_format_text(to, TNI_PATH_BYTES, "%s%s%s", is_whole ? "" : folder, is_whole ? "" : "/",
                        target);
    }
    errno = ELOOP;
    return false;
}

// Without a name the file is gone when the process is, however it ends. Some file systems, NFS for
// one, have only files with names.
static int open_beside(tni_new_file *new)
{
    char folder[TNI_PATH_BYTES];
    folder_of(new->path, folder);
    int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    snprintf(new->temporary, sizeof new->temporary, "%.*s.XXXXXX",
             (int)(sizeof new->temporary - sizeof ".XXXXXX"), new->path);
    return mkostemp(new->temporary, O_CLOEXEC);
}

tn_status tni_new_file_open(tni_new_file *new, const char *path, const void *magic,
                            size_t magic_bytes, const char *what, tn_error *err)
{
    struct stat old;
    *new = (tni_new_file){ .file = -1 };
    bool is_there = realpath(path, new->path) != NULL && stat(new->path, &old) == 0;
    if (!is_there && errno != ENOENT)
        return tni_fail(err, TN_E_FILE, "%s: %s", path, strerror(errno));
    if (is_there && !S_ISREG(old.st_mode))
        return tni_fail(err, TN_E_FILE, "%s: is not a regular file", path);
    tn_status status = is_there ? check_old(path, magic, magic_bytes, what, err) : TN_OK;
    if (status != TN_OK)
        return status;
    if (!is_there && !follow_links(path, new->path))
        return tni_fail(err, TN_E_FILE, "'%s': %s", path, strerror(errno));
    if (strlen(new->path) + sizeof ".XXXXXX" > TNI_PATH_BYTES)
        return tni_fail(err, TN_E_FILE, "'%s': %s", path, strerror(ENAMETOOLONG));
    new->file = open_beside(new);
    if (new->file < 0)
        return tni_fail(err, TN_E_FILE, "%s: no file can be made in its folder: %s", path,
                        strerror(errno));
    if (is_there && fchmod(new->file, old.st_mode & 07777) != 0) {
        status = tni_fail(err, TN_E_FILE, "%s: its mode cannot be kept: %s", path, strerror(errno));
        tni_new_file_drop(new);
    }
    return status;
}

// A write beyond RLIMIT_FSIZE fails with EFBIG, and raises SIGXFSZ in the thread that wrote, which
// ends the process unless the application has another wish. That is for a library to hold back: the
// signal is blocked here and taken away, the application's handler stays as it is.
ssize_t tni_write_quietly(int file, const void *data, size_t bytes)
{
    sigset_t too_large, before, pending;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ) == 1;   // another's, which stays
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    ssize_t n = write(file, data, bytes);
    int error = errno;
    while (n < 0 && error == EFBIG && !was_pending &&
           sigtimedwait(&too_large, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

tn_status tni_new_file_write(tni_new_file *new, const void *data, uint64_t bytes, tn_error *err)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = tni_write_quietly(new->file, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tni_fail(err, TN_E_IO,
                            "%s: writing failed after %" PRIu64 " bytes: %s; nothing was changed",
                            new->path, new->bytes, strerror(errno));
        at += n;
        bytes -= (uint64_t)n;
        new->bytes += (uint64_t)n;
    }
    return TN_OK;
}

// The name of a file is on disk when its folder is. Not all file systems can say so: tried only.
static void sync_folder(const char *path)
{
    char folder[TNI_PATH_BYTES];
    folder_of(path, folder);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return;
    fsync(file);
    close(file);
}

// A name beside its place that no other file has: a file without one cannot take another's place.
static bool give_name(tni_new_file *new)
{
    enum { TRIES = 100 };
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", new->file);
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(new->temporary, sizeof new->temporary, "%.*s.%06x",
                 (int)(sizeof new->temporary - sizeof ".XXXXXX"), new->path,
                 ((unsigned)getpid() + i) & 0xffffffu);
        if (linkat(AT_FDCWD, self, AT_FDCWD, new->temporary, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    new->temporary[0] = '\0';
    return false;
}

tn_status tni_new_file_finish(tni_new_file *new, tn_error *err)
{
    if ((!new->is_fleeting &&fsync(new->file) != 0) || (!*new->temporary && !give_name(new)) ||
        rename(new->temporary, new->path) != 0)
        return tni_fail(err, TN_E_IO,
                        "%s: writing failed after %" PRIu64 " bytes: %s; nothing was changed",
                        new->path, new->bytes, strerror(errno));
    close(new->file);
    new->file = -1;
    if (!new->is_fleeting)
        sync_folder(new->path);
    return TN_OK;
}

void tni_new_file_drop(tni_new_file *new)
{
    if (new->file < 0)
        return;
    close(new->file);
    if (*new->temporary)
        unlink(new->temporary);
    new->file = -1;
}
