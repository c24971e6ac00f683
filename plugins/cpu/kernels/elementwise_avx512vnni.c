// elementwise_avx512vnni.c: arithmetic and activations at the level avx512vnni.
#include "floats_avx512vnni.h"

#include "elementwise.inc"
