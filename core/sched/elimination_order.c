// elimination_order.c: the variables still to be eliminated, by the table that each would make.
#include "sched/elimination_order.h"

#include <string.h>

#include <tenon/plugin.h>

enum { MOST_SEEN = 32 };   // factors

// How large a table eliminating v would make, in half bits: the labels of those around it that are
// told apart. What has many factors comes last; what has one label, first.
static uint32_t slot_of(tni_elimination_order *o, uint32_t v)
{
    tni_factors *f = o->factors;
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
            return TNI_ELIMINATION_ORDER_SLOTS - 1;
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
    return half_bits < TNI_ELIMINATION_ORDER_SLOTS - 2 ? half_bits + 1
                                                       : TNI_ELIMINATION_ORDER_SLOTS - 2;
}

void tni_elimination_order_leave(tni_elimination_order *o, uint32_t v)
{
    if (o->before[v] == TNP_NONE)
        o->first_of[o->slot[v]] = o->after[v];
    else
        o->after[o->before[v]] = o->after[v];
    if (o->after[v] != TNP_NONE)
        o->before[o->after[v]] = o->before[v];
}

void tni_elimination_order_enter(tni_elimination_order *o, uint32_t v)
{
    uint32_t slot = o->slot[v] = slot_of(o, v);
    o->before[v] = TNP_NONE;
    o->after[v] = o->first_of[slot];
    if (o->after[v] != TNP_NONE)
        o->before[o->after[v]] = v;
    o->first_of[slot] = v;
}

uint32_t tni_elimination_order_take(tni_elimination_order *o)
{
    for (uint32_t slot = 0; slot < TNI_ELIMINATION_ORDER_SLOTS; slot++)
        if (o->first_of[slot] != TNP_NONE) {
            uint32_t v = o->first_of[slot];
            tni_elimination_order_leave(o, v);
            return v;
        }
    return TNP_NONE;
}

bool tni_elimination_order_make(tni_factors *factors, tni_arena *arena, tni_elimination_order *out)
{
    size_t count = factors->network.variable_count;
    *out = (tni_elimination_order){
        .factors = factors,
        .slot = tni_arena_take_array(arena, count, sizeof *out->slot),
        .before = tni_arena_take_array(arena, count, sizeof *out->before),
        .after = tni_arena_take_array(arena, count, sizeof *out->after),
    };
    memset(out->first_of, 0xff, sizeof out->first_of);
    if (!out->slot || !out->before || !out->after)
        return false;
    for (uint32_t v = (uint32_t)count; v-- > 0;)
        tni_elimination_order_enter(out, v);
    return true;
}
