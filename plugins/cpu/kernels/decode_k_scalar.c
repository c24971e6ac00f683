// decode_k_scalar.c: blocks of 256 to F32, a part of 32 at a time.
#include "../kernels.h"
#include "levels.h"

void cpu_decode_q2_k_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q2_K_BYTES) {
        float d = cpu_half_to_float(cpu_load_u16(block + 80)),
              dmin = cpu_half_to_float(cpu_load_u16(block + 82));

        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            uint8_t q[CPU_BLOCK];

            levels_q2_k(block, s, q);
            for (int j = 0; j < CPU_BLOCK; j++) {
                uint8_t both = block[2 * s + j / 16];

                to[j] = d * (float)(both & 15) * (float)q[j] - dmin * (float)(both >> 4);
            }
        }
    }
}

void cpu_decode_q3_k_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q3_K_BYTES) {
        float d = cpu_half_to_float(cpu_load_u16(block + 108));

        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            uint8_t q[CPU_BLOCK];

            levels_q3_k(block, s, q);
            for (int j = 0; j < CPU_BLOCK; j++)
                to[j] = d * (float)(scale_q3_k(block, 2 * s + j / 16) - 32) * (float)(q[j] - 4);
        }
    }
}

void cpu_decode_q4_k_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q4_K_BYTES)
        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            uint8_t q[CPU_BLOCK];
            float d, m;

            scales_of_part(block, s, &d, &m);
            levels_q4_k(block, s, q);
            for (int j = 0; j < CPU_BLOCK; j++)
                to[j] = d * (float)q[j] + m;
        }
}

void cpu_decode_q5_k_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q5_K_BYTES)
        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            uint8_t q[CPU_BLOCK];
            float d, m;

            scales_of_part(block, s, &d, &m);
            levels_q5_k(block, s, q);
            for (int j = 0; j < CPU_BLOCK; j++)
                to[j] = d * (float)q[j] + m;
        }
}

void cpu_decode_q6_k_scalar(int64_t n, const void *from, float *to)
{
    const uint8_t *block = from;

    for (int64_t i = 0; i < n; i += CPU_K_BLOCK, block += CPU_Q6_K_BYTES) {
        float d = cpu_half_to_float(cpu_load_u16(block + 208));

        for (int s = 0; s < CPU_K_PARTS; s++, to += CPU_BLOCK) {
            uint8_t q[CPU_BLOCK];

            levels_q6_k(block, s, q);
            for (int j = 0; j < CPU_BLOCK; j++)
                to[j] = d * (float)(int8_t)block[192 + 2 * s + j / 16] * (float)(q[j] - 32);
        }
    }
}
