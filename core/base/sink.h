// sink.h: formatted text into a tn_sink.
#ifndef TNI_SINK_H
#define TNI_SINK_H

#include <tenon/status.h>

// Text of up to 1,023 bytes; what is longer is cut. sink NULL is fine.
void tni_say(const tn_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
