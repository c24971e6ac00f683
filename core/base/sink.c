#include "base/sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

void tni_say(const tn_sink *sink, const char *format, ...)
{
    char text[TEXT_BYTES];
    if (!sink || !sink->write)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink->write(sink->context, text, strlen(text));
}
