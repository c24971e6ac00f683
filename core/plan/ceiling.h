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
    uint32_t hidden;   // the lowest fixed item above; TNP_NONE
} tni_cover;

typedef struct tni_fixed_item {
    uint32_t item;
    uint32_t first_cover, cover_count;
    uint64_t offset, end;
} tni_fixed_item;

// So many sections next to each other are written and read at once where they are alike.
enum { TNI_CEILING_STRETCH = 16 };

typedef struct tni_ceiling_stretch {
    int32_t lowest;    // the largest of `hanging`
    bool is_uniform;   // it is that of all sections, whatever they say
} tni_ceiling_stretch;

typedef struct tni_plan_ceiling {
    const tni_plan_sections *sections;
    uint32_t count;
    tni_fixed_item *fixed;   // highest first
    tni_cover *covers;
    // One more than the number of the lowest fixed item above a section, by section; 0 = none.
    int32_t *hanging;
    tni_ceiling_stretch *stretches;
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

// The lowest fixed item above some sections; TNP_NONE.
uint32_t tni_plan_ceiling_lowest(const tni_plan_ceiling *ceiling, uint32_t first, uint32_t end);

static inline uint32_t tni_plan_ceiling_at(const tni_plan_ceiling *c, uint32_t section)
{
    const tni_ceiling_stretch *stretch = &c->stretches[section / TNI_CEILING_STRETCH];
    return (uint32_t)(stretch->is_uniform ? stretch->lowest : c->hanging[section]) - 1;
}

static inline uint64_t tni_plan_ceiling_height(const tni_plan_ceiling *c, uint32_t fixed)
{
    return fixed == TNP_NONE ? TNI_NO_CEILING : c->fixed[fixed].offset;
}

static inline bool tni_plan_ceiling_is_below(const tni_plan_ceiling *c, uint32_t fixed,
                                             uint64_t top)
{
    return fixed != TNP_NONE && c->fixed[fixed].offset < top;
}

// A fixed item that an item would reach into whose end would be at `top`; TNP_NONE.
static inline uint32_t tni_plan_ceiling_hit(const tni_plan_ceiling *c, const tni_item *item,
                                            uint64_t top)
{
    uint32_t fixed;
    if (c->count == 0)
        return TNP_NONE;
    fixed = tni_plan_ceiling_at(c, item->first);
    if (tni_plan_ceiling_is_below(c, fixed, top))
        return fixed;
    fixed = tni_plan_ceiling_at(c, item->end - 1);
    if (tni_plan_ceiling_is_below(c, fixed, top))
        return fixed;
    fixed = tni_plan_ceiling_lowest(c, item->first, item->end);
    return tni_plan_ceiling_is_below(c, fixed, top) ? fixed : TNP_NONE;
}

#endif
