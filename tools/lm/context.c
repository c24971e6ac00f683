// context.c: a model compiled for devices: made from its file and the options, told of, destroyed.
#include "context.h"

#include "alloc.h"
#include "arch.h"
#include "options.h"
#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static void gather_warnings(tlm_context *c)
{
    char note[2 * TLM_NOTE_BYTES];
    tlm_split_describe(&c->split, &c->hparams, &c->weights, note);
    snprintf(c->warning, sizeof c->warning, "%s%s%s", c->overrides.warning,
             *c->overrides.warning && *note ? "; " : "", note);
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

// Where weights and states are is chosen for a prompt and as many tokens as run and bench have by
// default. A rest of it runs in each graph between.
static void find_runs(const tlm_context *c, double runs[MOST_VARIANTS])
{
    enum { PROMPT_TOKENS = 512, NEW_TOKENS = 128 };
    uint32_t last = c->variant_count - 1;
    for (uint32_t i = 0; i <= last; i++)
        runs[i] = i == 0 ? NEW_TOKENS : 1;
    runs[last] += (double)PROMPT_TOKENS / c->sizes[last] - (last > 0);
}

static tn_status create_session(tlm_context *c, tn_runtime *runtime, const tlm_context_options *o,
                                tn_error *err)
{
    const tn_graph *graphs[MOST_VARIANTS];
    double runs[MOST_VARIANTS];
    find_runs(c, runs);
    tn_session_options options = {
        .size = sizeof options,
        .device_count = o->device_count,
        .devices = o->devices,
        .allocator = o->allocator,
        .placement = c->overrides.is_given ? &c->overrides.placement : NULL,
        .flags = o->flags & TLM_NO_FAILOVER ? TN_SESSION_NO_FAILOVER : 0,
        .journal_bytes = journal_bytes(c),
        .graph_runs = runs,
    };
    tn_status status = tn_session_create(runtime, graphs, tlm_context_graphs(c, graphs), &options,
                                         &c->session, err);
    return status == TN_E_DEVICE_MEMORY && err
               ? tlm_context_say_what_fits(c, runtime, &options, err)
               : status;
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
        status = tlm_need_zero(given.reserved, "reserved", "context", err);
    if (status == TN_OK)
        status = tlm_need_zero(given.reserved_2, "reserved_2", "context", err);
    if (status == TN_OK)
        status = tlm_need_zero(given.reserved_3, "reserved_3", "context", err);
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
    if (status == TN_OK) {
        tlm_split_init(&c->split, &c->overrides.placement, runtime, given.devices,
                       given.device_count, &c->hparams);
        status = tlm_context_build(c, err);
    }
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
    tlm_context_drop_graphs(context);
    tlm_overrides_finish(&context->overrides);
    tlm_weights_finish(&context->weights);
    tlm_free(&allocator, context->positions);
    tlm_free(&allocator, context->output_rows);
    tlm_free(&allocator, context->ids);
    tlm_free(&allocator, context->run_starts);
    tlm_free(&allocator, context->logits);
    tlm_free(&allocator, context);
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
