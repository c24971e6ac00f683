// simulated_level.h: the level avx512vnni for a machine that lacks it: its files compiled with
// SIMDe, in a library of their own, since their names are those of the real ones. Right, not fast.
#ifndef SIMULATED_LEVEL_H
#define SIMULATED_LEVEL_H

#include "kernels.h"

__attribute__((visibility("default"))) const cpu_kernels *simulated_level(void);

#endif
