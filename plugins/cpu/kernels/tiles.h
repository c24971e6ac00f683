// tiles.h: the order in which panels and tokens meet, for products in integers at every level with
// vectors. A tile is what keeps its sums in registers; how large one is, and what it does, is the
// level's. Each result has one sum, in the order of the blocks, so no bit depends on its tile.
#ifndef CPU_TILES_H
#define CPU_TILES_H

#include <stdint.h>

#include "blocks.h"

#define PIECE 16   // blocks of activations prepared at once

// acc = what is there, or 0 where `from_0`, + `panels` panels, w_stride bytes for each, times
// `tokens` tokens, as cpu_matmul_q8_kernel has it. `ready` is what tile_prepare made.
typedef void tile_multiply(int panels, int tokens, int64_t blocks, const char *w, int64_t w_stride,
                           const char *x, int64_t x_stride, const void *ready, float *acc,
                           int64_t acc_stride, int from_0);

// Puts into `ready` what a tile wants of at most PIECE blocks of its activations, beside or in
// place of what q8 has.
typedef void tile_prepare(int tokens, int64_t blocks, const char *x, int64_t x_stride, void *ready);

// The tiles of one kind of panel at one level, a constant where it is used: all below is inlined
// there, so that the arrays of a tile become registers.
typedef struct tiles {
    tile_multiply *multiply;
    tile_prepare *prepare;   // NULL = activations are taken as they are
    void *ready;
    int64_t block_bytes;   // of the panels that lie together, for one block
    int together;          // 1, or 2 for pairs (blocks.h)
    int panels, tokens;    // of the largest tile
} tiles;

// The panels with the tokens of one tile.
static inline __attribute__((always_inline)) void
multiply_panels(const tiles *of, int tokens, int64_t panels, int64_t blocks, const char *w,
                const char *x, int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    const int64_t w_stride = blocks * of->block_bytes / of->together;
    int64_t b = 0;

    do {   // once for no blocks
        int64_t count = of->prepare && blocks - b > PIECE ? PIECE : blocks - b, p = 0;
        const char *w_b = w + b * of->block_bytes, *x_b = x + b * (int64_t)sizeof(cpu_block_q8);
        int is_first = from_0 && b == 0;

        if (of->prepare)
            of->prepare(tokens, count, x_b, x_stride, of->ready);
        for (; p + of->panels <= panels; p += of->panels)
            of->multiply(of->panels, tokens, count, w_b + p * w_stride, w_stride, x_b, x_stride,
                         of->ready, acc + p * CPU_PANEL_ROWS, acc_stride, is_first);
        for (; of->panels > 2 && p + 2 <= panels; p += 2)
            of->multiply(2, tokens, count, w_b + p * w_stride, w_stride, x_b, x_stride, of->ready,
                         acc + p * CPU_PANEL_ROWS, acc_stride, is_first);
        for (; of->panels > 1 && p < panels; p++)
            of->multiply(1, tokens, count, w_b + p * w_stride, w_stride, x_b, x_stride, of->ready,
                         acc + p * CPU_PANEL_ROWS, acc_stride, is_first);
        b += count;
    } while (b < blocks);
}

// How many tokens go in the largest tiles. What is left goes in tiles of 4 and of one; where that
// would leave 2 or 3, it takes in one of the largest if that helps.
static inline __attribute__((always_inline)) int64_t tokens_in_largest(int of_largest,
                                                                       int64_t tokens)
{
    int64_t rest = tokens % of_largest;

    return tokens - rest - (of_largest % 4 && rest % 4 > 1 && tokens > rest ? of_largest : 0);
}

// A cpu_matmul_q8_kernel: the largest tiles first, what is left in tiles of 4 tokens and of one.
static inline __attribute__((always_inline)) void
multiply_tiles(const tiles *of, int64_t panels, int64_t tokens, int64_t blocks, const char *w,
               const char *x, int64_t x_stride, float *acc, int64_t acc_stride, int from_0)
{
    int64_t t = 0;

    for (; t < tokens_in_largest(of->tokens, tokens); t += of->tokens)
        multiply_panels(of, of->tokens, panels, blocks, w, x + t * x_stride, x_stride,
                        acc + t * acc_stride, acc_stride, from_0);
    for (; of->tokens > 4 && t + 4 <= tokens; t += 4)
        multiply_panels(of, 4, panels, blocks, w, x + t * x_stride, x_stride, acc + t * acc_stride,
                        acc_stride, from_0);
    for (; t < tokens; t++)
        multiply_panels(of, 1, panels, blocks, w, x + t * x_stride, x_stride, acc + t * acc_stride,
                        acc_stride, from_0);
}

#endif
