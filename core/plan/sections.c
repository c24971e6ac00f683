#include "plan/sections.h"

#include <stdlib.h>

#include "plan/radix.h"

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

// What happens to a block at a step, as one number.
static uint64_t begin_of(uint32_t block)
{
    return 2 * (uint64_t)block;
}

static uint64_t end_of(uint32_t block)
{
    return begin_of(block) + 1;
}

// A section begins with the first begin after an end; what begins before the next end joins it.
static uint32_t cut(const tni_keyed *events, size_t count, uint32_t *first, uint32_t *end)
{
    uint32_t sections = 0;
    bool is_after_end = true;
    for (size_t i = 0; i < count; i++) {
        uint32_t block = (uint32_t)(events[i].what / 2);
        if (events[i].what == end_of(block)) {
            end[block] = sections;
            is_after_end = true;
        } else {
            sections += is_after_end;
            is_after_end = false;
            first[block] = sections - 1;
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

// Items by first section, in an order of their own within it.
static bool sort_items(const tni_block *blocks, uint32_t count, const uint32_t *first,
                       const uint32_t *end, tni_arena *arena, tni_plan_sections *out)
{
    out->items = tni_arena_take_array(arena, out->item_count, sizeof *out->items);
    out->begin = tni_arena_take_array(arena, (size_t)out->count + 2, sizeof *out->begin);
    if (!out->items || !out->begin)
        return false;
    uint32_t *next = out->begin + 1;   // where the next item of a section goes; then its end
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes)
            next[first[i] + 1]++;
    for (uint32_t s = 0; s < out->count; s++)
        next[s + 1] += next[s];
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes)
            out->items[next[first[i]]++] = (tni_item){ first[i], end[i], i, blocks[i].bytes };
    for (uint32_t s = 0; s < out->count; s++)
        qsort(out->items + out->begin[s], out->begin[s + 1] - out->begin[s], sizeof *out->items,
              by_place);
    return true;
}

bool tni_plan_sections_make(const tni_block *blocks, uint32_t count, tni_arena *arena,
                            tni_plan_sections *out)
{
    tni_keyed *events = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *events);
    tni_keyed *spare = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *spare);
    uint32_t *first = tni_arena_take_array(arena, count, sizeof *first);
    uint32_t *end = tni_arena_take_array(arena, count, sizeof *end);
    *out = (tni_plan_sections){ 0 };
    if (!events || !spare || !first || !end)
        return false;
    size_t event_count = 0;   // ends come before what begins in the same step
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes)
            events[event_count++] = (tni_keyed){ (uint64_t)blocks[i].last + 1, end_of(i) };
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes)
            events[event_count++] = (tni_keyed){ blocks[i].first, begin_of(i) };
    out->item_count = (uint32_t)(event_count / 2);
    out->count = cut(tni_plan_sort(events, spare, event_count), event_count, first, end);
    out->live = tni_arena_take_array(arena, (size_t)out->count + 1, sizeof *out->live);
    if (!out->live || !sort_items(blocks, count, first, end, arena, out))
        return false;
    sum_live(out);
    return true;
}
