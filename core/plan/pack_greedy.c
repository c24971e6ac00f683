// pack_greedy.c: largest first, each at the lowest offset where nothing that lives with it lies.
#include <stdlib.h>

#include "plan/plan_internal.h"

// Larger blocks first; of one size the longer-lived, then the earlier: a total order, so the plan
// is the same every time.
static int larger_first(const void *a, const void *b)
{
    const tni_block *x = *(tni_block *const *)a, *y = *(tni_block *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    uint32_t x_steps = x->last - x->first, y_steps = y->last - y->first;
    if (x_steps != y_steps)
        return x_steps > y_steps ? -1 : 1;
    return x < y ? -1 : x > y;
}

bool tni_plan_place_greedy(tni_block *blocks, uint32_t count, tni_arena *arena, uint64_t *out_peak)
{
    tni_block **order = tni_arena_take_array(arena, count, sizeof *order);
    tni_block **placed = tni_arena_take_array(arena, count, sizeof *placed);   // by offset
    if (!order || !placed)
        return false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = &blocks[i];
    qsort(order, count, sizeof *order, larger_first);

    uint64_t peak = 0;
    for (uint32_t i = 0; i < count; i++) {
        tni_block *block = order[i];
        uint64_t offset = 0;
        for (uint32_t j = 0; j < i; j++) {   // from low to high: past all that are in the way
            const tni_block *other = placed[j];
            bool is_apart = other->last < block->first || other->first > block->last;
            if (is_apart || other->offset + other->bytes <= offset)
                continue;
            if (other->offset >= offset + block->bytes)
                break;
            offset = other->offset + other->bytes;
        }
        block->offset = offset;
        peak = offset + block->bytes > peak ? offset + block->bytes : peak;
        uint32_t at = i;
        for (; at > 0 && placed[at - 1]->offset > offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
    }
    *out_peak = peak;
    return true;
}
