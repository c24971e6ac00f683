// dot_neondot.h: as dot_neon.h, with the instruction for sums of products of bytes.
#ifndef CPU_DOT_NEONDOT_H
#define CPU_DOT_NEONDOT_H

#include <arm_neon.h>

#include "level_neondot.h"

typedef int32x4_t dots;

static inline dots no_dots(void)
{
    return vdupq_n_s32(0);
}

static inline dots add_dots(dots to, int8x16_t w, int8x16_t x)
{
    return vdotq_s32(to, w, x);
}

static inline int32x4_t sums_of(dots from)
{
    return from;
}

#endif
