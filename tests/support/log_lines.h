// log_lines.h: the lines that a runtime logs, kept for a test to look at.
#ifndef TEST_LOG_LINES_H
#define TEST_LOG_LINES_H

#include <stdint.h>

typedef struct log_lines {
    char text[8192];     // a line each; cut when it is full
    unsigned warnings;   // and errors
} log_lines;

// For tn_runtime_options.log; the context is a log_lines. Not for several threads at once.
void log_lines_keep(void *context, int32_t level, const char *text);

#endif
