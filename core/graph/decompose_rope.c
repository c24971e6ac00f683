// decompose_rope.c: x * cos + turned x * sin, where "turned" has the two elements of each pair
// changed, and the angle of the first of them is negative.
//
// An angle is position * frequency, and a product in F32 is off by 5e-4 at position 8192. So angles
// are counted in turns, of which only what is behind the point matters, and the position is split:
//
//   position = 256 high + low          high * frac(256 f) + low * frac(f), each factor split again
//                                      into one of 11 bits behind the point, and a small rest
//
// The products with the first parts are exact below position 2^21; their whole turns are cut off,
// and the rests are added. Angles, cos and sin are made once for all nodes that have them in
// common.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/decompose_internal.h"

#define PI 3.14159265358979323846

enum { LOW_POSITIONS = 256, EXACT_BITS = 11 };

static uint32_t used_rank(const tni_value *value)
{
    uint32_t rank = TN_MAX_DIMS;
    while (rank && value->dims[rank - 1] == 1 && !value->extent[rank - 1])
        rank--;
    return rank;
}

// Frequencies are constants, so factors have to be; and neighbours as a pair take a dim more.
bool tni_decompose_rope_has_constants(const tn_graph *graph, const tni_node *node)
{
    const tnp_rope_attr *attr = node->attr;
    bool has_factors = node->input_count > 2 && node->inputs[2] != TNP_NONE;
    if (has_factors &&
        tni_storage_source(graph, graph->values[node->inputs[2]].storage) != TNI_WEIGHT)
        return false;
    if (tni_decompose_has_extent(graph, node, 1, 1))   // it would become that of the pairs
        return false;
    return attr->layout == TNP_ROPE_NEOX ||
           used_rank(&graph->values[node->inputs[0]]) < TN_MAX_DIMS;
}

// ------------------------------------------------------------------------------------- frequencies

// How much of YaRN's two frequencies is the one that was trained; ops.def has the formula.
static double trained_share(const tnp_rope_attr *attr, double pair)
{
    if (!(attr->yarn_extrapolation > 0))
        return 0;
    double per_log = attr->rot_dims / (2 * log((double)attr->base));
    double low = floor(per_log * log(attr->yarn_context / (2 * PI * attr->yarn_beta_fast)));
    double high = ceil(per_log * log(attr->yarn_context / (2 * PI * attr->yarn_beta_slow)));
    low = low < 0 ? 0 : low;
    high = high > attr->rot_dims - 1 ? attr->rot_dims - 1 : high;
    double width = high - low > 0.001 ? high - low : 0.001, ramp = (pair - low) / width;
    return attr->yarn_extrapolation * (1 - (ramp < 0 ? 0 : ramp > 1 ? 1 : ramp));
}

static double factor_of(const tni_expansion *e, uint32_t pair)
{
    if (tn_value_is_none(e->in[2]))
        return 1;
    tni_value factors = tni_decompose_value(e, e->in[2]);
    const char *data = e->graph->values[e->graph->storages[factors.storage].owner].data;
    float factor;
    memcpy(&factor, data + factors.offset + (int64_t)pair * factors.strides[0], sizeof factor);
    return factor;
}

// Turns for each position, of element j of what is turned.
static double frequency_of(const tni_expansion *e, uint32_t j)
{
    const tnp_rope_attr *attr = e->attr;
    uint32_t pairs = attr->rot_dims / 2;
    bool is_neox = attr->layout == TNP_ROPE_NEOX, is_first = is_neox ? j < pairs : j % 2 == 0;
    uint32_t pair = is_neox ? j % pairs : j / 2;
    double share = trained_share(attr, pair), mixed = (double)attr->scale * (1 - share) + share;
    double plain = pow((double)attr->base, -2.0 * pair / attr->rot_dims) / factor_of(e, pair);
    return (is_first ? -1 : 1) * plain * mixed / (2 * PI);
}

// ------------------------------------------------------------------------------------------ angles

// What is behind the point of count * frac(by * frequency), and what is left of it: two values.
typedef struct turns {
    tn_value behind, rest;
} turns;

static turns turns_of(const tni_expansion *e, const char *const roles[6], tn_value count, double by,
                      float *room)
{
    uint32_t n = ((const tnp_rope_attr *)e->attr)->rot_dims;
    float *first = room, *second = room + n;
    for (uint32_t j = 0; j < n; j++) {
        double turn = by * frequency_of(e, j);
        turn -= round(turn);
        first[j] = (float)ldexp(round(ldexp(turn, EXACT_BITS)), -EXACT_BITS);
        second[j] = (float)(turn - (double)first[j]);
    }
    tn_value product = tni_decompose_step(e, TNP_OP_MUL, roles[0], count,
                                          tni_decompose_constant(e, roles[1], first, n), NULL);
    tn_value whole = tni_decompose_convert_step(e, roles[2], product, TN_DTYPE_I32);
    whole = tni_decompose_convert_step(e, roles[3], whole, TN_DTYPE_F32);
    return (turns){ tni_decompose_step(e, TNP_OP_SUB, roles[4], product, whole, NULL),
                    tni_decompose_step(e, TNP_OP_MUL, roles[5], count,
                                       tni_decompose_constant(e, roles[5], second, n), NULL) };
}

// {rot_dims, 1, T} of a count {T}
static tn_value widen(const tni_expansion *e, const char *role, tn_value count)
{
    tn_value lifted = tni_decompose_permute_row(e, role, count, 2);
    tni_value v = tni_decompose_value(e, lifted);
    v.dims[0] = ((const tnp_rope_attr *)e->attr)->rot_dims;
    return tni_decompose_broadcast(e, role, lifted, v.rank, v.dims);
}

static tn_value make_angles(const tni_expansion *e, float *room)
{
    static const char *const high_roles[] = { "high product", "high turn",   "high whole as int",
                                              "high whole",   "high behind", "high rest" };
    static const char *const low_roles[] = { "low product", "low turn",   "low whole as int",
                                             "low whole",   "low behind", "low rest" };
    tn_value position = tni_decompose_convert_step(e, "position", e->in[1], TN_DTYPE_F32);
    tn_value high = tni_decompose_scale_step(e, "position/256", position, 1.0f / LOW_POSITIONS, 0);
    high = tni_decompose_convert_step(e, "high as int", high, TN_DTYPE_I32);
    high = tni_decompose_convert_step(e, "high", high, TN_DTYPE_F32);
    tn_value below = tni_decompose_scale_step(e, "-256 high", high, -LOW_POSITIONS, 0);
    tn_value low = tni_decompose_step(e, TNP_OP_ADD, "low", position, below, NULL);
    turns of_high = turns_of(e, high_roles, widen(e, "high of pairs", high), LOW_POSITIONS, room);
    turns of_low = turns_of(e, low_roles, widen(e, "low of pairs", low), 1, room);
    tn_value behind = tni_decompose_step(e, TNP_OP_ADD, "behind", of_high.behind, of_low.behind,
                                         NULL);
    tn_value rest = tni_decompose_step(e, TNP_OP_ADD, "rest", of_high.rest, of_low.rest, NULL);
    tn_value turn = tni_decompose_step(e, TNP_OP_ADD, "turn", behind, rest, NULL);
    return tni_decompose_scale_step(e, "angle", turn, (float)(2 * PI), 0);
}

typedef struct rope_key {
    tnp_op op;
    uint32_t position, factors, reserved;
    tnp_rope_attr attr;
} rope_key;

// cos and sin of the angles, {rot_dims, 1, T} each.
static void make_waves(const tni_expansion *e, tn_value waves[2])
{
    const tnp_rope_attr *attr = e->attr;
    const tn_allocator *a = &e->graph->arena.allocator;
    rope_key key = {
        .op = e->op, .position = e->in[1].index, .factors = e->in[2].index, .attr = *attr
    };
    const tn_value *made = tni_decompose_find_shared(e, &key, sizeof key);
    if (made) {
        memcpy(waves, made, 2 * sizeof *waves);
        return;
    }
    float *room = tni_alloc_zeroed(a, (size_t)2 * attr->rot_dims, sizeof *room);
    if (!room) {
        waves[0] = waves[1] = tni_graph_fail_memory(e->graph);
        return;
    }
    tn_value angle = make_angles(e, room);
    tni_free(a, room);
    waves[0] = tni_decompose_step(e, TNP_OP_COS, "cos", angle, TN_NO_VALUE, NULL);
    waves[1] = tni_decompose_step(e, TNP_OP_SIN, "sin", angle, TN_NO_VALUE, NULL);
    if (attr->yarn_attention != 0 && attr->yarn_attention != 1) {
        waves[0] = tni_decompose_scale_step(e, "cos at length", waves[0], attr->yarn_attention, 0);
        waves[1] = tni_decompose_scale_step(e, "sin at length", waves[1], attr->yarn_attention, 0);
    }
    if (tni_decompose_is_steady(e, e->in[1]))
        tni_decompose_keep_shared(e, &key, sizeof key, waves[0], waves[1]);
}

// ------------------------------------------------------------------------------------------- pairs

static tn_value concat(const tni_expansion *e, const char *role, tn_value a, tn_value b)
{
    return tni_decompose_step(e, TNP_OP_CONCAT, role, a, b,
                              &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
}

// {1, dims of x}
static tn_value with_front_dim(const tni_expansion *e, const char *role, tn_value x)
{
    tni_value v = tni_decompose_value(e, x);
    uint32_t axes[TNP_MAX_DIMS], rank = used_rank(&v) > v.rank ? used_rank(&v) : v.rank;
    rank = rank < TNP_MAX_DIMS ? rank + 1 : rank;
    for (uint32_t i = 0; i < TNP_MAX_DIMS; i++)
        axes[i] = i ? i - 1 : rank - 1;
    return tni_decompose_permute(e, role, x, rank, axes);
}

// The first rot_dims elements, those of each pair changed.
static tn_value swap_pairs(const tni_expansion *e, tn_value x)
{
    const tnp_rope_attr *attr = e->attr;
    int64_t pairs = attr->rot_dims / 2;
    bool is_neox = attr->layout == TNP_ROPE_NEOX;
    tn_value first = tni_decompose_slice(e, "first", x, 0, pairs, is_neox ? 1 : 2);
    tn_value second = tni_decompose_slice(e, "second", x, is_neox ? pairs : 1, pairs,
                                          is_neox ? 1 : 2);
    if (is_neox)
        return concat(e, "swapped", second, first);
    tn_value both = concat(e, "swapped pairs", with_front_dim(e, "second of pairs", second),
                           with_front_dim(e, "first of pairs", first));
    tni_value v = tni_decompose_value(e, x);
    v.dims[0] = attr->rot_dims;
    uint32_t rank = tni_decompose_value(e, both).rank;   // a dim more than there will be
    return tni_decompose_reshape(e, "swapped", both, rank ? rank - 1 : 0, v.dims);
}

tn_value tni_decompose_rope(const tni_expansion *e)
{
    int64_t turned = ((const tnp_rope_attr *)e->attr)->rot_dims;
    int64_t head = tni_decompose_value(e, e->in[0]).dims[0];
    tn_value x = tni_decompose_operand(e, 0), waves[2];
    make_waves(e, waves);
    if (e->graph->first_error.status != TN_OK)
        return TN_NO_VALUE;
    tn_value swapped = tni_decompose_step(e, TNP_OP_MUL, "swapped * sin", swap_pairs(e, x),
                                          waves[1], NULL);
    tn_value part = turned == head ? x : tni_decompose_slice(e, "part", x, 0, turned, 1);
    tn_value straight = tni_decompose_step(e, TNP_OP_MUL, "x * cos", part, waves[0], NULL);
    if (turned == head)
        return tni_decompose_last(e, TNP_OP_ADD, straight, swapped, NULL);
    tn_value result = tni_decompose_step(e, TNP_OP_ADD, "turned", straight, swapped, NULL);
    return tni_decompose_last(
        e, TNP_OP_CONCAT, result,
        tni_decompose_slice(e, "rest of the head", x, turned, head - turned, 1),
        &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
}
