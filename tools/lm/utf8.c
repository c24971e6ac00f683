// utf8.c: well-formed byte sequences, by table 3-7 of the Unicode standard.
#include "utf8.h"

tlm_utf8 tlm_utf8_next(const char *text, size_t bytes, size_t *out_bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char lead = s[0];
    *out_bytes = 1;
    if (lead < 0x80)
        return TLM_UTF8_WHOLE;
    if (lead < 0xC2 || lead > 0xF4)
        return TLM_UTF8_BROKEN;

    // The second byte's range shuts out overlong forms, surrogates and what is above U+10FFFF.
    size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < length; i++) {
        *out_bytes = i;
        if (i == bytes)
            return TLM_UTF8_CUT;
        if (s[i] < low || s[i] > high)
            return TLM_UTF8_BROKEN;
        low = 0x80;
        high = 0xBF;
    }
    *out_bytes = length;
    return TLM_UTF8_WHOLE;
}
