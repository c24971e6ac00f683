// rows_neon.c: norm and softmax at the level neon.
#include "floats_neon.h"

#include "rows.inc"
