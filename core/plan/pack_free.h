// pack_free.h: offsets for blocks that are bound by nothing but each other and chunks.
//
// What is hard is where much is live. So the items that cover full sections (live bytes near the
// bound) are placed first and alone, which are few in a long graph, by skyline passes and then by
// searching (search.h) at the bound; the others are put around them by a skyline pass (skyline.h),
// with room to spare, and the few that end too high all the same are put elsewhere (repair.h).
// Levels of less full sections follow where that fails, and at last all items at once.
#ifndef TNI_PLAN_PACK_FREE_H
#define TNI_PLAN_PACK_FREE_H

#include "plan/sections.h"

typedef struct tni_free_packing {
    uint64_t enough;   // a peak of this much ends it, as the bound does; 0 with no deadline and
                       // more than 512 items: above the bound by up to 1/128 of it
    uint64_t deadline_ns;   // by tni_now_ns(); 0 = a number of steps
    uint64_t
        chunk_bytes;     // no item crosses a multiple of it, and none is larger; 0 = no such rule.
                         // With it there are skyline passes only
    uint64_t *offsets;   // out, by item: from the arena; as it was where there is no item
    uint64_t peak;       // out, likewise
    bool is_optimal;     // out: the peak is the bound, or all below it was ruled out
} tni_free_packing;

// false: no memory.
bool tni_plan_pack_free(const tni_plan_sections *sections, tni_arena *arena,
                        tni_free_packing *placing);

#endif
