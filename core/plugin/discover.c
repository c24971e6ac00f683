// discover.c: the places where plugins are looked for, in the order of the search.
//
//   paths of the caller · TENON_PLUGIN_PATH · path = of the configurations · <folder of
//   libtenon>/tenon/plugins
//
// A place is a file, or a folder whose entries *.so are taken sorted by name. Nothing is recursive,
// and no place is the current folder unless the caller says so: the environment and the
// configurations give absolute paths. A file that two places give is one candidate, at its first
// place.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

typedef struct place {
    const char *origin;
    bool is_named;       // by the caller
    bool is_warned_of;   // a file given here that is refused is logged
    bool is_optional;    // may be missing without a word
} place;

bool tni_identity_of(const char *path, tni_identity *out_identity, mode_t *out_mode)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return false;
    *out_identity = (tni_identity){ about.st_dev, about.st_ino, about.st_size, about.st_mtim };
    *out_mode = about.st_mode;
    return true;
}

bool tni_identity_is_same(const tni_identity *a, const tni_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static const char *kind_name(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static tni_plugin *find_same_file(const tn_runtime *runtime, const tni_identity *identity)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++) {
        tni_plugin *plugin = runtime->plugins[i];
        if (plugin->has_identity && plugin->identity.device == identity->device &&
            plugin->identity.inode == identity->inode)
            return plugin;
    }
    return NULL;
}

// A new candidate without a state; *out_plugin is NULL and TN_OK the answer when there are too
// many.
static tn_status add_candidate(tn_runtime *runtime, const char *path, const place *where,
                               tni_plugin **out_plugin, tn_error *err)
{
    *out_plugin = NULL;
    if (runtime->plugin_count == TNI_MAX_CANDIDATES) {
        tni_log_line(&runtime->log, TN_LOG_WARNING,
                     "%s: not looked at, there are %d candidates already", path,
                     TNI_MAX_CANDIDATES);
        return TN_OK;
    }
    tni_plugin *plugin = tni_arena_take(&runtime->arena, sizeof *plugin);
    char *copy = tni_arena_take_text(&runtime->arena, path);
    if (!plugin || !copy ||
        !tni_grow(&runtime->allocator, &runtime->plugins, &runtime->plugin_capacity,
                  runtime->plugin_count + 1, sizeof *runtime->plugins))
        return tni_fail_memory(err, "the list of plugins", sizeof *plugin);
    *plugin = (tni_plugin){ .runtime = runtime,
                            .path = copy,
                            .origin = where->origin,
                            .is_named = where->is_named,
                            .is_warned_of = where->is_warned_of };
    runtime->plugins[runtime->plugin_count++] = plugin;
    *out_plugin = plugin;
    return TN_OK;
}

static tn_status refuse(tn_runtime *runtime, const char *path, const place *where,
                        const char *reason, tn_error *err)
{
    tni_plugin *plugin;
    tn_status status = add_candidate(runtime, path, where, &plugin, err);
    if (plugin)
        tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "%s", reason);
    return status;
}

static tn_status add_file(tn_runtime *runtime, const char *path, const place *where, tn_error *err)
{
    tni_identity identity;
    mode_t mode;
    struct stat link;
    if (!tni_identity_of(path, &identity, &mode)) {
        const char *words = strerror(errno);
        bool is_dangling = errno == ENOENT && lstat(path, &link) == 0;
        return refuse(runtime, path, where, is_dangling ? "a link that leads nowhere" : words, err);
    }
    tni_plugin *plugin = find_same_file(runtime, &identity);
    if (plugin) {
        plugin->is_named |= where->is_named;
        plugin->is_warned_of |= where->is_warned_of;
        return TN_OK;
    }
    tn_status status = add_candidate(runtime, path, where, &plugin, err);
    if (!plugin)
        return status;
    plugin->identity = identity;
    plugin->has_identity = true;
    if (!S_ISREG(mode))
        tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "%s, not a regular file", kind_name(mode));
    return TN_OK;
}

// ----------------------------------------------------------------------------------------- folders

typedef struct name_list {
    char **items;
    uint32_t count, capacity;
} name_list;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_in_so(const char *name)
{
    size_t bytes = strlen(name);
    return bytes > 3 && strcmp(name + bytes - 3, ".so") == 0;
}

// Fills `paths` with the folder's entries *.so, sorted.
static tn_status list_folder(tn_runtime *runtime, DIR *folder, const char *path, name_list *paths,
                             tn_error *err)
{
    size_t folder_bytes = strlen(path);
    const char *slash = folder_bytes && path[folder_bytes - 1] == '/' ? "" : "/";
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!ends_in_so(entry->d_name))
            continue;
        size_t bytes = folder_bytes + strlen(entry->d_name) + 2;
        char *full = tni_arena_take(&runtime->arena, bytes);
        if (!full || !tni_grow(&runtime->allocator, &paths->items, &paths->capacity,
                               paths->count + 1, sizeof *paths->items))
            return tni_fail_memory(err, path, bytes);
        snprintf(full, bytes, "%s%s%s", path, slash, entry->d_name);
        paths->items[paths->count++] = full;
        if (paths->count > TNI_MAX_CANDIDATES)   // add_candidate says so
            break;
    }
    if (paths->count)
        qsort(paths->items, paths->count, sizeof *paths->items, compare_names);
    return TN_OK;
}

static tn_status add_folder(tn_runtime *runtime, const char *path, const place *where,
                            tn_error *err)
{
    place inside = { .origin = where->origin };   // who names a folder does not name what is in it
    name_list paths = { 0 };
    DIR *folder = opendir(path);
    if (!folder)
        return where->is_optional ? TN_OK : refuse(runtime, path, where, strerror(errno), err);
    tn_status status = list_folder(runtime, folder, path, &paths, err);
    for (uint32_t i = 0; status == TN_OK && i < paths.count; i++)
        status = add_file(runtime, paths.items[i], &inside, err);
    closedir(folder);
    tni_free(&runtime->allocator, paths.items);
    return status;
}

static tn_status add_place(tn_runtime *runtime, const char *path, const place *where, tn_error *err)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return add_folder(runtime, path, where, err);
    return where->is_optional ? TN_OK : add_file(runtime, path, where, err);
}

// ------------------------------------------------------------------------------------ the searches

// A relative path of the caller is made absolute: the file keeps its name when the process changes
// its folder, and the loader never takes it for a name to look up in its own places.
static tn_status search_callers(tn_runtime *runtime, const char *path, tn_error *err)
{
    static const place where = { .origin = "--plugin", .is_named = true };
    char full[2 * PATH_MAX], here[PATH_MAX];
    if (!path || !path[0])
        return tni_fail(err, TN_E_ARG, "an empty plugin path");
    if (path[0] == '/')
        return add_place(runtime, path, &where, err);
    if (!getcwd(here, sizeof here) ||
        (size_t)snprintf(full, sizeof full, "%s/%s", here, path) >= sizeof full)
        return refuse(runtime, path, &where, "the current folder's name is too long or not known",
                      err);
    return add_place(runtime, full, &where, err);
}

static tn_status search_absolute(tn_runtime *runtime, const char *path, const place *where,
                                 tn_error *err)
{
    return path[0] == '/'
               ? add_place(runtime, path, where, err)
               : refuse(runtime, path, where, "a relative path: only the caller may give one", err);
}

static tn_status search_environment(tn_runtime *runtime, tn_error *err)
{
    static const place where = { .origin = "TENON_PLUGIN_PATH", .is_warned_of = true };
    const char *list = secure_getenv("TENON_PLUGIN_PATH");   // NULL for a privileged process
    tn_status status = TN_OK;
    while (list && *list && status == TN_OK) {
        size_t bytes = strcspn(list, ":");
        char *path = tni_arena_take(&runtime->arena, bytes + 1);
        if (!path)
            return tni_fail_memory(err, "TENON_PLUGIN_PATH", bytes);
        memcpy(path, list, bytes);
        if (bytes)
            status = search_absolute(runtime, path, &where, err);
        list += bytes + (list[bytes] == ':');
    }
    return status;
}

// The file that holds this code: libtenon, or a program that it is linked into. The loader knows a
// program by what it was called, which says nothing about where it is.
static bool find_own_file(char path[PATH_MAX])
{
    Dl_info about;
    if (!dladdr((const void *)&tni_runtime_log, &about) || !about.dli_fname)
        return false;
    bool is_program = strcmp(about.dli_fname, program_invocation_name) == 0;
    return realpath(is_program ? "/proc/self/exe" : about.dli_fname, path) != NULL;
}

static tn_status search_installed(tn_runtime *runtime, tn_error *err)
{
    static const place where = { .origin = "installed", .is_optional = true };
    char own[PATH_MAX], folder[PATH_MAX + 32];
    char *slash = find_own_file(own) ? strrchr(own, '/') : NULL;
    if (!slash)
        return TN_OK;
    *slash = 0;
    snprintf(folder, sizeof folder, "%s/tenon/plugins", own);
    return add_place(runtime, folder, &where, err);
}

tn_status tni_discover(tn_runtime *runtime, const char *const *paths, uint32_t path_count,
                       tn_error *err)
{
    static const place configured = { .origin = "config", .is_warned_of = true };
    const tni_config_words *words = &runtime->config.paths;
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < path_count; i++)
        status = search_callers(runtime, paths[i], err);
    if (status == TN_OK)
        status = search_environment(runtime, err);
    for (uint32_t i = 0; status == TN_OK && i < words->count; i++)
        status = search_absolute(runtime, words->items[i].text, &configured, err);
    return status == TN_OK ? search_installed(runtime, err) : status;
}
