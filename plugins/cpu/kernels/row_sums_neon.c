// row_sums_neon.c: weighted sums of rows at the level neon.
#include "floats_neon.h"

#define SUMS 3
#include "row_sums.inc"
