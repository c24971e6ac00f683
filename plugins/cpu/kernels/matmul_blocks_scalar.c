// matmul_blocks_scalar.c: products in integers with Q4_0, Q5_0, Q5_1, Q4_K and Q5_K, which are
// d q + m and share the panels of Q4_1, with IQ4_NL, which shares that of Q8_0, and with Q3_K and
// Q6_K, which share one of their own.
#include "../kernels.h"
#include "levels.h"
#include "panel.h"

static void put(cpu_panel_q4_1 *to, int64_t r, float d, float m, const uint8_t q[CPU_BLOCK])
{
    to->d[r] = d;
    to->m[r] = m;
    for (int i = 0; i < CPU_BLOCK; i++)
        to->q[i / 4][r][i % 4] = q[i];
}

void cpu_pack_q4_0_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q4_0_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);
            float d = cpu_half_to_float(cpu_load_u16(block));
            uint8_t q[CPU_BLOCK];

            levels_of_halves(block + 2, q);
            put(to + b, r, d, -8.0f * d, q);
        }
}

void cpu_pack_q5_0_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q5_0_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);
            float d = cpu_half_to_float(cpu_load_u16(block));
            uint8_t q[CPU_BLOCK];

            levels_of_fifths(block + 2, q);
            put(to + b, r, d, -16.0f * d, q);
        }
}

void cpu_pack_q5_1_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q5_1_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);
            uint8_t q[CPU_BLOCK];

            levels_of_fifths(block + 4, q);
            put(to + b, r, cpu_half_to_float(cpu_load_u16(block)),
                cpu_half_to_float(cpu_load_u16(block + 2)), q);
        }
}

void cpu_pack_q4_k_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q4_K_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b / CPU_K_PARTS);
            uint8_t q[CPU_BLOCK];
            float d, m;

            scales_of_part(block, (int)(b % CPU_K_PARTS), &d, &m);
            levels_q4_k(block, (int)(b % CPU_K_PARTS), q);
            put(to + b, r, d, m, q);
        }
}

void cpu_pack_q5_k_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q5_K_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b / CPU_K_PARTS);
            uint8_t q[CPU_BLOCK];
            float d, m;

            scales_of_part(block, (int)(b % CPU_K_PARTS), &d, &m);
            levels_q5_k(block, (int)(b % CPU_K_PARTS), q);
            put(to + b, r, d, m, q);
        }
}

void cpu_pack_iq4_nl_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                            void *panel)
{
    cpu_panel_q8_0 *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_IQ4_NL_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);
            uint8_t q[CPU_BLOCK];

            levels_of_halves(block + 2, q);
            to->d[r] = cpu_half_to_float(cpu_load_u16(block));
            for (int i = 0; i < CPU_BLOCK; i++)
                to->q[i / 2][r][i % 2] = cpu_iq4_nl_values[q[i]];
        }
}

void cpu_pack_q2_k_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q2_k *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q2_K_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b / CPU_K_PARTS);
            const uint8_t *both = block + 2 * (b % CPU_K_PARTS);   // of each half
            float dmin = cpu_half_to_float(cpu_load_u16(block + 82));
            uint8_t q[CPU_BLOCK];

            levels_q2_k(block, (int)(b % CPU_K_PARTS), q);
            for (int i = 0; i < CPU_BLOCK; i++)
                q[i] = (uint8_t)(q[i] * (both[i / 16] & 15));
            put(&to->first, r, cpu_half_to_float(cpu_load_u16(block + 80)),
                -(dmin * (float)(both[0] >> 4)), q);
            to->later_m[r] = -(dmin * (float)(both[1] >> 4));
        }
}

// Quants with a sign, and the scales of both halves.
static void put_signed(cpu_panel_q6_k *to, int64_t r, float d, const int scale[2],
                       const int8_t q[CPU_BLOCK])
{
    to->d[r] = d;
    to->offset[r] = 0;
    for (int i = 0; i < CPU_BLOCK; i++) {
        to->q[i / 4][r][i % 4] = q[i];
        to->offset[r] -= 128 * scale[i / 16] * q[i];
    }
    for (int i = 0; i < 2; i++)
        to->scale[i][r][0] = to->scale[i][r][1] = (int16_t)scale[i];
}

void cpu_pack_q3_k_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q6_k *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q3_K_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b / CPU_K_PARTS);
            const int s = (int)(b % CPU_K_PARTS);
            const int scale[2] = { scale_q3_k(block, 2 * s) - 32,
                                   scale_q3_k(block, 2 * s + 1) - 32 };
            uint8_t q[CPU_BLOCK];
            int8_t signed_q[CPU_BLOCK];

            levels_q3_k(block, s, q);
            for (int i = 0; i < CPU_BLOCK; i++)
                signed_q[i] = (int8_t)(q[i] - 4);
            put_signed(to + b, r, cpu_half_to_float(cpu_load_u16(block + 108)), scale, signed_q);
        }
}

void cpu_pack_q6_k_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q6_k *to = panel;

    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q6_K_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b / CPU_K_PARTS);
            const int s = (int)(b % CPU_K_PARTS);
            const int8_t *at = (const int8_t *)block + 192 + 2 * s;
            const int scale[2] = { at[0], at[1] };
            uint8_t q[CPU_BLOCK];
            int8_t signed_q[CPU_BLOCK];

            levels_q6_k(block, s, q);
            for (int i = 0; i < CPU_BLOCK; i++)
                signed_q[i] = (int8_t)(q[i] - 32);
            put_signed(to + b, r, cpu_half_to_float(cpu_load_u16(block + 208)), scale, signed_q);
        }
}

void cpu_matmul_q5_1_q8_scalar(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                               const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                               int from_0)
{
    cpu_matmul_q4_1_q8_scalar(panels, tokens, blocks, panel, x, x_stride, acc, acc_stride, from_0);
}

void cpu_matmul_q2_k_q8_scalar(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                               const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                               int from_0)
{
    for (int64_t n = 0; n < panels * tokens; n++) {
        int64_t p = n / tokens, t = n % tokens;
        const cpu_block_q8 *block = (const void *)((const char *)x + t * x_stride);
        const cpu_panel_q2_k *w = (const cpu_panel_q2_k *)panel + p * blocks;
        float *to = panel_sums(acc, acc_stride, t, p, from_0);

        for (int64_t b = 0; b < blocks; b++, block++, w++) {
            const float x_sum[2] = { cpu_scaled_sum_of_half(block, 0),
                                     cpu_scaled_sum_of_half(block, 1) };

            for (int r = 0; r < CPU_PANEL_ROWS; r++) {
                int sum = 0;

                for (int i = 0; i < CPU_BLOCK; i++)
                    sum += w->first.q[i / 4][r][i % 4] * block->q[i];
                to[r] += w->first.m[r] * x_sum[0];
                to[r] += w->later_m[r] * x_sum[1];
                to[r] += w->first.d[r] * block->d * (float)sum;
            }
        }
    }
}

void cpu_matmul_q6_k_q8_scalar(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                               const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                               int from_0)
{
    for (int64_t n = 0; n < panels * tokens; n++) {
        int64_t p = n / tokens, t = n % tokens;
        const cpu_block_q8 *block = (const void *)((const char *)x + t * x_stride);
        const cpu_panel_q6_k *w = (const cpu_panel_q6_k *)panel + p * blocks;
        float *to = panel_sums(acc, acc_stride, t, p, from_0);

        for (int64_t b = 0; b < blocks; b++, block++, w++)
            for (int r = 0; r < CPU_PANEL_ROWS; r++) {
                int sum = 0;

                for (int i = 0; i < CPU_BLOCK; i++)
                    sum += w->scale[i / 16][r][0] * w->q[i / 4][r][i % 4] * block->q[i];
                to[r] += w->d[r] * block->d * (float)sum;
            }
    }
}

#define MATVEC(name, matmul, w_blocks, w_bytes)                                                    \
    void cpu_matvec_##name##_q8_scalar(int64_t rows, int64_t blocks, const void *w,                \
                                       int64_t stride, const void *x, float *acc)                  \
    {                                                                                              \
        matvec_by_panel(cpu_pack_##name##_scalar, cpu_matmul_##matmul##_q8_scalar, w_blocks,       \
                        w_bytes, rows, blocks, w, stride, x, acc, 1);                              \
    }
MATVEC(q4_0, q4_1, 1, CPU_Q4_0_BYTES)
MATVEC(q5_0, q5_1, 1, CPU_Q5_0_BYTES)
MATVEC(q5_1, q5_1, 1, CPU_Q5_1_BYTES)
MATVEC(iq4_nl, q8_0, 1, CPU_IQ4_NL_BYTES)
MATVEC(q2_k, q2_k, CPU_K_PARTS, CPU_Q2_K_BYTES)
MATVEC(q3_k, q6_k, CPU_K_PARTS, CPU_Q3_K_BYTES)
MATVEC(q4_k, q4_1, CPU_K_PARTS, CPU_Q4_K_BYTES)
MATVEC(q5_k, q5_1, CPU_K_PARTS, CPU_Q5_K_BYTES)
MATVEC(q6_k, q6_k, CPU_K_PARTS, CPU_Q6_K_BYTES)
#undef MATVEC
