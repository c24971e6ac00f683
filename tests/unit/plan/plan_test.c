#include "plan_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

uint32_t test_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

void test_layered(tni_block *blocks, uint32_t count, uint32_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_skip = test_random(&seed) % 8 == 0;
        uint32_t last = i + test_random(&seed) % (is_skip ? 1500 : 100);
        blocks[i] = (tni_block){ i, last < count ? last : count - 1,
                                 64 * (1 + test_random(&seed) % 4096), 0 };
    }
}

static uint64_t area(const tni_block *block)
{
    return (block->last - block->first + 1) * block->bytes;
}

// Makes two of one, in time or in bytes. false: it is too small.
static bool cut(tni_block *block, tni_block *rest, uint32_t *seed)
{
    uint32_t steps = block->last - block->first + 1;
    if (steps < 2 && block->bytes < 2)
        return false;
    *rest = *block;
    if (steps > 1 && (block->bytes < 2 || test_random(seed) % 2)) {
        block->last = block->first + test_random(seed) % (steps - 1);
        rest->first = block->last + 1;
    } else {
        block->bytes = 1 + test_random(seed) % (block->bytes - 1);
        rest->bytes -= block->bytes;
    }
    return true;
}

uint32_t test_planted(tni_block *blocks, uint32_t count, uint32_t steps, uint32_t bytes,
                      uint32_t *seed)
{
    uint32_t made = 1;
    blocks[0] = (tni_block){ 0, steps - 1, bytes, 0 };
    for (uint32_t tries = 0; made < count && tries < 100 * count; tries++) {
        tni_block *block = &blocks[test_random(seed) % made];
        for (uint32_t i = 0; i < made; i++)
            if (area(&blocks[i]) > 2 * area(block))
                block = &blocks[i];
        made += cut(block, &blocks[made], seed);
    }
    for (uint32_t i = made; i > 1; i--) {
        uint32_t j = test_random(seed) % i;
        tni_block swap = blocks[i - 1];
        blocks[i - 1] = blocks[j];
        blocks[j] = swap;
    }
    return made;
}

const tni_block test_gaps[TEST_GAPS][TEST_GAP_BLOCKS] = {
    { { 5, 5, 4, 0 },
      { 3, 4, 1, 0 },
      { 2, 2, 1, 0 },
      { 2, 3, 1, 0 },
      { 3, 4, 2, 0 },
      { 1, 1, 4, 0 },
      { 2, 4, 1, 0 },
      { 1, 2, 4, 0 },
      { 4, 5, 4, 0 } },
    { { 3, 4, 2, 0 },
      { 0, 2, 3, 0 },
      { 3, 3, 1, 0 },
      { 1, 5, 2, 0 },
      { 7, 7, 4, 0 },
      { 5, 6, 1, 0 },
      { 6, 7, 3, 0 },
      { 0, 0, 3, 0 },
      { 1, 6, 2, 0 } },
    { { 4, 7, 2, 0 },
      { 0, 4, 2, 0 },
      { 6, 6, 3, 0 },
      { 4, 5, 2, 0 },
      { 5, 7, 1, 0 },
      { 2, 7, 3, 0 },
      { 7, 7, 4, 0 },
      { 0, 6, 3, 0 },
      { 2, 3, 3, 0 } },
    { { 0, 3, 4, 0 },
      { 4, 5, 1, 0 },
      { 3, 5, 1, 0 },
      { 5, 7, 3, 0 },
      { 0, 0, 4, 0 },
      { 2, 4, 2, 0 },
      { 7, 7, 4, 0 },
      { 4, 7, 2, 0 },
      { 1, 5, 2, 0 } },
};

static int by_begin(const void *a, const void *b)
{
    const test_piece *x = *(const test_piece *const *)a, *y = *(const test_piece *const *)b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

uint64_t test_highest_end(const test_piece *pieces, uint32_t count)
{
    uint64_t highest = 0;
    const test_piece **sorted = test_malloc((count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &pieces[i];
    qsort(sorted, count, sizeof *sorted, by_begin);
    for (uint32_t i = 0; i < count; i++) {
        const test_piece *x = sorted[i];
        uint64_t end = x->offset + x->bytes;
        highest = end > highest ? end : highest;
        for (uint32_t j = i + 1; j < count && sorted[j]->begin < x->end; j++) {
            const test_piece *y = sorted[j];
            if (x->bytes && y->bytes && x->offset < y->offset + y->bytes && y->offset < end)
                fail_msg("pieces %td and %td share bytes", x - pieces, y - pieces);
        }
    }
    test_free(sorted);
    return highest;
}

uint64_t test_highest_block(const tni_block *blocks, uint32_t count)
{
    test_piece *pieces = test_malloc((count + 1) * sizeof *pieces);
    for (uint32_t i = 0; i < count; i++)
        pieces[i] = (test_piece){ blocks[i].first, (int64_t)blocks[i].last + 1, blocks[i].offset,
                                  blocks[i].bytes };
    uint64_t highest = test_highest_end(pieces, count);
    test_free(pieces);
    return highest;
}
