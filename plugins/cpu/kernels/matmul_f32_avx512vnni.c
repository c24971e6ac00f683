// matmul_f32_avx512vnni.c: products in F32 at the level avx512vnni, whose 32 registers hold 24
// sums: 10 vectors are loaded for 24 products.
#include "floats_avx512vnni.h"

#define TOKENS 6
#include "matmul_f32.inc"
