// error.c: filling a tn_error, names of statuses, the library's version.
#include "base/error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/text.h"

enum { LONGEST_TEXT = 6144 };   // a path of PATH_MAX and a sentence around it

void tni_copy_text(char *to, size_t room, const char *text)
{
    if (!room)
        return;
    size_t n = strnlen(text, room);
    if (n == room) {   // does not fit: back to the last byte that begins a character
        n = room - 1;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    memmove(to, text, n);
    to[n] = 0;
}

// A sentence that is too long, by a long path say, loses its middle: what begins and what ends it
// tells the most.
static void shorten(char *to, size_t room, const char *text)
{
    static const char gap[] = "\u2026";
    size_t bytes = strlen(text), head = room / 3;
    if (bytes < room) {
        memcpy(to, text, bytes + 1);
        return;
    }
    tni_copy_text(to, head, text);
    head = strlen(to);
    const char *tail = text + bytes - (room - head - sizeof gap);
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    memcpy(to + head, gap, sizeof gap - 1);
    strcpy(to + head + sizeof gap - 1, tail);
}

void tni_format_text_v(char *to, size_t room, const char *format, va_list arguments)
{
    int bytes = room ? vsnprintf(to, room, format, arguments) : 0;
    if (bytes < 0 || (size_t)bytes < room)
        return;
    size_t n = room - 1;   // cut: back to the byte that begins the last character, which goes when
                           // it is not whole
    while (n && ((unsigned char)to[n - 1] & 0xc0) == 0x80)
        n--;
    if (n == 0)
        return;
    unsigned char lead = (unsigned char)to[n - 1];
    size_t whole = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (room - 1 - (n - 1) < whole)
        to[n - 1] = 0;
}

void tni_format_text(char *to, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tni_format_text_v(to, room, format, arguments);
    va_end(arguments);
}

tn_status tni_fail_v(tn_error *err, tn_status status, const char *format, va_list arguments)
{
    char text[LONGEST_TEXT];
    if (!err)
        return status;
    tni_format_text_v(text, sizeof text, format, arguments);
    return tn_error_set(err, status, text);
}

tn_status tn_error_set(tn_error *err, tn_status status, const char *text)
{
    char safe[LONGEST_TEXT];
    if (!err || !text)
        return status;
    tni_text_make_safe(safe, sizeof safe, text, strlen(text) + 1);
    err->status = status;
    shorten(err->text, sizeof err->text, safe);
    return status;
}

tn_status tni_fail(tn_error *err, tn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tni_fail_v(err, status, format, arguments);
    va_end(arguments);
    return status;
}

tn_status tni_need(tn_error *err, const char *call, ...)
{
    va_list arguments;
    const char *name;
    bool is_there = true;
    va_start(arguments, call);
    while (is_there && (name = va_arg(arguments, const char *)))
        is_there = va_arg(arguments, const void *) != NULL;
    va_end(arguments);
    return is_there ? TN_OK : tni_fail(err, TN_E_ARG, "%s: %s is NULL", call, name);
}

tn_status tni_fail_memory(tn_error *err, const char *what, uint64_t bytes)
{
    return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory for %s (%" PRIu64 " bytes)", what,
                    bytes);
}

static const struct {
    tn_status status;
    const char *name;
} names[] = {
#define NAME(status)                                                                               \
    {                                                                                              \
        status, #status                                                                            \
    }
    NAME(TN_OK),
    NAME(TN_E_ARG),
    NAME(TN_E_UNSUPPORTED),
    NAME(TN_E_HOST_MEMORY),
    NAME(TN_E_DEVICE_MEMORY),
    NAME(TN_E_DEVICE_LOST),
    NAME(TN_E_TIMEOUT),
    NAME(TN_E_IO),
    NAME(TN_E_VERSION),
    NAME(TN_E_INTERNAL),
    NAME(TN_E_BUSY),
    NAME(TN_E_DATA),
    NAME(TN_E_CANCELLED),
    NAME(TN_E_SHAPE),
    NAME(TN_E_DTYPE),
    NAME(TN_E_FILE),
    NAME(TN_E_NOT_FOUND),
    NAME(TN_E_PLUGIN),
    NAME(TN_E_GRAPH),
#undef NAME
};

const char *tn_status_name(tn_status status)
{
    for (size_t i = 0; i < TN_COUNT_OF(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return "TN_E_INTERNAL";
}

#define TEXT_OF(x)            #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *tn_version(void)
{
    return VERSION_TEXT(TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
}
