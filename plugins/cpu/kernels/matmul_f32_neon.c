// matmul_f32_neon.c: products in F32 at the level neon, whose 32 registers hold 20 sums.
#include "floats_neon.h"

#define TOKENS 5
#include "matmul_f32.inc"
