#include "plugin/cursor.h"

#include <sha2.h>
#include <string.h>

#include "base/text.h"

enum { MOST_LINE_BYTES = 1024 };

bool tni_take_text(tni_cursor *c, const char *text)
{
    size_t bytes = strlen(text);
    if ((size_t)(c->end - c->at) < bytes || memcmp(c->at, text, bytes) != 0)
        return false;
    c->at += bytes;
    return true;
}

bool tni_take_number(tni_cursor *c, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    const char *first = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        uint64_t digit = (uint64_t)(*c->at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *out = number;
    return c->at > first && number <= most;
}

bool tni_take_digits(tni_cursor *c, char digits[TNI_DIGITS_BYTES])
{
    enum { COUNT = TNI_DIGITS_BYTES - 1 };
    if (c->end - c->at < COUNT)
        return false;
    for (int i = 0; i < COUNT; i++)
        if (!c->at[i] || !strchr("0123456789abcdef", c->at[i]))
            return false;
    memcpy(digits, c->at, COUNT);
    digits[COUNT] = 0;
    c->at += COUNT;
    return true;
}

bool tni_take_line(tni_cursor *c, char *to, size_t room)
{
    char safe[MOST_LINE_BYTES];
    size_t left = (size_t)(c->end - c->at);
    const char *end = left ? memchr(c->at, '\n', left) : NULL;
    size_t bytes = end ? (size_t)(end - c->at) : 0;
    if (!end || bytes >= room || bytes >= sizeof safe || memchr(c->at, 0, bytes))
        return false;
    memcpy(to, c->at, bytes);
    to[bytes] = 0;
    c->at = end + 1;
    return tni_text_make_safe(safe, sizeof safe, to, bytes + 1);
}

bool tni_take_hash(tni_cursor *c, const char *begin)
{
    char hash[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data((const uint8_t *)begin, (size_t)(c->at - begin), hash);
    return tni_take_text(c, "sha256 ") && tni_take_text(c, hash) && tni_take_text(c, "\n") &&
           c->at == c->end;
}
