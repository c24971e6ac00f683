// elementwise_neon.c: arithmetic and activations at the level neon.
#include "floats_neon.h"

#include "elementwise.inc"
