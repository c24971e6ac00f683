#include "composites.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define F32  TN_DTYPE_F32
#define F16  TN_DTYPE_F16
#define Q8_0 TN_DTYPE_Q8_0
#define I32  TN_DTYPE_I32
#define ATTR(type, ...)                                                                            \
    &(const tnp_##type##_attr)                                                                     \
    {                                                                                              \
        .size = sizeof(tnp_##type##_attr), __VA_ARGS__                                             \
    }
#define PLAIN_BOUNDS .absolute = 2e-6, .relative = 4e-6
#define HALF_BOUNDS  .absolute = 2e-6, .relative = 1.5e-3
#define DIMS(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }   // of a result: how much of each counts, 0 = all

// A unary op in all forms of its operand.
#define UNARY(name, number, attributes)                                                            \
    { name, number, attributes, { { .dtype = F32, .dims = { 33, 3 } } }, DIMS(0), PLAIN_BOUNDS },  \
        { name " of one", number,      attributes, { { .dtype = F32, .dims = { 1 } } },            \
          DIMS(0),        PLAIN_BOUNDS },                                                          \
        { name " of F16", number,     attributes, { { .dtype = F16, .dims = { 33, 3 } } },         \
          DIMS(0),        HALF_BOUNDS },                                                           \
        { name ", turned", number,                                                                 \
          attributes,      { { .dtype = F32, .dims = { 5, 7, 2 }, .is_turned = true } },           \
          DIMS(0),         PLAIN_BOUNDS },                                                         \
    {                                                                                              \
        name ", limited", number, attributes,                                                      \
            { { .dtype = F32, .dims = { 9, 3 }, .limited = 2 } }, DIMS(0, COMPOSITE_ROWS),         \
            PLAIN_BOUNDS                                                                           \
    }

#define GATED(name, number)                                                                        \
    { name,    number,                                                                             \
      NULL,    { { .dtype = F32, .dims = { 33, 3 } }, { .dtype = F32, .dims = { 33, 3 } } },       \
      DIMS(0), PLAIN_BOUNDS },                                                                     \
        { name " of F16",                                                                          \
          number,                                                                                  \
          NULL,                                                                                    \
          { { .dtype = F16, .dims = { 33, 3 } }, { .dtype = F16, .dims = { 33, 3 } } },            \
          DIMS(0),                                                                                 \
          HALF_BOUNDS },                                                                           \
    {                                                                                              \
        name ", limited", number, NULL,                                                            \
            { { .dtype = F32, .dims = { 9, 3 }, .limited = 2 },                                    \
              { .dtype = F32, .dims = { 9, 3 }, .is_turned = true } },                             \
            DIMS(0, COMPOSITE_ROWS), PLAIN_BOUNDS                                                  \
    }

#define NORM      ATTR(norm, .eps = 1e-5f)
#define ROPE(...) ATTR(rope, .base = 10000, .scale = 1, __VA_ARGS__)
#define YARN                                                                                       \
    .yarn_extrapolation = 0.9f, .yarn_attention = 1.2f, .yarn_beta_fast = 32, .yarn_beta_slow = 1, \
    .yarn_context = 4096
#define WAVE_BOUNDS  .absolute = 1.5e-5, .relative = 4e-6
#define SHARE_BOUNDS .absolute = 1e-5, .relative = 1e-5

// q {8, 4, 3}, k and v of 7 slots.
#define ATTENTION(says, attributes, heads, type, ...)                                              \
    {                                                                                              \
        says, TNP_OP_ATTENTION, attributes,                                                        \
            { { .dtype = F32, .dims = { 32, 4, 3 }, .fill = SMALL },                               \
              { .dtype = type, .dims = { 32, heads, 7 }, .fill = SMALL },                          \
              { .dtype = type, .dims = { 32, heads, 7 }, .fill = SMALL },                          \
              { .dtype = I32, .dims = { 3 }, .fill = POSITIONS },                                  \
              __VA_ARGS__ },                                                                       \
            DIMS(0), SHARE_BOUNDS                                                                  \
    }
#define CAUSAL    .flags = TNP_ATTENTION_CAUSAL
#define SEES(...) ATTR(attention, .scale = 0.25f, __VA_ARGS__)

const composite composite_cases[] = {
    UNARY("neg", TNP_OP_NEG, NULL),
    UNARY("sqr", TNP_OP_SQR, NULL),
    UNARY("relu", TNP_OP_RELU, NULL),
    UNARY("rsqrt", TNP_OP_RSQRT, NULL),
    UNARY("sigmoid", TNP_OP_SIGMOID, NULL),
    UNARY("silu", TNP_OP_SILU, NULL),
    UNARY("gelu", TNP_OP_GELU, NULL),
    UNARY("gelu_quick", TNP_OP_GELU_QUICK, NULL),
    UNARY("softcap", TNP_OP_SOFTCAP, ATTR(softcap, .cap = 3)),
    GATED("swiglu", TNP_OP_SWIGLU),
    GATED("geglu", TNP_OP_GEGLU),
    GATED("reglu", TNP_OP_REGLU),

    UNARY("mean", TNP_OP_MEAN, ATTR(axis, .axis = 0)),
    { "mean over dim 2",
      TNP_OP_MEAN,
      ATTR(axis, .axis = 2),
      { { .dtype = F16, .dims = { 5, 3, 7 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    UNARY("l2_norm", TNP_OP_L2_NORM, NORM),
    { "l2_norm of a short row",
      TNP_OP_L2_NORM,
      ATTR(norm, .eps = 100),
      { { .dtype = F32, .dims = { 5, 3 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    UNARY("rms_norm", TNP_OP_RMS_NORM, NORM),
    { "rms_norm with weight",
      TNP_OP_RMS_NORM,
      NORM,
      { { .dtype = F32, .dims = { 33, 3, 2 } }, { .dtype = F32, .dims = { 33 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "rms_norm of F16 with weight",
      TNP_OP_RMS_NORM,
      NORM,
      { { .dtype = F16, .dims = { 33, 3 } }, { .dtype = F32, .dims = { 33 } } },
      DIMS(0),
      HALF_BOUNDS },
    UNARY("layer_norm", TNP_OP_LAYER_NORM, NORM),
    { "layer_norm with weight",
      TNP_OP_LAYER_NORM,
      NORM,
      { { .dtype = F32, .dims = { 33, 3 } }, { .dtype = F32, .dims = { 33 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "layer_norm with bias",
      TNP_OP_LAYER_NORM,
      NORM,
      { { .dtype = F32, .dims = { 33, 3 } }, { 0 }, { .dtype = F32, .dims = { 33 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "layer_norm with both",
      TNP_OP_LAYER_NORM,
      NORM,
      { { .dtype = F16, .dims = { 33, 3 } },
        { .dtype = F32, .dims = { 33 } },
        { .dtype = F32, .dims = { 33 } } },
      DIMS(0),
      HALF_BOUNDS },
    { "group_norm",
      TNP_OP_GROUP_NORM,
      ATTR(group_norm, .groups = 2, .eps = 1e-5f),
      { { .dtype = F32, .dims = { 5, 3, 6, 2 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "group_norm of one image",
      TNP_OP_GROUP_NORM,
      ATTR(group_norm, .groups = 3, .eps = 1e-5f),
      { { .dtype = F32, .dims = { 5, 3, 6 } }, { .dtype = F32, .dims = { 6 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "group_norm, turned, with bias",
      TNP_OP_GROUP_NORM,
      ATTR(group_norm, .groups = 1, .eps = 1e-5f),
      { { .dtype = F32, .dims = { 5, 3, 6, 2 }, .is_turned = true },
        { 0 },
        { .dtype = F32, .dims = { 6 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "group_norm of F16 with both, limited",
      TNP_OP_GROUP_NORM,
      ATTR(group_norm, .groups = 6, .eps = 1e-5f),
      { { .dtype = F16, .dims = { 5, 3, 6, 3 }, .limited = 8 },
        { .dtype = F32, .dims = { 6 } },
        { .dtype = F32, .dims = { 6 } } },
      DIMS(0, 0, 0, COMPOSITE_ROWS),
      HALF_BOUNDS },
    { "top_k",
      TNP_OP_TOP_K,
      ATTR(top_k, .k = 4),
      { { .dtype = F32, .dims = { 33, 3 } } },
      DIMS(0),
      0,
      0 },
    { "top_k of all, limited",
      TNP_OP_TOP_K,
      ATTR(top_k, .k = 9),
      { { .dtype = F16, .dims = { 9, 3 }, .limited = 2 } },
      DIMS(0, COMPOSITE_ROWS),
      0,
      0 },

    UNARY("softmax", TNP_OP_SOFTMAX, ATTR(softmax, .scale = 1)),
    { "softmax with scale",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 0.3f),
      { { .dtype = F32, .dims = { 33, 3 } } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "softmax of a limited row",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 1),
      { { .dtype = F32, .dims = { 9, 3 }, .limited = 1, .limited_by_slots = 1 } },
      DIMS(COMPOSITE_SLOTS),
      PLAIN_BOUNDS },
    { "softmax with mask",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 2),
      { { .dtype = F32, .dims = { 7, 3, 4 } }, { .dtype = F32, .dims = { 7, 3 }, .fill = BLIND } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "softmax with a mask of F16 for all rows",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 1),
      { { .dtype = F16, .dims = { 7, 3, 4 } }, { .dtype = F16, .dims = { 7 }, .fill = MASK } },
      DIMS(0),
      HALF_BOUNDS },
    { "softmax with slopes",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 0.5f, .alibi_max_bias = 8),
      { { .dtype = F32, .dims = { 7, 3, 6 } }, { .dtype = F32, .dims = { 7, 3 }, .fill = MASK } },
      DIMS(0),
      PLAIN_BOUNDS },
    { "softmax with slopes, a mask of F16 for each head, limited",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 0.5f, .alibi_max_bias = 4),
      { { .dtype = F32, .dims = { 7, 3, 4 }, .limited = 2 },
        { .dtype = F16, .dims = { 7, 3, 4 }, .fill = MASK } },
      DIMS(0, COMPOSITE_ROWS),
      PLAIN_BOUNDS },
    { "softmax with slopes of one head",
      TNP_OP_SOFTMAX,
      ATTR(softmax, .scale = 1, .alibi_max_bias = 8),
      { { .dtype = F32, .dims = { 7, 3 } }, { .dtype = F32, .dims = { 7, 1 }, .fill = MASK } },
      DIMS(0),
      PLAIN_BOUNDS },

    { "rope",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 8),
      { { .dtype = F32, .dims = { 8, 2, 3 } }, { .dtype = I32, .dims = { 3 }, .fill = POSITIONS } },
      DIMS(0),
      WAVE_BOUNDS },
    { "rope far away",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 64, .layout = TNP_ROPE_NEOX),
      { { .dtype = F32, .dims = { 64, 2, 8 } }, { .dtype = I32, .dims = { 8 }, .fill = FAR } },
      DIMS(0),
      WAVE_BOUNDS },
    { "rope of a part",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 6),
      { { .dtype = F32, .dims = { 10, 2, 3 } },
        { .dtype = I32, .dims = { 3 }, .fill = POSITIONS } },
      DIMS(0),
      WAVE_BOUNDS },
    { "rope of a part, neox, F16",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 6, .layout = TNP_ROPE_NEOX),
      { { .dtype = F16, .dims = { 10, 2, 3 } },
        { .dtype = I32, .dims = { 3 }, .fill = POSITIONS } },
      DIMS(0),
      .absolute = 1e-5,
      .relative = 1.5e-3 },
    { "rope of F16",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 8),
      { { .dtype = F16, .dims = { 8, 2, 3 } }, { .dtype = I32, .dims = { 3 }, .fill = POSITIONS } },
      DIMS(0),
      .absolute = 1e-5,
      .relative = 1.5e-3 },
    { "rope with a batch, turned, limited",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 8),
      { { .dtype = F32, .dims = { 8, 2, 3, 2 }, .is_turned = true },
        { .dtype = I32, .dims = { 3 }, .fill = POSITIONS, .limited = 1 } },
      DIMS(0, 0, COMPOSITE_ROWS),
      WAVE_BOUNDS },
    { "rope of one head and one token",
      TNP_OP_ROPE,
      ROPE(.rot_dims = 8),
      { { .dtype = F32, .dims = { 8 } }, { .dtype = I32, .dims = { 1 }, .fill = POSITIONS } },
      DIMS(0),
      WAVE_BOUNDS },
    { "rope with scale and factors",
      TNP_OP_ROPE,
      ATTR(rope, .rot_dims = 8, .base = 500000, .scale = 0.25f, .layout = TNP_ROPE_NEOX),
      { { .dtype = F32, .dims = { 8, 2, 3 } },
        { .dtype = I32, .dims = { 3 }, .fill = POSITIONS },
        { .dtype = F32, .dims = { 4 }, .fill = POSITIVE, .is_weight = true } },
      DIMS(0),
      WAVE_BOUNDS },
    { "rope with YaRN",
      TNP_OP_ROPE,
      ATTR(rope, .rot_dims = 32, .base = 10000, .scale = 0.25f, YARN),
      { { .dtype = F32, .dims = { 32, 2, 8 } }, { .dtype = I32, .dims = { 8 }, .fill = FAR } },
      DIMS(0),
      WAVE_BOUNDS },

    ATTENTION("attention to all", SEES(), 4, F32, { 0 }),
    ATTENTION("attention, causal", SEES(CAUSAL), 4, F32, { 0 }),
    ATTENTION("attention, grouped", SEES(CAUSAL), 2, F32, { 0 }),
    ATTENTION("attention, one key head", SEES(CAUSAL), 1, F32, { 0 }),
    ATTENTION("attention, F16 cache", SEES(CAUSAL), 2, F16, { 0 }),
    ATTENTION("attention, Q8_0 cache", SEES(CAUSAL), 2, Q8_0, { 0 }),
    ATTENTION("attention, window", SEES(.window = 2), 2, F32, { 0 }),
    ATTENTION("attention, causal window", SEES(CAUSAL, .window = 3), 2, F32, { 0 }),
    ATTENTION("attention, softcap", SEES(CAUSAL, .softcap = 2), 2, F32, { 0 }),
    ATTENTION("attention, mask", SEES(), 2, F32, { .dtype = F32, .dims = { 7, 3 }, .fill = BLIND }),
    ATTENTION("attention, mask of F16 and causal", SEES(CAUSAL), 2, F32,
              { .dtype = F16, .dims = { 7, 3 }, .fill = MASK }),
    ATTENTION("attention, sinks", SEES(CAUSAL), 2, F32, { 0 }, { .dtype = F32, .dims = { 4 } }),
    ATTENTION("attention, sinks and softcap", SEES(.softcap = 2), 2, F16, { 0 },
              { .dtype = F32, .dims = { 4 } }),
    ATTENTION("attention, mask and sinks that are a weight", SEES(CAUSAL, .window = 3), 1, F32,
              { .dtype = F32, .dims = { 7, 3 }, .fill = BLIND },
              { .dtype = F32, .dims = { 4 }, .is_weight = true }),
    { "attention that sees nothing first, but sinks",
      TNP_OP_ATTENTION,
      SEES(CAUSAL),
      { { .dtype = F32, .dims = { 8, 4, 3 }, .fill = SMALL },
        { .dtype = F32, .dims = { 8, 2, 7 }, .fill = SMALL },
        { .dtype = F32, .dims = { 8, 2, 7 }, .fill = SMALL },
        { .dtype = I32, .dims = { 3 }, .fill = BEFORE },
        { 0 },
        { .dtype = F32, .dims = { 4 } } },
      DIMS(0),
      SHARE_BOUNDS },
    { "attention that sees nothing first",
      TNP_OP_ATTENTION,
      SEES(CAUSAL),
      { { .dtype = F32, .dims = { 8, 4, 3 }, .fill = SMALL },
        { .dtype = F32, .dims = { 8, 2, 7 }, .fill = SMALL },
        { .dtype = F32, .dims = { 6, 2, 7 }, .fill = SMALL },
        { .dtype = I32, .dims = { 3 }, .fill = BEFORE } },
      DIMS(0),
      SHARE_BOUNDS },
    { "attention of one token, F16",
      TNP_OP_ATTENTION,
      SEES(CAUSAL),
      { { .dtype = F16, .dims = { 8, 4 }, .fill = SMALL },
        { .dtype = F16, .dims = { 8, 2, 7 }, .fill = SMALL },
        { .dtype = F16, .dims = { 8, 2, 7 }, .fill = SMALL },
        { .dtype = I32, .dims = { 1 }, .fill = POSITIONS } },
      DIMS(0),
      SHARE_BOUNDS },
    { "attention with lengths",
      TNP_OP_ATTENTION,
      SEES(CAUSAL, .window = 4),
      { { .dtype = F32, .dims = { 8, 4, 3 }, .fill = SMALL },
        { .dtype = F16, .dims = { 8, 2, 7 }, .fill = SMALL, .limited = 4, .limited_by_slots = 4 },
        { .dtype = F16, .dims = { 8, 2, 7 }, .fill = SMALL, .limited = 4, .limited_by_slots = 4 },
        { .dtype = I32, .dims = { 3 }, .fill = POSITIONS, .limited = 1 },
        { .dtype = F32, .dims = { 7, 3 }, .fill = MASK } },
      DIMS(0, 0, COMPOSITE_ROWS),
      SHARE_BOUNDS },
};
const unsigned composite_case_count = sizeof composite_cases / sizeof composite_cases[0];

// -------------------------------------------------------------------------------------------- data

static float element(composite_fill fill, size_t i, size_t row, uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    float unit = (float)(int32_t)*seed / 2147483648.0f;   // -1 to 1
    static const float wide[] = { 0, -30, 100, -100, 17 };
    switch (fill) {
    case RANDOM:
        return i > 4 && i < 10 ? wide[i - 5] : 4 * unit;
    case POSITIVE:
        return 1.25f + 0.75f * unit;
    case MASK:
        return i % 3 == 0 ? 0 : i % 3 == 1 ? -0.5f : -INFINITY;
    case BLIND:
        return row == 0 || i % 3 == 2 ? -INFINITY : unit;
    default:
        return unit;
    }
}

static int32_t position(composite_fill fill, size_t i)
{
    static const int32_t far_away[] = { 0, 1, 255, 256, 8191, 131071, 1000003, -77 };
    return fill == FAR ? far_away[i % 8] : fill == BEFORE ? (int32_t)i - 1 : (int32_t)i + 3;
}

static void *fill(const composite_operand *o, size_t count, uint32_t seed)
{
    int32_t *data = calloc(count, 4);
    for (size_t i = 0; i < count; i++) {
        float value = element(o->fill, i, i / (size_t)o->dims[0], &seed);
        if (o->dtype == I32)
            data[i] = position(o->fill, i);
        else
            memcpy(&data[i], &value, sizeof value);
    }
    return data;
}

static tn_value add_input(composite_graph *made, const char *name, tn_dtype dtype, uint32_t rank,
                          const int64_t *dims, void *data, size_t count)
{
    composite_input *input = &made->inputs[made->input_count++];
    snprintf(input->name, sizeof input->name, "%s", name);
    input->data = data;
    input->bytes = count * 4;
    return tn_graph_input(made->graph, name, dtype, rank, dims);
}

static tn_value length(composite_graph *made, const char *name, int32_t count)
{
    tn_value found = tn_graph_find(made->graph, name);
    if (!tn_value_is_none(found))
        return found;
    int32_t *data = malloc(sizeof *data);
    *data = count;
    return add_input(made, name, I32, 1, (int64_t[]){ 1 }, data, 1);
}

static tn_value add_operand(composite_graph *made, const composite_operand *o, unsigned number)
{
    char name[16];
    int64_t dims[5];
    size_t count = 1;
    uint32_t rank = 0;
    for (; rank < 5 && (rank == 0 || o->dims[rank]); rank++) {
        dims[rank] = o->dims[rank];
        count *= (size_t)dims[rank];
    }
    if (o->is_turned) {
        dims[0] = o->dims[1];
        dims[1] = o->dims[0];
    }
    snprintf(name, sizeof name, "in%u", number);
    void *data = fill(o, count, number + 7);
    tn_value value;
    if (o->is_weight) {
        value = tn_graph_weight(made->graph, name, F32, rank, dims, data, count * 4);
        made->weight = data;
    } else {
        value = add_input(made, name, o->dtype == I32 ? I32 : F32, rank, dims, data, count);
    }
    if (o->dtype != I32 && o->dtype != F32)
        value = tn_graph_convert(made->graph, value, o->dtype);
    if (o->is_turned)
        value = tn_graph_permute(made->graph, value, rank, (uint32_t[]){ 1, 0, 2, 3, 4 });
    for (uint32_t d = 0; d < rank; d++)
        if (o->limited & 1u << d)
            value = tn_graph_limit(made->graph, value, d,
                                   o->limited_by_slots & 1u << d
                                       ? length(made, "slots", COMPOSITE_SLOTS)
                                       : length(made, "rows", COMPOSITE_ROWS));
    return value;
}

composite_graph composite_make(const composite *c)
{
    composite_graph made = { .elements = 1 };
    tn_value in[6];
    uint32_t count = 0;
    tn_error err = { 0 };
    if (tn_graph_create(NULL, &made.graph, NULL) != TN_OK)
        fail_msg("no memory for a graph");
    for (uint32_t i = 0; i < 6; i++) {
        in[i] = c->in[i].dtype ? add_operand(&made, &c->in[i], i) : TN_NO_VALUE;
        count = c->in[i].dtype ? i + 1 : count;
    }
    made.result = tn_graph_op(made.graph, c->op, "it", in, count, c->attr);
    tn_value out = tn_graph_convert(made.graph, made.result, F32);
    tn_graph_output(made.graph, "out", out);
    if (tn_graph_finish(made.graph, &err) != TN_OK)
        fail_msg("%s: %s", c->says, err.text);
    tn_value_info info = { .size = sizeof info };
    if (tn_graph_value_info(made.graph, out, &info, &err) != TN_OK)
        fail_msg("%s: %s", c->says, err.text);
    for (uint32_t d = 0; d < 5; d++) {
        made.dims[d] = info.dims[d];
        made.elements *= (size_t)info.dims[d];
    }
    return made;
}

void composite_drop(composite_graph *made)
{
    tn_graph_destroy(made->graph);
    for (unsigned i = 0; i < made->input_count; i++)
        free(made->inputs[i].data);
    free(made->weight);
}

void composite_compare(const composite *c, const composite_graph *made, const char *what,
                       const float *got, const float *want)
{
    for (size_t i = 0; i < made->elements; i++) {
        size_t rest = i;
        bool counts = true;
        for (uint32_t d = 0; d < 5; d++) {
            int64_t at = (int64_t)(rest % (size_t)made->dims[d]);
            rest /= (size_t)made->dims[d];
            counts &= !c->counts[d] || at < c->counts[d];
        }
        double g = (double)got[i], w = (double)want[i];
        if (counts && g != w && !(fabs(g - w) <= c->absolute + c->relative * fabs(w)) &&
            !(isnan(g) && isnan(w)))
            fail_msg("%s, %s: element %zu is %.9g, not %.9g", c->says, what, i, g, w);
    }
}
