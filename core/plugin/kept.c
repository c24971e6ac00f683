// kept.c: what is known of a plugin's file from before, a file each in the user's cache: that it
// was put into quarantine and why, that it answered in time, and the devices that it told.
//
// A file is the one that was looked at when size, time and inode are the same; where they differ,
// the hash tells. Devices count only in the situation that they were told in.
//
// Beside it lies what crash.c wrote down as the process crashed: from that the next start makes a
// quarantine.
#include <errno.h>
#include <limits.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

bool tni_kept_crash_path(const char *plugin_path, char key[TNI_DIGITS_BYTES], char *path)
{
    char name[TNI_DIGITS_BYTES + sizeof ".crash"];
    find_key(plugin_path, key);
    tni_format_text(name, sizeof name, "%s.crash", key);
    return tni_cache_path(folder, name, path);
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

static bool is_of_file(const tni_plugin *plugin, const tni_identity *then, const char *sha256)
{
    return tni_identity_is_same(then, &plugin->identity) ||
           (then->bytes == plugin->identity.bytes && has_hash(plugin, sha256));
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
    if (!is_of_file(plugin, &then, kept.sha256))
        return TN_OK;
    plugin->kept = kept;
    if (!tni_identity_is_same(&then, &plugin->identity))
        tni_kept_write(plugin);
    if (kept.verdict != TNI_LISTED)
        return TN_OK;
    tni_situation(plugin->runtime, plugin->manifest.name, now);
    if (strcmp(now, kept.situation) != 0)
        plugin->kept.verdict = TNI_ANSWERED;
    return TN_OK;
}

// Read into out_map; without data where there is nothing, or what cannot be read: of that nothing
// is known. Errors: TN_E_HOST_MEMORY.
static tn_status open_kept(const tni_plugin *plugin, const char *path, tni_file_map *out_map,
                           tn_error *err)
{
    struct stat there;
    tn_error ignored;
    *out_map = (tni_file_map){ 0 };
    if (stat(path, &there) != 0)
        return TN_OK;
    tn_status status = tni_file_map_open(out_map, path, true, TNI_KEPT_BYTES,
                                         &plugin->runtime->allocator, &ignored);
    if (status == TN_E_HOST_MEMORY)
        return tni_fail_memory(err, path, (uint64_t)there.st_size);
    if (status != TN_OK)
        *out_map = (tni_file_map){ 0 };
    return TN_OK;
}

static void quarantine(tni_plugin *plugin, const tni_crash *crash)
{
    const time_t when = (time_t)crash->seconds;
    struct tm day;
    char date[64] = "";
    if (localtime_r(&when, &day))
        strftime(date, sizeof date, " on %Y-%m-%d", &day);
    plugin->kept = (tni_kept){ .verdict = TNI_QUARANTINED };
    tni_copy_text(plugin->kept.sha256, sizeof plugin->kept.sha256, crash->sha256);
    tni_format_text(plugin->kept.reason, sizeof plugin->kept.reason, "crashed with SIG%s in use%s",
                    sigabbrev_np(crash->number), date);
    plugin->is_warned_of = true;   // it worked until then
}

// It becomes what is kept of the file; where that cannot be written it stays.
static tn_status take_crash(tni_plugin *plugin, tn_error *err)
{
    char key[TNI_DIGITS_BYTES], path[TNI_CACHE_PATH_BYTES];
    tni_file_map map;
    tni_crash crash;
    if (!tni_kept_crash_path(plugin->path, key, path))
        return TN_OK;
    tn_status status = open_kept(plugin, path, &map, err);
    if (status != TN_OK || !map.data)
        return status;
    bool is_of_it = tni_crash_read((const char *)map.data, map.bytes, key, &crash) &&
                    is_of_file(plugin, &crash.identity, crash.sha256);
    tni_file_map_close(&map);
    if (is_of_it)
        quarantine(plugin, &crash);
    if (!is_of_it || tni_kept_write(plugin))
        unlink(path);
    return TN_OK;
}

tn_status tni_kept_find(tni_plugin *plugin, tn_error *err)
{
    char key[TNI_DIGITS_BYTES], path[TNI_CACHE_PATH_BYTES];
    tni_file_map map;
    plugin->kept = (tni_kept){ 0 };
    find_key(plugin->path, key);
    if (!tni_cache_path(folder, key, path))
        return TN_OK;
    tn_status status = open_kept(plugin, path, &map, err);
    if (status == TN_OK && map.data) {
        status = take_file(plugin, &map, key, err);
        tni_file_map_close(&map);
    }
    return status == TN_OK ? take_crash(plugin, err) : status;
}

// ----------------------------------------------------------------------------------------- writing

bool tni_kept_write(tni_plugin *plugin)
{
    tn_runtime *runtime = plugin->runtime;
    char key[TNI_DIGITS_BYTES], path[TNI_CACHE_PATH_BYTES];
    tn_error err;
    find_key(plugin->path, key);
    if (runtime->keeps_nothing || !plugin->kept.sha256[0] || !tni_cache_path(folder, key, path))
        return false;
    char *text = tni_alloc(&runtime->allocator, TNI_KEPT_BYTES);
    if (!text)   // it can be found out again
        return false;
    size_t bytes = tni_kept_text(&plugin->kept, &plugin->identity, key, text);
    tn_status status = tni_cache_write(path, text, bytes, NULL, false, &err);
    tni_free(&runtime->allocator, text);
    if (status == TN_OK)
        return true;
    runtime->keeps_nothing = true;
    tni_log_line(&runtime->log, TN_LOG_WARNING,
                 "what is found out about plugins is not kept, so they are tried again at every "
                 "start: %s",
                 err.text);
    return false;
}

// What is kept at a path, as far as there is something.
static tn_status forget(const char *path, const char *shown, bool *is_any, tn_error *err)
{
    if (unlink(path) == 0)
        *is_any = true;
    else if (errno != ENOENT)
        return tni_fail(err, TN_E_IO, "%s: what is kept of it, %s, cannot be removed: %s", shown,
                        path, strerror(errno));
    return TN_OK;
}

tn_status tn_plugin_forget(const char *path, tn_error *err)
{
    char key[TNI_DIGITS_BYTES], kept[TNI_CACHE_PATH_BYTES], crash[TNI_CACHE_PATH_BYTES];
    bool is_any = false;
    tn_status status = tni_need(err, __func__, "path", path, NULL);
    if (status != TN_OK)
        return status;
    if (!tni_kept_crash_path(path, key, crash) || !tni_cache_path(folder, key, kept))
        return tni_fail(
            err, TN_E_FILE,
            "nothing is kept of plugins: neither XDG_CACHE_HOME nor HOME is an absolute "
            "path, or the process is privileged");
    status = forget(crash, path, &is_any, err);
    if (status == TN_OK)
        status = forget(kept, path, &is_any, err);
    return status != TN_OK || is_any ? status
                                     : tni_fail(err, TN_E_FILE, "%s: nothing is kept of it", path);
}
