// q8_0_rows_avx2.h: 8 rows of Q8_0 or IQ4_NL, from rows to registers: bytes with a sign, and one
// scale for 32 of them. For the levels avx2 and above.
#ifndef CPU_Q8_0_ROWS_AVX2_H
#define CPU_Q8_0_ROWS_AVX2_H

#include "levels.h"
#include "panel_avx2.h"

static inline __attribute__((always_inline)) int64_t bytes_of(int is_iq4_nl)
{
    return is_iq4_nl ? CPU_IQ4_NL_BYTES : CPU_Q8_0_BYTES;
}

// 16 elements of the blocks at byte `offset` of row r, the first half and then the second: q[g] has
// 4 g to 4 g + 3 of them. IQ4_NL has both halves in the same bytes: the first call turns them and
// leaves them in `both` for the second.
static inline __attribute__((always_inline)) void load_half(int is_iq4_nl, const rows_of_8 *from,
                                                            int64_t offset, int half,
                                                            __m256i both[4], __m256i q[4])
{
    const __m256i low_bits = _mm256_set1_epi8(15);
    const __m256i values = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)(const void *)cpu_iq4_nl_values));

    if (!is_iq4_nl) {
        turn_rows(from, offset + 2 + 16 * half, q);
        return;
    }
    if (half == 0)
        turn_rows(from, offset + 2, both);
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        __m256i quant = half ? _mm256_srli_epi16(both[g], 4) : both[g];

        q[g] = _mm256_shuffle_epi8(values, _mm256_and_si256(quant, low_bits));
    }
}

#endif
