// radix.h: sorting by a number, digit by digit.
#ifndef TNI_PLAN_RADIX_H
#define TNI_PLAN_RADIX_H

#include <stddef.h>
#include <stdint.h>

typedef struct tni_keyed {
    uint64_t key;
    uint64_t what;
} tni_keyed;

// By key; what has the same key stays in its order. spare: as long as keys. Returns that of the two
// which holds the result. Costs the count times the digits in which keys differ.
tni_keyed *tni_plan_sort(tni_keyed *keys, tni_keyed *spare, size_t count);

#endif
