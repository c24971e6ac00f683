#include "plan/ceiling.h"

#include <stdlib.h>

bool tni_plan_ceiling_make(const tni_plan_sections *sections, tni_arena *arena,
                           tni_plan_ceiling *out)
{
    size_t items = sections->item_count, count = sections->count;
    *out = (tni_plan_ceiling){ .sections = sections };
    out->fixed = tni_arena_take_array(arena, items, sizeof *out->fixed);
    // Each item begins and ends two covers at most; so no more than three an item are hidden.
    out->covers = tni_arena_take_array(arena, 3 * items, sizeof *out->covers);
    out->hanging = tni_arena_take_array(arena, count, sizeof *out->hanging);
    out->sections_below = tni_arena_take_array(arena, count + 1, sizeof *out->sections_below);
    return out->fixed && out->covers && out->hanging && out->sections_below;
}

static int highest_first(const void *a, const void *b)
{
    const tni_fixed_item *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset > y->offset ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void cover(tni_plan_ceiling *c, uint32_t first, uint32_t end, int32_t hanging)
{
    for (uint32_t s = first; s < end; s++)
        c->hanging[s] = hanging;
}

void tni_plan_ceiling_hang(tni_plan_ceiling *c, const bool *is_fixed, const uint64_t *offsets)
{
    const tni_plan_sections *in = c->sections;
    uint32_t cover_count = 0;
    c->count = 0;
    for (uint32_t i = 0; i < in->item_count; i++)
        if (is_fixed[i])
            c->fixed[c->count++] = (tni_fixed_item){ .item = i, .offset = offsets[i] };
    if (c->count == 0)
        return;
    qsort(c->fixed, c->count, sizeof *c->fixed, highest_first);
    cover(c, 0, in->count, 0);
    for (uint32_t f = 0; f < c->count; f++) {
        const tni_item *item = &in->items[c->fixed[f].item];
        c->fixed[f].first_cover = cover_count;
        for (uint32_t s = item->first; s < item->end;) {
            tni_cover hidden = { s, s + 1, c->hanging[s] };
            while (hidden.end < item->end && c->hanging[hidden.end] == hidden.hanging)
                hidden.end++;
            c->covers[cover_count++] = hidden;
            s = hidden.end;
        }
        c->fixed[f].cover_count = cover_count - c->fixed[f].first_cover;
        cover(c, item->first, item->end, (int32_t)f + 1);
    }
    c->sections_below[0] = 0;
    for (uint32_t s = 0; s < in->count; s++)
        c->sections_below[s + 1] = c->sections_below[s] + (c->hanging[s] != 0);
}

void tni_plan_ceiling_take(tni_plan_ceiling *c, uint32_t fixed)
{
    const tni_fixed_item *f = &c->fixed[fixed];
    for (uint32_t i = f->first_cover; i < f->first_cover + f->cover_count; i++)
        cover(c, c->covers[i].first, c->covers[i].end, c->covers[i].hanging);
}
