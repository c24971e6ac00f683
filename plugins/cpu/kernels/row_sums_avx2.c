// row_sums_avx2.c: weighted sums of rows at the level avx2.
#include "floats_avx2.h"

#define SUMS 3
#include "row_sums.inc"
