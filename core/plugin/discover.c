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
#include <stdarg.h>
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

// Writes down what was found at a place, as words that go on after its path.
static tn_status tell_place(tn_runtime *runtime, const char *origin, const char *path,
                            uint32_t file_count, tn_error *err, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
static tn_status tell_place(tn_runtime *runtime, const char *origin, const char *path,
                            uint32_t file_count, tn_error *err, const char *format, ...)
{
    char found[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found, sizeof found, format, arguments);
    va_end(arguments);
    tni_place new = { .origin = origin,
                      .path = tni_arena_take_text(&runtime->arena, path),
                      .found = tni_arena_take_text(&runtime->arena, found),
                      .file_count = file_count };
    if (!new.path || !new.found ||
        !tni_grow(&runtime->allocator, &runtime->places, &runtime->place_capacity,
                  runtime->place_count + 1, sizeof *runtime->places))
        return tni_fail_memory(err, "the list of places", sizeof new);
    runtime->places[runtime->place_count++] = new;
    return TN_OK;
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

// A place that cannot be searched: the reason is that of a candidate, too.
static tn_status refuse_place(tn_runtime *runtime, const char *path, const place *where,
                              const char *reason, tn_error *err)
{
    tn_status status = refuse(runtime, path, where, reason, err);
    return status == TN_OK
               ? tell_place(runtime, where->origin, path, 0, err, "is ignored: %s", reason)
               : status;
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

// `count` files at a place, when there were `before` candidates.
static tn_status tell_files(tn_runtime *runtime, const char *path, const place *where,
                            uint32_t count, uint32_t before, tn_error *err)
{
    uint32_t new = runtime->plugin_count - before;
    const char *plural = count == 1 ? "" : "s";
    if (count == 0)
        return tell_place(runtime, where->origin, path, 0, err, "no file *.so");
    if (new == count)
        return tell_place(runtime, where->origin, path, count, err, "%u file%s", count, plural);
    return tell_place(runtime, where->origin, path, count, err, "%u file%s, %u not seen before",
                      count, plural, new);
}

static tn_status add_folder(tn_runtime *runtime, const char *path, const place *where,
                            tn_error *err)
{
    place inside = { .origin = where->origin };   // who names a folder does not name what is in it
    name_list paths = { 0 };
    DIR *folder = opendir(path);
    if (!folder && errno == ENOMEM)   // the place is no worse for it
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to list the files in %s", path);
    if (!folder && !where->is_optional)
        return refuse_place(runtime, path, where, strerror(errno), err);
    if (!folder)
        return tell_place(runtime, where->origin, path, 0, err, "is ignored: %s", strerror(errno));
    uint32_t before = runtime->plugin_count;
    tn_status status = list_folder(runtime, folder, path, &paths, err);
    for (uint32_t i = 0; status == TN_OK && i < paths.count; i++)
        status = add_file(runtime, paths.items[i], &inside, err);
    closedir(folder);
    tni_free(&runtime->allocator, paths.items);
    return status == TN_OK ? tell_files(runtime, path, where, paths.count, before, err) : status;
}

static tn_status add_place(tn_runtime *runtime, const char *path, const place *where, tn_error *err)
{
    struct stat about;
    bool is_there = stat(path, &about) == 0;
    if (is_there && S_ISDIR(about.st_mode))
        return add_folder(runtime, path, where, err);
    uint32_t before = runtime->plugin_count;
    tn_status status = where->is_optional ? TN_OK : add_file(runtime, path, where, err);
    if (status != TN_OK)
        return status;
    if (!is_there)
        return tell_place(runtime, where->origin, path, 0, err, "does not exist");
    if (!S_ISREG(about.st_mode) || where->is_optional)
        return tell_place(runtime, where->origin, path, 0, err, "is ignored: %s",
                          where->is_optional ? "not a folder" : kind_name(about.st_mode));
    return tell_files(runtime, path, where, 1, before, err);
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
        return refuse_place(runtime, path, &where,
                            "the current folder's name is too long or not known", err);
    return add_place(runtime, full, &where, err);
}

static tn_status search_absolute(tn_runtime *runtime, const char *path, const place *where,
                                 tn_error *err)
{
    static const char reason[] =
        "a relative path: write all of it, from / on, or give it as --plugin";
    return path[0] == '/' ? add_place(runtime, path, where, err)
                          : refuse_place(runtime, path, where, reason, err);
}

static tn_status search_environment(tn_runtime *runtime, tn_error *err)
{
    static const place where = { .origin = "TENON_PLUGIN_PATH", .is_warned_of = true };
    const char *list = secure_getenv("TENON_PLUGIN_PATH");   // NULL for a privileged process
    if (!list && getenv("TENON_PLUGIN_PATH"))
        return tell_place(runtime, where.origin, "", 0, err,
                          "is ignored: the process has other rights than who started it");
    if (!list || !*list)
        return tell_place(runtime, where.origin, "", 0, err, "is not set");
    tn_status status = TN_OK;
    while (*list && status == TN_OK) {
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

// The loader knows a program by what it was called, which says nothing about where it is.
bool tni_own_file(char *path, size_t room)
{
    Dl_info about;
    char full[PATH_MAX];
    if (!dladdr((const void *)&tni_runtime_log, &about) || !about.dli_fname)
        return false;
    bool is_program = strcmp(about.dli_fname, program_invocation_name) == 0;
    return realpath(is_program ? "/proc/self/exe" : about.dli_fname, full) != NULL &&
           (size_t)snprintf(path, room, "%s", full) < room;
}

static tn_status search_installed(tn_runtime *runtime, tn_error *err)
{
    static const place where = { .origin = "installed", .is_optional = true };
    char own[PATH_MAX], folder[PATH_MAX + 32];
    char *slash = tni_own_file(own, sizeof own) ? strrchr(own, '/') : NULL;
    if (!slash)
        return tell_place(runtime, where.origin, "", 0, err,
                          "is ignored: the folder of libtenon is not known");
    *slash = 0;
    snprintf(folder, sizeof folder, "%s/tenon/plugins", own);
    return add_place(runtime, folder, &where, err);
}

// The paths that came from one source: a file, or the application's settings.
static tn_status search_configured(tn_runtime *runtime, const char *source, tn_error *err)
{
    static const place where = { .origin = "config", .is_warned_of = true };
    const tni_config_words *words = &runtime->config.paths;
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < words->count; i++)
        if (strcmp(words->items[i].source, source) == 0)
            status = search_absolute(runtime, words->items[i].text, &where, err);
    return status;
}

static tn_status search_configs(tn_runtime *runtime, tn_error *err)
{
    const tni_config *config = &runtime->config;
    tn_status status = search_configured(runtime, "settings", err);
    for (uint32_t i = 0; status == TN_OK && i < config->file_count; i++) {
        const tni_config_file *file = &config->files[i];
        status = tell_place(runtime, "config", file->path, 0, err, "%s",
                            file->is_there ? "was read" : "does not exist");
        if (status == TN_OK)
            status = search_configured(runtime, file->path, err);
    }
    return status;
}

tn_status tni_discover(tn_runtime *runtime, const char *const *paths, uint32_t path_count,
                       tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < path_count; i++)
        status = search_callers(runtime, paths[i], err);
    if (status == TN_OK)
        status = search_environment(runtime, err);
    if (status == TN_OK)
        status = search_configs(runtime, err);
    return status == TN_OK ? search_installed(runtime, err) : status;
}
