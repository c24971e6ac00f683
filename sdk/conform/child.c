// child.c: cases run, in a child process; how one ends.
//
// A line for each change goes through the pipe: "B index", then "P index ms", "S index why" or
// "F index expected \x1f got". A process that is gone behind a B has failed that case.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform_internal.h"

kit_child kit;
static char skip_reason[512];
static atomic_flag has_ended = ATOMIC_FLAG_INIT;

uint64_t kit_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void kit_sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

_Noreturn void kit_end(int code)
{
    _exit(code);
}

_Noreturn void kit_leave(void)
{
    exit(KIT_LEFT);
}
void kit_leave_from(void *argument)
{
    (void)argument;
    kit_leave();
}

// One line, whatever a plugin's text has in it.
static void tell(const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (bytes < 0)
        return;
    if ((size_t)bytes > sizeof line - 2)
        bytes = (int)sizeof line - 2;
    for (int i = 0; i < bytes; i++)
        if ((unsigned char)line[i] < ' ' && line[i] != '\x1f')
            line[i] = ' ';
    line[bytes] = '\n';
    while (write(kit.pipe, line, (size_t)bytes + 1) < 0 && errno == EINTR)
        ;
}

_Noreturn void kit_fail(const char *expected, const char *got, ...)
{
    char text[1024];
    va_list arguments;
    if (atomic_flag_test_and_set(&has_ended))   // another thread is faster
        for (;;)
            kit_sleep_ms(1000);
    va_start(arguments, got);
    vsnprintf(text, sizeof text, got, arguments);
    va_end(arguments);
    tell("F %u %.900s\x1f%s", kit.index, expected, text);
    kit_end(0);
}

_Noreturn void kit_skip(const char *why, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    tell("S %u %s", kit.index, text);
    kit_end(0);
}

void kit_will_skip(const char *why, ...)
{
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(skip_reason, sizeof skip_reason, why, arguments);
    va_end(arguments);
}

// A plugin that prints does not spoil what the command prints; a crash leaves no core behind.
static void prepare(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

void kit_run_cases(const kit_options *options, const kit_case *cases, uint32_t count,
                   uint32_t device, int pipe)
{
    prepare();
    kit = (kit_child){ .options = options, .pipe = pipe, .device = device };
    for (uint32_t i = 0; i < count; i++) {
        kit.now = &cases[i];
        kit.index = i;
        skip_reason[0] = 0;
        kit_seed(kit_hash(cases[i].name));
        tell("B %u", i);
        uint64_t begin = kit_now_ns();
        cases[i].run(&cases[i]);
        if (skip_reason[0])
            tell("S %u %s", i, skip_reason);
        else
            tell("P %u %.3f", i, (double)(kit_now_ns() - begin) / 1e6);
    }
    kit_end(0);
}

// The child of a child ends without a word when it is killed, so only its end counts; what it finds
// out by kit_fail goes through the same pipe and counts for the case.
int kit_in_process(void (*body)(void *argument), void *argument, int timeout_ms)
{
    int status = 0;
    uint64_t end = kit_now_ns() + (uint64_t)timeout_ms * 1000000u;
    pid_t child = fork();
    if (child < 0)
        kit_fail("a process of its own", "fork: %s", strerror(errno));
    if (child == 0) {
        body(argument);
        kit_end(0);
    }
    for (;;) {
        pid_t over = waitpid(child, &status, WNOHANG);
        if (over == child)
            return status;
        if (kit_now_ns() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            kit_fail(kit_text("the process ends within %d ms", timeout_ms), "it hangs");
        }
        kit_sleep_ms(1);
    }
}

void *kit_query(void)
{
    return dlsym(kit.file, "tenon_plugin_query");
}

const tnp_plugin *kit_table(void)
{
    if (kit.table)
        return kit.table;
    tnp_error err = { .size = sizeof err };
    const char *path = kit.options->plugin;   // without a slash it would be looked for elsewhere
    kit.file = dlopen(strchr(path, '/') ? path : kit_text("./%s", path), RTLD_NOW | RTLD_LOCAL);
    if (!kit.file)
        kit_fail("the file can be loaded", "%s", dlerror());
    void *symbol = kit_query();
    tnp_query query;
    memcpy(&query, &symbol, sizeof query);
    if (!query)
        kit_fail("a symbol tenon_plugin_query", "there is none");
    kit.table = query(TNP_ABI_CURRENT, &err);
    if (!kit.table)
        kit_fail("the query answers a table", "NULL: %.500s", err.text);
    if (!TNP_HAS(tnp_plugin, kit.table, extension))
        kit_fail("a table of at least the first release", "its size is %u", kit.table->size);
    return kit.table;
}

void *kit_new(size_t bytes)
{
    void *made = calloc(1, bytes);
    if (!made)
        kit_fail("memory for the case", "%zu bytes are not there", bytes);
    return made;
}

// ------------------------------------------------------------------------------------------- words

const char *kit_text(const char *format, ...)
{
    static _Thread_local char lines[8][512];
    static _Thread_local unsigned next;
    char *line = lines[next++ % 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof lines[0], format, arguments);
    va_end(arguments);
    return line;
}

const char *kit_status_name(tnp_status status)
{
    static const char *const names[] = {
        "TNP_OK",
        "TNP_E_ARG",
        "TNP_E_UNSUPPORTED",
        "TNP_E_HOST_MEMORY",
        "TNP_E_DEVICE_MEMORY",
        "TNP_E_DEVICE_LOST",
        "TNP_E_TIMEOUT",
        "TNP_E_IO",
        "TNP_E_VERSION",
        "TNP_E_INTERNAL",
        "TNP_E_BUSY",
        "TNP_E_DATA",
        "TNP_E_CANCELLED",
    };
    if (status >= 0 && (size_t)status < sizeof names / sizeof *names)
        return names[status];
    return kit_text("the unknown status %d", status);
}

// How many bytes the character at `at` has; 0 when it is none, overlong, or a surrogate.
static size_t character(const unsigned char *at)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    uint32_t code = bytes == 1 ? *at : bytes ? *at & (0xffu >> (bytes + 1)) : 0;
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 63);
    }
    return code < least[bytes] || code > 0x10ffff || code >> 11 == 27 ? 0 : bytes;
}

void kit_check_text(const char *text, size_t room, const char *what)
{
    if (!text)
        kit_fail(kit_text("%s is a string", what), "it is NULL");
    if (!memchr(text, 0, room))
        kit_fail(kit_text("%s ends within its %zu bytes", what, room), "it does not");
    for (size_t i = 0; text[i];) {
        size_t bytes = character((const unsigned char *)text + i);
        if (bytes == 0 || (unsigned char)text[i] < ' ')
            kit_fail(kit_text("%s is one line of UTF-8", what), "byte %zu is 0x%02x", i,
                     (unsigned char)text[i]);
        i += bytes;
    }
}

void kit_want(tnp_status status, tnp_status want, const tnp_error *err, const char *call)
{
    if (status < TNP_OK || status > TNP_E_CANCELLED)
        kit_fail(kit_text("%s answers a status of plugin.h", call), "%d", status);
    bool is_silent = status == TNP_E_TIMEOUT || status == TNP_E_BUSY;
    if (status != TNP_OK)
        kit_check_text(err->text, sizeof err->text, kit_text("err->text of %s", call));
    if (status != want)
        kit_fail(kit_text("%s answers %s", call, kit_status_name(want)), "%s%s%.400s",
                 kit_status_name(status), status != TNP_OK ? ": " : "",
                 status != TNP_OK ? err->text : "");
    if (status != TNP_OK && !is_silent && !err->text[0])
        kit_fail(kit_text("%s says why it answers %s", call, kit_status_name(status)),
                 "an empty err->text");
}

// ----------------------------------------------------------------------------------------- numbers

static uint64_t random_state = 1;

void kit_seed(uint64_t seed)
{
    random_state = seed ? seed : 1;
}

double kit_random(double low, double high)
{
    random_state ^= random_state << 13;   // Marsaglia 2003, xorshift
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return low + (high - low) * ((double)(random_state >> 11) * 0x1p-53);
}

uint64_t kit_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;   // FNV-1a
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
