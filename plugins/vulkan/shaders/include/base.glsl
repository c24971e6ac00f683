// base.glsl: what every kernel begins with.
//
// Operands are storage buffers of words at bindings 0 to 7; a kernel names them by READS and WRITES,
// and addresses them in bytes from the start of the descriptor. Where the device has 8-bit and 16-bit
// storage (SMALL_STORAGE) parts of words are read and written as such; else by shifts, and by
// atomics for writes, since invocations beside each other write to one word.
#extension GL_GOOGLE_include_directive : require
#ifdef SMALL_STORAGE
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

// Numbers of dtypes.def.
const uint F32 = 1, F16 = 2, BF16 = 3, I32 = 4, I64 = 5, I16 = 6, I8 = 7, BOOL = 8;
const uint Q4_0 = 16, Q4_1 = 17, Q5_0 = 18, Q5_1 = 19, Q8_0 = 20;
const uint Q2_K = 24, Q3_K = 25, Q4_K = 26, Q5_K = 27, Q6_K = 28, IQ4_NL = 32;
// Of ops.def.
const uint OP_ADD = 16, OP_SUB = 17, OP_MUL = 18, OP_DIV = 19;
const uint OP_SCALE = 32, OP_NEG = 33, OP_SQRT = 34, OP_EXP = 35, OP_TANH = 36;
const uint OP_SIGMOID = 37, OP_RELU = 38, OP_SILU = 39, OP_GELU = 40, OP_ABS = 41;
const uint OP_SQR = 42, OP_RSQRT = 43, OP_LOG = 44, OP_SIN = 45, OP_COS = 46, OP_CLAMP = 47;
const uint OP_GELU_ERF = 51, OP_GELU_QUICK = 52, OP_SOFTCAP = 53;
const uint OP_SWIGLU = 48, OP_GEGLU = 49, OP_REGLU = 50;
const uint OP_RMS_NORM = 56, OP_LAYER_NORM = 57, OP_L2_NORM = 59;
const uint OP_SUM = 104, OP_MEAN = 105, OP_ARGMAX = 106, OP_MAX = 107;

#define INFINITY uintBitsToFloat(0x7f800000u)

bool is_nan(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;   // isnan may be taken for false
}

// ------------------------------------------------------------------------------- 16-bit floats

// Exact, numbers below the normal ones too, which unpackHalf2x16 may make zero.
float half_to_float(uint bits)
{
    uint magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    if (magnitude >= 0x7c00u)
        return uintBitsToFloat(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude < 0x400u)
        return uintBitsToFloat(sign | floatBitsToUint(float(magnitude) * 5.9604644775390625e-8));
    return uintBitsToFloat(sign | (magnitude + 0x1c000u) << 13);
}

// To the nearest, of two the even one; packHalf2x16 may cut.
uint half_from_float(float x)
{
    uint bits = floatBitsToUint(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
    if (magnitude > 0x7f800000u)
        return sign | 0x7e00u;
    if (magnitude >= 0x47800000u)
        return sign | 0x7c00u;
    if (magnitude < 0x38800000u)   // below the normal ones: a number of 2^-24
        return sign | uint(roundEven(uintBitsToFloat(magnitude) * 16777216.0));
    uint rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return sign | min((rounded - 0x38000000u) >> 13, 0x7c00u);
}

uint bfloat_from_float(float x)
{
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// ------------------------------------------------------------------------------------ operands

#ifdef SMALL_STORAGE
#define NARROW_READS(SLOT, NAME)                                                                   \
    layout(std430, binding = SLOT) readonly buffer NAME##_Halves { uint16_t NAME##_halves[]; };    \
    layout(std430, binding = SLOT) readonly buffer NAME##_Bytes { uint8_t NAME##_bytes[]; };       \
    uint NAME##_u16(uint at) { return uint(NAME##_halves[at >> 1]); }                              \
    uint NAME##_u8(uint at) { return uint(NAME##_bytes[at]); }
#define NARROW_WRITES(SLOT, NAME)                                                                  \
    layout(std430, binding = SLOT) buffer NAME##_Halves { uint16_t NAME##_halves[]; };             \
    layout(std430, binding = SLOT) buffer NAME##_Bytes { uint8_t NAME##_bytes[]; };                \
    void NAME##_put_u16(uint at, uint bits) { NAME##_halves[at >> 1] = uint16_t(bits); }           \
    void NAME##_put_u8(uint at, uint bits) { NAME##_bytes[at] = uint8_t(bits); }
#else
#define NARROW_READS(SLOT, NAME)                                                                   \
    uint NAME##_u16(uint at) { return NAME##_words[at >> 2] >> (at << 3 & 16u) & 0xffffu; }        \
    uint NAME##_u8(uint at) { return NAME##_words[at >> 2] >> (at << 3 & 24u) & 0xffu; }
#define NARROW_WRITES(SLOT, NAME)                                                                  \
    void NAME##_put_u16(uint at, uint bits)                                                        \
    {                                                                                              \
        uint shift = at << 3 & 16u;                                                                \
        atomicAnd(NAME##_words[at >> 2], ~(0xffffu << shift));                                     \
        atomicOr(NAME##_words[at >> 2], (bits & 0xffffu) << shift);                                \
    }                                                                                              \
    void NAME##_put_u8(uint at, uint bits)                                                         \
    {                                                                                              \
        uint shift = at << 3 & 24u;                                                                \
        atomicAnd(NAME##_words[at >> 2], ~(0xffu << shift));                                       \
        atomicOr(NAME##_words[at >> 2], (bits & 0xffu) << shift);                                  \
    }
#endif

//   NAME_u32(at) NAME_u16(at) NAME_u8(at)   at a multiple of what is read
//   NAME_float(at, dtype)                   F32, F16 or BF16
#define READS(SLOT, NAME)                                                                          \
    layout(std430, binding = SLOT) readonly buffer NAME##_Words { uint NAME##_words[]; };          \
    uint NAME##_u32(uint at) { return NAME##_words[at >> 2]; }                                     \
    NARROW_READS(SLOT, NAME)                                                                       \
    float NAME##_float(uint at, uint dtype)                                                        \
    {                                                                                              \
        if (dtype == F32)                                                                          \
            return uintBitsToFloat(NAME##_u32(at));                                                \
        return dtype == F16 ? half_to_float(NAME##_u16(at))                                        \
                            : uintBitsToFloat(NAME##_u16(at) << 16);                               \
    }

//   NAME_put_u32(at, bits) …   NAME_put_float(at, dtype, x)
#define WRITES(SLOT, NAME)                                                                         \
    layout(std430, binding = SLOT) buffer NAME##_Words { uint NAME##_words[]; };                   \
    void NAME##_put_u32(uint at, uint bits) { NAME##_words[at >> 2] = bits; }                      \
    NARROW_WRITES(SLOT, NAME)                                                                      \
    void NAME##_put_float(uint at, uint dtype, float x)                                            \
    {                                                                                              \
        if (dtype == F32)                                                                          \
            NAME##_put_u32(at, floatBitsToUint(x));                                                \
        else                                                                                       \
            NAME##_put_u16(at, dtype == F16 ? half_from_float(x) : bfloat_from_float(x));          \
    }

// A length: an I32 that says how much of a dim counts; what lies outside 0 to the dim is its end.
#define LENGTH(SLOT, NAME)                                                                         \
    layout(std430, binding = SLOT) readonly buffer NAME##_Words { int NAME##_words[]; };           \
    uint NAME##_of(uint at, uint dim) { return uint(clamp(NAME##_words[at >> 2], 0, int(dim))); }
