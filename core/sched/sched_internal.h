// sched_internal.h: shared by the files of this folder only.
#ifndef TNI_SCHED_INTERNAL_H
#define TNI_SCHED_INTERNAL_H

#include "sched/sched.h"

// Without a measurement: what moving bytes from one device to another costs.
double tni_transfer_cost_ns(uint64_t bytes);

typedef struct tni_assign_request {
    const tn_graph *graph;
    tn_device *const *devices;
    uint32_t device_count;
    bool single_nodes_only;
    const uint32_t *storage_places;   // as in tni_schedule_make
    const tni_answers *answers;
} tni_assign_request;

// chosen[n]: index of the claim that gets node n.
tn_status tni_assign(const tni_assign_request *request, tni_arena *arena, uint32_t *chosen,
                     tn_error *err);

// Orders the claims chosen and cuts them into segments. *out_is_cyclic: two units wait for each
// other; nothing was made.
tn_status tni_partition(const uint32_t *chosen, tni_arena *arena, tni_arena *scratch,
                        tni_schedule *schedule, bool *out_is_cyclic, tn_error *err);

#endif
