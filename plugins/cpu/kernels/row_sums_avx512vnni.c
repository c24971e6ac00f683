// row_sums_avx512vnni.c: weighted sums of rows at the level avx512vnni.
#include "floats_avx512vnni.h"

#define SUMS 6
#include "row_sums.inc"
