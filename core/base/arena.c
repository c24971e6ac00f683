#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer.h"

enum {
    FIRST_BLOCK_BYTES = 4096,
    LARGEST_BLOCK_BYTES = 1 << 20,
    ARENA_ALIGNMENT = 16,
    LARGE_PAGE_BYTES = 2 << 20   // of x86-64, and of AArch64 with pages of 4 KiB
};

struct tni_arena_block {
    tni_arena_block *next;
    size_t used, bytes;   // of the bytes behind this header
    size_t reserved;      // keeps the header a multiple of the alignment
};

void tni_arena_init(tni_arena *arena, const tn_allocator *allocator)
{
    *arena = (tni_arena){ .allocator = tni_allocator(allocator), .block_bytes = FIRST_BLOCK_BYTES };
}

void tni_arena_finish(tni_arena *arena)
{
    for (tni_arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        tni_free(&arena->allocator, block);
    }
    arena->first = NULL;
}

// The first block is the one that pieces are taken from. A piece larger than the next block would
// be gets a block of its own behind it, so that the rest of the first is not lost.
static tni_arena_block *add_block(tni_arena *arena, size_t least)
{
    bool is_large = least > arena->block_bytes;
    size_t bytes = is_large ? least : arena->block_bytes, total;
    if (!tni_add_size(bytes, sizeof(tni_arena_block), &total))
        return NULL;
    tni_arena_block *block = tni_alloc_zeroed(&arena->allocator, 1, total);
    if (!block)
        return NULL;
    block->bytes = bytes;
    tni_arena_block **link = is_large && arena->first ? &arena->first->next : &arena->first;
    block->next = *link;
    *link = block;
    if (!is_large && arena->block_bytes < LARGEST_BLOCK_BYTES)
        arena->block_bytes *= 2;
    return block;
}

// Pieces then begin on a large page.
static void use_large_pages(tni_arena_block *block)
{
    uintptr_t begin = (uintptr_t)(block + 1);
    block->used = (size_t)(-begin % LARGE_PAGE_BYTES);
    tni_alloc_will_fill((char *)begin + block->used, block->bytes - block->used);
}

// Fresh pages cost more than what a quick plan does with them, one large one a tenth of its small
// ones.
void tni_arena_expect(tni_arena *arena, size_t bytes)
{
    size_t next = arena->block_bytes, padded = bytes;
    if (bytes <= next || (arena->first && arena->first->bytes - arena->first->used >= bytes))
        return;
    bool is_large = bytes >= LARGE_PAGE_BYTES && tni_add_size(bytes, LARGE_PAGE_BYTES, &padded);
    arena->block_bytes = padded;
    tni_arena_block *block = add_block(arena, 0);
    arena->block_bytes = next;
    if (block && is_large)
        use_large_pages(block);
}

void *tni_arena_take(tni_arena *arena, size_t bytes)
{
    uint64_t rounded;
    if (!tni_align_u64(bytes ? bytes : 1, ARENA_ALIGNMENT, &rounded))
        return NULL;
    tni_arena_block *block = arena->first;
    if (!block || block->bytes - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block)
        return NULL;
    char *piece = (char *)(block + 1) + block->used;
    block->used += rounded;
    return piece;   // zero since the block was made
}

void *tni_arena_take_array(tni_arena *arena, size_t count, size_t bytes)
{
    size_t total;
    return tni_mul_size(count, bytes, &total) ? tni_arena_take(arena, total) : NULL;
}

uint32_t *tni_arena_take_indices(tni_arena *arena, size_t count)
{
    uint32_t *indices = tni_arena_take_array(arena, count, sizeof *indices);
    if (indices)
        memset(indices, 0xff, count * sizeof *indices);
    return indices;
}

char *tni_arena_take_text(tni_arena *arena, const char *text)
{
    return tni_arena_copy(arena, text, strlen(text) + 1, 1);
}

void *tni_arena_copy(tni_arena *arena, const void *from, size_t count, size_t bytes)
{
    void *copy = tni_arena_take_array(arena, count, bytes);
    if (copy && count)
        memcpy(copy, from, count * bytes);
    return copy;
}
