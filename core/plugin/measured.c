// measured.c: which device a file of measured figures is of, where it is, and how it gets there.
//
// A figure is that of one device as it is set up: its key is a hash of what tells it from others
// (names, driver, PCI address or UUID, the plugin's version and settings, of a CPU the threads).
// Where one of these changes, the file is not found, and the defaults count.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file_map.h"
#include "base/new_file.h"
#include "plugin/plugin_internal.h"

// --------------------------------------------------------------------------------------------- key

static void add(SHA2_CTX *sha, const char *word, const char *text)
{
    SHA256Update(sha, (const uint8_t *)word, strlen(word) + 1);
    SHA256Update(sha, (const uint8_t *)text, strlen(text) + 1);
}

static const char *version_of(const tn_device *device)
{
    const tn_runtime *runtime = device->runtime;
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->table == device->table)
            return runtime->plugins[i]->manifest.version;
    return "";
}

// Those that count, by their keys: one after another, whatever order they were given in.
static void add_settings(SHA2_CTX *sha, const tn_device *device)
{
    const tni_config *config = &device->runtime->config;
    const char *before = "";
    for (const tni_setting *next;; before = next->key) {
        next = NULL;
        for (uint32_t i = 0; i < config->setting_count; i++) {
            const tni_setting *s = &config->settings[i];
            if (strcmp(s->plugin, device->plugin) == 0 && !tni_config_is_reserved(s->key) &&
                strcmp(s->key, before) > 0 && (!next || strcmp(s->key, next->key) < 0))
                next = s;
        }
        if (!next)
            return;
        add(sha, next->key, tni_config_find(config, device->plugin, next->key)->value);
    }
}

void tni_device_key(const tn_device *device, char key[TNI_DEVICE_KEY_BYTES])
{
    static const uint8_t none[sizeof device->info.uuid];
    char threads[16] = "";
    SHA2_CTX sha;
    SHA256Init(&sha);
    add(&sha, "plugin", device->plugin);
    add(&sha, "version", version_of(device));
    add(&sha, "name", device->info.name);
    add(&sha, "driver", device->info.driver);
    add(&sha, "host", device->info.host);
    add(&sha, "pci", device->info.pci);
    SHA256Update(&sha, device->info.uuid, sizeof device->info.uuid);
    if (!device->info.pci[0] && memcmp(device->info.uuid, none, sizeof none) == 0)
        add(&sha, "called", device->name);
    if (device->info.kind == TNP_KIND_CPU)
        snprintf(threads, sizeof threads, "%u", tn_runtime_threads(device->runtime));
    add(&sha, "threads", threads);
    add_settings(&sha, device);
    SHA256End(&sha, key);
}

// -------------------------------------------------------------------------------------------- file

// $XDG_CACHE_HOME/tenon/tune, or ~/.cache/tenon/tune; false when the process is privileged or has
// neither.
static bool find_folder(char folder[PATH_MAX])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int written = -1;
    if (cache && cache[0] == '/')
        written = snprintf(folder, PATH_MAX, "%s/tenon/tune", cache);
    else if (home && home[0] == '/')
        written = snprintf(folder, PATH_MAX, "%s/.cache/tenon/tune", home);
    return written > 0 && written < PATH_MAX;
}

static bool find_path(const char *key, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!find_folder(folder))
        return false;
    int written = snprintf(path, PATH_MAX, "%s/%s", folder, key);
    return written > 0 && written < PATH_MAX;
}

void tni_measured_load(tn_device *device, char *warning, size_t room)
{
    char path[PATH_MAX], text[TNI_MEASURED_BYTES];
    const char *why;
    size_t got;
    uint64_t bytes;
    tn_error err;
    warning[0] = 0;
    tni_device_key(device, device->key);
    struct stat there;
    if (!find_path(device->key, path) || stat(path, &there) != 0)
        return;
    if (tni_file_head(path, text, sizeof text, &got, &bytes, &err) != TN_OK)
        snprintf(warning, room, "%s", err.text);
    else if (bytes > sizeof text)
        snprintf(warning, room, "%s: it is no file of tenon tune", path);
    else if (!tni_measured_read(text, got, device->key, &device->measured, &why))
        snprintf(warning, room, "%s: %s", path, why);
}

// Every folder of the path that is not there, readable by the user alone.
static tn_status make_folders(const char *path, tn_error *err)
{
    char folder[PATH_MAX];
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

tn_status tni_measured_keep(tn_device *device, const tni_measured *measured, char *path,
                            size_t room, tn_error *err)
{
    static const char magic[] = "tenon tune";
    char text[TNI_MEASURED_BYTES], full[PATH_MAX];
    tni_new_file file;
    path[0] = 0;
    pthread_mutex_lock(&device->runtime->opening);
    device->measured = *measured;
    pthread_mutex_unlock(&device->runtime->opening);
    if (!find_path(device->key, full))
        return tni_fail(err, TN_E_FILE,
                        "there is no place for a cache: neither XDG_CACHE_HOME nor HOME is an "
                        "absolute path, or the process is privileged");
    tn_status status = make_folders(full, err);
    if (status != TN_OK)
        return status;
    status = tni_new_file_open(&file, full, magic, sizeof magic - 1, "a file of tenon tune", err);
    if (status != TN_OK)
        return status;
    status = tni_new_file_write(&file, text, tni_measured_write(measured, device->key, text), err);
    if (status == TN_OK)
        status = tni_new_file_finish(&file, err);
    tni_new_file_drop(&file);
    if (status == TN_OK)
        tni_copy_text(path, room, full);
    return status;
}

const tni_link_figures *tni_measured_peer(const tn_device *from, const tn_device *to)
{
    for (uint32_t i = 0; i < from->measured.peer_count; i++)
        if (strcmp(from->measured.peers[i].key, to->key) == 0 &&
            from->measured.peers[i].link.bytes_per_s)
            return &from->measured.peers[i].link;
    return NULL;
}
