// panel.h: one token by way of a panel: for the scalar level, and for what is left of a block of
// 256.
#ifndef CPU_PANEL_H
#define CPU_PANEL_H

#include "../kernels.h"
#include "blocks.h"

// w_blocks: parts of 32 in a block of the weight, 1 or 8. In pieces, so that the panel fits the
// stack.
static inline void matvec_by_panel(cpu_pack_kernel *pack, cpu_matmul_q8_kernel *multiply,
                                   int64_t w_blocks, int64_t w_bytes, int64_t rows, int64_t blocks,
                                   const void *w, int64_t stride, const void *x, float *acc)
{
    union {
        cpu_panel_q4_1 q4_1[CPU_K_PARTS];
        cpu_panel_q8_0 q8_0[CPU_K_PARTS];
        cpu_panel_q6_k q6_k[CPU_K_PARTS];
    } panel;

    for (int64_t b = 0; b < blocks; b += CPU_K_PARTS) {
        int64_t count = blocks - b < CPU_K_PARTS ? blocks - b : CPU_K_PARTS;

        pack(rows, count, (const char *)w + b / w_blocks * w_bytes, stride, &panel);
        multiply(1, 1, count, &panel, (const cpu_block_q8 *)x + b, 0, acc, CPU_PANEL_ROWS, 0);
    }
}

#endif
