// places.h: how many places there are, and what each may hold.
#ifndef TNI_SCHED_PLACES_H
#define TNI_SCHED_PLACES_H

#include <stdint.h>

enum { TNI_MAX_PLACES = 64 };   // places are bits of a uint64_t

#define TNI_NO_LIMIT UINT64_MAX   // of bytes on a place

#endif
