// dot_neon.h: sums of products of bytes, 4 rows at a time, without an instruction for them.
// Products are 16 bits wide and added in pairs to 32, so nothing overflows.
#ifndef CPU_DOT_NEON_H
#define CPU_DOT_NEON_H

#include <arm_neon.h>

#include "level_neon.h"

// Lanes 2 r and 2 r + 1 of both together are the sums of rows 0 to 3.
typedef struct dots {
    int32x4_t lower, upper;
} dots;

static inline dots no_dots(void)
{
    return (dots){ vdupq_n_s32(0), vdupq_n_s32(0) };
}

// Adds 4 weights a row times the same 4 activations.
static inline dots add_dots(dots to, int8x16_t w, int8x16_t x)
{
    to.lower = vpadalq_s16(to.lower, vmull_s8(vget_low_s8(w), vget_low_s8(x)));
    to.upper = vpadalq_s16(to.upper, vmull_high_s8(w, x));
    return to;
}

static inline int32x4_t sums_of(dots from)
{
    return vpaddq_s32(from.lower, from.upper);
}

#endif
