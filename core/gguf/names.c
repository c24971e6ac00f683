// names.c: names sorted for look-up.
#include "gguf/gguf_internal.h"

#include <string.h>

// Moves indices[root] down in the heap indices[0 .. count - 1] until no child comes after it.
static void sift_down(uint32_t *indices, uint32_t root, uint32_t count, tni_gguf_before before,
                      const void *context)
{
    const uint32_t moved = indices[root];
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(context, indices[child], indices[child + 1]))
            child++;
        if (!before(context, moved, indices[child]))
            break;
        indices[root] = indices[child];
    }
    indices[root] = moved;
}

// Heapsort: qsort may allocate, and may take quadratic time.
void tni_gguf_sort(uint32_t *indices, uint32_t count, tni_gguf_before before, const void *context)
{
    for (uint32_t root = count / 2; root-- > 0;)
        sift_down(indices, root, count, before, context);
    for (uint32_t last = count; last-- > 1;) {
        const uint32_t largest = indices[0];
        indices[0] = indices[last];
        indices[last] = largest;
        sift_down(indices, 0, last, before, context);
    }
}

bool tni_gguf_names_reserve(tni_gguf_names *names, uint32_t count, tni_arena *arena)
{
    names->names = tni_arena_take_array(arena, count, sizeof *names->names);
    names->sorted = tni_arena_take_array(arena, count, sizeof *names->sorted);
    names->count = count;
    return names->names && names->sorted;
}

static bool name_before(const void *context, uint32_t a, uint32_t b)
{
    const tni_gguf_names *names = context;
    return strcmp(names->names[a], names->names[b]) < 0;
}

void tni_gguf_names_sort(tni_gguf_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        names->sorted[i] = i;
    tni_gguf_sort(names->sorted, names->count, name_before, names);
}

uint32_t tni_gguf_names_find(const tni_gguf_names *names, const char *name)
{
    uint32_t low = 0, high = names->count;   // name is in sorted[low .. high - 1], or nowhere
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(name, names->names[names->sorted[middle]]);
        if (order == 0)
            return names->sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return UINT32_MAX;
}

uint32_t tni_gguf_names_duplicate(const tni_gguf_names *names, uint32_t *inout_at)
{
    for (uint32_t i = *inout_at + 1; i < names->count; i++) {
        const uint32_t a = names->sorted[i - 1], b = names->sorted[i];
        *inout_at = i;
        if (strcmp(names->names[a], names->names[b]) == 0)
            return a > b ? a : b;
    }
    return UINT32_MAX;
}
