// blocks.glsl: block types, eight neighbouring elements at a time. Layouts are those of GGUF files;
// sdk/conform/reference/blocks.c draws them.
//
// Every type is a scale times a level of 8 bits, signed, plus an offset: BLOCKS(NAME) makes
//
//   Levels NAME_levels(at, part, dtype)   of elements 8 part to 8 part + 7 of the block at `at`,
//                                         a multiple of 2
//   Pair NAME_pair(at, part, dtype)       what is read of the block for the part, and for the one
//                                         pair_step() behind it, most of which is in the same words
//
// for an operand that READS has named.

uint block_elements(uint dtype)
{
    return dtype < 16 ? 1 : dtype >= Q2_K && dtype <= Q6_K ? 256 : 32;
}

uint block_bytes(uint dtype)
{
    switch (dtype) {
    case Q4_0:
    case IQ4_NL:
        return 18;
    case Q4_1:
        return 20;
    case Q5_0:
        return 22;
    case Q5_1:
        return 24;
    case Q8_0:
        return 34;
    case Q2_K:
        return 84;
    case Q3_K:
        return 110;
    case Q4_K:
        return 144;
    case Q5_K:
        return 176;
    default:
        return 210;
    }
}

struct Levels {
    uvec2 bytes;   // of a word, the lowest byte is the first level
    float scale, offset;
};

vec4 floats_of(uint levels)
{
    int all = int(levels);
    return vec4(bitfieldExtract(all, 0, 8), bitfieldExtract(all, 8, 8),
                bitfieldExtract(all, 16, 8), bitfieldExtract(all, 24, 8));
}

bool has_offset(uint dtype)
{
    return dtype == Q4_1 || dtype == Q5_1 || dtype == Q2_K || dtype == Q4_K || dtype == Q5_K;
}

// ---------------------------------------------------------------------- where things are, in bytes

uint place_of_scale(uint dtype)
{
    return dtype == Q2_K ? 80 : dtype == Q3_K ? 108 : dtype == Q6_K ? 208 : 0;
}

uint place_of_levels(uint dtype, uint part)
{
    uint half_of = 8 * (part & 1u), quarter = 8 * (part & 3u);
    switch (dtype) {
    case Q4_1:
        return 4 + half_of;
    case Q5_0:
        return 6 + half_of;
    case Q5_1:
        return 8 + half_of;
    case Q8_0:
        return 2 + 8 * part;
    case Q2_K:
        return 16 + 32 * (part >> 4) + quarter;
    case Q3_K:
        return 32 + 32 * (part >> 4) + quarter;
    case Q4_K:
        return 16 + 32 * (part >> 3) + quarter;
    case Q5_K:
        return 48 + 32 * (part >> 3) + quarter;
    case Q6_K:
        return 64 * (part >> 4) + 32 * (part >> 2 & 1u) + quarter;
    default:
        return 2 + half_of;
    }
}

// Of Q5_0 and Q5_1 a word of all parts, else eight bytes.
uint place_of_high_bits(uint dtype, uint part)
{
    uint quarter = 8 * (part & 3u);
    switch (dtype) {
    case Q5_0:
        return 2;
    case Q5_1:
        return 4;
    case Q5_K:
        return 16 + quarter;
    case Q6_K:
        return 128 + 32 * (part >> 4) + quarter;
    default:   // Q3_K
        return quarter;
    }
}

// Bytes of which scale and offset of the part are made.
uvec3 places_of_factors(uint dtype, uint part)
{
    if (dtype == Q2_K)
        return uvec3(part >> 1);
    if (dtype == Q3_K)
        return uvec3(96 + (part >> 1 & 7u), 104 + (part >> 1 & 3u), 104);
    if (dtype == Q6_K)
        return uvec3(192 + (part >> 1));
    uint s = part >> 2;   // Q4_K, Q5_K
    return uvec3(4 + s, 8 + s, s < 4 ? 4 + s : s);
}

// -------------------------------------------------------------------------------- what they say

uvec2 minus(uvec2 levels, uint bias)
{
    return ((levels | 0x80808080u) - bias * 0x01010101u) ^ 0x80808080u;
}

uint level_of_iq4_nl(uint number)
{
    const uint levels[4] = { 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u };
    return levels[number >> 2] >> 8 * (number & 3u) & 0xffu;
}
uint levels_of_iq4_nl(uint numbers)
{
    return level_of_iq4_nl(numbers & 15u) | level_of_iq4_nl(numbers >> 8 & 15u) << 8 |
           level_of_iq4_nl(numbers >> 16 & 15u) << 16 | level_of_iq4_nl(numbers >> 24) << 24;
}

// A bit for each of eight bytes: those of a part.
uvec2 spread(uint bits, uint part)
{
    uvec2 own = uvec2(bits >> 8 * part, bits >> 8 * part + 4) & 15u;
    return own * 0x00204081u & 0x01010101u;
}

uvec2 levels_of(uint dtype, uint part, uvec2 q, uvec2 high)
{
    const uint nibbles = 0x0f0f0f0fu;
    switch (dtype) {
    case Q4_0:
        return minus(q >> 4 * (part >> 1) & nibbles, 8);
    case Q4_1:
        return q >> 4 * (part >> 1) & nibbles;
    case Q5_0:
        return minus(q >> 4 * (part >> 1) & nibbles | spread(high.x, part) << 4, 16);
    case Q5_1:
        return q >> 4 * (part >> 1) & nibbles | spread(high.x, part) << 4;
    case Q8_0:
        return q;
    case Q2_K:
        return q >> 2 * (part >> 2 & 3u) & 0x03030303u;
    case Q3_K:
        return minus(q >> 2 * (part >> 2 & 3u) & 0x03030303u |
                         (high >> (part >> 2) & 0x01010101u) << 2, 4);
    case Q4_K:
        return q >> 4 * (part >> 2 & 1u) & nibbles;
    case Q5_K:
        return q >> 4 * (part >> 2 & 1u) & nibbles | (high >> (part >> 2) & 0x01010101u) << 4;
    case Q6_K:
        return minus(q >> 4 * (part >> 3 & 1u) & nibbles |
                         (high >> 2 * (part >> 2 & 3u) & 0x03030303u) << 4, 32);
    default:
        q = q >> 4 * (part >> 1) & nibbles;
        return uvec2(levels_of_iq4_nl(q.x), levels_of_iq4_nl(q.y));
    }
}

// d: the scale of the block, and above it that of the offsets; s: the bytes of places_of_factors.
vec2 factors_of(uint dtype, uint part, uint d, uvec3 s)
{
    float scale = half_to_float(d & 0xffffu), offset = 0.0;
    if (has_offset(dtype))
        offset = half_to_float(d >> 16);
    switch (dtype) {
    case Q2_K:
        return vec2(scale * float(s.x & 15u), -offset * float(s.x >> 4));
    case Q3_K: {
        uint low = s.x >> 4 * (part >> 4) & 15u, high = s.y >> 2 * (part >> 3) & 3u;
        return vec2(scale * float(int(low + 16 * high) - 32), 0.0);
    }
    case Q4_K:
    case Q5_K: {
        if (part < 16)
            return vec2(scale * float(s.x & 63u), -offset * float(s.y & 63u));
        uint factor = s.y & 15u | s.z >> 6 << 4, minimum = s.y >> 4 | s.x >> 6 << 4;
        return vec2(scale * float(factor), -offset * float(minimum));
    }
    case Q6_K:
        return vec2(scale * float(bitfieldExtract(int(s.x), 0, 8)), 0.0);
    default:
        return vec2(scale, offset);
    }
}

// ------------------------------------------------------------------------------------- two parts

// How far the parts of a pair are from each other, and the first of the block's pair number i.
uint pair_step(uint dtype)
{
    return dtype == Q8_0 ? 1 : dtype == Q6_K ? 8 : block_elements(dtype) == 256 ? 4 : 2;
}
uint first_of_pair(uint dtype, uint i)
{
    uint step = pair_step(dtype);
    return i / step * 2 * step + i % step;
}

struct Pair {
    uvec2 q[2], high;   // q[1] is q[0] but of Q8_0
    uint d;
    uvec3 s[2];
};

Levels levels_of_pair(Pair pair, uint part, uint which, uint dtype)
{
    part += which * pair_step(dtype);
    vec2 factors = factors_of(dtype, part, pair.d, pair.s[which]);
    return Levels(levels_of(dtype, part, pair.q[which], pair.high), factors.x, factors.y);
}

#define BLOCKS(NAME)                                                                               \
    uint NAME##_word(uint at)                                                                      \
    {                                                                                              \
        uint low = NAME##_words[at >> 2], high = NAME##_words[(at + 3) >> 2];                      \
        return (at & 2u) == 0 ? low : low >> 16 | high << 16;                                      \
    }                                                                                              \
    uvec2 NAME##_two_words(uint at)                                                                \
    {                                                                                              \
        uint low = NAME##_words[at >> 2], middle = NAME##_words[(at >> 2) + 1];                    \
        uint high = NAME##_words[(at + 7) >> 2];                                                   \
        return (at & 2u) == 0 ? uvec2(low, middle)                                                 \
                              : uvec2(low >> 16 | middle << 16, middle >> 16 | high << 16);        \
    }                                                                                              \
    uint NAME##_scale(uint at, uint dtype)                                                         \
    {                                                                                              \
        at += place_of_scale(dtype);                                                               \
        return has_offset(dtype) ? NAME##_word(at) : NAME##_u16(at);                               \
    }                                                                                              \
    uvec2 NAME##_high_bits(uint at, uint part, uint dtype)                                         \
    {                                                                                              \
        at += place_of_high_bits(dtype, part);                                                     \
        if (dtype == Q5_0 || dtype == Q5_1)                                                        \
            return uvec2(NAME##_word(at), 0);                                                      \
        return dtype == Q3_K || dtype == Q5_K || dtype == Q6_K ? NAME##_two_words(at) : uvec2(0);  \
    }                                                                                              \
    uvec3 NAME##_factor_bytes(uint at, uint part, uint dtype)                                      \
    {                                                                                              \
        if (block_elements(dtype) != 256)                                                          \
            return uvec3(0);                                                                       \
        uvec3 places = at + places_of_factors(dtype, part);                                        \
        return uvec3(NAME##_u8(places.x), NAME##_u8(places.y), NAME##_u8(places.z));               \
    }                                                                                              \
    Levels NAME##_levels(uint at, uint part, uint dtype)                                           \
    {                                                                                              \
        uvec2 high = NAME##_high_bits(at, part, dtype);                                            \
        vec2 factors = factors_of(dtype, part, NAME##_scale(at, dtype),                            \
                                  NAME##_factor_bytes(at, part, dtype));                           \
        uvec2 q = NAME##_two_words(at + place_of_levels(dtype, part));                             \
        return Levels(levels_of(dtype, part, q, high), factors.x, factors.y);                      \
    }                                                                                              \
    Pair NAME##_pair(uint at, uint part, uint dtype)                                               \
    {                                                                                              \
        Pair pair;                                                                                 \
        pair.q[0] = pair.q[1] = NAME##_two_words(at + place_of_levels(dtype, part));               \
        if (dtype == Q8_0)                                                                         \
            pair.q[1] = NAME##_two_words(at + place_of_levels(dtype, part + 1));                   \
        pair.high = NAME##_high_bits(at, part, dtype);                                             \
        pair.d = NAME##_scale(at, dtype);                                                          \
        pair.s[0] = NAME##_factor_bytes(at, part, dtype);                                          \
        pair.s[1] = NAME##_factor_bytes(at, part + pair_step(dtype), dtype);                       \
        return pair;                                                                               \
    }
