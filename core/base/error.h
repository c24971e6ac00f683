// error.h: filling a tn_error.
#ifndef TNI_ERROR_H
#define TNI_ERROR_H

#include <stdarg.h>
#include <tenon/status.h>

// Writes the sentence and answers `status`, so that a failing path is one line. err may be NULL. A
// text that is too long loses its middle, at the borders of characters. [any]
tn_status tni_fail(tn_error *err, tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tn_status tni_fail_v(tn_error *err, tn_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

// TN_E_ARG and "<call>: <argument> is NULL" for the first pointer that is NULL, else TN_OK. After
// call, names of arguments and pointers in turns; NULL ends them. call: that of the public call.
tn_status tni_need(tn_error *err, const char *call, ...) __attribute__((sentinel));

// "not enough memory for <what> (<bytes> bytes)": TN_E_HOST_MEMORY.
tn_status tni_fail_memory(tn_error *err, const char *what, uint64_t bytes);

// Copies at most room - 1 bytes of text, ends them in NUL, never within a UTF-8 character.
void tni_copy_text(char *to, size_t room, const char *text);

// snprintf, cut at a character's border.
void tni_format_text(char *to, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tni_format_text_v(char *to, size_t room, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
