// matmul_q4_avx512vnni.c: Q4_0 and Q4_1 at the level avx512vnni.
#include "affine_avx512vnni.h"
#include "matmul_q4.inc"
