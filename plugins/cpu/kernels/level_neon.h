// level_neon.h: as level_avx2.h. The level has what every AArch64 processor has.
#ifndef CPU_LEVEL_NEON_H
#define CPU_LEVEL_NEON_H

#define AT_LEVEL(name) name##_neon

#endif
