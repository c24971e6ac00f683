// decode_scalar.c: F16, BF16 and blocks of 32 to F32.
#include "../kernels.h"
#include "levels.h"

void cpu_decode_f16_scalar(int64_t n, const void *from, float *to)
{
    const char *at = from;

    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_half_to_float(cpu_load_u16(at + 2 * i));
}

void cpu_decode_bf16_scalar(int64_t n, const void *from, float *to)
{
    const char *at = from;

    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)cpu_load_u16(at + 2 * i) << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

void cpu_decode_q8_0_scalar(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q8_0_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block));
        const int8_t *q = (const int8_t *)block + 2;

        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)q[j];
    }
}

void cpu_decode_q4_0_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_0_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block));
        uint8_t q[CPU_BLOCK];

        levels_of_halves(block + 2, q);
        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)(q[j] - 8);
    }
}

void cpu_decode_q4_1_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_1_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block)),
              m = cpu_half_to_float(cpu_load_u16(block + 2));
        uint8_t q[CPU_BLOCK];

        levels_of_halves(block + 4, q);
        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)q[j] + m;
    }
}

void cpu_decode_q5_0_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q5_0_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block));
        uint8_t q[CPU_BLOCK];

        levels_of_fifths(block + 2, q);
        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)(q[j] - 16);
    }
}

void cpu_decode_q5_1_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q5_1_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block)),
              m = cpu_half_to_float(cpu_load_u16(block + 2));
        uint8_t q[CPU_BLOCK];

        levels_of_fifths(block + 4, q);
        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)q[j] + m;
    }
}

void cpu_decode_iq4_nl_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_IQ4_NL_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block));
        uint8_t q[CPU_BLOCK];

        levels_of_halves(block + 2, q);
        for (int j = 0; j < CPU_BLOCK; j++)
            to[j] = d * (float)cpu_iq4_nl_values[q[j]];
    }
}
