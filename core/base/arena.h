// arena.h: memory with one lifetime. What is taken from an arena is never freed alone; the whole
// goes at once.
//
//   first ──► block ──► block ──► NULL        each: header, then bytes handed out from low to high
//
// Threads: one at a time.
#ifndef TNI_ARENA_H
#define TNI_ARENA_H

#include <tenon/status.h>

typedef struct tni_arena_block tni_arena_block;
typedef struct tni_arena {
    tn_allocator allocator;
    tni_arena_block *first;
    size_t block_bytes;   // of the next block; doubles up to a ceiling
} tni_arena;

void tni_arena_init(tni_arena *arena, const tn_allocator *allocator);
void tni_arena_finish(tni_arena *arena);   // also of a zeroed struct

// Zeroed, aligned to 16; NULL when there is no memory.
void *tni_arena_take(tni_arena *arena, size_t bytes);
void *tni_arena_take_array(tni_arena *arena, size_t count,
                           size_t bytes);   // NULL also when the product wraps

// A word beforehand: so much will be taken in pieces, which then come from one block. Nothing more
// than a loss of time when there is no memory for it.
void tni_arena_expect(tni_arena *arena, size_t bytes);

// Indices, all UINT32_MAX: none yet.
uint32_t *tni_arena_take_indices(tni_arena *arena, size_t count);

char *tni_arena_take_text(tni_arena *arena, const char *text);
// count elements copied.
void *tni_arena_copy(tni_arena *arena, const void *from, size_t count, size_t bytes);

#endif
