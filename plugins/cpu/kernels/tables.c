// tables.c: one table of kernels a level, filled from kernels.def.
#include "../kernels.h"
#include "blocks.h"
#include "pairs_avx512vnni.h"

#define PANELS_ONE_BY_ONE                                                                          \
    .panels_together = 1, .panels_at_once = 2, .panel_q6_k_bytes = sizeof(cpu_panel_q6_k)
#define PANELS_IN_PAIRS                                                                            \
    .panels_together = 2, .panels_at_once = 4, .panel_q6_k_bytes = PAIRED_Q6_K_BYTES

const cpu_kernels cpu_kernels_scalar = {
    .level = "scalar",
    PANELS_ONE_BY_ONE,
    .panel_q8_0_bytes = sizeof(cpu_panel_q8_0),
#define KERNEL(name, type, ...) .name = cpu_##name##_scalar,
#include "../kernels.def"
};

#if defined(__x86_64__)
const cpu_kernels cpu_kernels_avx2 = {
    .level = "avx2",
    PANELS_ONE_BY_ONE,
    .panel_q8_0_bytes = sizeof(cpu_panel_q8_0),
#define KERNEL(name, type, avx2, ...) .name = cpu_##name##_##avx2,
#include "../kernels.def"
};

const cpu_kernels cpu_kernels_avx512vnni = {
    .level = "avx512vnni",
    PANELS_IN_PAIRS,
    .panel_q8_0_bytes = PAIRED_Q8_0_BYTES,
#define KERNEL(name, type, avx2, avx512vnni, ...) .name = cpu_##name##_##avx512vnni,
#include "../kernels.def"
};
#elif defined(__aarch64__)
const cpu_kernels cpu_kernels_neon = {
    .level = "neon",
    PANELS_ONE_BY_ONE,
    .panel_q8_0_bytes = sizeof(cpu_panel_q8_0_bytes),
#define KERNEL(name, type, avx2, avx512vnni, neon, ...) .name = cpu_##name##_##neon,
#include "../kernels.def"
};

const cpu_kernels cpu_kernels_neondot = {
    .level = "neondot",
    PANELS_ONE_BY_ONE,
    .panel_q8_0_bytes = sizeof(cpu_panel_q8_0_bytes),
#define KERNEL(name, type, avx2, avx512vnni, neon, neondot) .name = cpu_##name##_##neondot,
#include "../kernels.def"
};
#endif
