// cursor.h: reading a text of fixed lines, as the files of the cache are: what is expected is
// taken, or the text is damaged. Nothing beyond its end is looked at.
#ifndef TNI_CURSOR_H
#define TNI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TNI_DIGITS_BYTES = 65 };   // a SHA-256 as 64 hexadecimal digits, and NUL

typedef struct tni_cursor {
    const char *at, *end;
} tni_cursor;

// Each answers false where something else stands there; what was taken before it stays taken.
bool tni_take_text(tni_cursor *c, const char *text);
bool tni_take_number(tni_cursor *c, uint64_t most, uint64_t *out);   // whole, without a sign
bool tni_take_digits(tni_cursor *c, char digits[TNI_DIGITS_BYTES]);
// The rest of the line, which is safe to show and shorter than room; and its end.
bool tni_take_line(tni_cursor *c, char *to, size_t room);
// "sha256 <digits>", a line end, and the end of the text: of all from `begin` to here.
bool tni_take_hash(tni_cursor *c, const char *begin);

#endif
