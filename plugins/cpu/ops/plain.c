// plain.c: elements of plain types, copied or converted.
//
// A conversion goes through F32 where a float type is on either side, else through I64:
//
//   float to float    rounded to nearest, ties to even
//   float to integer  cut toward zero; beyond the type's range its least or its largest; NaN gives
//   0 integer to float  rounded to F32, and from there to the type integer to integer  beyond the
//   type's range its least or its largest to BOOL           0 for 0, else 1, for a NaN too; from
//   BOOL: 0 or 1
#include "ops.h"

#include <string.h>

void cpu_copy_elements(int64_t n, int64_t bytes, const char *from, int64_t from_stride, char *to,
                       int64_t to_stride)
{
    if (from_stride == bytes && to_stride == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)bytes);
}

static int is_float(tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_F32 || dtype == TNP_DTYPE_F16 || dtype == TNP_DTYPE_BF16;
}

static int64_t load_integer(tnp_dtype dtype, const char *at)
{
    int64_t wide;
    int32_t word;
    int16_t half;

    switch (dtype) {
    case TNP_DTYPE_I64:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case TNP_DTYPE_I32:
        memcpy(&word, at, sizeof word);
        return word;
    case TNP_DTYPE_I16:
        memcpy(&half, at, sizeof half);
        return half;
    case TNP_DTYPE_I8:
        return (signed char)*at;
    default:   // BOOL
        return *at != 0;
    }
}

static float load_float(const cpu_kernels *kernels, tnp_dtype dtype, const char *at)
{
    float value;
    uint32_t bits = 0;
    uint16_t high;

    switch (dtype) {
    case TNP_DTYPE_F32:
        memcpy(&value, at, sizeof value);
        break;
    case TNP_DTYPE_F16:
        kernels->decode_f16(1, at, &value);
        break;
    case TNP_DTYPE_BF16:   // the upper half of an F32
        memcpy(&high, at, sizeof high);
        bits = (uint32_t)high << 16;
        memcpy(&value, &bits, sizeof value);
        break;
    default:
        value = (float)load_integer(dtype, at);
    }
    return value;
}

static int64_t range_of(tnp_dtype dtype, int64_t *least)
{
    int64_t most;

    switch (dtype) {
    case TNP_DTYPE_I64:
        most = INT64_MAX;
        break;
    case TNP_DTYPE_I32:
        most = INT32_MAX;
        break;
    case TNP_DTYPE_I16:
        most = INT16_MAX;
        break;
    default:   // I8
        most = INT8_MAX;
    }
    *least = -most - 1;
    return most;
}

static void store_integer(tnp_dtype dtype, int64_t value, char *to)
{
    int64_t least, most = range_of(dtype, &least);
    int32_t word;
    int16_t half;

    if (dtype == TNP_DTYPE_BOOL) {
        *to = value != 0;
        return;
    }
    value = value < least ? least : cpu_min(value, most);
    word = (int32_t)value;
    half = (int16_t)value;
    switch (dtype) {
    case TNP_DTYPE_I64:
        memcpy(to, &value, sizeof value);
        break;
    case TNP_DTYPE_I32:
        memcpy(to, &word, sizeof word);
        break;
    case TNP_DTYPE_I16:
        memcpy(to, &half, sizeof half);
        break;
    default:   // I8
        *to = (char)value;
    }
}

static void store_bf16(float value, char *to)
{
    uint32_t bits;
    uint16_t high;

    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        bits |= 0x400000;   // quiet, so that the upper half is a NaN alone
    else
        bits += 0x7fff + (bits >> 16 & 1);
    high = (uint16_t)(bits >> 16);
    memcpy(to, &high, sizeof high);
}

static void store_float(const cpu_kernels *kernels, tnp_dtype dtype, float value, char *to)
{
    int64_t least, most = range_of(dtype, &least), whole = 0;

    switch (dtype) {
    case TNP_DTYPE_F32:
        memcpy(to, &value, sizeof value);
        return;
    case TNP_DTYPE_F16:
        kernels->encode_f16(1, &value, to);
        return;
    case TNP_DTYPE_BF16:
        store_bf16(value, to);
        return;
    case TNP_DTYPE_BOOL:
        *to = value != 0.0f;
        return;
    default:
        if (value >= (float)most)   // the I32 and I64 round up here, to what is beyond them
            whole = most;
        else if (value <= (float)least)
            whole = least;
        else if (value == value)
            whole = (int64_t)value;
        store_integer(dtype, whole, to);
    }
}

void cpu_convert_elements(const cpu_kernels *kernels, int64_t n, tnp_dtype from_dtype,
                          const char *from, int64_t from_stride, tnp_dtype to_dtype, char *to,
                          int64_t to_stride)
{
    int is_whole = !is_float(from_dtype) && !is_float(to_dtype);

    for (int64_t i = 0; i < n; i++, from += from_stride, to += to_stride) {
        if (is_whole)
            store_integer(to_dtype, load_integer(from_dtype, from), to);
        else
            store_float(kernels, to_dtype, load_float(kernels, from_dtype, from), to);
    }
}
