// eval.c: ids through the graphs of a context, and the KV cache's position.
#include "context.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <string.h>

// Runs `count` ids, at most the largest size, in the smallest program that takes them. logits: {V}
// after the last, or with all logits {V, count}; NULL where they are not wanted.
static tn_status eval_chunk(tlm_context *c, const int32_t *ids, uint32_t count, float *logits,
                            tn_error *err)
{
    uint32_t i = 0;
    while (c->sizes[i] < count)
        i++;
    const tlm_built *built = &c->built[i];
    int32_t rows = (int32_t)count, kv_len = (int32_t)(c->position + count), last = rows - 1;
    for (uint32_t t = 0; t < count; t++)
        c->positions[t] = (int32_t)(c->position + t);

    uint64_t bytes = (uint64_t)count * sizeof *ids;
    tn_feed feeds[] = {
        { built->tokens, ids, bytes },
        { built->position, c->positions, bytes },
        { built->kv_len, &kv_len, sizeof kv_len },
        { built->output_rows, c->has_all_logits ? c->output_rows : &last,
          c->has_all_logits ? bytes : sizeof last },
        { built->rows, &rows, sizeof rows },
    };
    uint32_t feed_count = sizeof feeds / sizeof feeds[0] - (tn_value_is_none(built->rows) ? 1 : 0);
    tn_status status = tn_session_run(c->session, i, feeds, feed_count, err);
    if (status == TN_OK)
        c->run_starts[c->run_count++] = c->position;
    if (status != TN_OK || !logits)
        return status;
    uint64_t row_bytes = (uint64_t)c->hparams.vocabulary * sizeof *logits;
    return tn_session_read(c->session, i, built->logits, logits,
                           c->has_all_logits ? row_bytes * count : row_bytes, err);
}

// The runs from this position on do not count any more.
static void forget_from(tlm_context *c, uint32_t position)
{
    uint32_t count = c->run_count;
    while (c->run_count && c->run_starts[c->run_count - 1] >= position)
        c->run_count--;
    tn_session_forget(c->session, count - c->run_count);
}

static tn_status check_ids(const tlm_context *c, const int32_t *ids, uint32_t count, tn_error *err)
{
    if (count == 0)
        return tlm_fail(err, TN_E_ARG, "eval: no ids were given");
    if (count > c->capacity - c->position)
        return tlm_fail(err, TN_E_DATA,
                        "eval: %" PRIu32 " %s not fit after the %" PRIu32
                        " there are: the context has room for %" PRIu32,
                        count, count == 1 ? "token does" : "tokens do", c->position, c->capacity);
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= c->hparams.vocabulary)
            return tlm_fail(err, TN_E_DATA,
                            "eval: id %" PRIu32 " of %" PRIu32 " is %" PRId32
                            ", but the ids are 0 to %" PRId64,
                            i, count, ids[i], c->hparams.vocabulary - 1);
    return TN_OK;
}

tn_status tlm_eval(tlm_context *context, const int32_t *ids, uint32_t count,
                   const float **out_logits, tn_error *err)
{
    tlm_context *c = context;
    tn_status status = tlm_need(err, __func__, "context", c, "ids", ids, "out_logits", out_logits,
                                NULL);
    if (out_logits)
        *out_logits = NULL;
    if (status != TN_OK)
        return status;
    if (c->is_broken)
        return tlm_fail(err, TN_E_ARG,
                        "eval: a device failed and the KV cache is lost: reset the context first");
    status = check_ids(c, ids, count, err);
    if (status != TN_OK)
        return status;
    size_t row = (size_t)c->hparams.vocabulary, floats = row;
    bool fits = !c->has_all_logits || !__builtin_mul_overflow(row, count, &floats);
    if (!fits ||
        !tlm_grow(&c->allocator, &c->logits, &c->logits_capacity, floats, sizeof *c->logits))
        return tlm_fail_memory(err, "the logits");

    uint32_t before = c->position, largest = c->sizes[c->variant_count - 1];
    for (uint32_t done = 0, chunk; done < count && status == TN_OK; done += chunk) {
        chunk = count - done < largest ? count - done : largest;
        float *logits = c->has_all_logits       ? c->logits + done * row
                        : done + chunk == count ? c->logits
                                                : NULL;
        status = eval_chunk(c, ids + done, chunk, logits, err);
        c->position += chunk;
    }
    if (status != TN_OK) {
        forget_from(c, before);
        c->position = before;
        c->is_broken = status != TN_E_DATA;   // the device failed: the cache may hold anything
        return status;
    }
    memmove(c->ids + before, ids, count * sizeof *ids);   // the caller may have them from here
    *out_logits = c->logits;
    return tlm_succeed(err);
}

uint32_t tlm_context_position(const tlm_context *context)
{
    return context ? context->position : 0;
}

const int32_t *tlm_context_ids(const tlm_context *context)
{
    return context ? context->ids : NULL;
}

tn_status tlm_context_rewind(tlm_context *context, uint32_t position, tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "context", context, NULL);
    if (status != TN_OK)
        return status;
    if (position > context->position)
        return tlm_fail(err, TN_E_ARG,
                        "rewind: position %" PRIu32 " is ahead of the %" PRIu32 " tokens there are",
                        position, context->position);
    forget_from(context, position);
    context->position = position;
    return tlm_succeed(err);
}

tn_status tlm_context_reset(tlm_context *context, tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "context", context, NULL);
    if (status == TN_OK)
        status = tn_session_reset(context->session, err);
    if (status == TN_OK) {
        context->run_count = 0;
        context->position = 0;
        context->is_broken = false;
    }
    return status;
}
