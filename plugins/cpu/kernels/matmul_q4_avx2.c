// matmul_q4_avx2.c: Q4_0 and Q4_1 at the level avx2.
#include "affine_avx2.h"
#include "matmul_q4.inc"
