// message.c: lines on stderr, and exit codes.
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

// One line: what a path or a word brings along may be a line end or steer a terminal.
static void say(const char *format, va_list arguments)
{
    char line[8192];
    vsnprintf(line, sizeof line, format, arguments);
    for (char *at = line; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    fflush(stdout);
    fprintf(stderr, "tenon: %s\n", line);
}

int cli_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return code;
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
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
