// build_vocabulary.c: from ids to embeddings, and from the last layer to logits. Divided, each part
// has the rows of some ids, and where both ends share one matrix it has them once.
#include "build.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_BYTES = 64, EXACT_IN_F32 = 1 << 24 };

static uint32_t layer_behind(const tlm_builder *b)
{
    return (uint32_t)b->variant->hparams->layers;
}

static bool is_divided(const tlm_builder *b)
{
    return tlm_split_divides(b->variant->split, layer_behind(b));
}

static tlm_cut cut_vocabulary(const tlm_builder *b)
{
    return tlm_split_rows(b->variant->split, b->variant->hparams->vocabulary);
}

// The rows of the embedding for the ids of a part, made once.
static tn_value build_table(tlm_builder *b, uint32_t part, tlm_range ids)
{
    if (!b->has_table[part]) {
        b->has_table[part] = true;
        b->table[part] = tlm_build_weight_part(b, TLM_TOKEN_EMBD, 0, 1, ids);
    }
    return b->table[part];
}

// -------------------------------------------------------------------------------------- embeddings

static tn_value build_constant(tlm_builder *b, const char *name, const float *number)
{
    return tn_graph_weight(b->graph, name, TN_DTYPE_F32, 1, (int64_t[]){ 1 }, number,
                           sizeof *number);
}

typedef tn_value (*build_part)(tlm_builder *b, tn_value x, uint32_t part, tlm_range ids);

// What each part that has ids makes of x, joined by op, as a node of `layer`.
static tn_value build_parts(tlm_builder *b, tnp_op op, uint32_t layer, tn_value x, build_part build)
{
    tn_value made[TLM_MOST_PARTS];
    uint32_t count = 0;
    tlm_cut cut = cut_vocabulary(b);
    for (uint32_t p = 0; p < cut.parts; p++) {
        tlm_range ids = tlm_cut_range(&cut, p);
        if (ids.count == 0)
            continue;
        tlm_build_mark(b, layer_behind(b), p);
        made[count++] = build(b, x, p, ids);
    }
    tlm_build_mark(b, layer, TN_NO_PART);
    return tlm_build_join(b, op, made, count);
}

// The rows of the tokens whose ids a part has, and zeros for the others: {E, T}. Each looks up the
// nearest id that the part has, and what is not its own is multiplied by 0. tokens: I32 {T}.
static tn_value look_up_part(tlm_builder *b, tn_value tokens, uint32_t part, tlm_range ids)
{
    static const float one = 1;
    tn_graph *graph = b->graph;
    tn_value token = tn_graph_convert(graph, tokens, TN_DTYPE_F32);
    char name[TLM_NODE_NAME_BYTES];
    tlm_build_name(b, name, "token_embd");
    tnp_clamp_attr range = { .size = sizeof range, .max = (float)(ids.count - 1) },
                   to_one = { .size = sizeof to_one, .max = 1 };
    tn_value at = tn_graph_op(
        graph, TNP_OP_SUB, NULL,
        (tn_value[]){ token, build_constant(b, "first_id", &b->variant->split->first_id[part]) }, 2,
        NULL);
    tn_value nearest = tn_graph_op(graph, TNP_OP_CLAMP, NULL, &at, 1, &range);
    tn_value index = tn_graph_convert(graph, nearest, TN_DTYPE_I32);
    tn_value rows = tn_graph_op(graph, TNP_OP_GET_ROWS, name,
                                (tn_value[]){ build_table(b, part, ids), index }, 2, NULL);
    // 1 - min(|at - nearest|, 1): whole numbers, so it is 1 or 0
    tn_value far = tn_graph_op(graph, TNP_OP_SUB, NULL, (tn_value[]){ at, nearest }, 2, NULL);
    far = tn_graph_op(graph, TNP_OP_ABS, NULL, &far, 1, NULL);
    far = tn_graph_op(graph, TNP_OP_CLAMP, NULL, &far, 1, &to_one);
    far = tn_graph_op(graph, TNP_OP_NEG, NULL, &far, 1, NULL);
    tn_value own = tn_graph_add(graph, far, build_constant(b, "one", &one));
    own = tn_graph_reshape(graph, own, 2, (int64_t[]){ 1, b->variant->tokens });
    return tn_graph_mul(graph, rows, own);
}

static tn_value look_up(tlm_builder *b)
{
    if (!is_divided(b) || b->variant->hparams->vocabulary > EXACT_IN_F32) {
        tlm_range all = { 0, b->variant->hparams->vocabulary };
        tn_value table = is_divided(b) ? tlm_build_weight(b, TLM_TOKEN_EMBD, 0)
                                       : build_table(b, 0, all);
        tn_value inputs[] = { table, b->tokens };
        return tn_graph_op(b->graph, TNP_OP_GET_ROWS, "token_embd", inputs, 2, NULL);
    }
    return build_parts(b, TNP_OP_ADD, TN_NO_LAYER, b->tokens, look_up_part);
}

tn_value tlm_build_embedding(tlm_builder *b)
{
    float scale = b->variant->hparams->embedding_scale;
    tn_value x = look_up(b);
    return scale < 1 || scale > 1 ? tn_graph_scale(b->graph, x, scale) : x;
}

// ------------------------------------------------------------------------------------------ logits

// Some rows of the output matrix times x, or of the embedding where there is no other.
static tn_value build_rows(tlm_builder *b, tn_value x, uint32_t part, tlm_range ids)
{
    if (tlm_build_has(b, TLM_OUTPUT, 0))
        return tlm_build_matmul(b, x, TLM_OUTPUT, 0, 1, ids);
    char name[TLM_NODE_NAME_BYTES];
    tlm_build_name(b, name, "output");
    tn_value inputs[] = { x, build_table(b, part, ids) };
    return tn_graph_op(b->graph, TNP_OP_MATMUL, name, inputs, 2, NULL);
}

tn_value tlm_build_logits(tlm_builder *b, tn_value x)
{
    tlm_build_mark(b, layer_behind(b), TN_NO_PART);
    x = tn_graph_get_rows(b->graph, x, b->output_rows);   // {E, R}
    x = tlm_build_rms_norm(b, x, TLM_OUTPUT_NORM, 0);
    if (!is_divided(b))
        return build_rows(b, x, 0, (tlm_range){ 0, b->variant->hparams->vocabulary });
    return build_parts(b, TNP_OP_CONCAT, layer_behind(b), x, build_rows);
}
