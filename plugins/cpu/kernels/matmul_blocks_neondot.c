// matmul_blocks_neondot.c: products in integers at the level neondot.
#include "dot_neondot.h"
#include "matmul_blocks_neon.inc"
