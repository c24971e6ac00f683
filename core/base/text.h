// text.h: text from outside: files, plugins, the application's names.
#ifndef TNI_TEXT_H
#define TNI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Copies at most room - 1 bytes as one line that is safe to show: ends at the first NUL or after
// from_bytes, bytes that are not UTF-8 and characters without a form of their own (controls, line
// ends, direction marks) as \xNN, cut at a character's border. true: the text is shown as it was.
bool tni_text_make_safe(char *to, size_t room, const char *from, size_t from_bytes);

#endif
