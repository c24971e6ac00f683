// matmul_q2_k_avx2.c: Q2_K at the level avx2.
#include "affine_avx2.h"
#include "products_avx2.h"
#include "matmul_q2_k.inc"
