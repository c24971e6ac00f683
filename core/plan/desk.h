// desk.h: some items, and what passes over them and repairs need.
#ifndef TNI_PLAN_DESK_H
#define TNI_PLAN_DESK_H

#include "plan/repair.h"
#include "plan/skyline.h"

// All arrays are by item.
typedef struct tni_plan_desk {
    const tni_plan_sections *sections;
    tni_plan_skyline *skyline;
    tni_plan_repair *repair;
    float *full_length;
    bool *is_fixed;
    float *urgency;      // of the latest pass
    uint64_t *offsets;   // of the latest pass
} tni_plan_desk;

typedef enum tni_plan_pass_kind {
    TNI_PASS_BY_LENGTH,        // what lives longest comes first
    TNI_PASS_BY_FULL_LENGTH,   // the same where it counts: in full sections
    TNI_PASS_BY_AREA,          // that length squared, times bytes: around a level
    TNI_PASS_AS_BEFORE_BUT     // what ended above the limit is more urgent
} tni_plan_pass_kind;

// bound: by which a section counts as full. chunk_bytes: as tni_plan_skyline_make has it. false: no
// memory.
bool tni_plan_desk_make(const tni_plan_sections *sections, uint64_t bound, uint64_t chunk_bytes,
                        tni_arena *arena, tni_plan_desk *out);

// A skyline pass around what is fixed. Leaves the offsets on the desk and returns the peak.
uint64_t tni_plan_desk_pass(const tni_plan_desk *desk, tni_plan_pass_kind kind, uint64_t limit);

#endif
