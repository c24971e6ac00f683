// heap.c: binary heaps, see heap.h.
#include "base/heap.h"

#include <stdbool.h>

tni_heap *tni_heaps_take(tni_arena *arena, const uint32_t *rooms, uint32_t count)
{
    tni_heap *heaps = tni_arena_take_array(arena, count, sizeof *heaps);
    for (uint32_t i = 0; i < count && heaps; i++) {
        heaps[i].entries = tni_arena_take_array(arena, rooms[i], sizeof *heaps[i].entries);
        if (!heaps[i].entries)
            return NULL;
    }
    return heaps;
}

static bool comes_before(tni_heap_entry a, tni_heap_entry b)
{
    return a.key != b.key ? a.key < b.key : a.item < b.item;
}

void tni_heap_push(tni_heap *h, double key, uint32_t item)
{
    tni_heap_entry added = { key, item };
    uint32_t at = h->count++;
    for (; at && comes_before(added, h->entries[(at - 1) / 2]); at = (at - 1) / 2)
        h->entries[at] = h->entries[(at - 1) / 2];
    h->entries[at] = added;
}

uint32_t tni_heap_pop(tni_heap *h)
{
    tni_heap_entry top = h->entries[0], moved = h->entries[--h->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && comes_before(h->entries[child + 1], h->entries[child]))
            child++;
        if (!comes_before(h->entries[child], moved))
            break;
        h->entries[at] = h->entries[child];
    }
    h->entries[at] = moved;
    return top.item;
}
