// rows_scalar.c: what looks at a whole row: norm, softmax, argmax, rotation. Sums run in double.
#include "../kernels.h"

#include <math.h>

void cpu_rms_norm_scalar(int64_t n, const float *x, const float *weight, float eps, float *out)
{
    double sum = 0;
    float factor;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    factor = (float)(1.0 / sqrt(sum / (double)(n ? n : 1) + (double)eps));
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * factor * (weight ? weight[i] : 1.0f);
}

float cpu_softmax_part_scalar(int64_t n, float *x, float *sum)
{
    double total = 0;
    float max = -INFINITY;

    for (int64_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) {
        x[i] = max == -INFINITY && x[i] == -INFINITY ? 0.0f : expf(x[i] - max);
        total += (double)x[i];
    }
    *sum = (float)total;
    return max;
}

void cpu_softmax_scalar(int64_t n, float *x)
{
    float sum;

    cpu_softmax_part_scalar(n, x, &sum);
    if (sum == 0.0f)
        return;
    for (int64_t i = 0; i < n; i++)
        x[i] /= sum;
}

void cpu_blend_scalar(int64_t n, const float *a, float factor_a, const float *b, float factor_b,
                      float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * factor_a + b[i] * factor_b;
}

int64_t cpu_argmax_scalar(int64_t n, const float *x)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[best]) && !isnan(x[i])))
            best = i;
    return best;
}

void cpu_sin_cos_scalar(int64_t n, const double *angle, float *cos_out, float *sin_out)
{
    for (int64_t i = 0; i < n; i++) {
        cos_out[i] = (float)cos(angle[i]);
        sin_out[i] = (float)sin(angle[i]);
    }
}

void cpu_rope_normal_scalar(int64_t n, const float *x, const float *cos_in, const float *sin_in,
                            float *out)
{
    for (int64_t i = 0; i < n; i++) {
        float a = x[2 * i], b = x[2 * i + 1];

        out[2 * i] = a * cos_in[i] - b * sin_in[i];
        out[2 * i + 1] = a * sin_in[i] + b * cos_in[i];
    }
}

void cpu_rope_neox_scalar(int64_t n, const float *x, const float *cos_in, const float *sin_in,
                          float *out)
{
    for (int64_t i = 0; i < n; i++) {
        float a = x[i], b = x[i + n];

        out[i] = a * cos_in[i] - b * sin_in[i];
        out[i + n] = a * sin_in[i] + b * cos_in[i];
    }
}
