// place.h: offsets for blocks that are bound by nothing but each other.
//
// What is hard is where much is live. So the items that cover full sections (live bytes near the
// bound) are placed first and alone, which are few in a long graph, by skyline passes and then by
// searching (search.h) at the bound; the others are put around them by a skyline pass (skyline.h),
// with room to spare. Levels of less full sections follow where that fails, and at last all items
// at once.
#ifndef TNI_PLAN_PLACE_H
#define TNI_PLAN_PLACE_H

#include "plan/sections.h"

typedef struct tni_placing {
    uint64_t enough;        // a peak of this much ends it; the bound does so too
    uint64_t deadline_ns;   // by tni_now_ns(); 0 = a number of steps, fewer once the peak is near
                            // the bound
    uint64_t *offsets;      // out, by item: from the arena; as it was where there is no item
    uint64_t peak;          // out, likewise
    bool is_optimal;        // out: the peak is the bound, or all below it was ruled out
} tni_placing;

// false: no memory.
bool tni_plan_place(const tni_plan_sections *sections, tni_arena *arena, tni_placing *placing);

#endif
