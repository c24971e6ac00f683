// build.c: the pieces of graphs. Letters as in hparams.h; T tokens of the variant, S tokens of
// capacity.
#include "build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tlm_build_mark(tlm_builder *b, uint32_t layer, uint32_t part)
{
    b->part = part;
    tn_graph_mark(b->graph, layer, part);
}

bool tlm_part_name(const char *name, uint32_t part, char *to, size_t bytes)
{
    if (!name || !to)
        return false;
    int length = snprintf(to, bytes, "%s.part%" PRIu32, name, part);
    return length >= 0 && (size_t)length < bytes;
}

void tlm_build_name(const tlm_builder *b, char to[TLM_NODE_NAME_BYTES], const char *format, ...)
{
    char whole[TLM_NODE_NAME_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    if (b->part == TN_NO_PART || !*whole)
        memcpy(to, whole, sizeof whole);
    else
        (void)tlm_part_name(whole, b->part, to, TLM_NODE_NAME_BYTES);
}

// Of a node that uses a weight: that of the weight without its ".weight".
static void name_node(const tlm_builder *b, tlm_slot slot, uint32_t layer,
                      char to[TLM_NODE_NAME_BYTES])
{
    const char *name = tlm_weights_at(b->variant->weights, slot, layer)->name;
    const char *end = name ? strstr(name, ".weight") : NULL;
    tlm_build_name(b, to, "%.*s", end ? (int)(end - name) : 0, name ? name : "");
}

tn_value tlm_build_weight(tlm_builder *b, tlm_slot slot, uint32_t layer)
{
    const tn_model_tensor *t = tlm_weights_at(b->variant->weights, slot, layer);
    if (!t->data)
        return TN_NO_VALUE;
    return tn_graph_weight(b->graph, t->name, t->dtype, t->rank, t->dims, t->data, t->bytes);
}

tn_value tlm_build_weight_part(tlm_builder *b, tlm_slot slot, uint32_t layer, uint32_t axis,
                               tlm_range range)
{
    const tn_model_tensor *t = tlm_weights_at(b->variant->weights, slot, layer);
    tn_value weight = tlm_build_weight(b, slot, layer);
    return range.count == t->dims[axis]
               ? weight
               : tn_graph_weight_part(b->graph, weight, axis, range.begin, range.count);
}

tn_value tlm_build_matmul(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer, uint32_t axis,
                          tlm_range range)
{
    char name[TLM_NODE_NAME_BYTES];
    name_node(b, slot, layer, name);
    tn_value inputs[] = { x, tlm_build_weight_part(b, slot, layer, axis, range) };
    return tn_graph_op(b->graph, TNP_OP_MATMUL, name, inputs, 2, NULL);
}

tn_value tlm_build_rms_norm(tlm_builder *b, tn_value x, tlm_slot slot, uint32_t layer)
{
    char name[TLM_NODE_NAME_BYTES];
    name_node(b, slot, layer, name);
    tnp_norm_attr attr = { .size = sizeof attr, .eps = b->variant->hparams->rms_eps };
    tn_value inputs[] = { x, tlm_build_weight(b, slot, layer) };
    return tn_graph_op(b->graph, TNP_OP_RMS_NORM, name, inputs, 2, &attr);
}

bool tlm_build_has(const tlm_builder *b, tlm_slot slot, uint32_t layer)
{
    return tlm_weights_at(b->variant->weights, slot, layer)->data;
}

tn_value tlm_build_join(tlm_builder *b, tnp_op op, const tn_value *parts, uint32_t count)
{
    tnp_axis_attr attr = { .size = sizeof attr, .axis = 0 };
    tn_value joined = parts[0];
    for (uint32_t i = 1; i < count; i++) {
        tn_value inputs[] = { joined, parts[i] };
        joined = tn_graph_op(b->graph, op, NULL, inputs, 2, op == TNP_OP_CONCAT ? &attr : NULL);
    }
    return joined;
}

// --------------------------------------------------------------------------------- weight x + bias

static tlm_range all_rows(const tlm_builder *b, tlm_slot weight, uint32_t layer)
{
    return (tlm_range){ 0, tlm_weights_at(b->variant->weights, weight, layer)->dims[1] };
}

tn_value tlm_build_bias(tlm_builder *b, tn_value x, tlm_slot bias, uint32_t layer, tlm_range range)
{
    return tlm_build_has(b, bias, layer)
               ? tn_graph_add(b->graph, x, tlm_build_weight_part(b, bias, layer, 0, range))
               : x;
}

tn_value tlm_build_linear_rows(tlm_builder *b, tn_value x, tlm_slot weight, tlm_slot bias,
                               uint32_t layer, tlm_range rows)
{
    x = tlm_build_matmul(b, x, weight, layer, 1, rows);
    return tlm_build_bias(b, x, bias, layer, rows);
}

tn_value tlm_build_linear(tlm_builder *b, tn_value x, tlm_slot weight, tlm_slot bias,
                          uint32_t layer)
{
    const tlm_split *split = b->variant->split;
    tlm_range rows = all_rows(b, weight, layer);
    if (!tlm_split_divides(split, layer))
        return tlm_build_linear_rows(b, x, weight, bias, layer, rows);
    tn_value made[TLM_MOST_PARTS];
    uint32_t count = 0;
    tlm_cut cut = tlm_split_rows(split, rows.count);
    for (uint32_t p = 0; p < cut.parts; p++) {
        rows = tlm_cut_range(&cut, p);
        if (rows.count == 0)
            continue;
        tlm_build_mark(b, layer, p);
        made[count++] = tlm_build_linear_rows(b, x, weight, bias, layer, rows);
    }
    tlm_build_mark(b, layer, TN_NO_PART);
    return tlm_build_join(b, TNP_OP_CONCAT, made, count);
}

// ------------------------------------------------------------------------------------ feed-forward

// gating(gate(x), up(x)) of some rows of both.
static tn_value build_gated(tlm_builder *b, tn_value x, tnp_op gating, uint32_t layer,
                            tlm_range rows)
{
    tn_value inputs[] = {
        tlm_build_linear_rows(b, x, TLM_FFN_GATE, TLM_FFN_GATE_BIAS, layer, rows),
        tlm_build_linear_rows(b, x, TLM_FFN_UP, TLM_FFN_UP_BIAS, layer, rows),
    };
    return tn_graph_op(b->graph, gating, NULL, inputs, 2, NULL);
}

tn_value tlm_build_feed_forward(tlm_builder *b, tn_value x, tnp_op gating, uint32_t layer)
{
    const tlm_variant *v = b->variant;
    if (!tlm_split_divides(v->split, layer)) {
        x = build_gated(b, x, gating, layer, (tlm_range){ 0, v->hparams->feed_forward });
        return tlm_build_linear(b, x, TLM_FFN_DOWN, TLM_FFN_DOWN_BIAS, layer);
    }
    tn_value made[TLM_MOST_PARTS];
    uint32_t count = 0;
    tlm_cut cut;
    bool has_columns = tlm_split_feed_forward(v->split, v->hparams, v->weights, layer, &cut, NULL);
    for (uint32_t p = 0; p < cut.parts; p++) {
        tlm_range range = tlm_cut_range(&cut, p);
        if (range.count == 0)
            continue;
        tlm_build_mark(b, layer, p);
        tn_value gated = build_gated(b, x, gating, layer, range);
        made[count++] = has_columns ? tlm_build_matmul(b, gated, TLM_FFN_DOWN, layer, 0, range)
                                    : gated;
    }
    tlm_build_mark(b, layer, TN_NO_PART);
    x = tlm_build_join(b, has_columns ? TNP_OP_ADD : TNP_OP_CONCAT, made, count);
    return has_columns
               ? tlm_build_bias(b, x, TLM_FFN_DOWN_BIAS, layer, all_rows(b, TLM_FFN_DOWN, layer))
               : tlm_build_linear(b, x, TLM_FFN_DOWN, TLM_FFN_DOWN_BIAS, layer);
}

tn_value tlm_build_pre_norm(tlm_builder *b)
{
    tn_value x = tlm_build_embedding(b);
    for (uint32_t layer = 0; layer < (uint32_t)b->variant->hparams->layers; layer++) {
        tlm_build_mark(b, layer, TN_NO_PART);
        tn_value y = tlm_build_rms_norm(b, x, TLM_ATTN_NORM, layer);
        x = tn_graph_add(b->graph, x, tlm_build_attention(b, y, layer));
        y = tlm_build_rms_norm(b, x, TLM_FFN_NORM, layer);
        x = tn_graph_add(b->graph, x, tlm_build_feed_forward(b, y, TNP_OP_SWIGLU, layer));
    }
    return tlm_build_logits(b, x);
}
