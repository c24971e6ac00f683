// level_avx2.h: the level that a file of kernels is compiled for, where several share one text
// (*.inc).
#ifndef CPU_LEVEL_AVX2_H
#define CPU_LEVEL_AVX2_H

#define AT_LEVEL(name) name##_avx2

#endif
