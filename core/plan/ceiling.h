// ceiling.h: items whose place is given, for what places others below and above them.
//
// They hang above the floors of the sections. Where a floor has come up to the lowest one, that one
// is taken: its top is the floor then, and what it hid is the ceiling.
#ifndef TNI_PLAN_CEILING_H
#define TNI_PLAN_CEILING_H

#include "plan/sections.h"

#define TNI_NO_CEILING UINT64_MAX

// Part of what a fixed item hides: sections above it, up to the next fixed item.
typedef struct tni_cover {
    uint32_t first, end;
    int32_t hanging;
} tni_cover;

typedef struct tni_fixed_item {
    uint32_t item;
    uint32_t first_cover, cover_count;
    uint64_t offset;
} tni_fixed_item;

typedef struct tni_plan_ceiling {
    const tni_plan_sections *sections;
    uint32_t count;
    tni_fixed_item *fixed;   // highest first
    tni_cover *covers;
    int32_t *hanging;   // by section: one more than the number of the lowest fixed item; 0 = none
    uint32_t *sections_below;   // by section: how many before it had one at first
} tni_plan_ceiling;

// For as many fixed items as there are items. false: no memory.
bool tni_plan_ceiling_make(const tni_plan_sections *sections, tni_arena *arena,
                           tni_plan_ceiling *out);

// Hangs the items that are fixed; none of them that are live together may overlap. Costs a sort of
// them and the sections that each covers.
void tni_plan_ceiling_hang(tni_plan_ceiling *ceiling, const bool *is_fixed,
                           const uint64_t *offsets);

// Takes a fixed item that is the lowest one of all of its sections.
void tni_plan_ceiling_take(tni_plan_ceiling *ceiling, uint32_t fixed);

// The lowest fixed item above some sections; TNP_NONE. Looks at each of them.
static inline uint32_t tni_plan_ceiling_lowest(const tni_plan_ceiling *c, uint32_t first,
                                               uint32_t end)
{
    int32_t last = 0;
    if (c->count && c->sections_below[end] > c->sections_below[first])
        for (uint32_t s = first; s < end; s++)
            last = c->hanging[s] > last ? c->hanging[s] : last;
    return (uint32_t)last - 1;
}

static inline uint64_t tni_plan_ceiling_height(const tni_plan_ceiling *c, uint32_t fixed)
{
    return fixed == TNP_NONE ? TNI_NO_CEILING : c->fixed[fixed].offset;
}

// Whether an item whose end would be at `top` reaches into a fixed one.
static inline bool tni_plan_ceiling_hits(const tni_plan_ceiling *c, const tni_item *item,
                                         uint64_t top)
{
    return c->count &&
           (top > tni_plan_ceiling_height(c, (uint32_t)c->hanging[item->first] - 1) ||
            top > tni_plan_ceiling_height(c, (uint32_t)c->hanging[item->end - 1] - 1) ||
            top > tni_plan_ceiling_height(c, tni_plan_ceiling_lowest(c, item->first, item->end)));
}

#endif
