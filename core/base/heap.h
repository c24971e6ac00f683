// heap.h: what comes next of several, by a key: the smallest, and of equal ones the smallest item.
#ifndef TNI_HEAP_H
#define TNI_HEAP_H

#include "base/arena.h"

typedef struct tni_heap_entry {
    double key;
    uint32_t item;
} tni_heap_entry;

typedef struct tni_heap {
    tni_heap_entry *entries;   // the first is the smallest
    uint32_t count;
} tni_heap;

// Heaps {count}, empty, each with room for so many. NULL: out of memory.
tni_heap *tni_heaps_take(tni_arena *arena, const uint32_t *rooms, uint32_t count);

void tni_heap_push(tni_heap *heap, double key, uint32_t item);   // there is room
uint32_t tni_heap_pop(tni_heap *heap);                           // it is not empty

#endif
