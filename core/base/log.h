// log.h: lines for people, by a callback of the application or to standard error.
#ifndef TNI_LOG_H
#define TNI_LOG_H

#include <stdint.h>

typedef struct tni_log {
    void (*write)(void *context, int32_t level,
                  const char *text);   // NULL = standard error, warnings and errors only
    void *context;
} tni_log;

// level: TN_LOG_ERROR … TN_LOG_DEBUG of device.h, 0 to 3. [any]
void tni_log_line(const tni_log *log, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
