// matmul_q5_avx2.c: Q5_0 and Q5_1 at the level avx2.
#include "affine_avx2.h"
#include "matmul_q5.inc"
