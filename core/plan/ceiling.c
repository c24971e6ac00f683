#include "plan/ceiling.h"

#include <stdlib.h>

enum { STRETCH = TNI_CEILING_STRETCH };

bool tni_plan_ceiling_make(const tni_plan_sections *sections, tni_arena *arena,
                           tni_plan_ceiling *out)
{
    size_t items = sections->item_count, count = sections->count;
    *out = (tni_plan_ceiling){ .sections = sections };
    out->fixed = tni_arena_take_array(arena, items, sizeof *out->fixed);
    // Each item begins and ends two covers at most; so no more than three an item are hidden.
    out->covers = tni_arena_take_array(arena, 3 * items, sizeof *out->covers);
    size_t stretches = count / STRETCH + 1;
    out->hanging = tni_arena_take_array(arena, stretches * STRETCH, sizeof *out->hanging);
    out->stretches = tni_arena_take_array(arena, stretches, sizeof *out->stretches);
    return out->fixed && out->covers && out->hanging && out->stretches;
}

static int highest_first(const void *a, const void *b)
{
    const tni_fixed_item *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset > y->offset ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int32_t largest(const int32_t *of, uint32_t count)
{
    int32_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = of[i] > most ? of[i] : most;
    return most;
}

// Part of a stretch.
static void cover_part(tni_plan_ceiling *c, uint32_t first, uint32_t end, int32_t hanging)
{
    tni_ceiling_stretch *stretch = &c->stretches[first / STRETCH];
    int32_t *own = c->hanging + first / STRETCH * STRETCH;
    for (uint32_t i = 0; stretch->is_uniform && i < STRETCH; i++)
        own[i] = stretch->lowest;
    for (uint32_t s = first; s < end; s++)
        c->hanging[s] = hanging;
    *stretch = (tni_ceiling_stretch){ largest(own, STRETCH), false };
}

static uint32_t end_of_stretch(uint32_t section, uint32_t most)
{
    uint32_t end = (section / STRETCH + 1) * STRETCH;
    return end < most ? end : most;
}

static void cover(tni_plan_ceiling *c, uint32_t first, uint32_t end, int32_t hanging)
{
    for (uint32_t s = first, next; s < end; s = next) {
        next = end_of_stretch(s, end);
        if (next - s == STRETCH)
            c->stretches[s / STRETCH] = (tni_ceiling_stretch){ hanging, true };
        else
            cover_part(c, s, next, hanging);
    }
}

// Up to where the sections from this one on are alike.
static uint32_t end_of_cover(const tni_plan_ceiling *c, uint32_t section, uint32_t most)
{
    uint32_t lowest = tni_plan_ceiling_at(c, section);
    while (section < most && tni_plan_ceiling_at(c, section) == lowest)
        section = c->stretches[section / STRETCH].is_uniform ? end_of_stretch(section, most)
                                                             : section + 1;
    return section;
}

void tni_plan_ceiling_hang(tni_plan_ceiling *c, const bool *is_fixed, const uint64_t *offsets)
{
    const tni_plan_sections *in = c->sections;
    uint32_t cover_count = 0;
    c->count = 0;
    for (uint32_t i = 0; i < in->item_count; i++)
        if (is_fixed[i])
            c->fixed[c->count++] = (tni_fixed_item){ .item = i,
                                                     .offset = offsets[i],
                                                     .end = offsets[i] + in->items[i].bytes };
    if (c->count == 0)
        return;
    qsort(c->fixed, c->count, sizeof *c->fixed, highest_first);
    for (uint32_t s = 0; s <= in->count / STRETCH; s++)
        c->stretches[s] = (tni_ceiling_stretch){ 0, true };
    for (uint32_t f = 0; f < c->count; f++) {
        const tni_item *item = &in->items[c->fixed[f].item];
        c->fixed[f].first_cover = cover_count;
        for (uint32_t s = item->first, end; s < item->end; s = end) {
            end = end_of_cover(c, s, item->end);
            c->covers[cover_count++] = (tni_cover){ s, end, tni_plan_ceiling_at(c, s) };
        }
        c->fixed[f].cover_count = cover_count - c->fixed[f].first_cover;
        cover(c, item->first, item->end, (int32_t)f + 1);
    }
}

uint32_t tni_plan_ceiling_lowest(const tni_plan_ceiling *c, uint32_t first, uint32_t end)
{
    int32_t lowest = 0;
    if (c->count == 0)
        return TNP_NONE;
    for (uint32_t s = first, next; s < end; s = next) {
        const tni_ceiling_stretch *stretch = &c->stretches[s / STRETCH];
        next = end_of_stretch(s, end);
        int32_t own = next - s == STRETCH || stretch->is_uniform || stretch->lowest <= lowest
                          ? stretch->lowest
                          : largest(c->hanging + s, next - s);
        lowest = own > lowest ? own : lowest;
    }
    return (uint32_t)lowest - 1;
}

void tni_plan_ceiling_take(tni_plan_ceiling *c, uint32_t fixed)
{
    const tni_fixed_item *f = &c->fixed[fixed];
    for (uint32_t i = f->first_cover; i < f->first_cover + f->cover_count; i++)
        cover(c, c->covers[i].first, c->covers[i].end, (int32_t)(c->covers[i].hidden + 1));
}
