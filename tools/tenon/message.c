// message.c: lines on stderr, and exit codes.
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { LINE_BYTES = 8192 };

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;   // devices warn from any thread
static int shown;            // letters of the line that cli_show left on the terminal
static bool is_line_begun;   // by text on stdout
static char last_failure[LINE_BYTES];
static char warnings[2 * LINE_BYTES];   // lines; what is too much is cut

// One line: what a path or a word brings along may be a line end or steer a terminal.
static void make_line(char line[LINE_BYTES], const char *format, va_list arguments)
{
    vsnprintf(line, LINE_BYTES, format, arguments);
    for (char *at = line; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
}

static void wipe(void)
{
    if (shown)
        fprintf(stderr, "\r%*s\r", shown, "");
    shown = 0;
}

static bool is_one_terminal(void)
{
    struct stat out, err;
    return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

void cli_write_text(const char *text, size_t bytes)
{
    pthread_mutex_lock(&writing);
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    is_line_begun = bytes ? text[bytes - 1] != '\n' : is_line_begun;
    pthread_mutex_unlock(&writing);
}

static void say(const char *line)
{
    pthread_mutex_lock(&writing);
    fflush(stdout);
    wipe();
    if (is_line_begun && is_one_terminal())
        fputc('\n', stderr);
    is_line_begun = false;
    fprintf(stderr, "tenon: %s\n", line);
    pthread_mutex_unlock(&writing);
}

int cli_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    make_line(last_failure, format, arguments);
    va_end(arguments);
    say(last_failure);
    return code;
}

const char *cli_last_failure(void)
{
    return last_failure;
}

static void keep_warning(const char *line)
{
    static const char word[] = "warning: ";
    if (strncmp(line, word, sizeof word - 1) != 0)
        return;
    pthread_mutex_lock(&writing);
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof warnings - used, "%s\n", line + sizeof word - 1);
    pthread_mutex_unlock(&writing);
}

void cli_note(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    make_line(line, format, arguments);
    va_end(arguments);
    keep_warning(line);
    say(line);
}

const char *cli_warnings(void)
{
    return warnings;
}

bool cli_has_warned(const char *text)
{
    size_t bytes = strlen(text);
    for (const char *at = warnings; (at = strstr(at, text)) && *text; at++)
        if ((at == warnings || at[-1] == '\n') && at[bytes] == '\n')
            return true;
    return false;
}

void cli_show(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&writing);
    wipe();
    shown = vfprintf(stderr, format, arguments);
    fflush(stderr);
    pthread_mutex_unlock(&writing);
    va_end(arguments);
}

static int exit_code(tn_status status)
{
    switch (status) {
    case TN_OK:
        return CLI_OK;
    case TN_E_ARG:
        return CLI_USAGE;
    case TN_E_UNSUPPORTED:
    case TN_E_NOT_FOUND:
        return CLI_NO_DEVICE;
    case TN_E_PLUGIN:
        return CLI_PLUGIN;
    case TN_E_HOST_MEMORY:
    case TN_E_DEVICE_MEMORY:
        return CLI_MEMORY;
    case TN_E_FILE:
    case TN_E_IO:
    case TN_E_DATA:   // what the user wrote was checked before: the values are the file's
        return CLI_FILE;
    default:
        return CLI_FAILED;
    }
}

int cli_fail_status(const tn_error *err)
{
    return cli_fail(exit_code(err->status), "%s", err->text);
}

int cli_fail_model(const char *model, const tn_error *err)
{
    return err->status == TN_E_FILE ? cli_fail(CLI_FILE, "%s: %s", model, err->text)
                                    : cli_fail_status(err);
}

const char *cli_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

int cli_end_output(void)
{
    static bool is_told;   // one line, however often it is asked
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    if (!is_told)
        cli_note("standard output cannot be written: %s", strerror(errno));
    is_told = true;
    return CLI_FILE;
}
