// kept.c: what is known of a plugin's file from before, a file each in the user's cache: that it
// was put into quarantine and why, that it answered in time, and the devices that it told.
//
// A file is the one that was looked at when size, time and inode are the same; where they differ,
// the hash tells. Devices count only in the situation that they were told in.
#include <errno.h>
#include <limits.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_map.h"
#include "plugin/cache.h"
#include "plugin/plugin_internal.h"

static const char folder[] = "plugins";   // of the cache

// Of the file, by whatever name it is called, and the release: another one may do better with it.
static void find_key(const char *path, char key[TNI_DIGITS_BYTES])
{
    char real[PATH_MAX];
    SHA2_CTX sha;
    if (realpath(path, real))
        path = real;
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)tn_version(), strlen(tn_version()) + 1);
    SHA256Update(&sha, (const uint8_t *)path, strlen(path));
    SHA256End(&sha, key);
}

// ------------------------------------------------------------------------------------- what counts

bool tni_kept_may_list(const tni_answer *answer)
{
    if (answer->is_refusal || answer->is_partial || answer->count == 0)
        return false;
    for (uint32_t i = 0; i < answer->count; i++)
        if (answer->offers[i].info.kind == TNP_KIND_CPU)
            return false;
    return true;
}

void tni_kept_set_answer(tni_plugin *plugin, const tni_answer *answer)
{
    tni_kept *kept = &plugin->kept;
    kept->verdict = tni_kept_may_list(answer) ? TNI_LISTED : TNI_ANSWERED;
    kept->answer = kept->verdict == TNI_LISTED ? *answer : (tni_answer){ 0 };
    if (kept->verdict == TNI_LISTED)
        tni_situation(plugin->runtime, plugin->manifest.name, kept->situation);
}

// ----------------------------------------------------------------------------------------- reading

// Of a file with other times or another inode: the same bytes?
static bool has_hash(const tni_plugin *plugin, const char *sha256)
{
    char now[TNI_DIGITS_BYTES];
    return tni_plugin_hash(plugin->path, now) && strcmp(now, sha256) == 0;
}

static tn_status take_file(tni_plugin *plugin, const tni_file_map *map, const char *key,
                           tn_error *err)
{
    tni_kept kept;
    tni_identity then;
    bool has_memory;
    char now[TNI_DIGITS_BYTES];
    if (!tni_kept_read((const char *)map->data, map->bytes, key, &plugin->runtime->arena, &kept,
                       &then, &has_memory))
        return has_memory ? TN_OK : tni_fail_memory(err, "the devices of a plugin", map->bytes);
    bool is_same = tni_identity_is_same(&then, &plugin->identity);
    if (!is_same && (then.bytes != plugin->identity.bytes || !has_hash(plugin, kept.sha256)))
        return TN_OK;
    plugin->kept = kept;
    if (!is_same)
        tni_kept_write(plugin);
    if (kept.verdict != TNI_LISTED)
        return TN_OK;
    tni_situation(plugin->runtime, plugin->manifest.name, now);
    if (strcmp(now, kept.situation) != 0)
        plugin->kept.verdict = TNI_ANSWERED;
    return TN_OK;
}

tn_status tni_kept_find(tni_plugin *plugin, tn_error *err)
{
    char key[TNI_DIGITS_BYTES], path[TNI_CACHE_PATH_BYTES];
    struct stat there;
    tni_file_map map;
    tn_error ignored;
    plugin->kept = (tni_kept){ 0 };
    find_key(plugin->path, key);
    if (!tni_cache_path(folder, key, path) || stat(path, &there) != 0)
        return TN_OK;
    tn_status status = tni_file_map_open(&map, path, true, TNI_KEPT_BYTES,
                                         &plugin->runtime->allocator, &ignored);
    if (status == TN_E_HOST_MEMORY)
        return tni_fail_memory(err, path, (uint64_t)there.st_size);
    if (status != TN_OK)   // of what cannot be read nothing is known
        return TN_OK;
    status = map.data ? take_file(plugin, &map, key, err) : TN_OK;
    tni_file_map_close(&map);
    return status;
}

// ----------------------------------------------------------------------------------------- writing

void tni_kept_write(tni_plugin *plugin)
{
    tn_runtime *runtime = plugin->runtime;
    char key[TNI_DIGITS_BYTES], path[TNI_CACHE_PATH_BYTES];
    tn_error err;
    find_key(plugin->path, key);
    if (runtime->keeps_nothing || !plugin->kept.sha256[0] || !tni_cache_path(folder, key, path))
        return;
    char *text = tni_alloc(&runtime->allocator, TNI_KEPT_BYTES);
    if (!text)   // it can be found out again
        return;
    size_t bytes = tni_kept_text(&plugin->kept, &plugin->identity, key, text);
    tn_status status = tni_cache_write(path, text, bytes, NULL, false, &err);
    tni_free(&runtime->allocator, text);
    if (status == TN_OK)
        return;
    runtime->keeps_nothing = true;
    tni_log_line(&runtime->log, TN_LOG_WARNING,
                 "what is found out about plugins is not kept, so they are tried again at every "
                 "start: %s",
                 err.text);
}

static tn_status forget(const char *path, const char *shown, tn_error *err)
{
    if (unlink(path) == 0)
        return TN_OK;
    if (errno == ENOENT)
        return tni_fail(err, TN_E_FILE, "%s: nothing is kept of it", shown);
    return tni_fail(err, TN_E_IO, "%s: what is kept of it, %s, cannot be removed: %s", shown, path,
                    strerror(errno));
}

tn_status tn_plugin_forget(const char *path, tn_error *err)
{
    char key[TNI_DIGITS_BYTES], kept[TNI_CACHE_PATH_BYTES];
    tn_status status = tni_need(err, __func__, "path", path, NULL);
    if (status != TN_OK)
        return status;
    find_key(path, key);
    if (!tni_cache_path(folder, key, kept))
        return tni_fail(
            err, TN_E_FILE,
            "nothing is kept of plugins: neither XDG_CACHE_HOME nor HOME is an absolute "
            "path, or the process is privileged");
    return forget(kept, path, err);
}
