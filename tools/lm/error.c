// error.c: filling a tn_error.
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tn_status tlm_fail(tn_error *err, tn_status status, const char *format, ...)
{
    if (!err)
        return status;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    err->status = status;
    if (length < 0)
        err->text[0] = '\0';
    if (length < (int)sizeof err->text)
        return status;

    // Cut: the last character goes when its lead byte stands but not all that follow.
    size_t end = sizeof err->text - 1, lead = end;
    while (lead > 0 && end - lead < 4 && ((unsigned char)err->text[lead - 1] & 0xC0) == 0x80)
        lead--;
    unsigned char first = lead > 0 ? (unsigned char)err->text[lead - 1] : 0;
    size_t wanted = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (lead > 0 && end - (lead - 1) < wanted)
        err->text[lead - 1] = '\0';
    return status;
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
