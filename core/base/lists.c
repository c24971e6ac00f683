// lists.c: see lists.h.
#include "base/lists.h"

uint32_t *tni_lists_begin(tni_arena *arena, uint32_t key_count)
{
    return tni_arena_take_array(arena, (size_t)key_count + 2, sizeof(uint32_t));
}

uint32_t tni_lists_sum(uint32_t *first, uint32_t key_count)
{
    for (uint32_t k = 0; k < key_count; k++)
        first[k + 2] += first[k + 1];
    return first[key_count + 1];
}
