// queue.h: the variables that are still to be eliminated, the cheapest first.
#ifndef TNI_SCHED_QUEUE_H
#define TNI_SCHED_QUEUE_H

#include "sched/factors.h"

enum { TNI_QUEUE_SLOTS = 64 };

// A slot holds variables that cost about the same.
typedef struct tni_queue {
    tni_factors *factors;
    uint32_t *slot;             // by variable
    uint32_t *before, *after;   // by variable: those of the same slot
    uint32_t first_of[TNI_QUEUE_SLOTS];
} tni_queue;

// With all variables in it. false: out of memory.
bool tni_queue_make(tni_factors *factors, tni_arena *arena, tni_queue *out);
void tni_queue_enter(tni_queue *queue, uint32_t variable);
void tni_queue_leave(tni_queue *queue, uint32_t variable);
uint32_t tni_queue_take(tni_queue *queue);   // TNP_NONE: it is empty

#endif
