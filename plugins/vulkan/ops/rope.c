// rope.c: rotary position embedding.
#include "../walk.h"
#include "ops.h"

#include <math.h>

#define GROUP 64u   // local_size_x of the kernel
#define HEADS 4     // that an invocation turns
#define PI    3.14159265358979323846

// Dims from the fifth on are dispatched one by one.
static uint64_t parts_of(const tnh_value *out)
{
    uint64_t parts = 1;
    for (uint32_t d = 4; d < TNP_MAX_DIMS; d++)
        parts *= (uint64_t)out->dims[d];
    return parts;
}

static uint64_t invocations_of(const tnh_value *out, const tnp_rope_attr *attr)
{
    const uint64_t items = (uint64_t)out->dims[0] - attr->rot_dims / 2;
    const uint64_t parts = ((uint64_t)out->dims[1] + HEADS - 1) / HEADS;
    return items * parts * (uint64_t)out->dims[2] * (uint64_t)out->dims[3];
}

static const char *refuse(const vulkan_unit *unit, const vulkan_features *features)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *x = &node->in[0], *out = &node->out;
    const tnp_rope_attr *attr = (const tnp_rope_attr *)&node->attr;
    (void)features;
    if (!vulkan_is_float(x) || !vulkan_is_float(out))
        return "rope of what is neither F32 nor F16";
    if (node->in[1].dtype != TNP_DTYPE_I32 || node->in[1].dims[0] < out->dims[2])
        return "rope with positions that are not I32 and one a token";
    if (tnh_has(node, 2) &&
        (node->in[2].dtype != TNP_DTYPE_F32 || node->in[2].dims[0] < (int64_t)attr->rot_dims / 2))
        return "rope with factors that are not F32 and one a pair";
    if (attr->layout != TNP_ROPE_NORMAL && attr->layout != TNP_ROPE_NEOX)
        return "rope with a layout of pairs unknown here";
    if (attr->rot_dims < 2 || attr->rot_dims % 2 || attr->rot_dims > x->dims[0])
        return "rope with rot_dims odd, below 2 or above the head's dims";
    if (attr->yarn_extrapolation > 0.0f &&
        (!(attr->base > 1.0f) || !(attr->yarn_beta_fast > 0.0f) || !(attr->yarn_beta_slow > 0.0f) ||
         attr->yarn_context == 0))
        return "rope with YaRN, and a base of 1 or less, or betas or a context of 0 or less";
    if (parts_of(out) > VULKAN_MAX_DISPATCHES || invocations_of(out, attr) >> 32)
        return "rope of more heads than a dispatch takes";
    const tnh_value *values[] = { out, x };
    if (!vulkan_walk_has_whole_strides(values, 2))
        return "a stride that is no multiple of the element's bytes";
    return node->in[1].strides[0] % 4 || (tnh_has(node, 2) && node->in[2].strides[0] % 4)
               ? "a stride that is no multiple of the element's bytes"
               : NULL;
}

// A double as two floats.
static void push_twofold(vulkan_dispatch *d, double x)
{
    float high = (float)x;
    vulkan_push_float(d, high);
    vulkan_push_float(d, (float)(x - (double)high));
}

// The pair, not a whole one, that turns `turns` times within the context.
static double pair_that_turns(const tnp_rope_attr *attr, double turns)
{
    return (double)attr->rot_dims * log((double)attr->yarn_context / (2 * PI * turns)) /
           (2 * log((double)attr->base));
}

static void push_attributes(const tnp_rope_attr *attr, vulkan_dispatch *d)
{
    double low = 0, high = 0;
    if (attr->yarn_extrapolation > 0.0f) {
        low = fmax(0, floor(pair_that_turns(attr, (double)attr->yarn_beta_fast)));
        high = fmin((double)attr->rot_dims - 1,
                    ceil(pair_that_turns(attr, (double)attr->yarn_beta_slow)));
    }
    push_twofold(d, pow((double)attr->base, -2.0 / (double)attr->rot_dims));
    vulkan_push_float(d, attr->scale);
    push_twofold(d, 1 - (double)attr->scale);
    vulkan_push_float(d, (float)low);
    vulkan_push_float(d, (float)fmax(0.001, high - low));
    vulkan_push_float(d, attr->yarn_extrapolation);
    vulkan_push_float(d, attr->yarn_attention == 0.0f ? 1.0f : attr->yarn_attention);
}

static uint32_t offset_of_part(const tnh_value *value, uint64_t part)
{
    uint64_t offset = 0;
    for (uint32_t d = 4; d < TNP_MAX_DIMS; d++) {
        offset += part % (uint64_t)value->dims[d] * (uint64_t)value->strides[d];
        part /= (uint64_t)value->dims[d];
    }
    return (uint32_t)offset;
}

static void emit(const vulkan_unit *unit, vulkan_emitter *to)
{
    const tnh_node *node = &unit->nodes[0];
    const tnh_value *out = &node->out, *x = &node->in[0];
    const tnp_rope_attr *attr = (const tnp_rope_attr *)&node->attr;
    for (uint64_t part = 0; part < parts_of(out); part++) {
        vulkan_dispatch d;
        uint32_t tokens_offset;
        vulkan_begin(&d, VULKAN_KERNEL_ROPE);
        vulkan_constant(&d, out->dtype);
        vulkan_constant(&d, x->dtype);
        vulkan_constant(&d, attr->layout == TNP_ROPE_NEOX);
        vulkan_constant(&d, attr->yarn_extrapolation > 0.0f);
        vulkan_constant(&d, (uint32_t)tnh_has(node, 2));
        for (uint32_t k = 0; k < 4; k++)
            vulkan_push(&d, (uint32_t)out->strides[k]);
        for (uint32_t k = 0; k < 4; k++)
            vulkan_push(&d, (uint32_t)x->strides[k]);
        for (uint32_t k = 0; k < 4; k++)
            vulkan_push(&d, (uint32_t)out->dims[k]);
        vulkan_push(&d, vulkan_bind_value(to, &d, out, true) + offset_of_part(out, part));
        vulkan_push(&d, vulkan_bind_value(to, &d, x, false) + offset_of_part(x, part));
        const uint32_t position_offset = vulkan_bind_value(to, &d, &node->in[1], false);
        const uint32_t factors_offset = vulkan_bind_optional(to, &d, node, 2);
        vulkan_constant(&d, vulkan_bind_extent(to, &d, out, 2, &tokens_offset));
        vulkan_push(&d, position_offset | factors_offset << 8 | tokens_offset << 16);
        vulkan_push(&d, (uint32_t)node->in[1].strides[0]);
        vulkan_push(&d, (uint32_t)node->in[2].strides[0]);
        vulkan_push(&d, attr->rot_dims / 2);
        push_attributes(attr, &d);
        d.groups[0] = vulkan_groups(invocations_of(out, attr), GROUP);
        d.flops = 200 * (double)invocations_of(out, attr);
        d.bytes = 16 * HEADS * (double)invocations_of(out, attr);
        vulkan_emit(to, &d);
    }
}

const vulkan_op vulkan_rope_ops[] = {
    { TNP_OP_ROPE, refuse, NULL, emit },
    { 0 },
};
