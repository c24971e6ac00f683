// rows_avx512vnni.c: norm and softmax at the level avx512vnni.
#include "floats_avx512vnni.h"

#include "rows.inc"
