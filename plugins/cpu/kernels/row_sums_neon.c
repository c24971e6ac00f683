// row_sums_neon.c: weighted sums of rows at the level neon.
#include "floats_neon.h"

#include "row_sums.inc"
