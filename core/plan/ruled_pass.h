// ruled_pass.h: one pass over all blocks in a given order, around what is pinned. What comes out
// depends on the order alone; pack_ruled.c looks for a good one.
#ifndef TNI_PLAN_RULED_PASS_H
#define TNI_PLAN_RULED_PASS_H

#include "plan/neighbours.h"

typedef struct tni_range {
    uint64_t begin, end;
} tni_range;

typedef struct tni_waiting {
    uint64_t floor;   // what it was when it was looked at last
    uint32_t item;
} tni_waiting;

typedef struct tni_pass {
    tni_neighbours neighbours;
    uint64_t chunk_bytes;   // no block crosses a multiple of it; 0: one piece
    uint64_t *offsets;      // by item; those of pinned ones stay
    bool *is_pinned;        // by item
    uint64_t pinned_end;    // the highest
    uint32_t *order;        // items that are not pinned
    uint32_t count;         // of the order
    uint64_t work;          // neighbours looked at
    uint64_t most_work;     // that ends a pass which has a limit, where there is no deadline
    uint64_t deadline_ns;   // 0 = none
    // Scratch.
    bool *is_placed;             // by item
    tni_range *found, *merged;   // what is in the way
    uint32_t *rank;              // by item: where it is in the order
    uint64_t *floor;             // by item
    tni_waiting *heap;
} tni_pass;

// most_kept: as tni_plan_neighbours_make. The order is that of the items. false: out of memory.
bool tni_plan_pass_make(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                        size_t most_kept, tni_arena *arena, tni_pass *out);

// Each block at the lowest offset where nothing that may live with it lies.
//
// Returns the count when all are placed, and sets *out_peak; else where in the order the first is
// that would end above the limit.
uint32_t tni_plan_pass_first_fit(tni_pass *pass, uint64_t limit, uint64_t *out_peak);

// skyline.h has a pass of this kind for time as a line, where a floor belongs to a section; under
// an order there is no line, and each item has a floor of its own.
//
// From the floor up: next comes the block that can lie lowest, on all that it may live with and is
// placed; of several the first in the order. It never looks back at room below, but for room below
// what is pinned and at the end of chunks. Same answers.
uint32_t tni_plan_pass_bottom_up(tni_pass *pass, uint64_t limit, uint64_t *out_peak);

#endif
