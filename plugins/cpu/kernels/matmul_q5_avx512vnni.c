// matmul_q5_avx512vnni.c: Q5_0 and Q5_1 at the level avx512vnni.
#include "affine_avx512vnni.h"
#include "matmul_q5.inc"
