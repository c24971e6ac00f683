#include <stdlib.h>

#include "plan/plan_internal.h"

// Where the sum of live bytes changes: up at the first step of a block, down after its last.
typedef struct change {
    uint64_t step;
    uint64_t bytes;
    bool is_end;
} change;

static int by_step_ends_first(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (int)y->is_end - (int)x->is_end;
}

bool tni_plan_bound(const tni_block *blocks, uint32_t count, tni_arena *arena, uint64_t *out_bytes)
{
    change *changes = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *changes);
    if (!changes)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        changes[2 * i] = (change){ blocks[i].first, blocks[i].bytes, false };
        changes[2 * i + 1] = (change){ (uint64_t)blocks[i].last + 1, blocks[i].bytes, true };
    }
    qsort(changes, 2 * (size_t)count, sizeof *changes, by_step_ends_first);
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < 2 * (size_t)count; i++) {
        live = changes[i].is_end ? live - changes[i].bytes : live + changes[i].bytes;
        most = live > most ? live : most;
    }
    *out_bytes = most;
    return true;
}
