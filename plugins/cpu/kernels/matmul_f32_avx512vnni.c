// matmul_f32_avx512vnni.c: products in F32 at the level avx512vnni, in tiles of 16 sums, whose
// lanes are added up together: heads of attention are short, and one sum at a time takes longer
// than its products.
#include "floats_avx512vnni.h"

#define TOKENS 4
#include "matmul_f32.inc"
