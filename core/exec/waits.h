// waits.h: what a work has to wait for: the order of works that touch the same bytes of a value, as
// far as no queue and no other wait gives it.
#ifndef TNI_EXEC_WAITS_H
#define TNI_EXEC_WAITS_H

#include "exec/works.h"

typedef struct tni_touch tni_touch;

// Works are added one after the other: those that the next one depends on first, then it itself.
typedef struct tni_waits {
    tni_works *works;
    tni_arena *arena, *scratch;   // arena: of the waits
    const bool *is_transferred;   // by storage
    uint32_t queue_count;
    uint32_t *touches;   // by storage: the first of its list; TNP_NONE
    tni_touch *touch_list;
    uint32_t touch_count, touch_capacity;
    uint32_t *last;    // by queue: its last work so far; TNP_NONE
    uint32_t *done;    // [work][queue]: one past the last that has ended when it begins
    uint32_t *found;   // works that the one at hand depends on, each once
    uint32_t found_count;
    uint32_t *found_by;   // by work: the last one that found it
    uint32_t wait_capacity;
} tni_waits;

// most: so many works. false, here and below: out of memory.
bool tni_waits_begin(tni_waits *waits, uint32_t storage_count, size_t most);
// The work to be added next comes after this one.
void tni_waits_depend(tni_waits *waits, uint32_t work);
// It touches a storage on a lane: it comes after who wrote that before, and to write it also after
// who read it.
bool tni_waits_touch(tni_waits *waits, uint32_t storage, uint32_t place, bool is_write);
// Adds it to the works.
bool tni_waits_add(tni_waits *waits, tni_work work);

#endif
