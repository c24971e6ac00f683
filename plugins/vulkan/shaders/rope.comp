// rope.comp: pairs turned by an angle that grows with the position. An invocation makes the sine and
// cosine of one pair of one token, and turns it in several heads; it copies what lies beyond
// rot_dims as well.
//
// Angles are in twofold precision: at position 8192 one in F32 would be off by 5e-4, which shows in
// the logits.
#version 460
#include "include/base.glsl"
#include "include/math.glsl"
#include "include/twofold.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint OUT_TYPE = 1;
layout(constant_id = 1) const uint X_TYPE = 1;
layout(constant_id = 2) const bool IS_NEOX = false;
layout(constant_id = 3) const bool IS_YARN = false;
layout(constant_id = 4) const bool HAS_FACTORS = false;
layout(constant_id = 5) const bool IS_COUNTED = false;
const uint HEADS = 4;
layout(push_constant, std430) uniform Push {
    uvec4 out_strides, x_strides;
    uvec4 dims;   // D H T B
    uint out_offset, x_offset, offsets;   // offsets: of positions, factors and length, a byte each
    uint position_stride, factor_stride, pairs;
    float ratio_high, ratio_low;   // between the steps of a pair and of the one before
    float scale, rest_high, rest_low;   // rest: 1 - scale
    float ramp_low, ramp_span, extrapolation;
    float size;
};
WRITES(0, out)
READS(1, x)
READS(2, position)
READS(3, factors)
LENGTH(4, tokens)

// By how many quarters of a turn pair i goes on from one position to the next.
Twofold step_of(uint i)
{
    Twofold step = Twofold(0.63661975, 2.5682553e-8), power = Twofold(ratio_high, ratio_low);
    for (uint n = i; n > 0; n >>= 1) {
        if ((n & 1u) != 0)
            step = twofold_times(step, power);
        power = twofold_times(power, power);
    }
    if (IS_YARN) {
        Twofold way = twofold_over(Twofold(float(i) - ramp_low, 0.0), ramp_span);
        Twofold kept = twofold_plus(Twofold(1.0, 0.0), Twofold(-way.high, -way.low));
        if (way.high <= 0.0)
            kept = Twofold(1.0, 0.0);
        else if (way.high >= 1.0)
            kept = Twofold(0.0, 0.0);
        kept = twofold_times(kept, extrapolation);
        kept = twofold_times(kept, Twofold(rest_high, rest_low));
        step = twofold_times(step, twofold_plus(Twofold(scale, 0.0), kept));
    } else {
        step = twofold_times(step, scale);
    }
    if (HAS_FACTORS)
        step = twofold_over(step, factors_float((offsets >> 8 & 255u) + i * factor_stride, F32));
    return step;
}

// Cosine and sine of pair i of token t.
vec2 turn_of(uint i, uint t)
{
    int position = int(position_u32((offsets & 255u) + t * position_stride));
    Twofold step = step_of(i);
    Twofold much = twofold_times(step, float(position >> 12) * 4096.0);
    Twofold turn = twofold_plus(much, twofold_times(step, float(position & 4095)));
    float whole = roundEven(turn.high);
    float angle = ((turn.high - whole) + turn.low) * 1.57079632679489662;
    int quarter = int(whole - 4.0 * floor(whole * 0.25));
    return vec2(sine_of(angle, quarter + 1), sine_of(angle, quarter)) * size;
}

void main()
{
    const uint items = dims.x - pairs, parts = (dims.y + HEADS - 1) / HEADS;
    uint index = gl_GlobalInvocationID.x;
    const uint item = index % items;
    index /= items;
    const uint head = index % parts * HEADS;
    index /= parts;
    const uint t = index % dims.z, b = index / dims.z;
    if (b >= dims.w || IS_COUNTED && t >= tokens_of(offsets >> 16 & 255u, dims.z))
        return;
    const bool is_pair = item < pairs;
    const uint first = is_pair && !IS_NEOX ? 2 * item : is_pair ? item : item + pairs;
    const uint second = IS_NEOX ? first + pairs : first + 1;
    const vec2 turn = is_pair ? turn_of(item, t) : vec2(0.0);
    for (uint h = head; h < min(head + HEADS, dims.y); h++) {
        const uvec3 at = uvec3(h, t, b), x_at = at * x_strides.yzw, out_at = at * out_strides.yzw;
        const uint x_row = x_offset + x_at.x + x_at.y + x_at.z;
        const uint out_row = out_offset + out_at.x + out_at.y + out_at.z;
        const float a = x_float(x_row + first * x_strides.x, X_TYPE);
        if (!is_pair) {
            out_put_float(out_row + first * out_strides.x, OUT_TYPE, a);
            continue;
        }
        const float c = x_float(x_row + second * x_strides.x, X_TYPE);
        out_put_float(out_row + first * out_strides.x, OUT_TYPE, a * turn.x - c * turn.y);
        out_put_float(out_row + second * out_strides.x, OUT_TYPE, a * turn.y + c * turn.x);
    }
}
