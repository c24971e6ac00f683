// blocks.c: one element of a block of each block type. The layouts are those of GGUF files of the
// same name; d and m are halves. "Part" s of a block of 256 are its elements 16 s to 16 s + 15, or,
// of Q4_K and Q5_K, 32 s to 32 s + 31.
#include "reference.h"

typedef const unsigned char *bytes;

static int bit(bytes from, int64_t i)
{
    return from[i / 8] >> i % 8 & 1;
}

// 32 numbers of 4 bits: 0 to 15 in the low halves of 16 bytes, 16 to 31 in the high ones.
static int nibble(bytes from, int64_t i)
{
    return i < 16 ? from[i] & 15 : from[i - 16] >> 4;
}

//   byte 0   scales: a byte for each of 16 parts: the scale in its low half, the minimum above
//   byte 16  q: 2 bits each. Element 128 h + 32 j + l is in byte 32 h + l, at bit 2 j
//   byte 80  d, dmin
static double of_q2_k(bytes block, int64_t i)
{
    int q = block[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3, both = block[i / 16];

    return ref_half(block + 80) * (both & 15) * q - ref_half(block + 82) * (both >> 4);
}

//   byte 0    h: element 32 j + l has its third bit in byte l, at bit j; not set means -4
//   byte 32   q: the two bits below, as in Q2_K
//   byte 96   scales of 16 parts, 6 bits each, minus 32: 4 bits as nibbles of 8 bytes, parts 8 to
//             15 in the high ones; then 4 bytes, in which part s has its two bits above in byte
//             s % 4, at bit 2 (s / 4)
//   byte 108  d
static double of_q3_k(bytes block, int64_t i)
{
    int q = (block[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) -
            (block[i % 32] >> i / 32 & 1 ? 0 : 4);
    int64_t s = i / 16;
    int low = s < 8 ? block[96 + s] & 15 : block[96 + s - 8] >> 4;
    int high = block[104 + s % 4] >> s / 4 * 2 & 3;

    return ref_half(block + 108) * (low + 16 * high - 32) * q;
}

// Q4_K and Q5_K have 12 bytes of scales and minimums of 8 parts, 6 bits each:
//   parts 0 to 3   the low 6 bits of bytes s (scale) and s + 4 (minimum)
//   parts 4 to 7   the low 4 bits in byte s + 4, scale low and minimum high; the 2 bits above them
//                  are the high ones of bytes s - 4 (scale) and s (minimum)
static void scale_of_part(bytes from, int64_t s, int *scale, int *minimum)
{
    if (s < 4) {
        *scale = from[s] & 63;
        *minimum = from[s + 4] & 63;
    } else {
        *scale = (from[s + 4] & 15) + 16 * (from[s - 4] >> 6);
        *minimum = (from[s + 4] >> 4) + 16 * (from[s] >> 6);
    }
}

//   byte 0   d, dmin, then scales and minimums
//   byte 16  of Q5_K alone, h: element 32 s + l has its fifth bit in byte l, at bit s
//   then     q: 4 bits each. Element 64 c + l is the low half of byte 32 c + l, 64 c + 32 + l its
//            high half
static double of_q4_or_q5_k(bytes block, int64_t i, int is_q5)
{
    bytes q = block + (is_q5 ? 48 : 16) + i / 64 * 32;
    int level = i % 64 < 32 ? q[i % 32] & 15 : q[i % 32] >> 4, scale, minimum;

    if (is_q5)
        level += 16 * (block[16 + i % 32] >> i / 32 & 1);
    scale_of_part(block + 4, i / 32, &scale, &minimum);
    return ref_half(block) * scale * level - ref_half(block + 2) * minimum;
}

//   byte 0    q: element 128 h + 32 j + l has its low 4 bits in byte 64 h + 32 (j % 2) + l, in the
//             low half for j < 2, else in the high
//   byte 128  the 2 bits above in byte 32 h + l, at bit 2 j; minus 32
//   byte 192  scales of 16 parts, I8
//   byte 208  d
static double of_q6_k(bytes block, int64_t i)
{
    int64_t h = i / 128, j = i % 128 / 32, l = i % 32;
    int both = block[64 * h + 32 * (j % 2) + l], low = j < 2 ? both & 15 : both >> 4;
    int high = block[128 + 32 * h + l] >> 2 * j & 3;

    return ref_half(block + 208) * (signed char)block[192 + i / 16] * (low + 16 * high - 32);
}

double ref_block_element(tnp_dtype dtype, const char *from, int64_t i)
{
    static const signed char levels[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113 };
    bytes block = (bytes)from;
    double d = ref_half(block), m = ref_half(block + 2);

    switch (dtype) {
    case TNP_DTYPE_Q4_0:   // d, q
        return d * (nibble(block + 2, i) - 8);
    case TNP_DTYPE_Q4_1:   // d, m, q
        return d * nibble(block + 4, i) + m;
    case TNP_DTYPE_Q5_0:   // d, fifth bits, q
        return d * (nibble(block + 6, i) + 16 * bit(block + 2, i) - 16);
    case TNP_DTYPE_Q5_1:   // d, m, fifth bits, q
        return d * (nibble(block + 8, i) + 16 * bit(block + 4, i)) + m;
    case TNP_DTYPE_Q8_0:   // d, 32 I8
        return d * (signed char)block[2 + i];
    case TNP_DTYPE_IQ4_NL:   // d, q: which of 16 levels
        return d * levels[nibble(block + 2, i)];
    case TNP_DTYPE_Q2_K:
        return of_q2_k(block, i);
    case TNP_DTYPE_Q3_K:
        return of_q3_k(block, i);
    case TNP_DTYPE_Q4_K:
        return of_q4_or_q5_k(block, i, 0);
    case TNP_DTYPE_Q5_K:
        return of_q4_or_q5_k(block, i, 1);
    default:   // Q6_K
        return of_q6_k(block, i);
    }
}
