// rope.c: pairs of a head turned by an angle that grows with the position.
#include "reference.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

// How much of a pair's angle is left as it was trained (1) or interpolated (0): Peng et al. 2023,
// section 3.2, with the ramp over pairs between those that turn beta_fast and beta_slow times
// within the context.
static double yarn_share(const tnp_rope_attr *rope, int64_t pair)
{
    double per_log = rope->rot_dims / (2 * log(rope->base));
    double low = floor(per_log * log(rope->yarn_context / (rope->yarn_beta_fast * 2 * PI)));
    double high = ceil(per_log * log(rope->yarn_context / (rope->yarn_beta_slow * 2 * PI)));
    double ramp;

    low = fmax(low, 0);
    high = fmin(high, rope->rot_dims - 1);
    ramp = ((double)pair - low) / fmax(high - low, 0.001);
    return rope->yarn_extrapolation * (1 - fmin(fmax(ramp, 0), 1));
}

static double angle_of(const tnp_rope_attr *rope, double position, int64_t pair, double factor)
{
    double trained = position * pow(rope->base, -2.0 * (double)pair / rope->rot_dims) / factor;
    double share = rope->yarn_extrapolation > 0 ? yarn_share(rope, pair) : 0;

    return trained * share + trained * rope->scale * (1 - share);
}

int ref_rope(tnp_op op, const void *attr, const ref_tensor in[], const ref_tensor *out)
{
    const tnp_rope_attr *rope = attr;
    double length = rope->yarn_attention == 0 ? 1 : rope->yarn_attention;
    int64_t pairs = rope->rot_dims / 2, at[TNP_MAX_DIMS] = { 0 };

    (void)op;
    if (ref_is_empty(out))
        return REF_OK;
    do {
        int64_t token[TNP_MAX_DIMS] = { at[2] }, first[TNP_MAX_DIMS], second[TNP_MAX_DIMS];
        int64_t pair = rope->layout == TNP_ROPE_NEOX ? at[0] % pairs : at[0] / 2;
        int is_first = rope->layout == TNP_ROPE_NEOX ? at[0] < pairs : at[0] % 2 == 0;

        if (at[0] >= 2 * pairs) {
            ref_set(out, at, ref_get(&in[0], at));
            continue;
        }
        if (!is_first)
            continue;   // written with the first of the pair, so that out may be in[0]
        memcpy(first, at, sizeof first);
        memcpy(second, at, sizeof second);
        second[0] = rope->layout == TNP_ROPE_NEOX ? at[0] + pairs : at[0] + 1;
        int64_t pair_at[TNP_MAX_DIMS] = { pair };
        double factor = in[2].data ? ref_get(&in[2], pair_at) : 1;
        double angle = angle_of(rope, ref_get(&in[1], token), pair, factor);
        double c = cos(angle) * length, s = sin(angle) * length;
        double a = ref_get(&in[0], first), b = ref_get(&in[0], second);

        ref_set(out, first, a * c - b * s);
        ref_set(out, second, a * s + b * c);
    } while (ref_next(out->dims, at));
    return REF_OK;
}
