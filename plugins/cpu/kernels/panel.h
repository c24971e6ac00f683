// panel.h: one token by way of a panel, for the scalar level and for what is left of a block of
// 256; and where the scalar level adds up a panel.
#ifndef CPU_PANEL_H
#define CPU_PANEL_H

#include "../kernels.h"
#include "blocks.h"

// Where the bytes after the first `bytes` of a row are, for all of them.
static inline const char *blocks_on(const void *w, int64_t stride, int64_t bytes)
{
    return (const char *)w + (stride == CPU_PACKED ? CPU_PANEL_ROWS * bytes : bytes);
}

// Block b, of `bytes` bytes, of row r: where it is, or put together in `room`.
static inline const uint8_t *block_of(uint8_t *room, size_t bytes, const void *w, int64_t rows,
                                      int64_t stride, int64_t r, int64_t b)
{
    const int64_t size = (int64_t)bytes, half = cpu_lone_half(size);
    const uint8_t *at = (const uint8_t *)blocks_on(w, stride, b * size);

    if (stride != CPU_PACKED)
        return at + (r < rows ? r : rows - 1) * stride;
    for (int64_t i = 0; i < size;) {
        int64_t piece = i == half ? 2 : 4;

        memcpy(room + i, at + CPU_PANEL_ROWS * i + r * piece, (size_t)piece);
        i += piece;
    }
    return room;
}

// Panels that lie together at most.
#define MOST_TOGETHER 2

// The 8 sums of panel p with token t, cleared where they begin at 0.
static inline float *panel_sums(float *acc, int64_t acc_stride, int64_t t, int64_t p, int from_0)
{
    float *sums = acc + t * acc_stride + p * CPU_PANEL_ROWS;

    if (from_0)
        memset(sums, 0, CPU_PANEL_ROWS * sizeof *sums);
    return sums;
}

// w_blocks: parts of 32 in a block of the weight, 1 or 8. In pieces, so that the panel fits the
// stack. The sums are added to acc, or take its place where `from_0`.
static inline void matvec_by_panel(cpu_pack_kernel *pack, cpu_matmul_q8_kernel *multiply,
                                   int64_t w_blocks, int64_t w_bytes, int64_t rows, int64_t blocks,
                                   const void *w, int64_t stride, const void *x, float *acc,
                                   int from_0)
{
    union {
        cpu_panel_q4_1 q4_1;
        cpu_panel_q2_k q2_k;
        cpu_panel_q8_0 q8_0;
        cpu_panel_q6_k q6_k;
    } panel[CPU_K_PARTS * MOST_TOGETHER];
    int64_t b = 0;

    do {   // once for no blocks
        int64_t count = blocks - b < CPU_K_PARTS ? blocks - b : CPU_K_PARTS;

        pack(rows, count, blocks_on(w, stride, b / w_blocks * w_bytes), stride, panel);
        multiply(1, 1, count, panel, (const cpu_block_q8 *)x + b, 0, acc, CPU_PANEL_ROWS,
                 from_0 && b == 0);
        b += CPU_K_PARTS;
    } while (b < blocks);
}

#endif
