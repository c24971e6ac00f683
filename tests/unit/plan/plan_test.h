// plan_test.h: what the tests of this folder share: random numbers, blocks to be placed, and a look
// at every pair of what was placed.
#ifndef PLAN_TEST_H
#define PLAN_TEST_H

#include "plan/plan_internal.h"

// The same 24 bits for the same seed, on every machine.
uint32_t test_random(uint32_t *seed);

// Each node makes a value that a few of the next hundred nodes read; one in eight lives long.
void test_layered(tni_block *blocks, uint32_t count, uint32_t seed);

// Cuts a rectangle of steps by bytes into `count` pieces, fewer where it is too small, the largest
// first, in random places, and shuffles them: blocks that fit without a gap. Returns how many.
uint32_t test_planted(tni_block *blocks, uint32_t count, uint32_t steps, uint32_t bytes,
                      uint32_t *seed);

// Nine blocks that no packing as high as their bound holds; one byte more is enough. The smallest
// there are; trying every offset of every block says the same.
enum { TEST_GAPS = 4, TEST_GAP_BLOCKS = 9 };
extern const tni_block test_gaps[TEST_GAPS][TEST_GAP_BLOCKS];

// Bytes at an offset, live in [begin, end).
typedef struct test_piece {
    int64_t begin, end;
    uint64_t offset, bytes;
} test_piece;

// Fails the test (CMocka) where two that are live at one time share a byte. Returns the highest
// end.
uint64_t test_highest_end(const test_piece *pieces, uint32_t count);
uint64_t test_highest_block(const tni_block *blocks, uint32_t count);

#endif
