// matmul_q4_k_avx2.c: Q4_K and Q5_K at the level avx2.
#include "affine_avx2.h"
#include "matmul_q4_k.inc"
