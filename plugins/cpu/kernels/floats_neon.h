// floats_neon.h: as floats_avx2.h, vectors of 4 floats.
#ifndef CPU_FLOATS_NEON_H
#define CPU_FLOATS_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "blocks.h"
#include "level_neon.h"

#define LANES 4

typedef float32x4_t floats;

static inline floats v_set(float x)
{
    return vdupq_n_f32(x);
}

// Lanes from n on are 0, and not read.
static inline floats load_first(const float *at, int64_t n)
{
    float first[LANES] = { 0 };

    if (n >= LANES)
        return vld1q_f32(at);
    memcpy(first, at, (size_t)n * sizeof *first);
    return vld1q_f32(first);
}

static inline void store_first(float *at, int64_t n, floats value)
{
    float first[LANES];

    if (n >= LANES) {
        vst1q_f32(at, value);
        return;
    }
    vst1q_f32(first, value);
    memcpy(at, first, (size_t)n * sizeof *first);
}

static inline floats v_first(int64_t n, floats v, floats fill)
{
    static const uint32_t lane[LANES] = { 0, 1, 2, 3 };

    return n >= LANES ? v
                      : vbslq_f32(vcltq_u32(vld1q_u32(lane), vdupq_n_u32((uint32_t)n)), v, fill);
}

// n <= 4 elements as floats: numbers i to i + n - 1 of what lies at `at`, of Q8_0 of one block
// there, i a multiple of 4; lanes from n on are 0, and not read where elements stand alone.
typedef floats load_vector(const char *at, int64_t i, int64_t n);

static inline floats load_f32(const char *at, int64_t i, int64_t n)
{
    return load_first((const float *)(const void *)at + i, n);
}

static inline floats load_f16(const char *at, int64_t i, int64_t n)
{
    uint16_t first[LANES] = { 0 };

    memcpy(first, at + 2 * i, n >= LANES ? sizeof first : (size_t)n * sizeof *first);
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(first)));
}

static inline floats load_q8_0(const char *at, int64_t i, int64_t n)
{
    floats d = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(cpu_load_u16(at))));
    int32_t four;
    int16x8_t q;

    memcpy(&four, at + 2 + i, sizeof four);
    q = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return v_first(n, vmulq_f32(d, vcvtq_f32_s32(vmovl_s16(vget_low_s16(q)))), v_set(0.0f));
}

// The order of the sum is fixed: neighbours, then both.
static inline float sum_lanes(floats v)
{
    float32x2_t two = vpadd_f32(vget_low_f32(v), vget_high_f32(v));

    return vget_lane_f32(vpadd_f32(two, two), 0);
}

// to[r] = sum_lanes(v[r]), with the same bits.
static inline void store_sums_of_4(float *to, const floats v[4])
{
    vst1q_f32(to, vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3])));
}

// to[t * stride + r] = sum_lanes(v[t][r]), with the same bits.
static inline __attribute__((always_inline)) void
store_sums_of_tile(float *to, int64_t stride, int tokens, const floats (*v)[4])
{
#pragma GCC unroll 8
    for (int t = 0; t < tokens; t++)
        store_sums_of_4(to + t * stride, v[t]);
}

// NaN in any lane may be lost.
static inline float max_lanes(floats v)
{
    return vmaxnmvq_f32(v);
}

static inline floats v_add(floats a, floats b)
{
    return vaddq_f32(a, b);
}

static inline floats v_sub(floats a, floats b)
{
    return vsubq_f32(a, b);
}

static inline floats v_mul(floats a, floats b)
{
    return vmulq_f32(a, b);
}

static inline floats v_div(floats a, floats b)
{
    return vdivq_f32(a, b);
}

static inline floats v_fma(floats a, floats b, floats c)
{
    return vfmaq_f32(c, a, b);
}

static inline floats v_fnma(floats a, floats b, floats c)
{
    return vfmsq_f32(c, a, b);
}

static inline floats v_max(floats a, floats b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline floats v_min(floats a, floats b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

static inline floats v_sqrt(floats x)
{
    return vsqrtq_f32(x);
}

static inline floats v_neg(floats x)
{
    return vnegq_f32(x);
}

static inline floats v_abs(floats x)
{
    return vabsq_f32(x);
}

static inline floats v_with_sign(floats size, floats x)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), x, size);
}

static inline floats v_round(floats x)
{
    return vrndnq_f32(x);
}

static inline floats power_of_words(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

static inline floats v_power_of_two(floats n)
{
    return power_of_words(vcvtq_s32_f32(n));
}

// value, but 0 where x < least
static inline floats v_or_0_below(floats x, floats least, floats value)
{
    uint32x4_t is_below = vcltq_f32(x, least);

    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(value), is_below));
}

static inline floats v_scale(floats x, floats n)
{
    int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);

    return vmulq_f32(vmulq_f32(x, power_of_words(half)), power_of_words(vsubq_s32(whole, half)));
}

#endif
