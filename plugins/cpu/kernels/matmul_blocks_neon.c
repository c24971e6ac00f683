// matmul_blocks_neon.c: products in integers at the level neon.
#include "dot_neon.h"
#include "matmul_blocks_neon.inc"
