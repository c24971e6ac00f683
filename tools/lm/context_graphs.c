// context_graphs.c: the graphs of a context, one for each batch size.
#include "context.h"

// Batch sizes: one token for decoding, the others for prompts. A shorter rest runs in the next
// larger one.
static const uint32_t batch_tokens[] = { 1, 32, 512 };

_Static_assert(sizeof batch_tokens / sizeof batch_tokens[0] == MOST_VARIANTS, "one each");

tn_status tlm_context_build(tlm_context *c, tn_error *err)
{
    tn_status status = TN_OK;
    while (c->variant_count < MOST_VARIANTS && status == TN_OK) {
        uint32_t i = c->variant_count, size = batch_tokens[i];
        if (i > 0 && c->sizes[i - 1] == c->batch_limit)
            break;
        c->sizes[i] = size < c->batch_limit ? size : c->batch_limit;
        tlm_variant variant = {
            .hparams = &c->hparams,
            .weights = &c->weights,
            .tokens = c->sizes[i],
            .capacity = c->capacity,
            .kv_type = c->kv_type,
            .has_all_rows = c->has_all_logits,
            .split = &c->split,
        };
        status = tlm_build(c->architecture, &variant, &c->allocator, &c->built[i], err);
        c->variant_count += status == TN_OK;
    }
    return status;
}

uint32_t tlm_context_graphs(const tlm_context *c, const tn_graph *graphs[MOST_VARIANTS])
{
    for (uint32_t i = 0; i < c->variant_count; i++)
        graphs[i] = c->built[i].graph;
    return c->variant_count;
}

void tlm_context_drop_graphs(tlm_context *c)
{
    for (uint32_t i = 0; i < c->variant_count; i++)
        tn_graph_destroy(c->built[i].graph);
    c->variant_count = 0;
}
