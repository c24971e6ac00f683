// value.c: elements of every dtype as double.
#include "reference.h"

#include <math.h>
#include <string.h>

double ref_half(const void *at)
{
    uint16_t bits;
    double size;

    memcpy(&bits, at, sizeof bits);
    if ((bits >> 10 & 31) == 31)
        size = bits & 1023 ? NAN : INFINITY;
    else if ((bits >> 10 & 31) == 0)
        size = ldexp(bits & 1023, -24);
    else
        size = ldexp(1024 + (bits & 1023), (bits >> 10 & 31) - 25);
    return bits & 0x8000 ? -size : size;
}

// Rounds to nearest, ties to even, through the spacing of half numbers around the value.
static uint16_t to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value), steps;
    int exponent;

    if (isnan(value))
        return 0x7e00;
    if (size >= 65520.0)
        return (uint16_t)(sign | 0x7c00);
    frexp(size, &exponent);   // size is in [2^(exponent - 1), 2^exponent)
    if (exponent < -13)
        exponent = -13;   // subnormal: the spacing stays 2^-24
    steps = nearbyint(ldexp(size, 11 - exponent));
    if (steps < 1024)
        return (uint16_t)(sign | (int)steps);
    return (uint16_t)(sign + ((exponent + 13) << 10) + (int)(steps - 1024) + 1024);
}

static double from_bfloat(const char *at)
{
    uint16_t high;
    uint32_t bits;
    float value;

    memcpy(&high, at, sizeof high);
    bits = (uint32_t)high << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bfloat(double value)
{
    float single = (float)value;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    if (isnan(single))
        return (uint16_t)(bits >> 16 | 0x40);
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

// Toward zero; what is beyond the least or the most becomes that, a NaN 0.
static int64_t to_integer(double value, int64_t least, int64_t most)
{
    if (isnan(value))
        return 0;
    if (value >= (double)most)   // for the I64 this is 2^63, which no I64 is
        return most;
    return value <= (double)least ? least : (int64_t)value;
}

static char *address(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS], int64_t block_elements)
{
    char *address = t->data + at[0] / block_elements * t->strides[0];

    for (int i = 1; i < TNP_MAX_DIMS; i++)
        address += at[i] * t->strides[i];
    return address;
}

static int64_t block_elements(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, elements, bytes)                                                       \
    case TNP_DTYPE_##NAME:                                                                         \
        return elements;
#include <tenon/dtypes.def>
    default:
        return 1;
    }
}

double ref_get(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS])
{
    int64_t elements = block_elements(t->dtype);
    const char *here = address(t, at, elements);

    switch (t->dtype) {
    case TNP_DTYPE_F32: {
        float value;
        memcpy(&value, here, sizeof value);
        return value;
    }
    case TNP_DTYPE_F16:
        return ref_half(here);
    case TNP_DTYPE_BF16:
        return from_bfloat(here);
    case TNP_DTYPE_I32: {
        int32_t value;
        memcpy(&value, here, sizeof value);
        return value;
    }
    case TNP_DTYPE_I64: {
        int64_t value;
        memcpy(&value, here, sizeof value);
        return (double)value;
    }
    case TNP_DTYPE_I16: {
        int16_t value;
        memcpy(&value, here, sizeof value);
        return value;
    }
    case TNP_DTYPE_I8:
        return (signed char)*here;
    case TNP_DTYPE_BOOL:
        return *here != 0;
    default:
        return elements > 1 ? ref_block_element(t->dtype, here, at[0] % elements) : NAN;
    }
}

void ref_set(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS], double value)
{
    char *here = address(t, at, 1);

    switch (t->dtype) {
    case TNP_DTYPE_F32: {
        float single = (float)value;
        memcpy(here, &single, sizeof single);
        break;
    }
    case TNP_DTYPE_F16: {
        uint16_t half = to_half(value);
        memcpy(here, &half, sizeof half);
        break;
    }
    case TNP_DTYPE_BF16: {
        uint16_t bfloat = to_bfloat(value);
        memcpy(here, &bfloat, sizeof bfloat);
        break;
    }
    case TNP_DTYPE_I32: {
        int32_t whole = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
        memcpy(here, &whole, sizeof whole);
        break;
    }
    case TNP_DTYPE_I64: {
        int64_t whole = to_integer(value, INT64_MIN, INT64_MAX);
        memcpy(here, &whole, sizeof whole);
        break;
    }
    case TNP_DTYPE_I16: {
        int16_t whole = (int16_t)to_integer(value, INT16_MIN, INT16_MAX);
        memcpy(here, &whole, sizeof whole);
        break;
    }
    case TNP_DTYPE_I8:
        *here = (char)to_integer(value, INT8_MIN, INT8_MAX);
        break;
    case TNP_DTYPE_BOOL:
        *here = value != 0;   // of a NaN too
        break;
    default:
        break;
    }
}

// One block of Q8_0: d = max |x| / 127 in half precision; q = x / d, with the d before that
// rounding, in F32 as the format's writers compute it.
static void set_q8_0(char *block, const float x[32])
{
    float max = 0, scale;
    uint16_t half;

    for (int i = 0; i < 32; i++)
        max = fmaxf(max, fabsf(x[i]));
    scale = max / 127.0f;
    half = to_half(scale);
    memcpy(block, &half, sizeof half);
    for (int i = 0; i < 32; i++)
        block[2 + i] = half ? (char)(int)nearbyintf(x[i] * (1.0f / scale)) : 0;
}

void ref_set_row(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS], int64_t n, ref_row *value,
                 const void *context)
{
    int64_t to[TNP_MAX_DIMS];
    float x[32];

    memcpy(to, at, sizeof to);
    for (int64_t i = 0; i < n; i++, to[0]++) {
        if (t->dtype != TNP_DTYPE_Q8_0) {
            ref_set(t, to, value(context, i));
            continue;
        }
        x[i % 32] = (float)value(context, i);
        if (i % 32 == 31)
            set_q8_0(address(t, to, 32), x);
    }
}

void ref_round_activations(int64_t n, const float *x, float *out)
{
    char block[34];

    for (int64_t i = 0; i < n; i += 32) {
        set_q8_0(block, x + i);
        for (int j = 0; j < 32; j++)
            out[i + j] = (float)(ref_half(block) * (signed char)block[2 + j]);
    }
}

int ref_next(const int64_t dims[TNP_MAX_DIMS], int64_t at[TNP_MAX_DIMS])
{
    for (int i = 0; i < TNP_MAX_DIMS; i++) {
        if (++at[i] < dims[i])
            return 1;
        at[i] = 0;
    }
    return 0;
}

int ref_is_empty(const ref_tensor *t)
{
    for (int i = 0; i < TNP_MAX_DIMS; i++)
        if (t->dims[i] == 0)
            return 1;
    return 0;
}

double ref_get_broadcast(const ref_tensor *t, const int64_t at[TNP_MAX_DIMS])
{
    int64_t own[TNP_MAX_DIMS];

    for (int i = 0; i < TNP_MAX_DIMS; i++)
        own[i] = t->dims[i] == 1 ? 0 : at[i];
    return ref_get(t, own);
}
