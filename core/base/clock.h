// clock.h: time that only goes forward.
#ifndef TNI_CLOCK_H
#define TNI_CLOCK_H

#include <stdint.h>

uint64_t tni_now_ns(void);   // from some point in the past

#endif
