// order.h: which steps share their work, and which must wait for which.
//
// A step with little work is done by worker 0 alone, and one such step after another needs no
// barrier. Workers wait for each other only where steps touch the same bytes:
//
//     q   k   v   |   rope q   rope k   set k   set v   |   attention   |   …      | = barrier
//     shared            worker 0 alone                      shared
#ifndef CPU_ORDER_H
#define CPU_ORDER_H

#include "node.h"
#include "program.h"

// By the estimate of cpu_job_ns. What a second worker saves of this must pay for two barriers.
#define CPU_ALONE_NS 4000.0

// Fills may_share, waits_for and waits_for_shared of all steps of a program whose jobs are made.
void cpu_order_steps(cpu_bound *bound);

// Whether a step needs a barrier before it, when all steps below `over` are known to be over on all
// workers.
static inline bool cpu_order_needs_barrier(const cpu_bound_step *step, uint32_t over)
{
    return (step->is_shared ? step->waits_for : step->waits_for_shared) > over;
}

#endif
