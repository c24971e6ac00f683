// utf8.h: where characters begin and end in bytes that may not be UTF-8.
#ifndef TLM_UTF8_H
#define TLM_UTF8_H

#include <stddef.h>
#include <stdint.h>

typedef enum tlm_utf8 {
    TLM_UTF8_WHOLE,    // a well-formed character
    TLM_UTF8_BROKEN,   // bytes that are no character, whatever follows
    TLM_UTF8_CUT,      // the text ends within what may be one
} tlm_utf8;

// What stands at text[0]; bytes > 0. *out_bytes: of the character; or of the longest start of one
// that is broken off, at least 1, which is what one U+FFFD stands for (Unicode 15.0, section 3.9,
// "maximal subparts"); or all bytes.
tlm_utf8 tlm_utf8_next(const char *text, size_t bytes, size_t *out_bytes);

#endif
