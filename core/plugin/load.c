// load.c: one candidate on its way from a file to a running instance.
//
//   examine   manifest read from the file, held against this machine            no code of it runs
//   load      dlopen · query · table · start                                    its code runs
//   bring up  pin · still the same file, else probed again · load · its devices
//
// A loaded file stays loaded: its threads may be in it, and its texts may be shown.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sha2.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "plugin/plugin_internal.h"

void tni_plugin_set_state(tni_plugin *plugin, uint32_t state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)tni_fail_v(&plugin->why, TN_E_PLUGIN, format, arguments);
    va_end(arguments);
    plugin->state = state;
}

// ----------------------------------------------------------------------------------------- examine

static bool read_file(void *context, uint64_t offset, void *to, size_t bytes)
{
    int file = *(const int *)context;
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(file, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

// Regular when it was found; should it have become a FIFO since, O_NONBLOCK keeps the open from
// waiting.
static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

tn_status tni_plugin_examine(tni_plugin *plugin, tn_error *why)
{
    int file = open_file(plugin->path);
    if (file < 0)
        return tni_fail(why, TN_E_PLUGIN, "%s", strerror(errno));
    tni_reader reader = { .context = &file,
                          .bytes = (uint64_t)plugin->identity.bytes,
                          .read = read_file };
    tn_status status = tni_manifest_read(&reader, &plugin->manifest, why);
    close(file);
    plugin->has_manifest = status == TN_OK;
    plugin->loaded = plugin->manifest;
    return status == TN_OK ? tni_manifest_fits(&plugin->manifest, &plugin->runtime->here, why)
                           : status;
}

// --------------------------------------------------------------------------------------------- pin

bool tni_plugin_hash(const char *path, char digits[TNI_DIGITS_BYTES])
{
    unsigned char piece[1 << 16];
    SHA2_CTX hash;
    int file = open_file(path);
    if (file < 0)
        return false;
    SHA256Init(&hash);
    ssize_t n;
    while ((n = read(file, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        SHA256Update(&hash, piece, n > 0 ? (size_t)n : 0);
    close(file);
    return n == 0 && SHA256End(&hash, digits) != NULL;
}

tn_status tni_plugin_check_pin(tni_plugin *plugin, tn_error *why)
{
    const tni_setting *pin = tni_config_find(&plugin->runtime->config, plugin->manifest.name,
                                             "sha256");
    if (!pin)
        return TN_OK;
    if (!plugin->kept.sha256[0] && !tni_plugin_hash(plugin->path, plugin->kept.sha256))
        return tni_fail(why, TN_E_PLUGIN,
                        "its SHA-256 cannot be computed: the file cannot be read");
    if (strcasecmp(plugin->kept.sha256, pin->value) == 0)
        return TN_OK;
    plugin->is_warned_of = true;   // whoever pins it wants it
    return tni_fail(why, TN_E_PLUGIN,
                    "its SHA-256 is %s, %s pins %s (tenon plugins pin FILE pins the new one)",
                    plugin->kept.sha256, pin->source, pin->value);
}

// -------------------------------------------------------------------------------------------- load

// The loader tells by words alone, which are not said to stay: whether memory is short, the system
// knows.
static bool is_memory_short(const tni_plugin *plugin)
{
    size_t bytes = (size_t)plugin->identity.bytes;
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return errno == ENOMEM;
    munmap(room, bytes);
    return false;
}

static tn_status refuse_by_loader(const tni_plugin *plugin, tn_error *why)
{
    char words[sizeof why->text];
    const char *said = dlerror();
    tni_text_make_safe(words, sizeof words, said ? said : "the loader gives no reason",
                       sizeof words - 1);
    return is_memory_short(plugin) ? tni_fail(why, TN_E_HOST_MEMORY, "not enough memory: %s", words)
                                   : tni_fail(why, TN_E_PLUGIN, "%s", words);
}

static tn_status refuse_by_plugin(tnp_status status, const char *call, const tnp_error *said,
                                  tn_error *why)
{
    (void)tni_fail_plugin(why, status, call, said);
    why->status = TN_E_PLUGIN;
    return TN_E_PLUGIN;
}

static void tell_at(const tni_plugin *plugin, const char *call)
{
    if (plugin->runtime->at)
        plugin->runtime->at(call);
}

static tn_status query_table(tni_plugin *plugin, void *library, tn_error *why)
{
    tnp_query query;
    void *symbol = dlsym(library, "tenon_plugin_query");
    if (!symbol)
        return refuse_by_loader(plugin, why);
    memcpy(&query, &symbol, sizeof query);   // a data pointer may not be cast to a function pointer
    tnp_error said = tni_plugin_error();
    tell_at(plugin, "query");
    const tnp_plugin *table = query(plugin->runtime->here.abi, &said);
    if (!table)
        return refuse_by_plugin(said.status == TNP_OK ? TNP_E_INTERNAL : said.status, "query",
                                &said, why);
    tn_status status = tni_plugin_check_table(plugin, table, why);
    if (status == TN_OK)
        plugin->table = table;
    return status;
}

static tn_status start_instance(tni_plugin *plugin, tn_error *why)
{
    tnp_error said = tni_plugin_error();
    tnp_instance *instance = NULL;
    tni_plugin_fill_host(plugin);
    tell_at(plugin, "start");
    tnp_status status = plugin->table->start(&plugin->host, &instance, &said);
    if (status != TNP_OK)
        return refuse_by_plugin(status, "start", &said, why);
    if (!instance)
        return tni_fail(why, TN_E_PLUGIN,
                        "start: a fault of the plugin, success without an instance");
    plugin->instance = instance;
    return TN_OK;
}

// The one place from which code of a plugin begins to run.
tn_status tni_plugin_load(tni_plugin *plugin, tn_error *why)
{
    tell_at(plugin, "load");
    void *library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return refuse_by_loader(plugin, why);
    tni_crash_watch(plugin, library);
    tn_status status = query_table(plugin, library, why);
    return status == TN_OK ? start_instance(plugin, why) : status;
}

void tni_plugin_stop(tni_plugin *plugin)
{
    if (plugin->instance)
        plugin->table->stop(plugin->instance);
    plugin->instance = NULL;
}

// ---------------------------------------------------------------------------------------- bring up

static bool is_unchanged(const tni_plugin *plugin)
{
    tni_identity now;
    mode_t mode;
    return tni_identity_of(plugin->path, &now, &mode) &&
           tni_identity_is_same(&now, &plugin->identity);
}

// Another file has taken the place of the one that was looked at: what was decided of that one is
// to be found again, in a candidate of its own, since what was shown of the old one stays as it is.
static tn_status look_again(tni_plugin *plugin, tn_error *why)
{
    tni_plugin again = { .runtime = plugin->runtime, .path = plugin->path };
    mode_t mode;
    if (!tni_identity_of(again.path, &again.identity, &mode))
        return tni_fail(why, TN_E_PLUGIN, "the file is gone: %s", strerror(errno));
    if (!S_ISREG(mode))
        return tni_fail(why, TN_E_PLUGIN, "the file was replaced by what is no regular file");
    tn_status status = tni_plugin_examine(&again, why);
    if (status == TN_OK && strcmp(again.manifest.name, plugin->manifest.name) != 0)
        status = tni_fail(why, TN_E_PLUGIN, "the file was replaced by plugin %s",
                          again.manifest.name);
    if (status == TN_OK)
        status = tni_plugin_check_pin(&again, why);
    if (status == TN_OK)
        status = tni_kept_find(&again, why);
    if (status == TN_OK && again.kept.verdict == TNI_UNSEEN)
        status = tni_probe(again.runtime, (tni_plugin *[]){ &again }, 1, why);
    if (status == TN_OK && again.kept.verdict == TNI_QUARANTINED)
        status = tni_fail(why, TN_E_PLUGIN, "the file was replaced, and the new one %s",
                          again.kept.reason);
    if (status != TN_OK)
        return status;
    plugin->identity = again.identity;
    plugin->loaded = again.manifest;
    plugin->kept = again.kept;
    return TN_OK;
}

tn_status tni_plugin_bring_up(tni_plugin *plugin, tn_error *why)
{
    enum { TRIES = 3 };
    if (plugin->instance)
        return TN_OK;
    for (int i = 0; i < TRIES; i++) {
        tn_status status = is_unchanged(plugin) ? TN_OK : look_again(plugin, why);
        const tni_setting *pin = tni_config_find(&plugin->runtime->config, plugin->manifest.name,
                                                 "sha256");
        if (pin)   // code of it is about to run: what was kept of its hash is not enough
            plugin->kept.sha256[0] = 0;
        if (status == TN_OK)
            status = tni_plugin_check_pin(plugin, why);
        if (status == TN_OK && !is_unchanged(plugin))
            continue;
        if (status == TN_OK)
            status = tni_plugin_load(plugin, why);
        if (status == TN_OK)
            status = tni_plugin_ask_devices(plugin, &plugin->answer, why);
        if (status == TN_OK && plugin->answer.is_refusal)
            status = tni_fail(why, TN_E_PLUGIN, "%s", plugin->answer.reason);
        if (status != TN_OK)
            tni_plugin_stop(plugin);
        return status;
    }
    return tni_fail(why, TN_E_PLUGIN, "the file is replaced again and again");
}
