#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

enum { LOG_WARNING = 1, LINE_BYTES = 1024 };

static const char *const level_names[] = { "error", "warning", "info", "debug" };

void tni_log_line(const tni_log *log, int32_t level, const char *format, ...)
{
    if (level < 0 || level > 3)
        level = 0;
    if (!log->write && level > LOG_WARNING)
        return;
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char safe[LINE_BYTES];
    tni_text_make_safe(safe, sizeof safe, text, sizeof text);
    if (log->write)
        log->write(log->context, level, safe);
    else
        fprintf(stderr, "tenon: %s: %s\n", level_names[level], safe);
}
