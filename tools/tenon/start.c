// start.c: runtime, devices, model and standard input, as the subcommands ask for them.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { PATH_BYTES = 4096, READ_BYTES = 1 << 16 };

static int starts;   // of a runtime

// What the first one warned of is not said again when one more is started.
static void log_line(void *context, int32_t level, const char *text)
{
    (void)context;
    if (level == TN_LOG_WARNING && starts > 1 && cli_has_warned(text))
        return;
    if (level <= TN_LOG_WARNING)
        cli_note("%s%s", level == TN_LOG_WARNING ? "warning: " : "", text);
}

void cli_common_finish(cli_common *common)
{
    free(common->plugins.items);
    free(common->settings.items);
    *common = (cli_common){ 0 };
}

int cli_start(const cli_common *common, tn_runtime **out_runtime)
{
    tn_error err = { 0 };
    tn_runtime_options options = {
        .size = sizeof options,
        .threads = (uint32_t)common->threads,
        .plugin_paths = common->plugins.items,
        .plugin_path_count = common->plugins.count,
        .settings = common->settings.items,
        .setting_count = common->settings.count,
        .config = common->config,
        .log = log_line,
        .flags = common->flags,
    };
    tn_status status = tn_plugin_watch_crashes(&err);
    starts++;
    if (status == TN_OK)
        status = tn_runtime_create(&options, out_runtime, &err);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

// Whether a device of that name would be one of the plugin: its name, or that and a number.
static bool is_of_plugin(const char *device, const char *plugin)
{
    size_t length = strlen(plugin);
    return length > 0 && strncmp(device, plugin, length) == 0 &&
           strspn(device + length, "0123456789") == strlen(device + length);
}

// Why the plugin that would offer it does not; "" when none is known.
static void tell_plugin(const tn_runtime *runtime, const char *device, char *out, size_t bytes)
{
    *out = 0;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime) && !*out; i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        if (is_of_plugin(device, info.name) && info.device_count == 0)
            snprintf(out, bytes, "; plugin %s: %s", info.path, info.reason);
    }
}

static int fail_device(const tn_runtime *runtime, const char *option, const char *name)
{
    char known[512] = "", why[1024];
    bool has_cpu = false;
    tell_plugin(runtime, name, why, sizeof why);
    for (uint32_t i = 0; i < tn_runtime_device_count(runtime); i++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_device(runtime, i), &info);
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s%s", i ? ", " : "", info.name,
                 info.kind == TN_KIND_CPU && !has_cpu ? " (also 'cpu')" : "");
        has_cpu |= info.kind == TN_KIND_CPU;
    }
    return cli_fail(CLI_NO_DEVICE, "%s: there is no device '%s'; there are: %s%s", option, name,
                    *known ? known : "none, see tenon plugins --why", why);
}

int cli_find_device(tn_runtime *runtime, const char *option, const char *name,
                    tn_device **out_device)
{
    // People type "CPU" as well; no name has letters that are not small.
    *out_device = tn_runtime_find_device(runtime, name);
    for (uint32_t i = 0; i < tn_runtime_device_count(runtime) && !*out_device; i++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_device(runtime, i), &info);
        if (strcasecmp(name, info.name) == 0 ||
            (strcasecmp(name, "cpu") == 0 && info.kind == TN_KIND_CPU))
            *out_device = tn_runtime_device(runtime, i);
    }
    return *out_device ? CLI_OK : fail_device(runtime, option, name);
}

int cli_find_devices(tn_runtime *runtime, const char *names, tn_device ***out_devices,
                     uint32_t *out_count)
{
    *out_devices = NULL;
    *out_count = 0;
    if (!names)
        return CLI_OK;
    size_t most = 1;
    for (const char *at = names; *at; at++)
        most += *at == ',';
    tn_device **devices = calloc(most, sizeof *devices);
    char *copy = strdup(names);
    int code = devices && copy ? CLI_OK
                               : cli_fail(CLI_MEMORY, "not enough memory for a list of devices");
    uint32_t count = 0;
    for (char *rest = copy, *name; code == CLI_OK && (name = strsep(&rest, ","));) {
        code = cli_find_device(runtime, cli_typed("device"), name, &devices[count]);
        for (uint32_t i = 0; i < count && code == CLI_OK; i++)
            if (devices[i] == devices[count])
                code = cli_fail(CLI_USAGE, "%s: %s is given twice", cli_typed("device"), name);
        count++;
    }
    free(copy);
    if (code != CLI_OK) {
        free(devices);
        return code;
    }
    *out_devices = devices;
    *out_count = count;
    return CLI_OK;
}

// <prefix>/share/tenon/models/NAME.gguf, where libtenon is <prefix>/lib[/…]/libtenon.so: the build
// has the same folders.
static bool find_embedded(const char *name, char *path, size_t room)
{
    Dl_info info;
    char library[PATH_MAX];
    if (strchr(name, '/') || !dladdr((void *)(uintptr_t)tn_version, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, library))
        return false;
    bool is_found = false;
    for (int up = 0; up < 3 && !is_found; up++) {
        char *slash = strrchr(library, '/');
        if (!slash)
            break;
        *slash = 0;
        int n = snprintf(path, room, "%s/share/tenon/models/%s.gguf", library, name);
        is_found = n > 0 && (size_t)n < room && access(path, R_OK) == 0;
    }
    return is_found;
}

int cli_open_model(const char *name, uint32_t flags, tn_model **out_model)
{
    tn_error err = { 0 };
    char path[PATH_BYTES];
    if (!*name)
        return cli_fail(CLI_USAGE,
                        "MODEL is an empty word: a model is the path of a GGUF file, or 'austen'");
    int missing = access(name, F_OK) == 0 ? 0 : errno;
    if (missing && find_embedded(name, path, sizeof path)) {
        name = path;
        missing = 0;
    }
    if (missing && !strchr(name, '/') && cli_nearest(name, (const char *const[]){ "austen" }, 1))
        return cli_fail(CLI_FILE,
                        "%s: there is no such file; the embedded model is called 'austen'%s", name,
                        strcmp(name, "austen") ? "" : ", and it is not installed");
    if (missing == ENOENT)
        return cli_fail(CLI_FILE, "%s: %s; a model is the path of a GGUF file, or 'austen'", name,
                        strerror(missing));
    const tn_model_options options = { .size = sizeof options, .flags = flags };
    tn_status status = tn_model_guard_files(&err);
    if (status == TN_OK)
        status = tn_model_open(name, &options, out_model, &err);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

int cli_check_model(const tn_model *model)
{
    tn_error err = { 0 };
    return tn_model_check(model, &err) == TN_OK ? CLI_OK : cli_fail_status(&err);
}

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static void end_at_once(int number)
{
    (void)number;
    _exit(CLI_INTERRUPTED);
}

void cli_end_at_interrupt(void)
{
    sigaction(SIGINT, &(struct sigaction){ .sa_handler = end_at_once }, NULL);
}

void cli_catch_interrupt(void)
{
    sigaction(SIGINT, &(struct sigaction){ .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND },
              NULL);
}

bool cli_is_interrupted(void)
{
    return is_interrupted;
}

static int read_all(FILE *file, const char *name, size_t most, char **out_text, size_t *out_bytes)
{
    char *text = NULL;
    size_t used = 0, room = 0, n;
    do {
        if (room - used < READ_BYTES) {
            room = room ? 2 * room : 2 * (size_t)READ_BYTES;
            char *larger = realloc(text, room);
            if (!larger) {
                free(text);
                return cli_fail(CLI_MEMORY, "not enough memory for %zu bytes of %s", room, name);
            }
            text = larger;
        }
        n = fread(text + used, 1, READ_BYTES, file);
        used += n;
    } while (n == READ_BYTES && used <= most);
    if (used > most) {
        free(text);
        return cli_fail(CLI_USAGE, "%s has more than %zu MiB", name, most >> 20);
    }
    if (ferror(file)) {
        free(text);
        if (is_interrupted)
            return CLI_INTERRUPTED;
        return cli_fail(CLI_FILE, "%s cannot be read: %s", name, strerror(errno));
    }
    *out_text = text;
    *out_bytes = used;
    return CLI_OK;
}

bool cli_is_stdin(const char *word)
{
    return !word || strcmp(word, "-") == 0;
}

int cli_read_stdin(char **out_text, size_t *out_bytes)
{
    return read_all(stdin, "standard input", CLI_MOST_STREAM_BYTES, out_text, out_bytes);
}

int cli_read_file(const char *path, char **out_text, size_t *out_bytes)
{
    if (!*path)
        return cli_fail(CLI_USAGE, "FILE is an empty word");
    FILE *file = fopen(path, "rbe");
    if (!file)
        return cli_fail(errno == ENOMEM ? CLI_MEMORY : CLI_FILE, "%s: %s", path, strerror(errno));
    struct stat about;
    bool has_end = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    int code = read_all(file, path, has_end ? SIZE_MAX : CLI_MOST_STREAM_BYTES, out_text,
                        out_bytes);
    fclose(file);
    return code;
}
