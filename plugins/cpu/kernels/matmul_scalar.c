// matmul_scalar.c: products of rows, in F32 and in integers.
#include "../kernels.h"
#include "blocks.h"
#include "panel.h"

// Partial sums: a shorter chain of roundings than one sum, and what a compiler makes vectors of.
#define LANES 8

static float sum_lanes(const float lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static float dot_f32(int64_t k, const float *a, const float *b)
{
    float lane[LANES] = { 0 };
    int64_t i = 0;

    for (; i + LANES <= k; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    for (int j = 0; i < k; i++, j++)
        lane[j] += a[i] * b[i];
    return sum_lanes(lane);
}

void cpu_matmul_f32_scalar(int64_t rows, int64_t tokens, int64_t k, const void *w, int64_t w_stride,
                           const float *x, int64_t x_stride, float *out, int64_t out_stride)
{
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t r = 0; r < rows; r++)
            out[t * out_stride + r] = dot_f32(
                k, (const float *)(const void *)((const char *)w + r * w_stride),
                (const float *)(const void *)((const char *)x + t * x_stride));
}

void cpu_matmul_f16_scalar(int64_t rows, int64_t tokens, int64_t k, const void *w, int64_t w_stride,
                           const float *x, int64_t x_stride, float *out, int64_t out_stride)
{
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t r = 0; r < rows; r++) {
            const char *row = (const char *)w + r * w_stride;
            const float *x_t = (const float *)(const void *)((const char *)x + t * x_stride);
            float lane[LANES] = { 0 };

            for (int64_t i = 0; i < k; i++)
                lane[i % LANES] += cpu_half_to_float(cpu_load_u16(row + 2 * i)) * x_t[i];
            out[t * out_stride + r] = sum_lanes(lane);
        }
}

// d * q, exact.
static float q8_0_at(const char *row, int64_t i)
{
    const char *block = row + i / CPU_BLOCK * CPU_Q8_0_BYTES;

    return cpu_half_to_float(cpu_load_u16(block)) * (float)(int8_t)block[2 + i % CPU_BLOCK];
}

void cpu_matmul_q8_0_scalar(int64_t rows, int64_t tokens, int64_t k, const void *w,
                            int64_t w_stride, const float *x, int64_t x_stride, float *out,
                            int64_t out_stride)
{
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t r = 0; r < rows; r++) {
            const char *row = (const char *)w + r * w_stride;
            const float *x_t = (const float *)(const void *)((const char *)x + t * x_stride);
            float lane[LANES] = { 0 };

            for (int64_t i = 0; i < k; i++)
                lane[i % LANES] += q8_0_at(row, i) * x_t[i];
            out[t * out_stride + r] = sum_lanes(lane);
        }
}

void cpu_pack_q4_1_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q4_1 *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q4_1_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);

            to->d[r] = cpu_half_to_float(cpu_load_u16(block));
            to->m[r] = cpu_half_to_float(cpu_load_u16(block + 2));
            for (int i = 0; i < CPU_BLOCK / 2; i++) {
                uint8_t both = block[4 + i];

                to->q[i / 4][r][i % 4] = both & 15;
                to->q[i / 4 + 4][r][i % 4] = both >> 4;
            }
        }
}

void cpu_pack_q8_0_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride, void *panel)
{
    cpu_panel_q8_0 *to = panel;

    for (int64_t b = 0; b < blocks; b++, to++)
        for (int64_t r = 0; r < CPU_PANEL_ROWS; r++) {
            uint8_t room[CPU_Q8_0_BYTES];
            const uint8_t *block = block_of(room, sizeof room, w, rows, stride, r, b);

            to->d[r] = cpu_half_to_float(cpu_load_u16(block));
            for (int i = 0; i < CPU_BLOCK; i++)
                to->q[i / 2][r][i % 2] = (int8_t)block[2 + i];
        }
}

void cpu_matmul_q4_1_q8_scalar(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                               const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                               int from_0)
{
    for (int64_t n = 0; n < panels * tokens; n++) {
        int64_t p = n / tokens, t = n % tokens;
        const cpu_block_q8 *block = (const void *)((const char *)x + t * x_stride);
        const cpu_panel_q4_1 *w = (const cpu_panel_q4_1 *)panel + p * blocks;
        float *to = panel_sums(acc, acc_stride, t, p, from_0);

        for (int64_t b = 0; b < blocks; b++, block++, w++)
            for (int r = 0; r < CPU_PANEL_ROWS; r++) {
                int sum = 0;

                for (int i = 0; i < CPU_BLOCK; i++)
                    sum += w->q[i / 4][r][i % 4] * block->q[i];
                to[r] += w->m[r] * block->sum;
                to[r] += w->d[r] * block->d * (float)sum;
            }
    }
}

void cpu_matmul_q8_0_q8_scalar(int64_t panels, int64_t tokens, int64_t blocks, const void *panel,
                               const void *x, int64_t x_stride, float *acc, int64_t acc_stride,
                               int from_0)
{
    for (int64_t n = 0; n < panels * tokens; n++) {
        int64_t p = n / tokens, t = n % tokens;
        const cpu_block_q8 *block = (const void *)((const char *)x + t * x_stride);
        const cpu_panel_q8_0 *w = (const cpu_panel_q8_0 *)panel + p * blocks;
        float *to = panel_sums(acc, acc_stride, t, p, from_0);

        for (int64_t b = 0; b < blocks; b++, block++, w++)
            for (int r = 0; r < CPU_PANEL_ROWS; r++) {
                int sum = 0;

                for (int i = 0; i < CPU_BLOCK; i++)
                    sum += w->q[i / 2][r][i % 2] * block->q[i];
                to[r] += w->d[r] * block->d * (float)sum;
            }
    }
}

void cpu_matvec_q4_1_q8_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                               const void *x, float *acc)
{
    matvec_by_panel(cpu_pack_q4_1_scalar, cpu_matmul_q4_1_q8_scalar, 1, CPU_Q4_1_BYTES, rows,
                    blocks, w, stride, x, acc, 1);
}

void cpu_matvec_q8_0_q8_scalar(int64_t rows, int64_t blocks, const void *w, int64_t stride,
                               const void *x, float *acc)
{
    matvec_by_panel(cpu_pack_q8_0_scalar, cpu_matmul_q8_0_q8_scalar, 1, CPU_Q8_0_BYTES, rows,
                    blocks, w, stride, x, acc, 1);
}

void cpu_row_sums_f32_scalar(int64_t count, int64_t n, int64_t width, const float *p,
                             int64_t p_stride, const void *v, int64_t v_stride, float *out,
                             int64_t out_stride)
{
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < width; i++)
            out[j * out_stride + i] = 0.0f;
        for (int64_t s = 0; s < n; s++)
            for (int64_t i = 0; i < width; i++) {
                float value;

                memcpy(&value, (const char *)v + s * v_stride + 4 * i, sizeof value);
                out[j * out_stride + i] += p[j * p_stride + s] * value;
            }
    }
}

void cpu_row_sums_f16_scalar(int64_t count, int64_t n, int64_t width, const float *p,
                             int64_t p_stride, const void *v, int64_t v_stride, float *out,
                             int64_t out_stride)
{
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < width; i++)
            out[j * out_stride + i] = 0.0f;
        for (int64_t s = 0; s < n; s++)
            for (int64_t i = 0; i < width; i++) {
                float value = cpu_half_to_float(
                    cpu_load_u16((const char *)v + s * v_stride + 2 * i));

                out[j * out_stride + i] += p[j * p_stride + s] * value;
            }
    }
}

void cpu_row_sums_q8_0_scalar(int64_t count, int64_t n, int64_t width, const float *p,
                              int64_t p_stride, const void *v, int64_t v_stride, float *out,
                              int64_t out_stride)
{
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < width; i++)
            out[j * out_stride + i] = 0.0f;
        for (int64_t s = 0; s < n; s++)
            for (int64_t i = 0; i < width; i++)
                out[j * out_stride + i] += p[j * p_stride + s] *
                                           q8_0_at((const char *)v + s * v_stride, i);
    }
}
