// neighbours.h: which blocks may live together.
//
// Items, the blocks that have bytes, stand in the order of their first steps. Neighbours of x are
// those behind it of first <= x.until, and those before it of until >= x.first: a tree with the
// latest `until` below each node finds these, so that none but neighbours is looked at. Under an
// order of tracks these are candidates, and the ends decide. Where the lists of all are short
// enough together they are kept.
//
//   first    0   0   1   3   4   7   9
//   until    2   9   3   5   5   8   9       of [3, 5]: the last two begin too late,
//                ●   ●       ●               the first is over
#ifndef TNI_PLAN_NEIGHBOURS_H
#define TNI_PLAN_NEIGHBOURS_H

#include "plan/plan_internal.h"

typedef struct tni_neighbours_item {
    uint32_t first, until;   // what begins after `until` never lives together with it
    uint32_t block;          // which one of the given
    uint32_t reach;          // items from here on begin after `until`
    uint64_t bytes;
} tni_neighbours_item;

typedef struct tni_neighbours {
    const tni_block_rules *rules;
    tni_neighbours_item *items;
    uint32_t count;
    uint32_t leaves;   // of the tree; a power of two
    uint64_t *tree;    // 1 + the latest `until` below; 0: none
    size_t *begin;     // by item: where its list begins in `lists`; NULL when they are not kept
    uint32_t *lists;
    uint32_t *list;   // of the item asked for last, when they are not kept
} tni_neighbours;

// most_kept: entries of all lists together up to which they are kept. false: out of memory.
bool tni_plan_neighbours_make(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                              size_t most_kept, tni_arena *arena, tni_neighbours *out);

// The neighbours of an item, itself left out; until the next call.
const uint32_t *tni_plan_neighbours_of(tni_neighbours *neighbours, uint32_t item,
                                       uint32_t *out_count);

// heat[item]: the largest sum of bytes of candidates that are live at one step of its life. false:
// out of memory.
bool tni_plan_neighbours_heat(const tni_neighbours *neighbours, tni_arena *arena, uint64_t *heat);

#endif
