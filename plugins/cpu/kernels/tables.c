// tables.c: one table of kernels a level, filled from kernels.def.
#include "../kernels.h"

const cpu_kernels cpu_kernels_scalar = {
    .level = "scalar",
#define KERNEL(name, type, avx2) .name = cpu_##name##_scalar,
#include "../kernels.def"
};

#if defined(__x86_64__)
const cpu_kernels cpu_kernels_avx2 = {
    .level = "avx2",
#define KERNEL(name, type, avx2) .name = cpu_##name##_##avx2,
#include "../kernels.def"
};
#endif
