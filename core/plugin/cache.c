#include "plugin/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
