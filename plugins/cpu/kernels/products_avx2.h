// products_avx2.h: sums of products of 16 bits, at the level avx2.
#ifndef CPU_PRODUCTS_AVX2_H
#define CPU_PRODUCTS_AVX2_H

#include <immintrin.h>

// total + first * second, in 16 bits, in pairs.
static inline __m256i add_products(__m256i total, __m256i first, __m256i second)
{
    return _mm256_add_epi32(total, _mm256_madd_epi16(first, second));
}

#endif
