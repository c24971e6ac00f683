// elimination_order.h: the variables that are still to be eliminated, the cheapest first.
#ifndef TNI_SCHED_ELIMINATION_ORDER_H
#define TNI_SCHED_ELIMINATION_ORDER_H

#include "sched/factors.h"

enum { TNI_ELIMINATION_ORDER_SLOTS = 64 };

// A slot holds variables that cost about the same.
typedef struct tni_elimination_order {
    tni_factors *factors;
    uint32_t *slot;             // by variable
    uint32_t *before, *after;   // by variable: those of the same slot
    uint32_t first_of[TNI_ELIMINATION_ORDER_SLOTS];
} tni_elimination_order;

// With all variables in it. false: out of memory.
bool tni_elimination_order_make(tni_factors *factors, tni_arena *arena, tni_elimination_order *out);
void tni_elimination_order_enter(tni_elimination_order *order, uint32_t variable);
void tni_elimination_order_leave(tni_elimination_order *order, uint32_t variable);
uint32_t tni_elimination_order_take(tni_elimination_order *order);   // TNP_NONE: it is empty

#endif
