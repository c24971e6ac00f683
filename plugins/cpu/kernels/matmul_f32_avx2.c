// matmul_f32_avx2.c: products in F32 at the level avx2: 12 sums, and the unit that multiplies and
// adds is busy while 7 vectors are loaded for 12 products.
#include "floats_avx2.h"

#define TOKENS 3
#include "matmul_f32.inc"
