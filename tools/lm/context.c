// context.c: a model compiled for devices: graphs for a few batch sizes in one session, and the KV
// cache's position.
#include "context.h"

#include "alloc.h"
#include "arch.h"
#include "options.h"
#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Batch sizes: one token for decoding, the others for prompts. A shorter rest runs in the next
// larger one.
static const uint32_t batch_tokens[] = { 1, 32, 512 };

_Static_assert(sizeof batch_tokens / sizeof batch_tokens[0] == MOST_VARIANTS, "one each");

enum { DEFAULT_CONTEXT_TOKENS = 4096 };

// ---------------------------------------------------------------------------------------- creation

static tn_status read_model(tlm_context *c, const tn_model *model, tn_error *err)
{
    tn_status status = tlm_architecture_of(model, &c->architecture, err);
    if (status != TN_OK)
        return status;
    tlm_keys keys = { .model = model, .architecture = c->architecture->name, .err = err };
    c->architecture->read(&c->hparams, &keys);
    if (keys.status != TN_OK)
        return keys.status;
    return tlm_weights_init(&c->weights, model, &c->hparams, c->architecture->rules,
                            c->architecture->rule_count, &c->allocator, err);
}

static tn_status apply_options(tlm_context *c, const tlm_context_options *o, tn_error *err)
{
    const tlm_hparams *p = &c->hparams;
    if (o->flags & ~(uint32_t)(TLM_ALL_LOGITS | TLM_NO_FAILOVER))
        return tlm_fail(err, TN_E_ARG, "context: flags 0x%" PRIx32 " are not known", o->flags);
    c->has_all_logits = o->flags & TLM_ALL_LOGITS;

    c->capacity = o->context_tokens;
    if (c->capacity == 0)
        c->capacity = (uint32_t)(p->context_tokens < DEFAULT_CONTEXT_TOKENS
                                     ? p->context_tokens
                                     : DEFAULT_CONTEXT_TOKENS);
    if (c->capacity > p->context_tokens)
        return tlm_fail(err, TN_E_ARG,
                        "context: %" PRIu32
                        " tokens asked, but the model is made for at most %" PRId64,
                        c->capacity, p->context_tokens);

    c->batch_limit = o->batch_tokens && o->batch_tokens < c->capacity ? o->batch_tokens
                                                                      : c->capacity;

    c->kv_type = o->kv_type ? o->kv_type : TN_DTYPE_F16;
    if (c->kv_type != TN_DTYPE_F32 && c->kv_type != TN_DTYPE_F16 && c->kv_type != TN_DTYPE_Q8_0)
        return tlm_fail(err, TN_E_ARG,
                        "context: the KV cache cannot be %s, expected F32, F16 or Q8_0",
                        tn_dtype_name(c->kv_type));
    if (tn_dtype_bytes(c->kv_type, p->head_dim) == 0)
        return tlm_fail(
            err, TN_E_ARG,
            "context: a KV cache of %s needs heads of whole blocks, but they have %" PRId64 " dims",
            tn_dtype_name(c->kv_type), p->head_dim);
    return TN_OK;
}

// What the placement divides, on the devices that the session will have.
static tn_status find_split(tlm_context *c, const tn_runtime *runtime, const tlm_context_options *o,
                            tn_error *err)
{
    uint32_t count = tn_runtime_device_count(runtime), used = 0;
    tn_device *const *devices = o->devices;
    tn_device **found = NULL;
    if (o->device_count == 0) {
        found = tlm_alloc(&c->allocator, count, sizeof(tn_device *));
        if (!found)
            return tlm_fail_memory(err, "a list of devices");
        for (uint32_t i = 0; i < count; i++) {
            tn_device *device = tn_runtime_device(runtime, i);
            if (tn_device_is_default(device))
                found[used++] = device;
        }
        devices = found;
    }
    tlm_split_init(&c->split, &c->overrides.placement, devices, found ? used : o->device_count,
                   &c->hparams);
    if (found)
        tlm_free(&c->allocator, found);
    return TN_OK;
}

static void gather_warnings(tlm_context *c)
{
    char note[2 * TLM_NOTE_BYTES];
    tlm_split_describe(&c->split, &c->hparams, &c->weights, note);
    snprintf(c->warning, sizeof c->warning, "%s%s%s", c->overrides.warning,
             *c->overrides.warning && *note ? "; " : "", note);
}

static tn_status build_variants(tlm_context *c, tn_error *err)
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

static uint32_t list_graphs(const tlm_context *c, const tn_graph *graphs[MOST_VARIANTS])
{
    for (uint32_t i = 0; i < c->variant_count; i++)
        graphs[i] = c->built[i].graph;
    return c->variant_count;
}

static void drop_variants(tlm_context *c)
{
    for (uint32_t i = 0; i < c->variant_count; i++)
        tn_graph_destroy(c->built[i].graph);
    c->variant_count = 0;
}

// Whether a context of so many tokens would fit.
static bool would_fit(const tlm_context *c, tn_runtime *runtime, const tn_session_options *options,
                      uint32_t tokens)
{
    tlm_context shorter = *c;
    const tn_graph *graphs[MOST_VARIANTS];
    shorter.variant_count = 0;
    shorter.capacity = tokens;
    shorter.batch_limit = c->batch_limit < tokens ? c->batch_limit : tokens;
    tn_status status = build_variants(&shorter, NULL);
    if (status == TN_OK)
        status = tn_session_fits(runtime, graphs, list_graphs(&shorter, graphs), options, NULL);
    drop_variants(&shorter);
    return status == TN_OK;
}

// The longest context that fits, by trying: in steps of COARSE_TOKENS, below that to the token; 0 =
// none.
static uint32_t longest_that_fits(const tlm_context *c, tn_runtime *runtime,
                                  const tn_session_options *options)
{
    enum { COARSE_TOKENS = 64 };
    uint32_t step = c->capacity > COARSE_TOKENS ? COARSE_TOKENS : 1;
    for (;; step = 1) {
        uint32_t fits = 0, high = step == 1 && c->capacity > COARSE_TOKENS
                                      ? COARSE_TOKENS
                                      : (c->capacity + step - 1) / step;
        while (high - fits > 1) {   // `high` steps do not fit
            uint32_t middle = fits + (high - fits) / 2;
            if (would_fit(c, runtime, options, middle * step))
                fits = middle;
            else
                high = middle;
        }
        if (fits || step == 1)
            return fits * step;
    }
}

static tn_status say_what_fits(const tlm_context *c, tn_runtime *runtime,
                               const tn_session_options *options, tn_error *err)
{
    uint32_t tokens = longest_that_fits(c, runtime, options);
    tn_error full = *err;
    return tokens ? tlm_fail(err, full.status, "%s; a context of %" PRIu32 " token%s would fit",
                             full.text, tokens, tokens == 1 ? "" : "s")
                  : tlm_fail(err, full.status,
                             "%s; no context would fit, not even of one token: smaller types need "
                             "less",
                             full.text);
}

// To repeat all runs after a device fails: at worst each id of the context came alone. Going back
// within a batch and on from there keeps the batch too; so does the first one of each size after a
// reset, as a whole.
static uint64_t journal_bytes(const tlm_context *c)
{
    enum { FEEDS = 5, SLACK_BATCHES = 64 };
    uint64_t heads = TN_JOURNAL_RUN_BYTES + FEEDS * TN_JOURNAL_FEED_BYTES;
    uint64_t batch = heads + FEEDS * c->sizes[c->variant_count - 1] * sizeof(int32_t);
    return c->capacity * heads + SLACK_BATCHES * batch;
}

static tn_status create_session(tlm_context *c, tn_runtime *runtime, const tlm_context_options *o,
                                tn_error *err)
{
    const tn_graph *graphs[MOST_VARIANTS];
    tn_session_options options = {
        .size = sizeof options,
        .device_count = o->device_count,
        .devices = o->devices,
        .allocator = o->allocator,
        .placement = c->overrides.is_given ? &c->overrides.placement : NULL,
        .flags = o->flags & TLM_NO_FAILOVER ? TN_SESSION_NO_FAILOVER : 0,
        .journal_bytes = journal_bytes(c),
    };
    tn_status status = tn_session_create(runtime, graphs, list_graphs(c, graphs), &options,
                                         &c->session, err);
    return status == TN_E_DEVICE_MEMORY && err ? say_what_fits(c, runtime, &options, err) : status;
}

static tn_status create_buffers(tlm_context *c, tn_error *err)
{
    uint32_t largest = c->sizes[c->variant_count - 1];
    c->positions = tlm_alloc(&c->allocator, largest, sizeof *c->positions);
    c->output_rows = tlm_alloc(&c->allocator, largest, sizeof *c->output_rows);
    c->ids = tlm_alloc(&c->allocator, c->capacity, sizeof *c->ids);
    c->run_starts = tlm_alloc(&c->allocator, c->capacity, sizeof *c->run_starts);
    if (!c->positions || !c->output_rows || !c->ids || !c->run_starts ||
        !tlm_grow(&c->allocator, &c->logits, &c->logits_capacity, (size_t)c->hparams.vocabulary,
                  sizeof *c->logits))
        return tlm_fail_memory(err, "the logits");
    for (uint32_t i = 0; i < largest; i++)
        c->output_rows[i] = (int32_t)i;
    return TN_OK;
}

tn_status tlm_context_create(tn_runtime *runtime, const tn_model *model,
                             const tlm_context_options *options, tlm_context **out_context,
                             tn_error *err)
{
    tlm_context_options given;
    tn_status status = tlm_need(err, __func__, "runtime", runtime, "model", model, "out_context",
                                out_context, NULL);
    if (out_context)
        *out_context = NULL;
    if (status == TN_OK)
        status = tlm_take_options(&given, sizeof given, TLM_UP_TO(tlm_context_options, reserved_3),
                                  options, "context", err);
    if (status == TN_OK)
        status = tlm_check_allocator(given.allocator, __func__, err);
    if (status != TN_OK)
        return status;
    tn_allocator allocator = tlm_allocator(given.allocator);
    tlm_context *c = tlm_alloc(&allocator, 1, sizeof *c);
    if (!c)
        return tlm_fail_memory(err, "the context");
    c->allocator = allocator;
    c->model = model;

    status = read_model(c, model, err);
    if (status == TN_OK)
        status = apply_options(c, &given, err);
    if (status == TN_OK)
        status = tlm_overrides_take(&c->overrides, model, &given, &allocator, err);
    if (status == TN_OK)
        status = find_split(c, runtime, &given, err);
    if (status == TN_OK)
        status = build_variants(c, err);
    if (status == TN_OK)
        status = create_session(c, runtime, &given, err);
    if (status == TN_OK)
        status = create_buffers(c, err);
    if (status != TN_OK) {
        tlm_context_destroy(c);
        return status;
    }
    gather_warnings(c);
    *out_context = c;
    return tlm_succeed(err);
}

void tlm_context_destroy(tlm_context *context)
{
    if (!context)
        return;
    tn_allocator allocator = context->allocator;
    tn_session_destroy(context->session);
    drop_variants(context);
    tlm_overrides_finish(&context->overrides);
    tlm_weights_finish(&context->weights);
    tlm_free(&allocator, context->positions);
    tlm_free(&allocator, context->output_rows);
    tlm_free(&allocator, context->ids);
    tlm_free(&allocator, context->run_starts);
    tlm_free(&allocator, context->logits);
    tlm_free(&allocator, context);
}

// ----------------------------------------------------------------------------------------- running

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

void tlm_context_describe(const tlm_context *context, tlm_context_info *out_info)
{
    if (!context || !out_info)
        return;
    const tlm_hparams *p = &context->hparams;
    tlm_context_info info = {
        .size = out_info->size,
        .context_tokens = context->capacity,
        .model_context_tokens = (uint32_t)p->context_tokens,
        .vocabulary = (uint32_t)p->vocabulary,
        .layers = (uint32_t)p->layers,
        .kv_type = context->kv_type,
        .architecture = context->architecture->name,
    };
    memcpy(out_info, &info, info.size < sizeof info ? info.size : sizeof info);
}

const char *tlm_context_warning(const tlm_context *context)
{
    return context ? context->warning : "";
}

const tn_session *tlm_context_session(const tlm_context *context)
{
    return context ? context->session : NULL;
}

uint32_t tlm_context_batch(const tlm_context *context, uint32_t graph)
{
    return context && graph < context->variant_count ? context->sizes[graph] : 0;
}

void tlm_context_memory(const tlm_context *context, tn_memory_report *out_report)
{
    if (context)
        tn_session_memory(context->session, out_report);
}
