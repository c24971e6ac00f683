// elementwise_scalar.c: arithmetic and activations, one element at a time. exp and tanh are those
// of the C library.
#include "../kernels.h"

#include <math.h>

void cpu_add_scalar(int64_t n, const float *a, const float *b, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

void cpu_sub_scalar(int64_t n, const float *a, const float *b, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] - b[i];
}

void cpu_mul_scalar(int64_t n, const float *a, const float *b, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

void cpu_div_scalar(int64_t n, const float *a, const float *b, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] / b[i];
}

void cpu_scale_scalar(int64_t n, const float *x, float scale, float bias, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * scale + bias;
}

void cpu_neg_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = -x[i];
}

void cpu_sqrt_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = sqrtf(x[i]);
}

void cpu_exp_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = expf(x[i]);
}

void cpu_tanh_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = tanhf(x[i]);
}

void cpu_sigmoid_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 1.0f / (1.0f + expf(-x[i]));
}

void cpu_relu_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] < 0.0f ? 0.0f : x[i];   // a NaN stays one
}

void cpu_silu_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] / (1.0f + expf(-x[i]));
}

void cpu_swiglu_scalar(int64_t n, const float *gate, const float *up, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

// 0.5 (1 + tanh(u)) is sigmoid(2 u), which keeps its digits where tanh(u) comes near -1.
static float gelu(float x)
{
    const float twice_sqrt_2_over_pi = 1.5957691216057308f;
    float u2 = twice_sqrt_2_over_pi * (x + 0.044715f * x * x * x);

    return x / (1.0f + expf(-u2));
}

void cpu_gelu_scalar(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = gelu(x[i]);
}

void cpu_geglu_scalar(int64_t n, const float *gate, const float *up, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = gelu(gate[i]) * up[i];
}
