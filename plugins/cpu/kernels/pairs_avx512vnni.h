// pairs_avx512vnni.h: two panels of 8 rows side by side, for products in integers: each field of
// one is followed by the same field of the other, so that a vector is 16 rows. A panel begins 32
// bytes after the one it is paired with (CPU_PAIRED_BYTES); the types are as seen from the first.
//
// A product of bytes (vpdpbusd) adds 4 of them to 32 bits at once, exactly; its first factor has no
// sign. Where weights have one, it is lifted off as the panel is made: q + c in place of q.
#ifndef CPU_PAIRS_AVX512VNNI_H
#define CPU_PAIRS_AVX512VNNI_H

#include "blocks.h"

#define PAIR_ROWS (2 * CPU_PANEL_ROWS)

typedef struct panel_q4_1 {
    float d[PAIR_ROWS], m[PAIR_ROWS];
    uint8_t q[CPU_BLOCK / 4][PAIR_ROWS][4];
} panel_q4_1;

typedef struct panel_q2_k {
    panel_q4_1 first;
    float later_m[PAIR_ROWS];
} panel_q2_k;

typedef struct panel_q8_0 {
    float d[PAIR_ROWS];
    uint8_t q[CPU_BLOCK / 4][PAIR_ROWS][4];   // raised by Q8_0_LIFT
} panel_q8_0;

typedef struct panel_q6_k {
    float d[PAIR_ROWS], scale[2][PAIR_ROWS];
    uint8_t q[CPU_BLOCK / 4][PAIR_ROWS][4];   // raised by Q6_K_LIFT
} panel_q6_k;

// Of each of the two, for one block.
#define PAIRED_Q8_0_BYTES (sizeof(panel_q8_0) / 2)
#define PAIRED_Q6_K_BYTES (sizeof(panel_q6_k) / 2)

#define Q8_0_LIFT         128
#define Q6_K_LIFT         32

#endif
