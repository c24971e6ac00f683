// matmul_q2_k_avx512vnni.c: Q2_K at the level avx512vnni.
#include "affine_avx512vnni.h"
#include "products_avx512vnni.h"
#include "matmul_q2_k.inc"
