// walk.c: rows and parts of rows for all ops.
#include "ops.h"

#include <string.h>

cpu_range cpu_part(int64_t count, int64_t grain, uint32_t worker, uint32_t workers)
{
    int64_t grains = (count + grain - 1) / grain, each = grains / workers, more = grains % workers;
    int64_t first = each * worker + cpu_min(worker, more);
    int64_t past = first + each + (worker < more);

    return (cpu_range){ cpu_min(first * grain, count), cpu_min(past * grain, count) };
}

int64_t cpu_row_count(const cpu_tensor *t)
{
    int64_t rows = 1;

    for (int i = 1; i < TNP_MAX_DIMS; i++)
        rows *= t->dims[i];
    return rows;
}

// A dim of 1 repeats, and so does a dim of 0 (an extent): its first element is there, in memory,
// whatever it holds.
char *cpu_row(const cpu_tensor *t, const int64_t dims[TNP_MAX_DIMS], int64_t row)
{
    char *at = t->data;

    for (int i = 1; i < TNP_MAX_DIMS && row > 0; i++) {
        if (t->dims[i] > 1)
            at += row % dims[i] * t->strides[i];
        row /= dims[i];
    }
    return at;
}

static int64_t element_stride(const cpu_tensor *t)
{
    return t->dims[0] > 1 ? t->strides[0] : 0;
}

static int stands_as_f32(const cpu_tensor *t)
{
    return t->dtype == TNP_DTYPE_F32 && t->dims[0] > 1 && t->strides[0] == (int64_t)sizeof(float);
}

// Contiguous elements, which a decoder takes at once; the count is rounded up to whole blocks.
static int decode(const cpu_kernels *kernels, const cpu_tensor *t, const char *row, int64_t first,
                  int64_t n, float *buffer)
{
    int64_t block = cpu_block_elements(t->dtype), bytes = cpu_block_bytes(t->dtype);
    cpu_decode_kernel *kernel;

    switch (t->dtype) {
#define DECODED(NAME, name)                                                                        \
    case TNP_DTYPE_##NAME:                                                                         \
        kernel = kernels->decode_##name;                                                           \
        break
        DECODED(F16, f16);
        DECODED(BF16, bf16);
        DECODED(Q4_0, q4_0);
        DECODED(Q4_1, q4_1);
        DECODED(Q5_0, q5_0);
        DECODED(Q5_1, q5_1);
        DECODED(Q8_0, q8_0);
        DECODED(Q2_K, q2_k);
        DECODED(Q3_K, q3_k);
        DECODED(Q4_K, q4_k);
        DECODED(Q5_K, q5_k);
        DECODED(Q6_K, q6_k);
        DECODED(IQ4_NL, iq4_nl);
#undef DECODED
    default:
        return 0;
    }
    if (block == 1 && element_stride(t) != bytes)
        return 0;
    kernel(cpu_round_up(n, block), row + first / block * bytes, buffer);
    return 1;
}

const float *cpu_read(const cpu_kernels *kernels, const cpu_tensor *t, const char *row,
                      int64_t first, int64_t n, float *buffer)
{
    int64_t stride = element_stride(t);
    const char *at = row + first * stride;

    if (stands_as_f32(t))
        return (const float *)(const void *)at;
    if (decode(kernels, t, row, first, n, buffer))
        return buffer;
    for (int64_t i = 0; i < n; i++, at += stride) {
        if (t->dtype == TNP_DTYPE_F32)
            memcpy(buffer + i, at, sizeof *buffer);
        else if (t->dtype == TNP_DTYPE_BF16)
            kernels->decode_bf16(1, at, buffer + i);
        else
            kernels->decode_f16(1, at, buffer + i);
    }
    return buffer;
}

float *cpu_target(const cpu_tensor *t, char *row, int64_t first, float *buffer)
{
    return stands_as_f32(t) ? (float *)(void *)row + first : buffer;
}

static void write_q8_0(const cpu_kernels *kernels, char *at, int64_t n, const float *from)
{
    int64_t whole = n / 32 * 32;
    float rest[32] = { 0 };

    kernels->encode_q8_0(whole, from, at);
    if (whole < n) {
        memcpy(rest, from + whole, (size_t)(n - whole) * sizeof *rest);
        kernels->encode_q8_0(32, rest, at + whole / 32 * cpu_block_bytes(TNP_DTYPE_Q8_0));
    }
}

void cpu_write(const cpu_kernels *kernels, const cpu_tensor *t, char *row, int64_t first, int64_t n,
               const float *from)
{
    int64_t stride = element_stride(t);
    char *at = row + first * stride;

    if (t->dtype == TNP_DTYPE_Q8_0) {
        write_q8_0(kernels, row + first / 32 * cpu_block_bytes(t->dtype), n, from);
        return;
    }
    if (stands_as_f32(t)) {
        if (at != (const char *)from)
            memcpy(at, from, (size_t)n * sizeof *from);
        return;
    }
    if (t->dtype == TNP_DTYPE_F16 && stride == 2) {
        kernels->encode_f16(n, from, at);
        return;
    }
    for (int64_t i = 0; i < n; i++, at += stride) {
        if (t->dtype == TNP_DTYPE_F32)
            memcpy(at, from + i, sizeof *from);
        else
            kernels->encode_f16(1, from + i, at);
    }
}

int32_t cpu_index(const cpu_tensor *t, int64_t i)
{
    int32_t value;

    memcpy(&value, t->data + i * element_stride(t), sizeof value);
    return value;
}

void cpu_fail(cpu_job *job, const char *text)
{
    const char *none = NULL;

    atomic_compare_exchange_strong(&job->failure, &none, text);
}
