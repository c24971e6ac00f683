#include "plan/sections.h"

#include <stdlib.h>

typedef struct end_point {
    uint64_t step;   // of an end: the step after the last
    uint32_t block;
    bool is_end;
} end_point;

static int by_step_ends_first(const void *a, const void *b)
{
    const end_point *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int by_place(const void *a, const void *b)
{
    const tni_item *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

// A section begins with the first begin after an end; what begins before the next end joins it.
static uint32_t cut(const end_point *points, size_t count, uint32_t *first, uint32_t *end)
{
    uint32_t sections = 0;
    bool is_after_end = true;
    for (size_t i = 0; i < count; i++) {
        if (points[i].is_end) {
            end[points[i].block] = sections;
            is_after_end = true;
        } else {
            sections += is_after_end;
            is_after_end = false;
            first[points[i].block] = sections - 1;
        }
    }
    return sections;
}

static void sum_live(tni_plan_sections *out)
{
    // Sums up and down wrap as unsigned numbers do, and come out right: no sum is negative.
    for (uint32_t i = 0; i < out->item_count; i++) {
        out->live[out->items[i].first] += out->items[i].bytes;
        out->live[out->items[i].end] -= out->items[i].bytes;
    }
    for (uint32_t s = 0; s < out->count; s++) {
        out->live[s] += s ? out->live[s - 1] : 0;
        out->bound = out->live[s] > out->bound ? out->live[s] : out->bound;
    }
}

bool tni_plan_sections_make(const tni_block *blocks, uint32_t count, tni_arena *arena,
                            tni_plan_sections *out)
{
    end_point *points = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *points);
    uint32_t *first = tni_arena_take_array(arena, count, sizeof *first);
    uint32_t *end = tni_arena_take_array(arena, count, sizeof *end);
    *out = (tni_plan_sections){ .items = tni_arena_take_array(arena, count, sizeof *out->items) };
    if (!points || !first || !end || !out->items)
        return false;
    size_t point_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i].bytes == 0)
            continue;
        points[point_count++] = (end_point){ blocks[i].first, i, false };
        points[point_count++] = (end_point){ (uint64_t)blocks[i].last + 1, i, true };
    }
    qsort(points, point_count, sizeof *points, by_step_ends_first);
    out->count = cut(points, point_count, first, end);
    out->live = tni_arena_take_array(arena, (size_t)out->count + 1, sizeof *out->live);
    if (!out->live)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes)
            out->items[out->item_count++] = (tni_item){ first[i], end[i], i, blocks[i].bytes };
    qsort(out->items, out->item_count, sizeof *out->items, by_place);
    sum_live(out);
    return true;
}
