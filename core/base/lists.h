// lists.h: many lists in one array, by key: those of key k are first[k] … first[k + 1] - 1.
//
// They are made in two passes over what is to be listed:
//
//   uint32_t *first = tni_lists_begin(arena, key_count);
//   for each:  tni_lists_count(first, key);
//   array of tni_lists_sum(first, key_count)
//   for each:  array[tni_lists_next(first, key)] = it;
//
// The order within a list is that of the second pass. While they are filled first[k + 1] is where
// list k ends so far, and it ends where list k + 1 begins: that is why sums are two keys late.
#ifndef TNI_LISTS_H
#define TNI_LISTS_H

#include "base/arena.h"

// NULL: out of memory.
uint32_t *tni_lists_begin(tni_arena *arena, uint32_t key_count);

static inline void tni_lists_count(uint32_t *first, uint32_t key)
{
    first[key + 2]++;
}

// After the count: how many all lists have together.
uint32_t tni_lists_sum(uint32_t *first, uint32_t key_count);

// Where the next of a list goes.
static inline uint32_t tni_lists_next(uint32_t *first, uint32_t key)
{
    return first[key + 1]++;
}

#endif
