// levels.h: the items of full sections, packed alone first, and the others around them.
#ifndef TNI_PLAN_LEVELS_H
#define TNI_PLAN_LEVELS_H

#include "plan/desk.h"
#include "plan/search.h"

// Are searched on as a whole; of more, a peak near the bound is enough where nothing says how low
// it has to be.
enum { TNI_PLAN_FEW_ITEMS = 512 };

#define TNI_NO_PEAK UINT64_MAX   // nothing was placed yet

// Of all items, what is found for them and how long that may take.
typedef struct tni_plan_packing {
    tni_arena *arena;
    const tni_plan_sections *sections;
    tni_plan_desk desk;
    uint32_t *place;   // scratch, twice as many as items: by item, its place on another desk
    uint64_t *best;    // by item
    uint64_t peak;     // of the best
    uint64_t chunk_bytes;
    uint64_t least;    // no peak is below
    uint64_t near;     // the bound, as far as passes go
    uint64_t enough;   // ends it; nothing else depends on it, so that what is found without it is
                       // found with it too
    uint64_t deadline_ns;
    uint64_t steps;   // of searching that are left
} tni_plan_packing;

// Items that cover a section of so many live bytes, as a problem of their own.
typedef struct tni_plan_level {
    bool is_whole;
    const tni_plan_sections *sections;
    tni_plan_desk *desk;
    struct tni_plan_level *around;   // one that holds its items and is packed around it first; NULL
    uint32_t *items;                 // by its own item: the item of all
    uint64_t *offsets;               // by its own item: the best so far
    uint64_t peak;                   // of those
    bool is_spread;                  // the others were put around those
    tni_plan_search *search;
    uint32_t round;
    uint32_t loose_turns;   // that left a packing with no pass around it
    uint64_t round_steps;
    uint64_t used;   // steps, and what passes around it cost in steps
} tni_plan_level;

bool tni_plan_is_late(const tni_plan_packing *packing);
bool tni_plan_is_done(const tni_plan_packing *packing);

uint64_t tni_plan_highest_end(const tni_plan_sections *sections, const uint64_t *offsets);

// What repairs are after at first.
uint64_t tni_plan_loose_limit(const tni_plan_packing *packing);

// Of what covers sections of more than `percent` of the bound. false: no memory.
bool tni_plan_level_make(tni_plan_packing *packing, tni_plan_level *level, uint32_t percent);

// The quick ways. A packing of the level that is near the bound is spread at once: the other items
// seldom reach above it.
void tni_plan_level_pack(tni_plan_packing *packing, tni_plan_level *level);

// Rounds at the least that is not ruled out or below the best, and on demand a relaxed search, for
// a packing near the bound. false: no memory.
bool tni_plan_level_search(tni_plan_packing *packing, tni_plan_level *level, uint32_t rounds,
                           bool is_relaxed_after);

// Takes a packing of the level as its best.
void tni_plan_level_take(tni_plan_level *level, const uint64_t *offsets);

// What the level has as the best of all, with the other items around it.
void tni_plan_level_spread(tni_plan_packing *packing, tni_plan_level *level);
// The same without a level between, and however high it is.
void tni_plan_level_spread_directly(tni_plan_packing *packing, tni_plan_level *level);

#endif
