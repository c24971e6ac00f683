// matmul_q4_k_avx512vnni.c: Q4_K and Q5_K at the level avx512vnni.
#include "affine_avx512vnni.h"
#include "matmul_q4_k.inc"
