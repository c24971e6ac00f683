// open_items.h: the items that a pass may place now, and the most urgent of them.
//
// An item is open until it is placed, but for times when it waits. What is known of 16 items
// together lets most of them be passed over; the others are looked at four at a time.
#ifndef TNI_PLAN_OPEN_ITEMS_H
#define TNI_PLAN_OPEN_ITEMS_H

#include "plan/sections.h"

enum { TNI_OPEN_GROUP = 16 };   // items

// Items next to each other: of those that are open, the least end and the highest key.
typedef struct tni_open_group {
    int32_t least_end, highest_key;
    uint32_t unplaced;
    uint32_t next;   // group, itself while something of it is unplaced; else a later one
} tni_open_group;

typedef struct tni_plan_open_items {
    const tni_plan_sections *sections;
    const float *urgency;
    // By item. A key is 0 for what is fixed, placed or waits, and rises with the urgency else.
    int32_t *keys, *ends;
    tni_open_group *groups;   // and one more
} tni_plan_open_items;

// false: no memory.
bool tni_plan_open_items_make(const tni_plan_sections *sections, tni_arena *arena,
                              tni_plan_open_items *out);

// Opens what is not fixed. urgency[item], not negative, is looked at until all are placed. Returns
// how many are open.
uint32_t tni_plan_open_items_reset(tni_plan_open_items *items, const float *urgency,
                                   const bool *is_fixed);

// The most urgent of those that begin in [begin, end), or in the group of the last of these, are
// over by the section `last` and have at most so many bytes; of equals the first. TNP_NONE.
uint32_t tni_plan_open_items_best(const tni_plan_open_items *items, uint32_t begin, uint32_t end,
                                  uint32_t last, uint64_t most_bytes);

void tni_plan_open_items_reopen(const tni_plan_open_items *items, uint32_t item);
void tni_plan_open_items_place(const tni_plan_open_items *items, uint32_t item);

// After keys of a group were set to 0: those items wait.
void tni_plan_open_items_sum_up(const tni_plan_open_items *items, uint32_t group);

// The first group from this one on in which something is unplaced.
uint32_t tni_plan_open_items_next(const tni_plan_open_items *items, uint32_t group);

#endif
