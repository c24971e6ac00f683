// assign.h: an assignment in the making, for assign.c and for the words of what has none.
#ifndef TNI_SCHED_ASSIGN_H
#define TNI_SCHED_ASSIGN_H

#include "sched/sched_internal.h"

typedef struct tni_assigning {
    const tni_assign_request *assigned;
    const tni_schedule_request *request;   // of which it is
    const tn_graph *graph;
    const tni_answers *answers;
    tni_arena *arena;
    tni_takers takers;
    tni_ties ties;
    tni_ruling ruling;
    tni_asked asked;
    uint64_t *places;        // by node
    uint32_t *groups;        // by node
    uint64_t *group_bytes;   // by group, at most as many as storages
    tni_problem_claim *claims;
    tni_problem problem;
} tni_assigning;

// Node n has no place: TN_E_UNSUPPORTED with each device's reason, or why it cannot be where that
// is demanded, which may be TN_E_DEVICE_MEMORY.
tn_status tni_assign_fail_unsupported(const tni_assigning *a, uint32_t n, tn_error *err);

// TN_E_DEVICE_MEMORY: what fits least of all that was found.
tn_status tni_assign_fail_full(const tni_assigning *a, const tni_solution *solution, tn_error *err);

#endif
