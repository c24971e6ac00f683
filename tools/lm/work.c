// work.c: what a call of tlm_eval does at the least, counted from the shapes alone.
#include "context.h"

#include <string.h>

typedef struct weights_work {
    uint64_t bytes;         // that a pass reads, but of the embedding
    double each, at_last;   // operations for each id, and for each row of logits
    uint64_t row_bytes;     // of the embedding
} weights_work;

static bool is_used(const tn_model_tensor *tensor)
{
    return tensor->data != NULL;
}

static double products(const tn_model_tensor *tensor)
{
    return tensor->rank < 2 ? 0 : (double)tensor->dims[0] * (double)tensor->dims[1];
}

// The embedding is read by rows, and as a whole where it is the output matrix as well.
static weights_work weights_of(const tlm_context *c)
{
    const tn_model_tensor *embedding = tlm_weights_at(&c->weights, TLM_TOKEN_EMBD, 0);
    const tn_model_tensor *output = tlm_weights_at(&c->weights, TLM_OUTPUT, 0);
    bool is_tied = !is_used(output);
    weights_work work = { .at_last = 2 * products(is_tied ? embedding : output),
                          .row_bytes = embedding->bytes / (uint64_t)c->hparams.vocabulary };
    for (uint32_t layer = 0; layer < c->hparams.layers; layer++)
        for (uint32_t slot = 0; slot < TLM_SLOTS; slot++) {
            const tn_model_tensor *tensor = tlm_weights_at(&c->weights, (tlm_slot)slot, layer);
            if (!is_used(tensor) || (tensor == embedding && !is_tied))
                continue;
            work.bytes += tensor->bytes;
            if (tensor != embedding && tensor != output)
                work.each += 2 * products(tensor);
        }
    return work;
}

// How many rows of the cache the ids at [first, end) see together in a layer, and one by one.
static void count_seen(const tlm_hparams *p, uint32_t layer, uint32_t first, uint32_t end,
                       double *out_together, double *out_sum)
{
    double window = p->is_local[layer] ? (double)p->window : (double)end, sum = 0;
    for (uint32_t at = first; at < end; at++)
        sum += at + 1 < window ? at + 1 : window;
    double reach = window + (end - first) - 1;
    *out_together = reach < end ? reach : end;
    *out_sum = sum;
}

// One pass of the model over the ids at [first, end).
static void add_pass(const tlm_context *c, const weights_work *weights, uint32_t first,
                     uint32_t end, bool has_logits, double *bytes, double *operations)
{
    const tlm_hparams *p = &c->hparams;
    double ids = end - first, rows = c->has_all_logits ? ids : has_logits ? 1 : 0;
    uint64_t cache_row = 2 * tn_dtype_bytes(c->kv_type, p->head_dim * p->kv_heads);
    *bytes += (double)weights->bytes + ids * (double)weights->row_bytes;
    *operations += ids * weights->each + rows * weights->at_last;
    for (uint32_t layer = 0; layer < p->layers; layer++) {
        double together, sum;
        count_seen(p, layer, first, end, &together, &sum);
        *bytes += together * (double)cache_row;
        *operations += 4 * sum * (double)(p->head_dim * p->heads);   // scores, and what they weigh
    }
}

void tlm_context_work(const tlm_context *context, uint32_t position, uint32_t count,
                      tlm_work *out_work)
{
    if (!context || !out_work)
        return;
    tlm_work work = { .size = out_work->size };
    const weights_work weights = weights_of(context);
    uint32_t largest = context->sizes[context->variant_count - 1];
    uint32_t room = position < context->capacity ? context->capacity - position : 0;
    uint32_t end = position + (count < room ? count : room);
    double bytes = 0;
    for (uint32_t at = position; at < end;) {
        uint32_t next = end - at < largest ? end : at + largest;
        add_pass(context, &weights, at, next, next == end, &bytes, &work.operations);
        at = next;
    }
    work.bytes_read = (uint64_t)bytes;
    memcpy(out_work, &work, work.size < sizeof work ? work.size : sizeof work);
}
