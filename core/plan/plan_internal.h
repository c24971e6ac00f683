// plan_internal.h: shared by the files of this folder only.
#ifndef TNI_PLAN_INTERNAL_H
#define TNI_PLAN_INTERNAL_H

#include "plan/plan.h"

// Intervals that follow each other in place, as one block of bytes.
typedef struct tni_block {
    uint32_t first, last;
    uint64_t bytes;   // rounded up to the alignment
    uint64_t offset;
} tni_block;

// Sets the offsets: largest first, each at the lowest offset where it fits. Quadratic. false: out
// of memory.
bool tni_plan_place_greedy(tni_block *blocks, uint32_t count, tni_arena *arena, uint64_t *out_peak);

#endif
