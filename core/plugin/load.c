// load.c: one candidate on its way from a file to a running instance.
//
//   examine   manifest read from the file, held against this machine       no code of it runs
//   load      pin · still the same file · dlopen · query · table · start   its code runs
//
// A loaded file stays loaded: its threads may be in it, and its texts may be shown.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sha2.h>
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

void tni_plugin_add_reason(tni_plugin *plugin, const char *format, ...)
{
    tn_error more;
    va_list arguments;
    va_start(arguments, format);
    (void)tni_fail_v(&more, TN_E_PLUGIN, format, arguments);
    va_end(arguments);
    char before[sizeof plugin->why.text];
    tni_copy_text(before, sizeof before, plugin->why.text);
    (void)tni_fail(&plugin->why, TN_E_PLUGIN, "%s%s%s", before, before[0] ? "; " : "", more.text);
}

static bool refuse(tni_plugin *plugin, const char *reason)
{
    tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "%s", reason);
    return false;
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

bool tni_plugin_examine(tni_plugin *plugin)
{
    int file = open_file(plugin->path);
    if (file < 0)
        return refuse(plugin, strerror(errno));
    tni_reader reader = { .context = &file,
                          .bytes = (uint64_t)plugin->identity.bytes,
                          .read = read_file };
    tn_error why;
    tn_status status = tni_manifest_read(&reader, &plugin->manifest, &why);
    close(file);
    plugin->has_manifest = status == TN_OK;
    if (status == TN_OK)
        status = tni_manifest_fits(&plugin->manifest, &plugin->runtime->here, &why);
    return status == TN_OK || refuse(plugin, why.text);
}

// -------------------------------------------------------------------------------------------- load

// The SHA-256 of the whole file, as 64 digits.
static bool hash_file(const char *path, char digits[SHA256_DIGEST_STRING_LENGTH])
{
    unsigned char piece[16384];
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

static bool check_pin(tni_plugin *plugin)
{
    char found[SHA256_DIGEST_STRING_LENGTH];
    const tni_setting *pin = tni_config_find(&plugin->runtime->config, plugin->manifest.name,
                                             "sha256");
    if (!pin)
        return true;
    if (!hash_file(plugin->path, found))
        return refuse(plugin, "its SHA-256 cannot be computed: the file cannot be read");
    if (strcasecmp(found, pin->value) == 0)
        return true;
    plugin->is_warned_of = true;   // whoever pins it wants it
    tni_plugin_set_state(plugin, TN_PLUGIN_REJECTED, "its SHA-256 is %s, %s pins %s", found,
                         pin->source, pin->value);
    return false;
}

static bool check_unchanged(tni_plugin *plugin)
{
    tni_identity now;
    mode_t mode;
    if (!tni_identity_of(plugin->path, &now, &mode) ||
        !tni_identity_is_same(&now, &plugin->identity))
        return refuse(plugin, "the file was changed while it was looked at");
    return true;
}

static bool refuse_by_loader(tni_plugin *plugin)
{
    char words[sizeof plugin->why.text];
    const char *said = dlerror();
    tni_text_make_safe(words, sizeof words, said ? said : "the loader gives no reason",
                       sizeof words - 1);
    return refuse(plugin, words);
}

static bool refuse_by_plugin(tni_plugin *plugin, tnp_status status, const char *call,
                             const tnp_error *said)
{
    tn_error why;
    (void)tni_fail_plugin(&why, status, call, said);
    return refuse(plugin, why.text);
}

static bool query_table(tni_plugin *plugin, void *library)
{
    tnp_query query;
    void *symbol = dlsym(library, "tenon_plugin_query");
    if (!symbol)
        return refuse_by_loader(plugin);
    memcpy(&query, &symbol, sizeof query);   // a data pointer may not be cast to a function pointer
    tnp_error said = tni_plugin_error();
    const tnp_plugin *table = query(plugin->runtime->here.abi, &said);
    if (!table)
        return refuse_by_plugin(plugin, said.status == TNP_OK ? TNP_E_INTERNAL : said.status,
                                "query", &said);
    if (!tni_plugin_check_table(plugin, table))
        return false;
    plugin->table = table;
    return true;
}

static bool start_instance(tni_plugin *plugin)
{
    tnp_error said = tni_plugin_error();
    tnp_instance *instance = NULL;
    tni_plugin_fill_host(plugin);
    tnp_status status = plugin->table->start(&plugin->host, &instance, &said);
    if (status != TNP_OK)
        return refuse_by_plugin(plugin, status, "start", &said);
    if (!instance)
        return refuse(plugin, "start: a fault of the plugin, success without an instance");
    plugin->instance = instance;
    return true;
}

// A file that was never seen before belongs in a child process first, between the check of the file
// and dlopen: this is the one place from which code of a plugin begins to run.
bool tni_plugin_load(tni_plugin *plugin)
{
    if (!check_pin(plugin) || !check_unchanged(plugin))
        return false;
    void *library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return refuse_by_loader(plugin);
    return query_table(plugin, library) && start_instance(plugin);
}

void tni_plugin_stop(tni_plugin *plugin)
{
    if (plugin->instance)
        plugin->table->stop(plugin->instance);
    plugin->instance = NULL;
}
