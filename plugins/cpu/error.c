// error.c: statuses with a sentence.
#include <stdio.h>

#include "cpu.h"

// `text` was cut after `length` bytes: takes off a character that has lost its end.
static void cut_at_character(char *text, size_t length)
{
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0u) == 0x80u)
        start--;
    if (start == 0)
        return;
    start--;
    unsigned char lead = (unsigned char)text[start];
    size_t needed = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (start + needed > length)
        text[start] = '\0';
}

tnp_status cpu_error(tnp_error *err, tnp_status status, const char *format, ...)
{
    tnp_error own = { .size = sizeof own, .status = status };
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(own.text, sizeof own.text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof own.text)
        cut_at_character(own.text, sizeof own.text - 1);
    TNP_GIVE(err, &own);
    return status;
}

void cpu_text_copy(char to[CPU_TEXT_BYTES], const char *from)
{
    size_t length = strlen(from);
    if (length < CPU_TEXT_BYTES) {
        memcpy(to, from, length + 1);
        return;
    }
    memcpy(to, from, CPU_TEXT_BYTES - 1);
    to[CPU_TEXT_BYTES - 1] = '\0';
    cut_at_character(to, CPU_TEXT_BYTES - 1);
}

tnp_status cpu_error_lost(tnp_error *err)
{
    return cpu_error(err, TNP_E_DEVICE_LOST, "the device was abandoned; open it again to go on");
}
