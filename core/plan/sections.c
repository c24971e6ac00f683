#include "plan/sections.h"

#include <stdlib.h>

#include "plan/ranks.h"

enum {
    FEW = 16,         // items are sorted one into the others
    ITEM_BYTES = 64   // that are taken, or somewhat more
};

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

// Steps of blocks that have bytes, as far as their order goes.
typedef struct steps {
    uint32_t *begins, *ends;   // by block: its first, and the one after its last
    size_t count;              // they are below this
} steps;

static bool find_ranks(const tni_block *blocks, uint32_t count, tni_arena *arena, steps *out)
{
    uint32_t used = 0;
    uint64_t *numbers = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *numbers);
    uint32_t *ranks = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *ranks);
    if (!numbers || !ranks)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i].bytes == 0)
            continue;
        numbers[used++] = blocks[i].first;
        numbers[used++] = (uint64_t)blocks[i].last + 1;
    }
    if (!tni_plan_find_ranks(numbers, used, arena, ranks))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i].bytes == 0)
            continue;
        out->begins[i] = *ranks++;
        out->ends[i] = *ranks++;
    }
    out->count = used;
    return true;
}

// Where hardly any step is without a begin or an end they are in order as they are.
static bool find_steps(const tni_block *blocks, uint32_t count, tni_arena *arena, steps *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i].bytes == 0)
            continue;
        least = blocks[i].first < least ? blocks[i].first : least;
        most = blocks[i].last >= most ? (uint64_t)blocks[i].last + 1 : most;
    }
    out->begins = tni_arena_take_array(arena, count, sizeof *out->begins);
    out->ends = tni_arena_take_array(arena, count, sizeof *out->ends);
    if (!out->begins || !out->ends)
        return false;
    if (most < least)
        return true;   // none has bytes
    if (most - least >= 2 * (uint64_t)count)
        return find_ranks(blocks, count, arena, out);
    for (uint32_t i = 0; i < count; i++) {
        out->begins[i] = (uint32_t)(blocks[i].first - least);
        out->ends[i] = (uint32_t)(blocks[i].last - least) + 1;
    }
    out->count = (size_t)(most - least) + 1;
    return true;
}

// A section begins with the first begin after an end; what begins before the next end joins it.
// Turns steps into sections.
static bool cut(const tni_block *blocks, uint32_t count, tni_arena *arena, const steps *of,
                uint32_t *out_sections)
{
    enum { BEGIN = 1, END = 2 };
    uint32_t *begins = of->begins, *ends = of->ends;
    uint8_t *events = tni_arena_take_array(arena, of->count, sizeof *events);
    uint32_t *before = tni_arena_take_array(arena, of->count + 1, sizeof *before);   // sections
    if (!events || !before)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes) {
            events[begins[i]] |= BEGIN;
            events[ends[i]] |= END;
        }
    bool is_after_end = true;   // what ends in a step does so before another begins
    for (size_t t = 0; t < of->count; t++) {
        is_after_end |= events[t] & END;
        before[t + 1] = before[t] + (is_after_end && events[t] & BEGIN);
        is_after_end &= !(events[t] & BEGIN);
    }
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].bytes) {
            begins[i] = before[begins[i] + 1] - 1;
            ends[i] = before[ends[i]];
        }
    *out_sections = before[of->count];
    return true;
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

// Most sections have a few items.
static void sort_section(tni_item *items, uint32_t count)
{
    if (count > FEW) {
        qsort(items, count, sizeof *items, by_place);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        tni_item moved = items[i];
        uint32_t at = i;
        for (; at > 0 && by_place(&items[at - 1], &moved) > 0; at--)
            items[at] = items[at - 1];
        items[at] = moved;
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
        sort_section(out->items + out->begin[s], out->begin[s + 1] - out->begin[s]);
    return true;
}

bool tni_plan_sections_make(const tni_block *blocks, uint32_t count, tni_arena *arena,
                            tni_plan_sections *out)
{
    steps at = { 0 };
    tni_arena_expect(arena, ITEM_BYTES * (size_t)count);
    *out = (tni_plan_sections){ 0 };
    if (!find_steps(blocks, count, arena, &at) || !cut(blocks, count, arena, &at, &out->count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        out->item_count += blocks[i].bytes != 0;
    out->live = tni_arena_take_array(arena, (size_t)out->count + 1, sizeof *out->live);
    if (!out->live || !sort_items(blocks, count, at.begins, at.ends, arena, out))
        return false;
    sum_live(out);
    return true;
}

// Items come by first section, so the first that covers a section reaches furthest back.
void tni_plan_sections_reach(const tni_plan_sections *sections, uint32_t *reach)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < sections->item_count; i++) {
        const tni_item *it = &sections->items[i];
        for (known = known > it->first ? known : it->first; known < it->end; known++)
            reach[known] = it->first;
    }
}
