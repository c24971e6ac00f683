#include "sched/queue.h"

#include <string.h>

#include <tenon/plugin.h>

enum { MOST_SEEN = 32 };   // factors

// How large a table eliminating v would make, in half bits: the labels of those around it
// that are told apart. What has
// many factors comes last; what has one label, first.
static uint32_t slot_of(tni_queue *q, uint32_t v)
{
    tni_factors *f = q->factors;
    uint32_t half_bits = 0, seen = 0, stamp = ++f->stamp, *mark = f->mark;
    if (tni_label_count(&f->network, v) <= 1)
        return 0;
    mark[v] = stamp;
    for (uint32_t *at = &f->first_link[v]; *at != TNP_NONE;) {
        const tni_factor *factor = &f->factors[f->links[*at].factor];
        if (factor->is_dead) {   // unlinked on the way
            *at = f->links[*at].next;
            continue;
        }
        if (seen++ == MOST_SEEN)
            return TNI_QUEUE_SLOTS - 1;
        const tni_axis *axis = &f->axes[factor->first_axis], *end = axis + factor->axis_count;
        for (; axis < end; axis++) {
            half_bits += mark[axis->variable] == stamp ? 0 : axis->half_bits;
            mark[axis->variable] = stamp;
        }
        at = &f->links[*at].next;
    }
    return half_bits < TNI_QUEUE_SLOTS - 2 ? half_bits + 1 : TNI_QUEUE_SLOTS - 2;
}

void tni_queue_leave(tni_queue *q, uint32_t v)
{
    if (q->before[v] == TNP_NONE)
        q->first_of[q->slot[v]] = q->after[v];
    else
        q->after[q->before[v]] = q->after[v];
    if (q->after[v] != TNP_NONE)
        q->before[q->after[v]] = q->before[v];
}

void tni_queue_enter(tni_queue *q, uint32_t v)
{
    uint32_t slot = q->slot[v] = slot_of(q, v);
    q->before[v] = TNP_NONE;
    q->after[v] = q->first_of[slot];
    if (q->after[v] != TNP_NONE)
        q->before[q->after[v]] = v;
    q->first_of[slot] = v;
}

uint32_t tni_queue_take(tni_queue *q)
{
    for (uint32_t slot = 0; slot < TNI_QUEUE_SLOTS; slot++)
        if (q->first_of[slot] != TNP_NONE) {
            uint32_t v = q->first_of[slot];
            tni_queue_leave(q, v);
            return v;
        }
    return TNP_NONE;
}

bool tni_queue_make(tni_factors *factors, tni_arena *arena, tni_queue *out)
{
    size_t count = factors->network.variable_count;
    *out = (tni_queue){
        .factors = factors,
        .slot = tni_arena_take_array(arena, count, sizeof *out->slot),
        .before = tni_arena_take_array(arena, count, sizeof *out->before),
        .after = tni_arena_take_array(arena, count, sizeof *out->after),
    };
    memset(out->first_of, 0xff, sizeof out->first_of);
    if (!out->slot || !out->before || !out->after)
        return false;
    for (uint32_t v = (uint32_t)count; v-- > 0;)
        tni_queue_enter(out, v);
    return true;
}
