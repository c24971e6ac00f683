// rows_avx2.c: norm and softmax at the level avx2.
#include "floats_avx2.h"

#include "rows.inc"
