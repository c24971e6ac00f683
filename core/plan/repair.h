// repair.h: the few items that end too high after a pass, put elsewhere.
//
// They are taken out. Then the heaviest of them is put where what is in the way weighs least, which
// is taken out in turn, and so on until none is left.
//
// An item weighs its bytes times how long it lives. What is taken out again and again grows
// heavier, so that no two push each other about without end. (Chains of ejections, Glover 1996,
// with the growing weights of Nagata and Bräysy, A powerful route minimization heuristic for the
// vehicle routing problem with time windows, 2009.)
//
// Putting in an item costs a look at all that begin in its sections, or up to 64 before them, and
// at what was live before those; and a sort of those that are live with it.
#ifndef TNI_PLAN_REPAIR_H
#define TNI_PLAN_REPAIR_H

#include "plan/sections.h"

typedef struct tni_plan_repair tni_plan_repair;

// length[item]: how long it lives, as far as it weighs. NULL: no memory.
tni_plan_repair *tni_plan_repair_make(const tni_plan_sections *sections, const float *length,
                                      tni_arena *arena);

// From a packing in which nothing overlaps to one that ends at the limit, which is at least the
// bound, or below. Looks at about `work` items. NULL: none was found; else its offsets, which are
// good until the next run and may be the next one's.
const uint64_t *tni_plan_repair_run(tni_plan_repair *repair, const uint64_t *offsets,
                                    uint64_t limit, uint64_t work);

#endif
