#include "log_lines.h"

#include <stdio.h>
#include <string.h>

#include <tenon/device.h>

void log_lines_keep(void *context, int32_t level, const char *text)
{
    log_lines *lines = context;
    size_t used = strlen(lines->text);
    lines->warnings += level <= TN_LOG_WARNING;
    snprintf(lines->text + used, sizeof lines->text - used, "%s\n", text);
}
