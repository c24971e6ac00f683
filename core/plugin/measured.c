// measured.c: which device a file of measured figures is of, where it is, and how it gets there.
//
// A figure is that of one device as it is set up: its key is a hash of what tells it from others
// (names, driver, PCI address or UUID, the plugin's version and settings, of a CPU the threads).
// Where one of these changes, the file is not found, and the defaults count.
#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tenon/tune.h>

#include "base/error.h"
#include "base/file_map.h"
#include "plugin/cache.h"
#include "plugin/plugin_internal.h"

static const char folder[] = "tune";   // of the cache

// --------------------------------------------------------------------------------------------- key

static void add(SHA2_CTX *sha, const char *word, const char *text)
{
    SHA256Update(sha, (const uint8_t *)word, strlen(word) + 1);
    SHA256Update(sha, (const uint8_t *)text, strlen(text) + 1);
}

static void add_setting(void *context, const char *key, const char *value)
{
    add(context, key, value);
}

void tni_device_key(const tn_device *device, char key[TNI_DEVICE_KEY_BYTES])
{
    static const uint8_t none[sizeof device->info.uuid];
    char threads[16] = "";
    SHA2_CTX sha;
    SHA256Init(&sha);
    add(&sha, "plugin", device->plugin);
    add(&sha, "version", device->owner ? device->owner->loaded.version : "");
    add(&sha, "name", device->info.name);
    add(&sha, "driver", device->info.driver);
    add(&sha, "host", device->info.host);
    add(&sha, "pci", device->info.pci);
    SHA256Update(&sha, device->info.uuid, sizeof device->info.uuid);
    if (!device->info.pci[0] && memcmp(device->info.uuid, none, sizeof none) == 0)
        add(&sha, "called", device->name);
    if (tni_is_cpu(device))
        snprintf(threads, sizeof threads, "%u", tn_runtime_threads(device->runtime));
    add(&sha, "threads", threads);
    tni_config_each(&device->runtime->config, device->plugin, &sha, add_setting);
    SHA256End(&sha, key);
}

// -------------------------------------------------------------------------------------------- file

void tni_measured_load(tn_device *device, char *warning, size_t room)
{
    char path[TNI_CACHE_PATH_BYTES], text[TNI_MEASURED_BYTES];
    const char *why;
    size_t got;
    uint64_t bytes;
    tn_error err;
    warning[0] = 0;
    tni_device_key(device, device->key);
    struct stat there;
    if (!tni_cache_path(folder, device->key, path) || stat(path, &there) != 0)
        return;
    if (tni_file_head(path, text, sizeof text, &got, &bytes, &err) != TN_OK)
        snprintf(warning, room, "%s", err.text);
    else if (bytes > sizeof text)
        snprintf(warning, room, "%s: it is no file of tenon tune", path);
    else if (!tni_measured_read(text, got, device->key, &device->measured, &why))
        snprintf(warning, room, "%s: %s", path, why);
}

tn_status tni_measured_keep(tn_device *device, const tni_measured *measured, char *path,
                            size_t room, tn_error *err)
{
    char text[TNI_MEASURED_BYTES], full[TNI_CACHE_PATH_BYTES];
    path[0] = 0;
    pthread_mutex_lock(&device->runtime->opening);
    device->measured = *measured;
    pthread_mutex_unlock(&device->runtime->opening);
    if (!tni_cache_path(folder, device->key, full))
        return tni_fail(err, TN_E_FILE,
                        "there is no place for a cache: neither XDG_CACHE_HOME nor HOME is an "
                        "absolute path, or the process is privileged");
    size_t bytes = tni_measured_write(measured, device->key, text);
    tn_status status = tni_cache_write(full, text, bytes, "tenon tune", true, err);
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

// -------------------------------------------------------------------------------------- for people

double tn_device_claim_factor(const tn_device *device, uint32_t *out_is_measured)
{
    if (out_is_measured)
        *out_is_measured = device && device->measured.claim_ppm;
    return device ? tni_measured_claim_factor(&device->measured) : 1;
}
