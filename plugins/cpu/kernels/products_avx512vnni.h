// products_avx512vnni.h: how products of 16 bits are added, at the level avx512vnni.
#ifndef CPU_PRODUCTS_AVX512VNNI_H
#define CPU_PRODUCTS_AVX512VNNI_H

#include <immintrin.h>

// total + first * second, in 16 bits, in pairs.
static inline __m256i add_products(__m256i total, __m256i first, __m256i second)
{
    return _mm256_dpwssd_epi32(total, first, second);
}

#endif
