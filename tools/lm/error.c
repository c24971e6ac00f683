// error.c: filling a tn_error.
#include "error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_TEXT = 2048 };

tn_status tlm_fail(tn_error *err, tn_status status, const char *format, ...)
{
    char text[LONGEST_TEXT];
    if (!err)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tn_error_set(err, status, text);
}

tn_status tlm_need(tn_error *err, const char *call, ...)
{
    va_list arguments;
    const char *name;
    bool is_there = true;
    va_start(arguments, call);
    while (is_there && (name = va_arg(arguments, const char *)))
        is_there = va_arg(arguments, const void *) != NULL;
    va_end(arguments);
    return is_there ? TN_OK : tlm_fail(err, TN_E_ARG, "%s: %s is NULL", call, name);
}

tn_status tlm_fail_memory(tn_error *err, const char *what)
{
    return tlm_fail(err, TN_E_HOST_MEMORY, "not enough memory for %s", what);
}

tn_status tlm_succeed(tn_error *err)
{
    if (err) {
        err->status = TN_OK;
        err->text[0] = '\0';
    }
    return TN_OK;
}
