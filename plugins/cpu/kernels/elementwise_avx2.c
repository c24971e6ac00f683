// elementwise_avx2.c: arithmetic and activations at the level avx2.
#include "floats_avx2.h"

#include "elementwise.inc"
