// text.c: text from outside, which may hold anything, made fit for a line on a terminal.
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

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
