// level_avx512vnni.h: as level_avx2.h. The level has AVX-512 F, BW, DQ, VL and VNNI, and all of
// avx2.
#ifndef CPU_LEVEL_AVX512VNNI_H
#define CPU_LEVEL_AVX512VNNI_H

#define AT_LEVEL(name) name##_avx512vnni

#endif
