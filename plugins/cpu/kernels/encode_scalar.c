// encode_scalar.c: F32 to F16, Q8_0 and q8. Rounds to nearest, ties to even.
#include "../kernels.h"
#include "blocks.h"

#include <math.h>

void cpu_encode_f16_scalar(int64_t n, const float *from, void *to)
{
    char *at = to;

    for (int64_t i = 0; i < n; i++) {
        uint16_t half = cpu_float_to_half(from[i]);
        memcpy(at + 2 * i, &half, sizeof half);
    }
}

// Rounds a block to q[0..31] and gives its scale, max |x| / 127 in half precision. q is 0
// throughout where the scale rounds to 0, and where it is no number.
static uint16_t round_block(const float *x, int8_t *q)
{
    float max = 0, scale, inverse;
    uint16_t half;
    int is_finite = 1;

    for (int i = 0; i < CPU_BLOCK; i++) {
        is_finite &= isfinite(x[i]) != 0;
        max = fabsf(x[i]) > max ? fabsf(x[i]) : max;
    }
    scale = max / 127.0f;
    half = is_finite ? cpu_float_to_half(scale) : 0x7e00u;   // NaN
    if (half == 0 || half == 0x7e00u) {
        memset(q, 0, CPU_BLOCK);
        return half;
    }
    inverse = 1.0f / scale;
    for (int i = 0; i < CPU_BLOCK; i++)
        q[i] = (int8_t)lrintf(x[i] * inverse);
    return half;
}

void cpu_encode_q8_0_scalar(int64_t n, const float *from, void *to)
{
    char *block = to;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block += CPU_Q8_0_BYTES) {
        uint16_t half = round_block(from + i, (int8_t *)block + 2);
        memcpy(block, &half, sizeof half);
    }
}

void cpu_encode_q8_scalar(int64_t n, const float *from, void *to)
{
    cpu_block_q8 *block = to;

    for (int64_t i = 0; i < n; i += CPU_BLOCK, block++) {
        int sum = 0;

        block->d = cpu_half_to_float(round_block(from + i, block->q));
        for (int j = 0; j < CPU_BLOCK; j++)
            sum += block->q[j];
        block->sum = block->d * (float)sum;
    }
}
