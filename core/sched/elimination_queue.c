// elimination_queue.c: the variables still to be eliminated, by the table that each would make.
#include "sched/elimination_queue.h"

#include <string.h>

#include <tenon/plugin.h>

// Factors that are looked at. What has more would make a table far above what is allowed: it comes
// last, whatever the rest are.
enum { MOST_SEEN = 32 };

// How large a table eliminating v would make, in half bits: the labels of those around it that are
// told apart. What has many factors comes last; what has one label, first.
static uint32_t slot_of(tni_elimination_queue *q, uint32_t v)
{
    tni_factors *f = q->factors;
    uint32_t half_bits = 0, seen = 0, stamp = ++f->stamp, *mark = f->mark;
    if (tni_label_count(&f->network, v) <= 1)
        return 0;
    mark[v] = stamp;
    for (uint32_t *at = &f->first_link[v]; *at != TNP_NONE;) {
        tni_factor_link *link = &f->links[*at];
        const tni_factor *factor = &f->factors[link->factor];
        if (factor->is_dead) {   // unlinked on the way
            *at = link->next;
            continue;
        }
        if (seen++ == MOST_SEEN)
            return TNI_ELIMINATION_QUEUE_SLOTS - 1;
        at = &link->next;
        if (link->other != TNP_NONE) {
            half_bits += mark[link->other] == stamp ? 0 : link->half_bits;
            mark[link->other] = stamp;
            continue;
        }
        const tni_axis *axis = &f->axes[factor->first_axis], *end = axis + factor->axis_count;
        for (; axis < end; axis++) {
            half_bits += mark[axis->variable] == stamp ? 0 : axis->half_bits;
            mark[axis->variable] = stamp;
        }
    }
    return half_bits < TNI_ELIMINATION_QUEUE_SLOTS - 2 ? half_bits + 1
                                                       : TNI_ELIMINATION_QUEUE_SLOTS - 2;
}

void tni_elimination_queue_leave(tni_elimination_queue *q, uint32_t v)
{
    if (q->before[v] == TNP_NONE)
        q->first_of[q->slot[v]] = q->after[v];
    else
        q->after[q->before[v]] = q->after[v];
    if (q->after[v] != TNP_NONE)
        q->before[q->after[v]] = q->before[v];
}

void tni_elimination_queue_enter(tni_elimination_queue *q, uint32_t v)
{
    uint32_t slot = q->slot[v] = slot_of(q, v);
    q->before[v] = TNP_NONE;
    q->after[v] = q->first_of[slot];
    if (q->after[v] != TNP_NONE)
        q->before[q->after[v]] = v;
    q->first_of[slot] = v;
}

uint32_t tni_elimination_queue_take(tni_elimination_queue *q)
{
    for (uint32_t slot = 0; slot < TNI_ELIMINATION_QUEUE_SLOTS; slot++)
        if (q->first_of[slot] != TNP_NONE) {
            uint32_t v = q->first_of[slot];
            tni_elimination_queue_leave(q, v);
            return v;
        }
    return TNP_NONE;
}

bool tni_elimination_queue_make(tni_factors *factors, tni_arena *arena, tni_elimination_queue *out)
{
    size_t count = factors->network.variable_count;
    *out = (tni_elimination_queue){
        .factors = factors,
        .slot = tni_arena_take_array(arena, count, sizeof *out->slot),
        .before = tni_arena_take_array(arena, count, sizeof *out->before),
        .after = tni_arena_take_array(arena, count, sizeof *out->after),
    };
    memset(out->first_of, 0xff, sizeof out->first_of);
    if (!out->slot || !out->before || !out->after)
        return false;
    for (uint32_t v = (uint32_t)count; v-- > 0;)
        tni_elimination_queue_enter(out, v);
    return true;
}
