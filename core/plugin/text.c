// text.c: text from plugins, which may hold anything, made fit for a line on a terminal.
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/error.h"
#include "plugin/plugin_internal.h"

static bool is_shown(utf8proc_int32_t character)
{
    switch (utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_CC:   // controls
    case UTF8PROC_CATEGORY_CF:   // changes of direction, invisible marks
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:   // ends of line and paragraph
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

bool tni_text_make_safe(char *to, size_t room, const char *from, size_t from_bytes)
{
    size_t n = strnlen(from, from_bytes), out = 0;
    bool is_same = n < from_bytes;   // an end was found
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t character;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)from + i,
                                                 (utf8proc_ssize_t)(n - i), &character);
        char piece[5];
        const char *add = from + i;
        size_t add_bytes = used > 0 ? (size_t)used : 1, step = add_bytes;
        if (used <= 0 ||
            !is_shown(character)) {   // the first byte alone; what follows it is looked at again
            snprintf(piece, sizeof piece, "\\x%02x", (unsigned char)from[i]);
            add = piece;
            add_bytes = 4;
            step = 1;
            is_same = false;
        }
        if (add_bytes >= room - out) {
            is_same = false;
            break;
        }
        memcpy(to + out, add, add_bytes);
        out += add_bytes;
        i += step;
    }
    to[out] = 0;
    return is_same;
}

bool tni_text_is_name(const char *text)
{
    return text[0] && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

tn_status tni_fail_plugin(tn_error *err, tnp_status status, const char *who,
                          const tnp_error *plugin_error)
{
    char text[sizeof err->text];
    tni_text_make_safe(text, sizeof text, plugin_error->text, sizeof plugin_error->text);
    const char *says = text[0] ? text : "no reason given";
    if (status == TNP_OK)
        return tni_fail(err, TN_E_INTERNAL,
                        "%s: a fault of the plugin, success where it failed: %s", who, says);
    if (status < TNP_OK || status > TNP_E_CANCELLED)
        return tni_fail(err, TN_E_INTERNAL, "%s: a fault of the plugin, unknown status %d: %s", who,
                        (int)status, says);
    if (!text[0])
        return tni_fail(err, status, "%s: %s, no reason given", who, tn_status_name(status));
    return tni_fail(err, status, "%s: %s", who, text);
}
