// tenon_probe.c: the helper program that probe.c starts, once for each plugin's file not seen
// before: loads it, asks for its devices, and tells the answer on file 3. Then it ends, as an
// application does, with an exit code of its own: destructors of the plugin run, and functions that
// it gave to atexit. What the plugin does meanwhile happens to this process alone.
//
//   tenon-probe FILE THREADS PARENT RELEASE
//   settings on standard input: key and value in turns, each with its NUL
#include <fcntl.h>
#include <errno.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/plugin_internal.h"

enum { ANSWER_FILE = 3, MOST_SETTINGS_BYTES = 1 << 22, MOST_HEAD_BYTES = 1024 };

// Asked by a leak checker. Its report would change the exit code, and leaks are the kit's matter.
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

// All that was told, which the last line hashes.
static char *told;
static size_t told_bytes;

static void tell(const char *text, size_t bytes)
{
    memmove(told + told_bytes, text, bytes);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(ANSWER_FILE, text + done, bytes - done);
        if (n < 0 && errno != EINTR)
            _exit(1);   // nobody listens
        done += n > 0 ? (size_t)n : 0;
    }
    told_bytes += bytes;
}

static void tell_call(const char *call)
{
    char line[64];
    tell(line, (size_t)snprintf(line, sizeof line, "at %s\n", call));
}

static void drop_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static int fail(const char *words)
{
    fprintf(stderr, "tenon-probe: %s\n", words);
    return 1;
}

// It goes with who started it, leaves no core file, and has no other file of theirs.
static bool settle(const char *parent)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    syscall(SYS_close_range, ANSWER_FILE + 1, ~0u, 0);
    return fcntl(ANSWER_FILE, F_SETFD, FD_CLOEXEC) == 0 && getppid() == (pid_t)atol(parent);
}

static tn_status read_settings(tni_config *config, const char *plugin,
                               const tn_allocator *allocator, tn_error *err)
{
    char *text = tni_alloc(allocator, MOST_SETTINGS_BYTES);
    size_t used = 0;
    ssize_t n = 0;
    if (!text)
        return tni_fail_memory(err, "the settings", MOST_SETTINGS_BYTES);
    while ((n = read(0, text + used, MOST_SETTINGS_BYTES - used)) > 0 || (n < 0 && errno == EINTR))
        used += n > 0 ? (size_t)n : 0;
    tn_status status = TN_OK;
    for (size_t at = 0; at < used && status == TN_OK;) {
        const char *key = text + at, *value = memchr(key, 0, used - at);
        const char *end = value ? memchr(value + 1, 0, used - (size_t)(value + 1 - text)) : NULL;
        if (!end)
            status = tni_fail(err, TN_E_ARG, "settings on standard input are expected");
        else
            status = tni_config_add(config, plugin, key, value + 1, err);
        at = end ? (size_t)(end + 1 - text) : used;
    }
    tni_free(allocator, text);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, 0);
        close(nothing);
    }
    return status;
}

static tn_status begin(tn_runtime *runtime, tni_plugin *plugin, uint32_t threads, tn_error *err)
{
    mode_t mode;
    runtime->log.write = drop_line;
    runtime->at = tell_call;
    tni_arena_init(&runtime->arena, &runtime->allocator);
    tni_config_init(&runtime->config, &runtime->arena, &runtime->log);
    tni_here_detect(&runtime->here);
    if (pthread_mutex_init(&runtime->asking, NULL) != 0)
        return tni_fail_memory(err, "a mutex", sizeof runtime->asking);
    if (!tni_identity_of(plugin->path, &plugin->identity, &mode))
        return tni_fail(err, TN_E_FILE, "%s: %s", plugin->path, strerror(errno));
    runtime->threads = threads;   // as in the process that asks; none of the calls runs a team
    tn_status status = tni_pool_create(&runtime->allocator, 1, &runtime->pool, err);
    if (status == TN_OK)
        status = tni_plugin_examine(plugin, err);
    if (status == TN_OK)
        status = read_settings(&runtime->config, plugin->manifest.name, &runtime->allocator, err);
    return status;
}

// The exit code.
static int ask(tni_plugin *plugin)
{
    tni_answer answer = { 0 };
    tn_error why;
    tn_status status = tni_plugin_load(plugin, &why);
    if (status == TN_E_HOST_MEMORY)   // no word against the plugin
        return fail(why.text);
    if (status == TN_OK)
        status = tni_plugin_ask_devices(plugin, &answer, &why);
    if (status != TN_OK) {
        answer = (tni_answer){ .is_refusal = true };
        tni_copy_text(answer.reason, sizeof answer.reason, why.text);
    }
    tell_call("stop");
    tni_plugin_stop(plugin);
    tell_call("end");
    char *text = told + told_bytes;
    size_t head = (size_t)snprintf(text, MOST_HEAD_BYTES, "whole\n");
    size_t bytes = head + tni_answer_write(&answer, text + head);
    char hash[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data((const uint8_t *)told, told_bytes + bytes, hash);
    bytes += (size_t)snprintf(text + bytes, MOST_HEAD_BYTES, "sha256 %s\n", hash);
    tell(text, bytes);
    return TNI_PROBE_ENDED;
}

int main(int argc, char **argv)
{
    static tn_runtime runtime;
    tni_plugin plugin = { .runtime = &runtime };
    char line[TNI_DIGITS_BYTES + 8], hash[TNI_DIGITS_BYTES];
    tn_error err;
    if (argc != 5 || !settle(argv[3]))
        return fail("libtenon starts this program to try a plugin: see configuration.md");
    if (strcmp(argv[4], tn_version()) != 0)   // half of an installation was replaced
        return fail("it is of another release than libtenon");
    plugin.path = argv[1];
    runtime.allocator = tni_allocator(NULL);
    told = tni_alloc(&runtime.allocator, TNI_ANSWER_BYTES + (size_t)16 * MOST_HEAD_BYTES);
    if (!told || !tni_plugin_hash(plugin.path, hash))
        return fail(told ? "the file cannot be read" : "not enough memory");
    if (begin(&runtime, &plugin, (uint32_t)atol(argv[2]), &err) != TN_OK)
        return fail(err.text);
    tell(line, (size_t)snprintf(line, sizeof line, "hash %s\n", hash));
    return ask(&plugin);
}
