// isa.h: which level of kernels this processor, and its operating system, can run.
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include "kernels.h"

// The kernels of the highest level that runs here, or of the level `wanted`.
//   wanted   the value of TENON_CPU_ISA: a level's name, which may only lower the level; NULL or ""
//            = the highest
//   reason   static text, set when the result is NULL: the name is unknown, or its level does not
//            run here
// Returns:  a table that lives as long as the plugin, or NULL
// Threads:  [any]
const cpu_kernels *cpu_kernels_choose(const char *wanted, const char **reason);

#endif
