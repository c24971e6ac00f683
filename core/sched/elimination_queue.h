// elimination_queue.h: the variables that are still to be eliminated, the cheapest first.
#ifndef TNI_SCHED_ELIMINATION_QUEUE_H
#define TNI_SCHED_ELIMINATION_QUEUE_H

#include "sched/factors.h"

// A slot for each half bit of a table's size: to 2^31 entries, more than any table may have.
enum { TNI_ELIMINATION_QUEUE_SLOTS = 64 };

// A slot holds variables that cost about the same.
typedef struct tni_elimination_queue {
    tni_factors *factors;
    uint32_t *slot;             // by variable
    uint32_t *before, *after;   // by variable: those of the same slot
    uint32_t first_of[TNI_ELIMINATION_QUEUE_SLOTS];
} tni_elimination_queue;

// With all variables in it. false: out of memory.
bool tni_elimination_queue_make(tni_factors *factors, tni_arena *arena, tni_elimination_queue *out);
void tni_elimination_queue_enter(tni_elimination_queue *queue, uint32_t variable);
void tni_elimination_queue_leave(tni_elimination_queue *queue, uint32_t variable);
uint32_t tni_elimination_queue_take(tni_elimination_queue *queue);   // TNP_NONE: it is empty

#endif
