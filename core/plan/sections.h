// sections.h: time as the few stretches that matter for packing.
//
// Two blocks can be live together only if they are in a step where one of them begins; and of
// neighbouring steps, one whose live blocks are all live in the other adds nothing. What is left is
// cut into sections 0, 1, …: a block covers the sections [first, end).
#ifndef TNI_PLAN_SECTIONS_H
#define TNI_PLAN_SECTIONS_H

#include "plan/plan_internal.h"

typedef struct tni_item {
    uint32_t first, end;   // sections
    uint32_t block;        // which one of the given
    uint64_t bytes;        // not 0
} tni_item;

typedef struct tni_plan_sections {
    tni_item *items;   // by first section; of those the longest first, then the largest
    uint32_t item_count;
    uint32_t count;
    uint32_t *begin;   // by section: its first item; and one more, item_count
    uint64_t *live;    // by section: sum of bytes
    uint64_t bound;    // the largest of them
} tni_plan_sections;

// Blocks of no bytes become no item. false: no memory.
bool tni_plan_sections_make(const tni_block *blocks, uint32_t count, tni_arena *arena,
                            tni_plan_sections *out);

// reach[section]: the first section of any item that covers it.
void tni_plan_sections_reach(const tni_plan_sections *sections, uint32_t *reach);

#endif
