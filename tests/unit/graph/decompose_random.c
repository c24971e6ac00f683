// Random graphs of one composite op each: whatever the shape rule takes, with lengths at any dims
// and strided operands, has a decomposition that gives the same.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph/decompose.h"
#include "graph_test.h"
#include "interpret.h"

enum { GRAPHS = 10000, LENGTHS = 3 };
static const int32_t lengths[LENGTHS] = { 1, 2, 0 };

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static bool chance(uint32_t percent)
{
    return draw(100) < percent;
}

static float number(void)
{
    return (float)draw(1000) / 250.0f - 2;
}

typedef struct rig {
    tn_graph *graph;
    tn_value length[LENGTHS];
    uint32_t count;   // operands so far
} rig;

static tn_value maybe_limited(rig *r, tn_value x)
{
    tni_value v = *test_at(r->graph, x);
    for (uint32_t d = 0; d < v.rank; d++) {
        uint32_t which = draw(LENGTHS);
        // A dim of 1 of which nothing counts cannot be broadcast.
        if (chance(12) && lengths[which] <= v.dims[d] && (lengths[which] || v.dims[d] > 1))
            x = tn_graph_limit(r->graph, x, d, r->length[which]);
    }
    return x;
}

static tn_value operand(rig *r, tn_dtype dtype, uint32_t rank, const int64_t *dims)
{
    char name[8];
    int64_t stored[TN_MAX_DIMS];
    uint32_t axes[TN_MAX_DIMS], turned = chance(25) && rank > 1 ? draw(rank - 1) : rank;
    snprintf(name, sizeof name, "in%u", r->count++);
    for (uint32_t d = 0; d < rank; d++) {
        axes[d] = d == turned ? d + 1 : turned < rank && d == turned + 1 ? d - 1 : d;
        stored[axes[d]] = dims[d];
    }
    tn_value x = tn_graph_input(r->graph, name, dtype == TN_DTYPE_I32 ? dtype : TN_DTYPE_F32, rank,
                                stored);
    if (dtype == TN_DTYPE_F16)
        x = tn_graph_convert(r->graph, x, dtype);
    return maybe_limited(r, turned < rank ? tn_graph_permute(r->graph, x, rank, axes) : x);
}

static tn_dtype float_type(void)
{
    return chance(30) ? TN_DTYPE_F16 : TN_DTYPE_F32;
}

static uint32_t random_dims(int64_t dims[TN_MAX_DIMS])
{
    uint32_t rank = chance(5) ? TN_MAX_DIMS : draw(6);
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
        dims[d] = d < rank ? 1 + (int64_t)draw(3) : 1;
    return rank;
}

static tn_value vector(rig *r, int64_t count)
{
    return chance(50) ? operand(r, TN_DTYPE_F32, 1, &count) : TN_NO_VALUE;
}

#define OP(number, inputs, count, attr) tn_graph_op(r->graph, number, "it", inputs, count, attr)

static tn_value random_simple(rig *r, tnp_op op)
{
    int64_t dims[TN_MAX_DIMS], other[TN_MAX_DIMS];
    uint32_t rank = random_dims(dims);
    tn_dtype type = float_type();
    memcpy(other, dims, sizeof other);
    for (uint32_t d = 0; d < rank && op == TNP_OP_SOFTMAX; d++)
        other[d] = chance(40) ? 1 : dims[d];
    tn_value in[3] = { operand(r, type, rank, dims) };
    switch (op) {
    case TNP_OP_SWIGLU:
    case TNP_OP_GEGLU:
    case TNP_OP_REGLU:
        in[1] = operand(r, type, rank, dims);
        return OP(op, in, 2, NULL);
    case TNP_OP_SOFTCAP:
        return OP(op, in, 1, &((tnp_softcap_attr){ sizeof(tnp_softcap_attr), 2 }));
    case TNP_OP_MEAN:
        return OP(op, in, 1, &((tnp_axis_attr){ sizeof(tnp_axis_attr), draw(TN_MAX_DIMS) }));
    case TNP_OP_L2_NORM:
        return OP(op, in, 1, &((tnp_norm_attr){ sizeof(tnp_norm_attr), 0.01f }));
    case TNP_OP_RMS_NORM:
    case TNP_OP_LAYER_NORM:
        in[1] = vector(r, dims[0]);
        in[2] = vector(r, dims[0]);
        return OP(op, in, op == TNP_OP_RMS_NORM ? 2 : 3,
                  &((tnp_norm_attr){ sizeof(tnp_norm_attr), 0.01f }));
    case TNP_OP_GROUP_NORM:
        in[1] = vector(r, dims[2]);
        in[2] = vector(r, dims[2]);
        return OP(op, in, 3,
                  &((tnp_group_norm_attr){
                      .size = sizeof(tnp_group_norm_attr), .groups = 1 + draw(2), .eps = 0.01f }));
    case TNP_OP_TOP_K:
        return OP(op, in, 1, &((tnp_top_k_attr){ sizeof(tnp_top_k_attr), 1 + draw(3) }));
    case TNP_OP_SOFTMAX:
        in[1] = chance(60) ? operand(r, float_type(), rank, other) : TN_NO_VALUE;
        return OP(op, in, 2,
                  &((tnp_softmax_attr){ .size = sizeof(tnp_softmax_attr),
                                        .scale = 0.7f,
                                        .alibi_max_bias = chance(50) ? 4 : 0 }));
    default:
        return OP(op, in, 1, NULL);
    }
}

static tn_value random_rope(rig *r)
{
    int64_t dims[TN_MAX_DIMS];
    uint32_t rank = random_dims(dims);
    dims[0] = 2 + (int64_t)draw(5);
    rank = rank ? rank : 1;
    tn_value in[] = { operand(r, float_type(), rank, dims),
                      operand(r, TN_DTYPE_I32, 1 + draw(3), (int64_t[]){ dims[2], 1, 1 }) };
    return OP(TNP_OP_ROPE, in, 2,
              &((tnp_rope_attr){ .size = sizeof(tnp_rope_attr),
                                 .rot_dims = 2 * (1 + draw(2)),
                                 .base = 100,
                                 .scale = 1,
                                 .layout = draw(2) }));
}

static tn_value random_attention(rig *r)
{
    int64_t head = 1 + draw(4), wide = 1 + draw(4), groups = 1 + draw(2),
            heads = groups * (1 + draw(2)), tokens = 1 + draw(3), slots = 1 + draw(4);
    tn_value in[6] = {
        operand(r, float_type(), 3, (int64_t[]){ head, heads, tokens }),
        operand(r, float_type(), 3, (int64_t[]){ head, groups, slots }),
        operand(r, float_type(), 3, (int64_t[]){ wide, groups, slots }),
        operand(r, TN_DTYPE_I32, 1, (int64_t[]){ tokens }),
        chance(40) ? operand(r, float_type(), 2, (int64_t[]){ slots, tokens }) : TN_NO_VALUE,
    };
    return OP(TNP_OP_ATTENTION, in, 5,
              &((tnp_attention_attr){ .size = sizeof(tnp_attention_attr),
                                      .flags = draw(2),
                                      .scale = 0.5f,
                                      .softcap = chance(30) ? 1.5f : 0,
                                      .window = draw(3) }));
}

static tn_value random_op(rig *r)
{
    static const tnp_op ops[] = {
        TNP_OP_NEG,        TNP_OP_SQR,        TNP_OP_RELU,       TNP_OP_RSQRT,     TNP_OP_SIGMOID,
        TNP_OP_SILU,       TNP_OP_GELU,       TNP_OP_GELU_QUICK, TNP_OP_SOFTCAP,   TNP_OP_SWIGLU,
        TNP_OP_GEGLU,      TNP_OP_REGLU,      TNP_OP_MEAN,       TNP_OP_TOP_K,     TNP_OP_RMS_NORM,
        TNP_OP_LAYER_NORM, TNP_OP_GROUP_NORM, TNP_OP_L2_NORM,    TNP_OP_SOFTMAX,   TNP_OP_SOFTMAX,
        TNP_OP_ROPE,       TNP_OP_ROPE,       TNP_OP_ATTENTION,  TNP_OP_ATTENTION, TNP_OP_ATTENTION
    };
    tnp_op op = ops[draw(TN_COUNT_OF(ops))];
    return op == TNP_OP_ROPE        ? random_rope(r)
           : op == TNP_OP_ATTENTION ? random_attention(r)
                                    : random_simple(r, op);
}

// All that counts of a value, as F32.
static size_t run(const tn_graph *graph, uint32_t value, uint32_t data_seed, float *out,
                  size_t room)
{
    interpreter it = interpret_begin(graph);
    seed = data_seed;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_value *owner = &graph->values[graph->storages[s].owner];
        for (uint64_t i = 0; owner->source == TNI_INPUT && i < graph->storages[s].bytes; i += 4) {
            float element = number();
            int32_t position = (int32_t)draw(5) - 1;
            memcpy(it.bytes[s] + i, owner->dtype == TN_DTYPE_I32 ? (void *)&position : &element, 4);
        }
    }
    for (uint32_t i = 0; i < LENGTHS; i++)
        interpret_feed(&it, (char[]){ 'n', (char)('0' + i), 0 }, &lengths[i], 4);
    interpret_run(&it);
    size_t count = interpret_read(&it, value, out, room);
    interpret_end(&it);
    return count;
}

static void compare(uint32_t which, const tn_graph *graph, const tn_graph *simple, uint32_t value,
                    tnp_op op)
{
    static float want[16384], got[16384];
    uint32_t data_seed = seed;
    size_t count = run(graph, value, data_seed, want, TN_COUNT_OF(want));
    assert_int_equal(run(simple, value, data_seed, got, TN_COUNT_OF(got)), count);
    double bound = graph->values[value].dtype == TN_DTYPE_F16 ? 2e-3 : 2e-5;
    for (size_t i = 0; i < count; i++)
        if (got[i] != want[i] &&
            !(fabs((double)got[i] - (double)want[i]) <= bound * (1 + fabs((double)want[i]))) &&
            !(isnan(got[i]) && isnan(want[i])))
            fail_msg("graph %u, %s: element %zu is %.9g, not %.9g", which, tni_op_find(op)->name, i,
                     (double)got[i], (double)want[i]);
}

static void what_has_a_shape_has_a_decomposition(void **state)
{
    (void)state;
    uint32_t decomposed = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        seed = i * 2654435761u + 1;
        rig r = { .graph = test_graph() };
        for (uint32_t k = 0; k < LENGTHS; k++)
            r.length[k] = tn_graph_input(r.graph, (char[]){ 'n', (char)('0' + k), 0 }, TN_DTYPE_I32,
                                         1, (int64_t[]){ 1 });
        tn_value it = random_op(&r);
        tn_error err = { 0 };
        tn_graph *simple = NULL;
        tn_graph_output(r.graph, "out", it);
        if (tn_graph_finish(r.graph, &err) == TN_OK) {
            uint32_t node = test_node(r.graph, it);
            tni_composites into[16] = { 0 };
            into[node] = TNI_ALL_COMPOSITES;
            if (tni_graph_decompose(r.graph, into, NULL, &simple, &err) != TN_OK)
                fail_msg("graph %u: %s", i, err.text);
            decomposed += tni_composites_of(r.graph, &r.graph->nodes[node]) != 0;
            compare(i, r.graph, simple, it.index, r.graph->nodes[node].op);
            tn_graph_destroy(simple);
        }
        tn_graph_destroy(r.graph);
    }
    assert_in_range(decomposed, GRAPHS / 4, GRAPHS);   // else the draws are mostly refused
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_a_shape_has_a_decomposition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
