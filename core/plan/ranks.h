// ranks.h: numbers by their order: what counts of times is which comes before which.
#ifndef TNI_PLAN_RANKS_H
#define TNI_PLAN_RANKS_H

#include <stdbool.h>

#include "base/arena.h"

// ranks[i]: how many different numbers are smaller than numbers[i]. Costs a walk over the numbers'
// range where that is not much longer than their count, else a sort. false: no memory.
bool tni_plan_find_ranks(const uint64_t *numbers, uint32_t count, tni_arena *arena,
                         uint32_t *ranks);

#endif
