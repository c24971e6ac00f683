// decode_scalar.c: F16 and block types to F32.
#include "../kernels.h"
#include "blocks.h"

void cpu_decode_f16_scalar(int64_t n, const void *from, float *to)
{
    const char *at = from;

    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_half_to_float(cpu_load_u16(at + 2 * i));
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

void cpu_decode_q4_1_scalar(int64_t n, const void *from, float *to)
{
    const char *block = from;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q4_1_BYTES, to += CPU_BLOCK) {
        float d = cpu_half_to_float(cpu_load_u16(block)),
              m = cpu_half_to_float(cpu_load_u16(block + 2));
        const uint8_t *q = (const uint8_t *)block + 4;

        for (int j = 0; j < CPU_BLOCK / 2; j++) {
            to[j] = d * (float)(q[j] & 15) + m;
            to[j + CPU_BLOCK / 2] = d * (float)(q[j] >> 4) + m;
        }
    }
}
